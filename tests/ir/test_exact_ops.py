"""Ops with one defined result: integers against Python's, floats against IEEE 754 and exact fractions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from kgen.dtypes import BY_NAME, DTYPES
from kgen.ir import evaluator, ops

Array = np.ndarray[Any, Any]
Apply = Callable[..., Array]

INTS = [dtype.name for dtype in DTYPES if dtype.is_int]
FLOATS = ["float32", "float64"]


def test_one_meaning_per_op() -> None:
    """The evaluator has a row for each op of the IR, and no other."""
    assert set(evaluator.ROWS) == set(ops.OPS)


def wrap(value: int, name: str) -> int:
    dtype = BY_NAME[name]
    return (value - dtype.int_min) % (1 << dtype.bits) + dtype.int_min


def edges(name: str) -> list[int]:
    """All values of the 8-bit types, and the edges of the others."""
    dtype = BY_NAME[name]
    if dtype.bits == 8:
        return list(range(dtype.int_min, dtype.int_max + 1))
    near = {0, 1, 2, 3, 7, 31, 32, 63, 64, 1000, dtype.int_max, dtype.int_max - 1, dtype.int_max // 3, dtype.bits}
    near |= {dtype.bits - 1, dtype.int_min, dtype.int_min + 1, dtype.int_min // 3} | {-x for x in near if dtype.signed}
    return sorted(near)


def power(x: int, n: int) -> int:
    if n < 0:
        return {1: 1, -1: 1 if n % 2 == 0 else -1}.get(x, 0)
    return pow(x, n, 1 << 64) if n > 4096 else x**n


def shifted(x: int, n: int, name: str, *, left: bool) -> int:
    if not 0 <= n < BY_NAME[name].bits:
        return 0 if left or x >= 0 else -1
    return x << n if left else x >> n


BINARY: dict[str, Callable[[int, int, str], int]] = {
    "add": lambda x, y, _: x + y,
    "sub": lambda x, y, _: x - y,
    "mul": lambda x, y, _: x * y,
    "floordiv": lambda x, y, _: x // y if y else 0,
    "mod": lambda x, y, _: x % y if y else 0,
    "pow": lambda x, y, _: power(x, y),
    "min": lambda x, y, _: min(x, y),
    "max": lambda x, y, _: max(x, y),
    "and": lambda x, y, _: x & y,
    "or": lambda x, y, _: x | y,
    "xor": lambda x, y, _: x ^ y,
    "shl": lambda x, y, t: shifted(x, y, t, left=True),
    "shr": lambda x, y, t: shifted(x, y, t, left=False),
    "lt": lambda x, y, _: x < y,
    "le": lambda x, y, _: x <= y,
    "gt": lambda x, y, _: x > y,
    "ge": lambda x, y, _: x >= y,
    "eq": lambda x, y, _: x == y,
    "ne": lambda x, y, _: x != y,
}

UNARY: dict[str, Callable[[int, int], int]] = {
    "neg": lambda x, _: -x,
    "abs": lambda x, _: abs(x),
    "sign": lambda x, _: (x > 0) - (x < 0),
    "not": lambda x, _: ~x,
    "popcount": lambda x, bits: (x % (1 << bits)).bit_count(),
    "clz": lambda x, bits: bits - (x % (1 << bits)).bit_length(),
    "ffs": lambda x, bits: (x & -x).bit_length() if x else 0,
}


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("op", BINARY)
def test_integers_in_pairs(apply: Apply, op: str, dtype: str) -> None:
    """Python's integers, wrapped: x // 0 and x % 0 are 0, far shifts leave 0 or the sign, x ** -n is 0 or ±1."""
    pairs = list(itertools.product(edges(dtype), repeat=2))
    x, y = (np.array([pair[i] for pair in pairs], dtype) for i in (0, 1))
    result = apply(op, x, y).tolist()
    for (a, b), got in zip(pairs, result, strict=True):
        expected = BINARY[op](a, b, dtype)
        assert got == (expected if isinstance(expected, bool) else wrap(expected, dtype)), (op, a, b)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("op", UNARY)
