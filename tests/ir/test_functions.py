"""Functions with an error bound: the oracle against mpmath, and its values at zeros, poles and infinities."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from kgen.ir import multiprecision, ops, special
from tests.accuracy.references import OPS

Array = np.ndarray[Any, Any]
INF, NAN = math.inf, math.nan
DTYPES = ["float32", "float64"]


#: The true values of ops with an error bound, except for inverses of tails, which have a test of their own.
REFERENCE: dict[str, Callable[..., Any]] = {
    name: row.of for name, row in OPS.items() if ops.OPS[name].ulp != (0, 0) and name not in ("erfcinv", "normcdfinv")
} | {
    "erfinv": mpmath.erfinv,  # infinite at its ends
    "jn": lambda n, x: mpmath.besselj(int(n), x),
    "yn": lambda n, x: mpmath.re(mpmath.bessely(int(n), x)),
}

POSITIVE = {"rsqrt", "log", "log2", "log10", "y0", "y1", "yn", "pow"}
UNIT = {"asin", "acos", "atanh", "erfinv", "log1p"}


def samples(name: str, dtype: str) -> list[Array]:
    """Arguments within the domain: around 1, tiny, large, and next to roots."""
    rng = np.random.default_rng(len(name))
    arity = ops.OPS[name].arity
    assert arity is not None
    arguments = []
    for position in range(arity):
        if name in ("jn", "yn") and position == 0:
            arguments.append(rng.integers(0, 12, 60).astype(np.int32))
            continue
        x = np.concatenate([rng.normal(size=30) * 3, rng.normal(size=10) * 1e-4, rng.normal(size=10) * 20])
        large = {"sin": 1e30, "cos": 1e30, "j0": 1e20, "y1": 1e12, "sinpi": 1e5, "lgamma": 30.0}.get(name, 30.0)
        x = np.concatenate([x, rng.normal(size=8) * large, [0.99999, 1.00001]])
        if name in UNIT:
            x = np.tanh(x) if name != "log1p" else np.abs(x)
        elif name in POSITIVE and (position == 0 or name == "yn"):
            x = np.abs(x)
        elif name == "acosh":
            x = 1 + np.abs(x)
        arguments.append(x.astype(dtype))
    return arguments


def error_in_ulp(value: float, exact: Any, dtype: str) -> float:
    """The distance from the exact value in units in the last place of the result."""
    mantissa, least = (23, -149) if dtype == "float32" else (52, -1074)
    if math.isinf(value) or abs(exact) > float(np.finfo(dtype).max):
        return 0.0 if abs(exact) >= float(np.finfo(dtype).max) and math.isinf(value) else INF
    _, exponent = mpmath.frexp(exact)
    return float(abs(mpmath.mpf(value) - exact) / mpmath.mpf(2) ** max(int(exponent) - 1 - mantissa, least))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REFERENCE)
def test_the_oracle_is_nearly_correctly_rounded(name: str, dtype: str) -> None:
    """Every function is within 0.51 ulp of mpmath, so that a target's own bound is all that a comparison needs."""
    arguments = samples(name, dtype)
    actual = special.evaluate(name, *arguments)
    assert actual.dtype == np.dtype(dtype)
    with mpmath.workprec(400):
        for row, value in zip(zip(*(x.tolist() for x in arguments), strict=True), actual.tolist(), strict=True):
            exact = REFERENCE[name](*map(mpmath.mpf, row))
            assert error_in_ulp(value, exact, dtype) <= 0.51, (row, value, exact)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("inverse", "name"), [("erfcinv", "erfc"), ("normcdfinv", "normcdf")])
def test_inverses_of_tails(inverse: str, name: str, dtype: str) -> None:
    """erfcinv and normcdfinv, checked by the exact function of their neighbours: the answer lies between them."""
    p = np.array([1e-30, 1e-10, 0.01, 0.3, 0.5001, 0.7, 0.999], dtype)
    x = special.evaluate(inverse, p)
    falling = inverse == "erfcinv"
    with mpmath.workprec(200):
        for target, value in zip(p.tolist(), x.tolist(), strict=True):
            step = float(np.spacing(np.dtype(dtype).type(value)))
            low, high = (REFERENCE[name](mpmath.mpf(value) + s * abs(step) * 0.51) for s in (-1, 1))
            assert (high <= target <= low) if falling else (low <= target <= high), (target, value)


