"""The oracle of functions that are not exact: computed in a wider type, and rounded once.

float32 functions run in float64; float64 functions in ``longdouble`` (64 mantissa bits on x86-64 Linux) where NumPy
has them.  Other functions use scipy for float32, and mpmath, element by element, for float64: both are
development dependencies, imported when first needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from kgen.ir import multiprecision
from kgen.ir.rounding import Array

Function = Callable[..., Any]

_PI = np.longdouble("3.14159265358979323846264338327950288")


@cache
def _scipy() -> Any:
    try:
        return import_module("scipy.special")
    except ImportError as error:
        raise ImportError("the oracle needs scipy for this function: install kgen's `dev` group") from error


def _half_turns(x: Array, quarter: int) -> Array:
    """``sin(pi*x + quarter*pi/2)``, exact where it is 0 or ±1: x is reduced before it is multiplied by pi."""
    x, pi = np.abs(x) if quarter else x, _PI.astype(x.dtype)
    r = np.fmod(np.abs(x), 2)
    turns = np.rint(2 * r)
    t = pi * (r - turns / 2)
    which = np.where(np.isfinite(turns), turns, 0).astype(np.int64) + quarter
    odd = which % 2 == 1
    value = np.where(odd, np.cos(t), np.sin(t))
    value = np.where(which % 4 >= 2, -value, value)
    value = np.where(value == 0, x.dtype.type(0), value)  # C23: cospi(n + 1/2) is +0, sinpi(±n) is ±0
    return np.asarray(np.where(np.signbit(x) & (quarter == 0), -value, value))


def _norm(*args: Array) -> Array:
    """The root of the sum of squares, which cannot overflow in the wider type; an infinity beats a NaN."""
    total = sum((x * x for x in args[1:]), args[0] * args[0])
    infinite = np.logical_or.reduce(np.broadcast_arrays(*(np.isinf(x) for x in args)))
    return np.where(infinite, np.inf, np.sqrt(total))


def _rnorm(*args: Array) -> Array:
    return 1 / _norm(*args)


#: Evaluated in the wider type: float64 for float32, longdouble for float64.
WIDE: dict[str, Function] = {
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinpi": lambda x: _half_turns(x, 0),
    "cospi": lambda x: _half_turns(x, 1),
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "pow": np.power,
    "atan2": np.arctan2,
    "hypot": _norm,
    "rhypot": _rnorm,
    "norm3d": _norm,
    "rnorm3d": _rnorm,
    "norm4d": _norm,
    "rnorm4d": _rnorm,
}


def _poles(function: Function, at_negative: float) -> Function:
    """Gamma functions with C's values at the poles: ``at_negative`` at negative integers and -inf."""

    def with_poles(x: Array) -> Array:
        pole = (x < 0) & (x == np.floor(x))
        return np.where(pole, at_negative, function(np.where(pole, 1.0, x)))

    return with_poles


def _tgamma(x: Array) -> Array:
    return np.where(x == 0, np.copysign(np.inf, x), _scipy().gamma(np.where(x == 0, 1.0, x)))


def _bessel(order: int, kind: str) -> Function:
    """J and Y of order 0 or 1: scipy below 30, else Hankel's expansion (scipy reduces the angle inexactly)."""

    def bessel(x: Array) -> Array:
        near = np.abs(x) < 30
        inner = getattr(_scipy(), f"{kind}{order}")(np.where(near, x, 1.0))
        far = _hankel(order, kind, np.where(near | ~np.isfinite(x), 30.0, np.abs(x)))
        far = np.where(np.isinf(x), 0.0, far)
        if kind == "y":
            inner = np.where(x == 0, -np.inf, inner)
        elif order:
            far = np.where(np.signbit(x), -far, far)
        value = np.where(near, inner, far)
        return np.where(np.isnan(x) | ((kind == "y") & (x < 0)), np.nan, value)

    return bessel


def _bessel_i(order: int) -> Function:
    """I of order 0 or 1: scipy gives NaN beyond 700, where the result is infinite."""

    def bessel(x: Array) -> Array:
        far = np.abs(x) > 700
        infinite = np.copysign(np.inf, x) if order else np.inf
        return np.where(far, infinite, getattr(_scipy(), f"i{order}")(np.where(far, 1.0, x)))

    return bessel


def _hankel(order: int, kind: str, x: Array) -> Array:
    """Hankel's asymptotic expansion (DLMF 10.17) for x >= 30, in longdouble."""
    x = x.astype(np.longdouble)
    mu, p, q, term = 4 * order * order, np.ones_like(x), np.zeros_like(x), np.ones_like(x)
    for k in range(1, 26):
        term = term * (mu - (2 * k - 1) ** 2) / (k * 8 * x)
        if k % 2:
            q = q + (term if k % 4 == 1 else -term)
        else:
            p = p + (term if k % 4 == 0 else -term)
    # x - pi/4 (order 0) or x - 3 pi/4 (order 1), by the addition theorem: libm reduces x itself exactly.
    sin, cos = np.sin(x), np.cos(x)
    cosine, sine = (cos + sin, sin - cos) if order == 0 else (sin - cos, -(sin + cos))
    wave = p * cosine - q * sine if kind == "j" else p * sine + q * cosine
    return np.asarray(wave / np.sqrt(_PI * x), np.float64)


#: float64 evaluations of float32 functions.
NARROW: dict[str, Function] = {
    "erf": lambda x: _scipy().erf(x),
    "erfc": lambda x: _scipy().erfc(x),
    "erfinv": lambda x: _scipy().erfinv(x),
    "erfcinv": lambda x: _scipy().erfcinv(x) + 0.0,  # scipy gives -0.0 at 1
    "erfcx": lambda x: _scipy().erfcx(x),
    "lgamma": _poles(lambda x: _scipy().gammaln(x), np.inf),
    "tgamma": _poles(_tgamma, np.nan),
    "normcdf": lambda x: _scipy().ndtr(x),
    "normcdfinv": lambda x: _scipy().ndtri(x),
    "gelu_derivative": lambda x: _scipy().ndtr(x) + x * np.exp(-0.5 * x * x) * 0.3989422804014327,
    "j0": _bessel(0, "j"),
    "j1": _bessel(1, "j"),
    "y0": _bessel(0, "y"),
    "y1": _bessel(1, "y"),
    "cyl_bessel_i0": _bessel_i(0),
    "cyl_bessel_i1": _bessel_i(1),
}


def evaluate(name: str, *args: Array) -> Array:
    """The function ``name`` of float32 or float64 arrays (``jn`` and ``yn``: int32 first)."""
    args = tuple(np.asarray(x) for x in args)
    dtype = args[-1].dtype
    with np.errstate(all="ignore"):
        if name in WIDE:
            wide = np.float64 if dtype == np.float32 else np.longdouble
            return np.asarray(WIDE[name](*(x.astype(wide) for x in args))).astype(dtype)
        if name in NARROW and dtype == np.float32:
            value = np.asarray(NARROW[name](args[0].astype(np.float64))).astype(dtype)
            return np.where(args[0] == 0, args[0], value) if name in multiprecision.ODD else value
        return multiprecision.evaluate(name, *args)