def test_integers_alone(apply: Apply, op: str, dtype: str) -> None:
    """``-`` and ``abs`` of the least value wrap; bits are counted within the value's own width."""
    values = edges(dtype)
    result = apply(op, np.array(values, dtype))
    counts = op in ("popcount", "clz", "ffs")
    assert result.dtype == np.dtype("int32" if counts else dtype)
    expected = [UNARY[op](x, BY_NAME[dtype].bits) for x in values]
    assert result.tolist() == (expected if counts else [wrap(x, dtype) for x in expected])


@pytest.mark.parametrize("exponent", range(9))
def test_powi_multiplies_by_squaring(apply: Apply, exponent: int) -> None:
    """``x**3`` is (x*x)*x, ``x**7`` is ((x*x)*(x*x) * (x*x)) * x, with each product rounded; 0 gives 1 even of NaN."""
    x = np.array([1.1, -3.3, 1e20, 1e-20, np.nan, -0.0], np.float32)
    with np.errstate(all="ignore"):
        x2 = x * x
        x4 = x2 * x2
        expected = [np.ones_like(x), x, x2, x2 * x, x4, x4 * x, x4 * x2, (x4 * x2) * x, x4 * x4][exponent]
    np.testing.assert_array_equal(apply("powi", x, attr=exponent), expected)
    wrapped = apply("powi", np.array([-7, 5, 127], np.int8), attr=exponent)
    assert wrapped.tolist() == [wrap(v**exponent, "int8") for v in (-7, 5, 127)]


def test_bool_logic(apply: Apply) -> None:
    """On bools the bit ops are logical."""
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert apply("and", x, y).tolist() == [False, False, False, True]
    assert apply("or", x, y).tolist() == [False, True, True, True]
    assert apply("xor", x, y).tolist() == [False, True, True, False]
    assert apply("not", x).tolist() == [True, True, False, False]


# --- floats -----------------------------------------------------------------------------------


def float_edges(dtype: str) -> list[float]:
    info = np.finfo(dtype)
    sub, tiny, top = (float(v) for v in (info.smallest_subnormal, info.tiny, info.max))
    near = [0.0, sub, 3 * sub, tiny, tiny - sub, 0.1, 0.5, 1.0, 1 + float(info.eps), 1.5, 2.5, 7.0, 1e10, top / 2, top]
    return [s * float(np.dtype(dtype).type(x)) for x in (*near, math.inf) for s in (1, -1)] + [math.nan]


def equal(actual: Array, expected: list[float]) -> None:
    """The same values, zeros with their signs; NaN equals NaN."""
    wanted = np.array(expected, actual.dtype)
    np.testing.assert_array_equal(actual, wanted)
    number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(actual[number]), np.signbit(wanted[number]))


def lesser(x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y):
        return math.nan
    return min((x, math.copysign(1, x)), (y, math.copysign(1, y)))[0]


def fdim(x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y):
        return math.nan
    return 0.0 if x <= y else x - y


