"""The CUDA math library on the CPU, measured in units of the last place against mpmath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import kgen

from .harness import Array, Maps

mpmath.mp.dps = 50

Exact = Callable[..., Any]
Range = tuple[float, float]


def _normcdf(x: Any) -> Any:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _erfinv(x: Any) -> Any:
    return mpmath.erfinv(x)


def _erfcinv(x: Any) -> Any:
    """mpmath has no inverse of erfc; Newton from the logarithm, in 50 digits."""
    if x > 0.5:
        return mpmath.erfinv(1 - x)
    guess = mpmath.sqrt(-mpmath.log(x * mpmath.sqrt(-mpmath.pi * mpmath.log(x))))
    return mpmath.findroot(lambda t: mpmath.log(mpmath.erfc(t)) - mpmath.log(x), guess)


def _normcdfinv(x: Any) -> Any:
    return -mpmath.sqrt(2) * _erfcinv(2 * x)


def _reciprocal(f: Exact) -> Exact:
    return lambda *x: 1 / f(*x)


def _norm(*x: Any) -> Any:
    return mpmath.sqrt(sum(v * v for v in x))


# name -> (what it is, where to look, ulp allowed in double)
UNARY: dict[str, tuple[Exact, Range, float]] = {
    "sqrt": (mpmath.sqrt, (0.0, 1e6), 0.5),
    "cbrt": (mpmath.cbrt, (0.0, 1e6), 2),
    "rsqrt": (_reciprocal(mpmath.sqrt), (1e-6, 1e6), 2),
    "rcbrt": (_reciprocal(mpmath.cbrt), (1e-6, 1e6), 3),
    "exp": (mpmath.exp, (-80.0, 80.0), 1),
    "exp2": (lambda x: mpmath.power(2, x), (-100.0, 100.0), 1),
    "exp10": (lambda x: mpmath.power(10, x), (-30.0, 30.0), 2),
    "expm1": (mpmath.expm1, (-5.0, 5.0), 2),
    "log": (mpmath.log, (1e-6, 1e6), 1),
    "log2": (lambda x: mpmath.log(x, 2), (1e-6, 1e6), 1),
    "log10": (mpmath.log10, (1e-6, 1e6), 2),
    "log1p": (mpmath.log1p, (-0.9, 10.0), 2),
    "sin": (mpmath.sin, (-1000.0, 1000.0), 1),
    "cos": (mpmath.cos, (-1000.0, 1000.0), 1),
    "tan": (mpmath.tan, (-100.0, 100.0), 2),
    "sinpi": (mpmath.sinpi, (-100.0, 100.0), 3),
    "cospi": (mpmath.cospi, (-100.0, 100.0), 3),
    "asin": (mpmath.asin, (-1.0, 1.0), 1),
    "acos": (mpmath.acos, (-1.0, 1.0), 1),
    "atan": (mpmath.atan, (-100.0, 100.0), 1),
    "sinh": (mpmath.sinh, (-20.0, 20.0), 2),
    "cosh": (mpmath.cosh, (-20.0, 20.0), 2),
    "tanh": (mpmath.tanh, (-10.0, 10.0), 3),
    "asinh": (mpmath.asinh, (-100.0, 100.0), 2),
    "acosh": (mpmath.acosh, (1.0, 100.0), 3),
    "atanh": (mpmath.atanh, (-0.999, 0.999), 3),
    "erf": (mpmath.erf, (-4.0, 4.0), 2),
    "erfc": (mpmath.erfc, (-4.0, 9.0), 5),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), (-5.0, 60.0), 6),
    "erfinv": (_erfinv, (-0.99999, 0.99999), 5),
    "erfcinv": (_erfcinv, (1e-30, 1.9), 5),
    "normcdf": (_normcdf, (-13.0, 5.0), 6),
    "normcdfinv": (_normcdfinv, (1e-30, 0.9), 5),
    "lgamma": (mpmath.loggamma, (0.1, 50.0), 6),
    "tgamma": (mpmath.gamma, (0.1, 30.0), 10),
    "cyl_bessel_i0": (lambda x: mpmath.besseli(0, x), (-80.0, 80.0), 6),
    "cyl_bessel_i1": (lambda x: mpmath.besseli(1, x), (-80.0, 80.0), 6),
}
SEVERAL: dict[str, tuple[Exact, int]] = {
    "pow": (mpmath.power, 2),
    "atan2": (mpmath.atan2, 2),
    "hypot": (_norm, 2),
    "rhypot": (_reciprocal(_norm), 2),
    "norm3d": (_norm, 3),
    "rnorm3d": (_reciprocal(_norm), 3),
    "norm4d": (_norm, 4),
    "rnorm4d": (_reciprocal(_norm), 4),
    "fma": (lambda a, b, c: a * b + c, 3),
}
BESSEL: dict[str, tuple[str, Exact]] = {
    "j0": ("j0{f}(a)", lambda x: mpmath.besselj(0, x)),
    "j1": ("j1{f}(a)", lambda x: mpmath.besselj(1, x)),
    "jn": ("jn{f}(3, a)", lambda x: mpmath.besselj(3, x)),
    "y0": ("y0{f}(a)", lambda x: mpmath.bessely(0, x)),
    "y1": ("y1{f}(a)", lambda x: mpmath.bessely(1, x)),
    "yn": ("yn{f}(3, a)", lambda x: mpmath.bessely(3, x)),
}


def _expressions() -> dict[str, tuple[str, str, str]]:
    rows: dict[str, tuple[str, str, str]] = {}
    for kind, suffix in (("float", "f"), ("double", "")):
        for name in UNARY:
            rows[name + suffix] = (kind, kind, f"{name}{suffix}(a)")
        for name, (_, count) in SEVERAL.items():
            rows[name + suffix] = (kind, ", ".join([kind] * count), f"{name}{suffix}({', '.join('abcd'[:count])})")
        for name, (call, _) in BESSEL.items():
            rows[name + suffix] = (kind, kind, call.format(f=suffix))
    rows["saturate"] = ("float", "float", "__saturatef(a)")
    rows["fdividef"] = ("float", "float, float", "fdividef(a, b)")
    rows["overload"] = ("int", "float", "sizeof(sqrt(a)) + sizeof(exp(a)) + sizeof(pow(a, a)) + sizeof(fabs(a))")
    return rows


@pytest.fixture(scope="module")
def maps() -> Maps:
    return Maps({f"t_{name}": row for name, row in _expressions().items()})


def _ulps(got: Array, exact: Exact, operands: tuple[Array, ...]) -> float:
    """The largest distance from the true value, in spacings of the result's type there."""
    worst = 0.0
    for values in zip(got, *operands, strict=True):
        value, *arguments = (mpmath.mpf(float(v)) for v in values)
        true = exact(*arguments)
        if mpmath.im(true) != 0:
            continue
        unit = float(np.spacing(got.dtype.type(abs(float(true)))))
        worst = max(worst, float(abs(value - true)) / unit)
    return worst


