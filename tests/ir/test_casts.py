"""Casts round once from the exact value, in every mode, between all dtypes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kgen.dtypes import BOOL, BY_NAME, DTYPES, FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT16, FLOAT32, FLOAT64, INT64, DType
from kgen.ir.graph import CastMode
from kgen.ir.rounding import cast, numpy_dtype
from kgen.syntax.tree import RoundingMode

Array = np.ndarray[Any, Any]
ROUNDINGS: tuple[RoundingMode, ...] = ("rne", "rz", "ru", "rd")
MODES = [CastMode(rounding, saturate) for rounding in ROUNDINGS for saturate in (False, True)]
REAL = [dtype for dtype in DTYPES if not dtype.is_complex]
NARROW = [dtype for dtype in REAL if dtype.is_narrow]
NEAREST = CastMode("rne", False)


def same(actual: Array, expected: Array) -> None:
    """Equal values, zeros with their signs; any NaN equals any NaN."""
    assert actual.dtype == expected.dtype
    if actual.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected)
        return
    a, b = actual.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(a, b)
    number = ~np.isnan(a)
    np.testing.assert_array_equal(np.signbit(a[number]), np.signbit(b[number]))


def exactly(values: Array, dtype: str = "float64") -> Array:
    """Narrow values widened by ml_dtypes, signalling NaNs made quiet (NumPy warns of them)."""
    with np.errstate(invalid="ignore"):
        wide = values.astype(dtype)
    return np.where(np.isnan(wide), wide.dtype.type(np.nan), wide)


def every_value(dtype: DType) -> Array:
    return np.arange(1 << dtype.bits, dtype=f"u{dtype.size}").view(numpy_dtype(dtype))


# --- a slow model, one value at a time ------------------------------------------------------------


def largest(dtype: DType) -> Fraction:
    bits = np.array([dtype.largest_bits], f"u{dtype.size}")
    return Fraction(float(bits.view(numpy_dtype(dtype)).astype(np.float64)[0]))


def rounded(value: Fraction, rounding: RoundingMode) -> int:
    """``value`` as a whole number."""
    match rounding:
        case "rne":
            return round(value)
        case "rz":
            return math.trunc(value)
        case "ru":
            return math.ceil(value)
        case "rd":
            return math.floor(value)


def model(value: float | int, target: DType, mode: CastMode, *, from_float: bool) -> float | int | Fraction:
    """What a cast gives: a number, or a float that is inf or NaN."""
    special = isinstance(value, float) and not math.isfinite(value)
    if target.is_bool:
        return int(value != 0)
    if not target.is_float:
        if special:
            return 0 if math.isnan(value) else target.int_max if value > 0 else target.int_min
        whole = rounded(Fraction(value), mode.rounding)
        if from_float or mode.saturate:
            return min(max(whole, target.int_min), target.int_max)
        return (whole - target.int_min) % (1 << target.bits) + target.int_min
    overflow = math.nan if target is FLOAT8_E4M3FN else math.inf
    if special:
        if math.isnan(value):
            return value
        return math.copysign(1, value) * (largest(target) if mode.saturate else overflow)
    exact = Fraction(value)
    least = 2 - (1 << (target.exponent - 1)) - target.mantissa
    # One too low at most, which only keeps one bit too many in a subnormal; so go up where it is.
    exponent = abs(exact.numerator).bit_length() - exact.denominator.bit_length() - 1 - target.mantissa
    step = Fraction(2) ** max(exponent, least)
    while abs(exact) >= step * (1 << (target.mantissa + 1)):
        step *= 2
    result = rounded(exact / step, mode.rounding) * step
    if abs(result) <= largest(target):
        return result
    outwards = {"rne": True, "rz": False, "ru": exact > 0, "rd": exact < 0}[mode.rounding]
    return (1 if exact > 0 else -1) * (overflow if outwards and not mode.saturate else largest(target))


def landmarks(target: DType) -> list[Fraction]:
    """Where casts to ``target`` change their mind: ends of the range, least steps, and ties."""
    half = Fraction(1, 2)
    if not target.is_float:
        ends = [Fraction(target.int_min), Fraction(target.int_max)]
        return [end + step for end in ends for step in (-1, -half, 0, half, 1)] + [half, 3 * half, 5 * half]
    least = Fraction(2) ** (2 - (1 << (target.exponent - 1)) - target.mantissa)
    top, ulp = largest(target), Fraction(1, 1 << target.mantissa)
    step = top * ulp / 2  # within a factor of two of the last step; the neighbours below find the rest
    ties = [least * k / 2 for k in range(1, 6)] + [1 + ulp * k / 2 for k in range(1, 5)]
    ends = [least * (1 << target.mantissa), least * (1 << target.mantissa) - least / 2]
    return ties + ends + [top, top + step / 2, top + step, top + 2 * step, top * 2]


def values_near(points: list[Fraction], dtype: DType) -> Array:
    """The values of ``dtype`` nearest to each point of either sign, their neighbours, and the special values."""
    if not dtype.is_float:
        near = {int(sign * point) + step for point in points for sign in (1, -1) for step in (-1, 0, 1)}
        return np.array(sorted(x for x in near if dtype.int_min <= x <= dtype.int_max), numpy_dtype(dtype))
    with np.errstate(all="ignore"):
        near_floats = np.array([float(min(point, Fraction(2) ** 1023)) for point in points])
        bits = near_floats.astype(numpy_dtype(dtype)).view(f"u{dtype.size}").astype(np.int64)
    top = (1 << (dtype.bits - 1)) - 1
    bits = np.unique(np.clip(np.concatenate([bits - 1, bits, bits + 1, [0, 1, top]]), 0, top))
    positive = bits.astype(f"u{dtype.size}").view(numpy_dtype(dtype))
    return np.concatenate([positive, np.negative(positive)])


@pytest.mark.parametrize("source", REAL, ids=str)
def test_every_pair_and_mode_at_the_landmarks(source: DType) -> None:
    """A cast gives what exact fractions give, for every target and mode, at the ends, the ties and the least steps."""
    for target, mode in itertools.product(REAL, MODES):
        if not target.is_float and not source.is_float and mode.rounding != "rne":
            continue
        points = [point for dtype in (source, target) if not dtype.is_bool for point in landmarks(dtype)]
        values = np.array([False, True]) if source.is_bool else values_near(points, source)
        plain = exactly(values).tolist() if source.is_float else values.astype(object).tolist()
        actual = cast(values, source, target, mode)
        assert actual.dtype == numpy_dtype(target)
        got = actual.astype(np.float64).tolist() if target.is_float else actual.astype(object).tolist()
        for value, result in zip(plain, got, strict=True):
            expected = model(value, target, mode, from_float=source.is_float)
            if isinstance(expected, float) and math.isnan(expected):
                assert math.isnan(result), (value, target, mode, result)
                continue
            assert result == expected, (value, target, mode, result, expected)
            if result == 0 and source.is_float and target.is_float:
                assert math.copysign(1, result) == math.copysign(1, value), (value, target, mode)


# --- every value of the narrow types --------------------------------------------------------------


def by_table(values: Array, target: DType, mode: CastMode) -> Array:
    """Rounds by looking both neighbours up among all values of a narrow type: no arithmetic on exponents."""
    table = exactly(every_value(target))
    finite = np.unique(table[np.isfinite(table)])
    x = exactly(values)
    below = finite[np.clip(np.searchsorted(finite, x, "right") - 1, 0, None)]
    above = finite[np.clip(np.searchsorted(finite, x, "left"), None, len(finite) - 1)]
    odd = (below.astype(numpy_dtype(target)).view(f"u{target.size}") & 1) != 0
    with np.errstate(all="ignore"):
        nearest = np.where((x - below == above - x) & (x != below), np.where(odd, above, below), below)
        nearest = np.where(above - x < x - below, above, nearest)
    inwards = np.where(x < 0, above, below)
    result = {"rne": nearest, "rz": inwards, "ru": above, "rd": below}[mode.rounding]
    top = finite[-1]
    infinity = np.nan if target is FLOAT8_E4M3FN else np.inf
    # The first value past the range that the format would have with one more exponent; half way to it overflows.
    limit = top + (top - finite[-2]) / 2
    over = {
        "rne": np.abs(x) >= limit if infinity == np.inf else np.abs(x) > limit,
        "rz": np.zeros(x.shape, bool),
        "ru": x > top,
        "rd": x < -top,
    }[mode.rounding]
    result = np.where(over | np.isinf(x), np.copysign(top if mode.saturate else infinity, x), result)
    result = np.where(np.isinf(x) & (mode.rounding == "rz") & (not mode.saturate), np.copysign(infinity, x), result)
    result = np.where(np.isnan(x), np.nan, np.where(result == 0, np.copysign(0, x), result))
    with np.errstate(all="ignore"):
        return np.asarray(result.astype(numpy_dtype(target)))


@pytest.mark.parametrize("source", NARROW, ids=str)
@pytest.mark.parametrize("target", NARROW, ids=str)
def test_every_narrow_value_to_every_narrow_type(source: DType, target: DType) -> None:
    """All values of float16, bfloat16 and fp8 go to the neighbour that the mode asks for."""
    values = every_value(source)
    for mode in MODES:
        same(cast(values, source, target, mode), by_table(values, target, mode))


@pytest.mark.parametrize("source", NARROW, ids=str)
def test_every_narrow_value_widens_exactly(source: DType) -> None:
    """float32 and float64 hold every narrow value, so no mode changes it (but saturation takes inf to the end)."""
    values = every_value(source)
    for target in (FLOAT32, FLOAT64):
        for mode in MODES:
            expected = exactly(values, target.name)
            if mode.saturate:
                top = np.finfo(expected.dtype).max
                expected = np.where(np.isinf(expected), np.copysign(top, expected), expected)
            same(cast(values, source, target, mode), expected)


@pytest.mark.parametrize("source", NARROW, ids=str)
def test_every_narrow_value_to_integers(source: DType) -> None:
    """Float to integer rounds by the mode, clamps with or without ``sat``, and takes NaN to 0."""
    values = every_value(source)
    x = exactly(values)
    whole = {"rne": np.rint(x), "rz": np.trunc(x), "ru": np.ceil(x), "rd": np.floor(x)}
    for target in (dtype for dtype in REAL if dtype.is_int):
        for mode in MODES:
            w = np.where(np.isnan(x), 0, whole[mode.rounding])
            inside = np.where((w >= target.int_min) & (w <= target.int_max), w, 0)
            # float64 cannot hold 2**63 - 1; the comparison rounds it up, so take the ends out first.
            inside = np.where(w >= float(target.int_max), 0, inside)
            expected = np.array(inside.astype(object).tolist(), object)
            expected = np.array([int(v) for v in expected], object)
            expected = np.where(w >= float(target.int_max), target.int_max, expected)
            expected = np.where(w <= float(target.int_min), target.int_min, expected)
            same(cast(values, source, target, mode), expected.astype(numpy_dtype(target)))


@pytest.mark.parametrize("target", NARROW, ids=str)
def test_nearest_agrees_with_ml_dtypes(target: DType) -> None:
    """From float32, ``rne`` without saturation is what NumPy and ml_dtypes do."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 1 << 32, 200_000, dtype=np.uint32).view(np.float32)
    values = np.concatenate([values, rng.normal(size=100_000).astype(np.float32) * 300])
    with np.errstate(all="ignore"):
        expected = values.astype(numpy_dtype(target))
    same(cast(values, FLOAT32, target, NEAREST), expected)


