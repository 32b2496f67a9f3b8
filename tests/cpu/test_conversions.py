"""Conversions between integers, float and double, arithmetic with a rounding mode, and integer intrinsics."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from .harness import Array, Maps, bits_equal

MODES = ("rn", "rz", "ru", "rd")
INTEGERS: dict[str, type[np.integer[Any]]] = {"int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64}
FLOATS: dict[str, type[np.floating[Any]]] = {"float": np.float32, "double": np.float64}
C_NAMES = {"uint": "unsigned", "ll": "long long", "ull": "unsigned long long"}
ARITHMETIC = {"fadd": "a, b", "fsub": "a, b", "fmul": "a, b", "fdiv": "a, b", "fsqrt": "a", "fmaf": "a, b, c"}
BITS = {
    "clz": ("int", "int", "__clz(a)"),
    "clzll": ("int", "long long", "__clzll(a)"),
    "popc": ("int", "unsigned", "__popc(a)"),
    "popcll": ("int", "unsigned long long", "__popcll(a)"),
    "ffs": ("int", "int", "__ffs(a)"),
    "brev": ("unsigned", "unsigned", "__brev(a)"),
    "brevll": ("unsigned long long", "unsigned long long", "__brevll(a)"),
    "umulhi": ("unsigned", "unsigned, unsigned", "__umulhi(a, b)"),
    "mulhi": ("int", "int, int", "__mulhi(a, b)"),
    "umul64hi": ("unsigned long long", "unsigned long long, unsigned long long", "__umul64hi(a, b)"),
    "mul64hi": ("long long", "long long, long long", "__mul64hi(a, b)"),
    "funnel_l": ("unsigned", "unsigned, unsigned, unsigned", "__funnelshift_l(a, b, c)"),
    "funnel_rc": ("unsigned", "unsigned, unsigned, unsigned", "__funnelshift_rc(a, b, c)"),
    "byte_perm": ("unsigned", "unsigned, unsigned, unsigned", "__byte_perm(a, b, c)"),
    "float_bits": ("unsigned", "float", "__float_as_uint(a)"),
    "hilo": ("double", "double", "__hiloint2double(__double2hiint(a), __double2loint(a))"),
    "mixed_min": ("unsigned", "int, unsigned", "min(a, b)"),
    "float_max": ("float", "float, float", "max(a, b)"),
}


def _expressions() -> dict[str, tuple[str, str, str]]:
    rows = dict(BITS)
    for mode in MODES:
        for floating in FLOATS:
            for integer in INTEGERS:
                name, c_name = f"{floating}2{integer}_{mode}", C_NAMES.get(integer, integer)
                rows[name] = (c_name, floating, f"__{name}(a)")
                if floating == "float" or integer in ("ll", "ull") or mode == "rn":
                    back = f"{integer}2{floating}_{mode}"
                    rows[back] = (floating, c_name, f"__{back}(a)")
        rows[f"double2float_{mode}"] = ("float", "double", f"__double2float_{mode}(a)")
        for name, operands in ARITHMETIC.items():
            kinds = ", ".join(["float"] * len(operands.split(", ")))
            rows[f"{name}_{mode}"] = ("float", kinds, f"__{name}_{mode}({operands})")
    return rows


@pytest.fixture(scope="module")
def maps() -> Maps:
    return Maps({f"t_{name}": row for name, row in _expressions().items()})


def _numbers(dtype: type[np.floating]) -> Array:
    """Halves, whole numbers next to the limits of every integer type, and random bit patterns."""
    word = np.uint32 if dtype is np.float32 else np.uint64
    noise = np.random.default_rng(1).integers(0, np.iinfo(word).max, 3000, word).view(dtype)
    limits = np.array([s * 2.0**k for k in (31, 32, 63, 64) for s in (1, -1)], dtype)
    points = [limits, np.nextafter(limits, dtype(0)), np.arange(-40, 41).astype(dtype) / dtype(4)]
    return np.concatenate([*points, noise, np.array([np.inf, -np.inf, 0.0, -0.0], dtype)])


def _neighbours(nearest: Array, exact: list[Fraction], mode: str) -> Array:
    """Moves results rounded to nearest to where the mode wants them."""
    out = nearest.copy()
    kind = nearest.dtype.type
    for i, (value, true) in enumerate(zip(nearest, exact, strict=True)):
        error = np.sign(float(Fraction(float(value)) - true)) if np.isfinite(value) else np.sign(float(value))
        towards = {"rz": 0.0, "ru": np.inf, "rd": -np.inf}[mode]
        wrong = {"rz": error * (1 if true > 0 else -1) > 0, "ru": error < 0, "rd": error > 0}[mode]
        if wrong:
            out[i] = np.nextafter(value, kind(towards))
    return out


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("floating", FLOATS)
def test_floats_to_integers_saturate(maps: Maps, floating: str, mode: str) -> None:
    """Rounded in the mode; out of range to the nearest; NaN as PTX says."""
    dtype = FLOATS[floating]
    x = _numbers(dtype)
    x = np.append(x[~np.isnan(x)], dtype(np.nan))
    rounded = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}[mode](x)
    for integer, target in INTEGERS.items():
        info = np.iinfo(target)
        nan = 0 if floating == "float" and info.bits == 32 else info.min or 1 << (info.bits - 1)
        whole = [0 if np.isnan(v) else int(np.clip(v, dtype(-1e30), dtype(1e30))) for v in rounded]
        clamped = [min(max(v, int(info.min)), int(info.max)) for v in whole]
        expected = [nan if np.isnan(v) else w for v, w in zip(rounded, clamped, strict=True)]
        got = maps(f"t_{floating}2{integer}_{mode}", target, x)
        assert bits_equal(got, np.array(expected, target)), integer


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("floating", FLOATS)
def test_integers_to_floats_round_as_their_mode_says(maps: Maps, floating: str, mode: str) -> None:
    """From 32 and 64 bits, at the extremes and next to midpoints."""
    random = np.random.default_rng(4)
    for integer, source in INTEGERS.items():
        if floating == "double" and integer in ("int", "uint") and mode != "rn":
            continue  # every such integer is a double
        info = np.iinfo(source)
        spread = random.integers(0, info.max, 1500, np.uint64, endpoint=True) >> random.integers(0, 31, 1500, np.uint64)
        midpoints = (np.uint64(1) << random.integers(25, info.bits - 2, 200, np.uint64)) + np.uint64(1)
        x = np.concatenate([spread, midpoints]).astype(source)
        x = np.concatenate([x, -x, np.array([info.min, info.max, 0], source)])
        expected = x.astype(FLOATS[floating])
        if mode != "rn":
            expected = _neighbours(expected, [Fraction(int(v)) for v in x], mode)
        assert bits_equal(maps(f"t_{integer}2{floating}_{mode}", FLOATS[floating], x), expected), integer


@pytest.mark.parametrize("mode", MODES)
def test_double_to_float_rounds_as_its_mode_says(maps: Maps, mode: str) -> None:
    """Also to subnormals and past the largest float."""
    x = np.exp2(np.random.default_rng(6).uniform(-155, 130, 4000)) * np.tile([1.0, -1.0], 2000)
    with np.errstate(over="ignore"):
        expected = x.astype(np.float32)
    if mode != "rn":
        expected = _neighbours(expected, [Fraction(v) for v in x], mode)
    assert bits_equal(maps(f"t_double2float_{mode}", np.float32, x), expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_rounds_as_its_mode_says(maps: Maps, name: str, mode: str) -> None:
    """Against exact rational arithmetic; for the square root, the result squared brackets the operand."""
    random = np.random.default_rng(9)
    magnitude = np.exp2(random.uniform(-20, 20, (3, 1500)))
    a, b, c = (magnitude * random.choice([-1.0, 1.0], magnitude.shape)).astype(np.float32)
    operands = {1: (abs(a),), 2: (a, b), 3: (a, b, c)}[len(ARITHMETIC[name].split(", "))]
    got = maps(f"t_{name}_{mode}", np.float32, *operands)
    if name == "fsqrt":
        square = np.array([Fraction(float(v)) ** 2 for v in got]) - np.array([Fraction(float(v)) for v in abs(a)])
        if mode == "rn":
            assert bits_equal(got, np.sqrt(abs(a)))
        else:
            assert all(square >= 0 if mode == "ru" else square <= 0)
        assert np.abs(got - np.sqrt(abs(a))).max() <= np.spacing(got.max())
        return
    exact = [_exact(name, *(Fraction(float(v)) for v in row)) for row in zip(*operands, strict=True)]
    nearest = np.array([float(v) for v in exact]).astype(np.float32)  # exact results rarely sit next to a midpoint
    expected = nearest if mode == "rn" else _neighbours(nearest, exact, mode)
    assert bits_equal(got, expected)


def _exact(name: str, a: Fraction, b: Fraction, c: Fraction = Fraction(0)) -> Fraction:
    results = {"fadd": a + b, "fsub": a - b, "fmul": a * b, "fdiv": a / b, "fmaf": a * b + c}
    return results[name]


def test_bit_intrinsics_are_those_of_cuda(maps: Maps) -> None:
    """Counts, reversals, high halves of products, funnel shifts, byte permutes."""
    random = np.random.default_rng(10)
    u, v = (np.append(random.integers(0, 2**32, 500, np.uint32), np.uint32(e)) for e in (0, 2**32 - 1))
    shift = random.integers(0, 40, u.size, np.uint32)
    wide = random.integers(0, 2**64 - 1, u.size, np.uint64)
    other = random.integers(0, 2**64 - 1, u.size, np.uint64)

    def check(name: str, dtype: type[np.generic], expected: list[int], *operands: Array) -> None:
        np.testing.assert_array_equal(maps(f"t_{name}", dtype, *operands), np.array(expected, dtype), err_msg=name)

    ints, others = [int(x) for x in u], [int(x) for x in v]
    wides, other_wides = [int(x) for x in wide], [int(x) for x in other]
    signed, signed_others = [int(x) for x in u.view(np.int32)], [int(x) for x in v.view(np.int32)]
    pairs = list(zip(ints, others, [int(s) for s in shift], strict=True))
    check("clz", np.int32, [32 - x.bit_length() for x in ints], u.view(np.int32))
    check("clzll", np.int32, [64 - x.bit_length() for x in wides], wide.view(np.int64))
    check("popc", np.int32, [x.bit_count() for x in ints], u)
    check("popcll", np.int32, [x.bit_count() for x in wides], wide)
    check("ffs", np.int32, [(x & -x).bit_length() for x in ints], u.view(np.int32))
    check("brev", np.uint32, [int(f"{x:032b}"[::-1], 2) for x in ints], u)
    check("brevll", np.uint64, [int(f"{x:064b}"[::-1], 2) for x in wides], wide)
    check("umulhi", np.uint32, [x * y >> 32 for x, y, _ in pairs], u, v)
    check(
        "mulhi",
        np.int32,
        [x * y >> 32 for x, y in zip(signed, signed_others, strict=True)],
        u.view(np.int32),
        v.view(np.int32),
    )
    check("umul64hi", np.uint64, [x * y >> 64 for x, y in zip(wides, other_wides, strict=True)], wide, other)
    both = zip(wide.view(np.int64), other.view(np.int64), strict=True)
    check("mul64hi", np.int64, [int(x) * int(y) >> 64 for x, y in both], wide.view(np.int64), other.view(np.int64))
    check("funnel_l", np.uint32, [((y << 32 | x) << (s & 31) >> 32) & 0xFFFFFFFF for x, y, s in pairs], u, v, shift)
    check("funnel_rc", np.uint32, [(y << 32 | x) >> min(s, 32) & 0xFFFFFFFF for x, y, s in pairs], u, v, shift)
    check("byte_perm", np.uint32, [0x44332211 for _ in ints], *_permutation(u.size))
    check("mixed_min", np.uint32, [min(x, y) for x, y, _ in pairs], u.view(np.int32), v)
    x = _numbers(np.float32)
    assert bits_equal(maps("t_float_bits", np.uint32, x), x.view(np.uint32))
    assert bits_equal(maps("t_hilo", np.float64, wide.view(np.float64)), wide.view(np.float64))
    nan = np.array([np.nan, 1], np.float32)
    np.testing.assert_array_equal(maps("t_float_max", np.float32, nan, nan[::-1]), np.ones(2, np.float32))


def _permutation(count: int) -> tuple[Array, Array, Array]:
    """Operands of which selector 0x7531 takes the bytes 11, 22, 33, 44."""
    return tuple(np.full(count, v, np.uint32) for v in (0x22001100, 0x44003300, 0x7531))  # type: ignore[return-value]