def _samples(where: Range, dtype: type[np.floating], count: int) -> Array:
    """Evenly over the range, and evenly over the magnitudes in it."""
    low, high = where
    random = np.random.default_rng(11)
    even = random.uniform(low, high, count)
    largest = max(abs(low), abs(high))
    smallest = low if low > 0 else 1e-6
    spread = np.exp(random.uniform(np.log(smallest), np.log(largest), count)) * random.choice([-1, 1], count)
    both = np.concatenate([even, spread]).astype(dtype)
    return both[(both >= low) & (both <= high)]


@pytest.mark.parametrize("name", UNARY)
def test_function_of_one_float_is_within_two_ulp(maps: Maps, name: str) -> None:
    """In float."""
    exact, where, _ = UNARY[name]
    x = _samples(where, np.float32, 60)
    assert _ulps(maps(f"t_{name}f", np.float32, x), exact, (x,)) <= 2


@pytest.mark.parametrize("name", UNARY)
def test_function_of_one_double_is_within_its_bound(maps: Maps, name: str) -> None:
    """In double, the bound of the table."""
    exact, where, allowed = UNARY[name]
    x = _samples(where, np.float64, 60)
    assert _ulps(maps(f"t_{name}", np.float64, x), exact, (x,)) <= allowed


@pytest.mark.parametrize(("suffix", "dtype"), [("f", np.float32), ("", np.float64)])
@pytest.mark.parametrize("name", SEVERAL)
def test_function_of_several_is_within_two_ulp(maps: Maps, name: str, suffix: str, dtype: type[np.floating]) -> None:
    """In both types."""
    exact, count = SEVERAL[name]
    operands = tuple(np.random.default_rng(k).uniform(0.1, 20, 100).astype(dtype) for k in range(count))
    assert _ulps(maps(f"t_{name}{suffix}", dtype, *operands), exact, operands) <= 2