POINTS: dict[str, list[tuple[float, float]]] = {
    "rsqrt": [(0.0, INF), (-0.0, -INF), (-1.0, NAN), (INF, 0.0)],
    "rcbrt": [(0.0, INF), (-0.0, -INF), (-8.0, -0.5), (-INF, -0.0)],
    "exp": [(-INF, 0.0), (INF, INF), (0.0, 1.0), (1e4, INF)],
    "expm1": [(-0.0, -0.0), (-INF, -1.0)],
    "exp10": [(2.0, 100.0), (-INF, 0.0), (-0.0, 1.0)],
    "log": [(0.0, -INF), (-0.0, -INF), (-1.0, NAN), (1.0, 0.0), (INF, INF)],
    "log1p": [(-1.0, -INF), (-0.0, -0.0), (-2.0, NAN)],
    "sin": [(-0.0, -0.0), (INF, NAN)],
    "sinpi": [(-0.0, -0.0), (0.5, 1.0), (1.5, -1.0), (3.0, 0.0), (-3.0, -0.0), (-0.5, -1.0), (INF, NAN), (1e30, 0.0)],
    "cospi": [(0.5, 0.0), (1.5, 0.0), (-0.5, 0.0), (1.0, -1.0), (-2.0, 1.0), (INF, NAN), (1e30, 1.0)],
    "asin": [(1.5, NAN), (-0.0, -0.0)],
    "acosh": [(1.0, 0.0), (0.5, NAN), (INF, INF)],
    "atanh": [(1.0, INF), (-1.0, -INF), (2.0, NAN)],
    "tanh": [(INF, 1.0), (-INF, -1.0), (-0.0, -0.0)],
    "erf": [(INF, 1.0), (-0.0, -0.0), (-INF, -1.0)],
    "erfc": [(INF, 0.0), (-INF, 2.0), (0.0, 1.0)],
    "erfinv": [(1.0, INF), (-1.0, -INF), (1.5, NAN), (-0.0, -0.0), (0.0, 0.0)],
    "erfcinv": [(0.0, INF), (2.0, -INF), (1.0, 0.0), (-0.1, NAN), (2.1, NAN)],
    "erfcx": [(INF, 0.0), (-INF, INF), (0.0, 1.0)],
    "lgamma": [(0.0, INF), (-0.0, INF), (-3.0, INF), (INF, INF), (-INF, INF), (1.0, 0.0), (2.0, 0.0)],
    "tgamma": [
        (0.0, INF),
        (-0.0, -INF),
        (-3.0, NAN),
        (-INF, NAN),
        (INF, INF),
        (5.0, 24.0),
        (-201.5, 0.0),
        (-200.5, -0.0),
    ],
    "normcdf": [(INF, 1.0), (-INF, 0.0), (0.0, 0.5)],
    "gelu_derivative": [(INF, NAN), (-INF, NAN), (0.0, 0.5), (1e30, 1.0), (-1e30, 0.0)],
    "normcdfinv": [(0.0, -INF), (1.0, INF), (0.5, 0.0), (1.5, NAN)],
    "j0": [(0.0, 1.0), (INF, 0.0), (-INF, 0.0)],
    "j1": [(-0.0, -0.0), (INF, 0.0)],
    "y0": [(0.0, -INF), (-1.0, NAN), (INF, 0.0), (-INF, NAN)],
    "y1": [(0.0, -INF), (-1.0, NAN), (INF, 0.0)],
    "cyl_bessel_i0": [(0.0, 1.0), (INF, INF), (-INF, INF)],
    "cyl_bessel_i1": [(-0.0, -0.0), (INF, INF), (-INF, -INF)],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", POINTS)
def test_values_at_the_ends(name: str, dtype: str) -> None:
    """Zeros, poles and infinities are C's and CUDA's, zeros with their signs; NaN gives NaN."""
    x = np.array([row[0] for row in POINTS[name]] + [NAN], dtype)
    expected = np.array([row[1] for row in POINTS[name]] + [NAN], dtype)
    actual = special.evaluate(name, x)
    np.testing.assert_array_equal(actual, expected)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(actual[zero]), np.signbit(expected[zero]), err_msg="signs of zeros")