def test_nearest_agrees_with_numpy_on_wide_types() -> None:
    """float64 to float32 and float16, and int64 to float32 and float64, round as NumPy rounds them."""
    rng = np.random.default_rng(1)
    doubles = rng.integers(0, 1 << 64, 200_000, dtype=np.uint64).view(np.float64)
    doubles = np.concatenate([doubles, np.ldexp(rng.normal(size=100_000), rng.integers(-160, 140, 100_000))])
    longs = rng.integers(-(1 << 63), (1 << 63) - 1, 100_000) >> rng.integers(0, 63, 100_000)
    with np.errstate(all="ignore"):
        same(cast(doubles, FLOAT64, FLOAT32, NEAREST), doubles.astype(np.float32))
        same(cast(doubles, FLOAT64, FLOAT16, NEAREST), doubles.astype(np.float16))
        same(cast(longs, INT64, FLOAT32, NEAREST), longs.astype(np.float32))
        same(cast(longs, INT64, FLOAT64, NEAREST), longs.astype(np.float64))


def test_one_rounding_not_two() -> None:
    """1 + 2**-8 + 2**-40 is above the tie of bfloat16; by way of float32 it would be the tie, and round down."""
    value = np.array([1 + 2.0**-8 + 2.0**-40])
    assert float(cast(value, FLOAT64, BY_NAME["bf16"], NEAREST)[0]) == 1 + 2.0**-7
    assert float(value.astype(np.float32).astype(ml_dtypes.bfloat16)[0]) == 1.0