@pytest.mark.parametrize("name", BESSEL)
def test_bessel_functions_have_small_absolute_error(maps: Maps, name: str) -> None:
    """Near a zero only the absolute error is small."""
    _, exact = BESSEL[name]
    x = np.random.default_rng(2).uniform(0.5, 40, 60)
    for suffix, dtype, allowed in (("f", np.float32, 1.5e-7), ("", np.float64, 2e-15)):
        operand = x.astype(dtype)
        got = maps(f"t_{name}{suffix}", dtype, operand)
        for value, argument in zip(got, operand, strict=True):
            true = exact(mpmath.mpf(float(argument)))
            assert abs(float(value) - true) <= allowed * max(1, abs(true))


@pytest.mark.parametrize(
    ("name", "inputs", "outputs"),
    [
        ("rsqrt", [0.0, -0.0, np.inf, -1.0], [np.inf, -np.inf, 0.0, np.nan]),
        ("rcbrt", [0.0, -0.0, np.inf, -8.0], [np.inf, -np.inf, 0.0, -0.5]),
        ("sinpi", [0.0, -0.0, 1.0, -1.0, 0.5, 1e15, np.inf], [0.0, -0.0, 0.0, -0.0, 1.0, 0.0, np.nan]),
        ("cospi", [0.0, 0.5, 1.5, 1.0, 1e15, np.inf], [1.0, 0.0, 0.0, -1.0, 1.0, np.nan]),
        ("erfinv", [0.0, -0.0, 1.0, -1.0, 1.5], [0.0, -0.0, np.inf, -np.inf, np.nan]),
        ("erfcinv", [0.0, 1.0, 2.0, -1.0], [np.inf, 0.0, -np.inf, np.nan]),
        ("normcdfinv", [0.0, 0.5, 1.0, 2.0], [-np.inf, 0.0, np.inf, np.nan]),
        ("normcdf", [-np.inf, 0.0, np.inf, np.nan], [0.0, 0.5, 1.0, np.nan]),
        ("erfcx", [-np.inf, 0.0, np.inf, np.nan], [np.inf, 1.0, 0.0, np.nan]),
        ("cyl_bessel_i0", [0.0, np.inf, -np.inf], [1.0, np.inf, np.inf]),
        ("cyl_bessel_i1", [0.0, -0.0, np.inf, -np.inf], [0.0, -0.0, np.inf, -np.inf]),
    ],
)
def test_edges_are_those_of_cuda(maps: Maps, name: str, inputs: list[float], outputs: list[float]) -> None:
    """Zeros with their signs, infinities, poles and domain errors, in both types."""
    for suffix, dtype in (("f", np.float32), ("", np.float64)):
        operand = np.array(inputs, dtype)
        got = maps(f"t_{name}{suffix}", dtype, operand)
        np.testing.assert_array_equal(got, np.array(outputs, dtype))
        number = ~np.isnan(got)
        np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(np.array(outputs)[number]))


def test_saturate_sends_nan_to_zero(maps: Maps) -> None:
    """As the hardware's .sat does."""
    x = np.array([np.nan, -1, 0.25, 7, np.inf], np.float32)
    np.testing.assert_array_equal(maps("t_saturate", np.float32, x), np.array([0, 0, 0.25, 1, 1], np.float32))
    np.testing.assert_array_equal(maps("t_fdividef", np.float32, x[2:4], x[3:1:-1]), np.array([1 / 28, 28], np.float32))


def test_c_names_are_overloaded_for_float(maps: Maps) -> None:
    """sqrt(float) is a float, as in CUDA C++."""
    assert maps("t_overload", np.int32, np.ones(1, np.float32))[0] == 16


def test_lengths_do_not_overflow_on_the_way(maps: Maps) -> None:
    """The squares may; the length does not."""
    huge = np.array([1e300])
    assert maps("t_norm3d", np.float64, huge, huge, huge)[0] == pytest.approx(3**0.5 * 1e300)
    assert maps("t_rhypot", np.float64, np.array([np.inf]), np.array([np.nan]))[0] == 0


def test_a_comparison_and_its_opposite_are_both_false_of_nan() -> None:
    """GCC 12 under ``-fno-trapping-math`` joined two tests of one comparison, and lost what is unordered."""
    text = """let m = mod(z, z) - z
    let c = m < (m > z)
    let t = cast<u32>(c)
    let d = c ? t : (t < z <= c)
    out = hardsigmoid(d != (!(1 ? cast<int16, rne>(d) : z)))"""
    z = np.tile(np.array([0.74, -256, np.inf, 3, -1, np.nan, -np.inf, 0], np.float16), 4)[3:]
    assert np.array_equal(kgen.jit(text, device="cpu")(z), np.full(z.shape, np.float32(4) / np.float32(6)))