@pytest.mark.parametrize("dtype", DTYPES)
def test_several_arguments_at_the_ends(dtype: str) -> None:
    """atan2 sees signed zeros; hypot is inf when one side is, beside a NaN too; pow(1, NaN) and pow(NaN, 0) are 1."""

    def call(name: str, *args: float) -> float:
        return float(special.evaluate(name, *(np.array([x], dtype) for x in args))[0])

    pi = float(np.dtype(dtype).type(math.pi))
    assert math.copysign(1, call("atan2", -0.0, 1.0)) == -1
    assert call("atan2", 0.0, -0.0) == pi
    assert call("atan2", -0.0, -1.0) == -pi
    assert call("atan2", INF, -INF) == float(np.dtype(dtype).type(0.75 * math.pi))
    assert call("hypot", INF, NAN) == INF
    assert call("rhypot", NAN, -INF) == 0
    assert call("rhypot", 0.0, 0.0) == INF
    assert call("norm3d", 1.0, 2.0, 2.0) == 3
    assert call("norm4d", NAN, 1.0, INF, 0.0) == INF
    assert math.isnan(call("norm3d", NAN, 1.0, 1.0))
    top = float(np.finfo(dtype).max)
    assert call("hypot", top, 0.0) == top
    assert call("hypot", top, top) == INF
    assert call("pow", 1.0, NAN) == call("pow", NAN, 0.0) == call("pow", -1.0, INF) == 1
    assert call("pow", -0.0, -3.0) == -INF
    assert call("pow", -2.0, 3.0) == -8
    assert math.isnan(call("pow", -2.0, 0.5))


@pytest.mark.parametrize("dtype", DTYPES)
def test_bessel_functions_of_any_order_at_the_ends(dtype: str) -> None:
    """A negative order gives NaN; yn at 0 is -inf, below NaN; jn at 0 is 1 for order 0 alone; both vanish at inf."""
    n = np.array([-1, 0, 3, 2, 5], np.int32)
    x = np.array([1.0, 0.0, 0.0, INF, NAN], dtype)
    np.testing.assert_array_equal(special.evaluate("jn", n, x), np.array([NAN, 1, 0, 0, NAN], dtype))
    np.testing.assert_array_equal(special.evaluate("yn", n, x), np.array([NAN, -INF, -INF, 0, NAN], dtype))
    assert math.isnan(float(special.evaluate("yn", n[2:3], np.array([-1.0], dtype))[0]))


def test_every_function_is_covered() -> None:
    """Each op with an error bound has a row in the oracle and in this test."""
    bounded = {name for name, row in ops.OPS.items() if row.ulp != (0, 0)}
    assert bounded == {*special.WIDE, *multiprecision.FUNCTIONS}
    assert bounded == {*REFERENCE, "erfcinv", "normcdfinv"}
    assert set(special.NARROW) <= set(multiprecision.FUNCTIONS)


@pytest.mark.parametrize(("mantissa", "least"), [(53, -1074), (24, -149)])
def test_multiprecision_values_round_once(mantissa: int, least: int) -> None:
    """A value above the tie by less than float64 shows is not rounded twice; subnormals keep fewer bits."""
    with mpmath.workprec(200):
        above = 1 + mpmath.mpf(2) ** -mantissa + mpmath.mpf(2) ** -100
        assert multiprecision._rounded(above, mantissa, least) == 1 + 2.0 ** (1 - mantissa)
        assert multiprecision._rounded(1 + mpmath.mpf(2) ** -mantissa, mantissa, least) == 1
        tie = mpmath.mpf(3) * mpmath.mpf(2) ** (least - 1)
        assert Fraction(multiprecision._rounded(-tie, mantissa, least)) == -2 * Fraction(2) ** least
        assert multiprecision._rounded(mpmath.mpf(2) ** (least - 1), mantissa, least) == 0