def test_fp8_overflow_boundaries() -> None:
    """e4m3fn: 464 still rounds to 448, beyond is NaN; e5m2: 61440 is inf.  With ``sat`` both give the largest."""
    x = np.array([464.0, np.nextafter(464.0, 500), -1e9, np.inf, np.nan])
    same(cast(x, FLOAT64, FLOAT8_E4M3FN, NEAREST).astype(np.float64), np.array([448.0] + [np.nan] * 4))
    saturated = cast(x, FLOAT64, FLOAT8_E4M3FN, CastMode("rne", True)).astype(np.float64)
    same(saturated, np.array([448.0, 448, -448, 448, np.nan]))
    y = np.array([np.nextafter(61440.0, 0), 61440.0, -np.inf])
    same(cast(y, FLOAT64, FLOAT8_E5M2, NEAREST).astype(np.float64), np.array([57344.0, np.inf, -np.inf]))
    same(cast(y, FLOAT64, FLOAT8_E5M2, CastMode("rne", True)).astype(np.float64), np.array([57344.0, 57344, -57344]))


def test_to_bool() -> None:
    """Anything but a zero is true, NaN too."""
    values = np.array([0.0, -0.0, 5e-324, np.nan, -np.inf, 2.0])
    np.testing.assert_array_equal(cast(values, FLOAT64, BOOL, NEAREST), [False, False, True, True, True, True])