def fmod(x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0:
        return math.nan
    if math.isinf(y):
        return x
    a, b = Fraction(abs(x)), Fraction(abs(y))
    return math.copysign(float(a - b * (a // b)), x)


def mod(x: float, y: float) -> float:
    """The exact remainder of the divisor's sign, rounded; infinities and zeros as NumPy has them."""
    part = fmod(x, y)
    if math.isnan(part):
        return part
    if part == 0:
        return math.copysign(0.0, y)
    return part + y if (part < 0) != (y < 0) else part


FLOAT_BINARY: dict[str, Callable[[float, float], float]] = {
    "min": lesser,
    "max": lambda x, y: -lesser(-x, -y),
    "fmin": lambda x, y: y if math.isnan(x) else x if math.isnan(y) else lesser(x, y),
    "fmax": lambda x, y: y if math.isnan(x) else x if math.isnan(y) else -lesser(-x, -y),
    "copysign": math.copysign,
    "fdim": fdim,
    "mul_rn": lambda x, y: x * y,
    "fmod": fmod,
    "mod": mod,
    "lt": lambda x, y: x < y,
    "ge": lambda x, y: x >= y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", FLOAT_BINARY)
def test_floats_in_pairs(apply: Apply, op: str, dtype: str) -> None:
    """min and max propagate NaN, fmin and fmax drop it, all put -0.0 below +0.0; remainders are exact."""
    pairs = list(itertools.product(float_edges(dtype), repeat=2))
    x, y = (np.array([pair[i] for pair in pairs], dtype) for i in (0, 1))
    with np.errstate(all="ignore"):
        expected = [FLOAT_BINARY[op](a, b) for a, b in pairs]
        equal(apply(op, x, y), np.array(expected).astype(apply(op, x, y).dtype).tolist())


def test_floor_division_is_numpys(apply: Apply) -> None:
    """1.0 // 0.1 is 9, and x // 0.0 is x / 0.0."""
    x, y = np.array([1.0, 1.0, -1.0, 0.0, -7.0, 5.0]), np.array([0.1, 0.0, 0.0, 0.0, 2.0, np.inf])
    equal(apply("floordiv", x, y), [9.0, math.inf, -math.inf, math.nan, -4.0, 0.0])


def exact(op: str, *args: float) -> Fraction:
    """The mathematical value, for finite arguments."""
    x, y, *rest = (Fraction(arg) for arg in args)
    quotient = x / y if y else x
    values = {"add": x + y, "sub": x - y, "mul": x * y, "div": quotient, "div_rn": quotient, "fma": x * y + sum(rest)}
    return values[op]


def to_dtype(value: Fraction, dtype: str) -> float:
    """Rounded once to nearest, by integers only."""
    mantissa, least = (24, -149) if dtype == "float32" else (53, -1074)
    if value == 0:
        return 0.0
    exponent = max(abs(value.numerator).bit_length() - value.denominator.bit_length() - mantissa - 1, least)
    while round(abs(value) / Fraction(2) ** exponent) > 1 << mantissa or (
        abs(value) / Fraction(2) ** exponent >= 1 << mantissa
    ):
        exponent += 1
    result = round(value / Fraction(2) ** exponent) * Fraction(2) ** exponent
    sign = 1 if value > 0 else -1
    return math.copysign(math.inf if abs(result) > float(np.finfo(dtype).max) else float(result), sign)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "div_rn"])
def test_basic_arithmetic_is_correctly_rounded(apply: Apply, op: str, dtype: str) -> None:
    """+ - * / round the exact value once, subnormals and overflow included."""
    finite = [x for x in float_edges(dtype) if math.isfinite(x) and x]
    pairs = list(itertools.product(finite, repeat=2))
    x, y = (np.array([pair[i] for pair in pairs], dtype) for i in (0, 1))
    equal(apply(op, x, y), [to_dtype(exact(op, *pair), dtype) for pair in pairs])


@pytest.mark.parametrize("dtype", FLOATS)
def test_fma_rounds_once(apply: Apply, dtype: str) -> None:
    """x*y + z has one rounding: with cancellation, at ties that the addend breaks, and among subnormals."""
    finite = [x for x in float_edges(dtype) if math.isfinite(x) and x]
    rng = np.random.default_rng(2)
    triples = [tuple(row) for row in rng.choice(finite, (3000, 3)).tolist()]
    draws = rng.normal(size=(1000, 2)).astype(dtype)
    triples += [(a, b, -float(np.dtype(dtype).type(a) * np.dtype(dtype).type(b))) for a, b in draws.tolist()]
    eps = float(np.finfo(dtype).eps)
    triples += [(1 + eps, 1 + eps, s * eps**k) for s in (1, -1) for k in (2, 3, 4, 5)]
    triples += [(1 + eps, eps / 2, s * 2.0**k) for s in (1, -1) for k in (-3, 0, 1, 20)]
    triples = [tuple(float(np.dtype(dtype).type(v)) for v in row) for row in triples]
    result = apply("fma", *(np.array([row[i] for row in triples], dtype) for i in range(3)))
    equal(result, [to_dtype(exact("fma", *row), dtype) for row in triples])


@pytest.mark.parametrize("dtype", FLOATS)
def test_fma_special_values(apply: Apply, dtype: str) -> None:
    """inf * 0 is NaN whatever is added; an exact zero is +0.0 unless both terms are -0.0; overflow is inf."""
    top = float(np.finfo(dtype).max)
    rows = [
        (math.inf, 0.0, 1.0, math.nan),
        (math.inf, 2.0, -math.inf, math.nan),
        (2.0, 3.0, -math.inf, -math.inf),
        (math.inf, -2.0, 5.0, -math.inf),
        (top, 2.0, -math.inf, -math.inf),
        (top, 2.0, 0.0, math.inf),
        (top, 2.0, -top, top),
        (2.0, 3.0, -6.0, 0.0),
        (-0.0, 3.0, -0.0, -0.0),
        (-0.0, 3.0, 0.0, 0.0),
        (math.nan, 0.0, 0.0, math.nan),
    ]
    equal(apply("fma", *(np.array([row[i] for row in rows], dtype) for i in range(3))), [row[3] for row in rows])


FLOAT_UNARY: dict[str, list[tuple[float, float]]] = {
    "round": [(0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, -0.0), (-1.5, -2.0), (math.inf, math.inf)],
    "floor": [(-0.5, -1.0), (0.5, 0.0), (-0.0, -0.0)],
    "ceil": [(-0.5, -0.0), (0.5, 1.0)],
    "trunc": [(-1.5, -1.0), (-0.5, -0.0), (1.5, 1.0)],
    "sign": [(-0.0, 0.0), (0.0, 0.0), (math.nan, math.nan), (-math.inf, -1.0), (1e-30, 1.0)],
    "abs": [(-0.0, 0.0), (-math.inf, math.inf), (math.nan, math.nan)],
    "neg": [(0.0, -0.0), (math.inf, -math.inf)],
    "sqrt": [(-0.0, -0.0), (4.0, 2.0), (-1.0, math.nan), (math.inf, math.inf)],
    "logb": [(0.0, -math.inf), (-math.inf, math.inf), (math.nan, math.nan), (8.0, 3.0), (0.75, -1.0)],
    "isnan": [(math.nan, 1), (math.inf, 0)],
    "isinf": [(math.nan, 0), (-math.inf, 1), (1.0, 0)],
    "isfinite": [(math.nan, 0), (math.inf, 0), (1.0, 1)],
    "signbit": [(-0.0, 1), (0.0, 0), (-1.0, 1)],
    "ilogb": [(0.0, -(2**31)), (-0.0, -(2**31)), (math.nan, -(2**31)), (-math.inf, 2**31 - 1), (9.0, 3)],
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", FLOAT_UNARY)
def test_floats_alone(apply: Apply, op: str, dtype: str) -> None:
    """round is half to even, signed zeros survive rounding, sign(-0.0) is +0.0, ilogb follows CUDA at 0, NaN, inf."""
    x = np.array([row[0] for row in FLOAT_UNARY[op]], dtype)
    equal(apply(op, x), [row[1] for row in FLOAT_UNARY[op]])


@pytest.mark.parametrize(("dtype", "least"), [("float32", -149), ("float64", -1074)])
def test_exponents_of_subnormals(apply: Apply, dtype: str, least: int) -> None:
    """logb and ilogb see a subnormal's own exponent; ldexp rounds once on the way into the subnormals."""
    x = np.array([2.0**least, 3 * 2.0**least], dtype)
    assert apply("logb", x).tolist() == [least, least + 1]
    assert apply("ilogb", x).tolist() == [least, least + 1]
    y, n = np.array([3.0, 1.0, 1.0, -0.0], dtype), np.array([least - 1, 5000, -5000, 3], np.int32)
    equal(apply("ldexp", y, n), [2 * 2.0**least, math.inf, 0.0, -0.0])


@pytest.mark.parametrize(("dtype", "least"), [("float32", 2.0**-149), ("float64", 2.0**-1074)])
def test_nextafter_steps_in_the_dtype(apply: Apply, dtype: str, least: float) -> None:
    """One step is one unit in the last place of the op's own dtype."""
    x, y = np.array([0.0, 0.0, 1.0, np.inf, np.nan], dtype), np.array([1.0, -1.0, 1.0, 0.0, 1.0], dtype)
    equal(apply("nextafter", x, y), [least, -least, 1.0, float(np.finfo(dtype).max), math.nan])


def test_where_takes_nothing_from_the_other_branch(apply: Apply) -> None:
    """A NaN that is not chosen does not show."""
    result = apply("where", np.array([True, False]), np.array([1.0, np.nan]), np.array([np.nan, 2.0]))
    assert result.tolist() == [1.0, 2.0]