def test_integers_wrap_or_clamp() -> None:
    """300 to uint8 is 44, and 255 with ``sat``; -1 is 255, and 0."""
    values = np.array([300, -1, -(1 << 63)])
    np.testing.assert_array_equal(cast(values, INT64, BY_NAME["u8"], NEAREST), [44, 255, 0])
    np.testing.assert_array_equal(cast(values, INT64, BY_NAME["u8"], CastMode("rne", True)), [255, 0, 0])


def test_complex_casts_go_part_by_part() -> None:
    """Complex to complex rounds both parts; a real number gets a zero imaginary part."""
    z = np.array([1 + 1e-30 + 2j, complex(np.inf, 1e300)])
    narrow = cast(z, BY_NAME["c128"], BY_NAME["c64"], NEAREST)
    np.testing.assert_array_equal(narrow.imag, np.array([2, np.inf], np.float32))
    np.testing.assert_array_equal(cast(np.array([3]), INT64, BY_NAME["c64"], NEAREST), np.array([3], np.complex64))
    with pytest.raises(TypeError, match="real"):
        cast(z, BY_NAME["c128"], FLOAT64, NEAREST)


def test_scalars_cast_as_arrays_do() -> None:
    """0-d values stay 0-d and follow the same rules."""
    for source, target in itertools.product(REAL, REAL):
        value = np.ones((), numpy_dtype(source))
        result = cast(value, source, target, NEAREST)
        assert result.shape == ()
        assert result.dtype == numpy_dtype(target)
        assert float(result) == 1
