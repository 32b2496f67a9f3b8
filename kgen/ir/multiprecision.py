"""Special functions through mpmath, element by element: slow (about 50 us each) and correctly rounded.

The results at zeros, poles and infinities are those of C and CUDA, given here and not taken from mpmath.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from kgen.ir.rounding import Array

INF, NAN = math.inf, math.nan

#: The precision of mpmath in bits: 53 of float64, and more for cancellation (x*x in erfc and normcdf, roots of lgamma).
PRECISION = 160


@cache
def _mpmath() -> Any:
    try:
        return import_module("mpmath")
    except ImportError as error:
        raise ImportError("the oracle needs mpmath for this function: install kgen's `dev` group") from error


def _rounded(value: Any, mantissa: int, least: int) -> float:
    """The nearest number of a binary format; Python's division rounds an exact ratio once, subnormals included."""
    if not _mpmath().isfinite(value):
        return float(value)
    negative, integer, exponent, length = value._mpf_
    if not integer:
        return 0.0
    integer, exponent = int(integer), int(exponent)
    # Round to `mantissa` bits, or fewer where the result is subnormal, half to even.
    drop = max(length - mantissa, least - exponent, 0)
    if drop:
        kept, rest = (integer >> drop, integer & ((1 << drop) - 1)) if drop <= length + 1 else (0, 0)
        half = 1 << (drop - 1)
        integer, exponent = kept + (rest > half or (rest == half and kept & 1)), exponent + drop
    try:
        result = math.ldexp(integer, exponent)
    except OverflowError:
        result = INF
    return -result if negative else result


def _erf(mp: Any, x: float) -> Any:
    return mp.erf(x)


def _erfc(mp: Any, x: float) -> Any:
    if x > 30:  # below the least subnormal
        return mp.mpf(0)
    return mp.mpf(2) if x < -30 else mp.erfc(x)


def _erfcx(mp: Any, x: float) -> Any:
    if x < -30:
        return mp.inf
    if x > 1e8:
        return 1 / (mp.mpf(x) * mp.sqrt(mp.pi) * (1 + 1 / (2 * mp.mpf(x) ** 2)))
    return mp.exp(mp.mpf(x) ** 2) * mp.erfc(x)


def _normcdf(mp: Any, x: float) -> Any:
    return _erfc(mp, -mp.mpf(x) / mp.sqrt(2)) / 2 if abs(x) < 42 else mp.mpf(x > 0)


def _gelu_derivative(mp: Any, x: float) -> Any:
    if not -42 < x < 42:
        return mp.mpf(x > 0) if math.isfinite(x) else mp.nan
    return _normcdf(mp, x) + mp.mpf(x) * mp.exp(-(mp.mpf(x) ** 2) / 2) / mp.sqrt(2 * mp.pi)


def _tail(mp: Any, p: Any) -> Any:
    """The x >= 0 with erfc(x) = p, for 0 < p <= 1, by Newton on log(erfc), which is nearly quadratic."""
    if p == 1:
        return mp.mpf(0)
    if p > 0.5:
        x = mp.sqrt(mp.pi) / 2 * (1 - p)
        for _ in range(60):
            step = (mp.erf(x) - (1 - p)) * mp.sqrt(mp.pi) / 2 * mp.exp(x * x)
            x -= step
            if abs(step) <= abs(x) * mp.mpf(2) ** -100:
                break
        return x
    target = mp.log(p)
    x = mp.sqrt(-target)
    for _ in range(60):
        value = mp.erfc(x)
        step = (mp.log(value) - target) * value * mp.sqrt(mp.pi) / 2 * mp.exp(x * x)
        x += step
        if abs(step) <= abs(x) * mp.mpf(2) ** -100:
            break
    return x


def _erfcinv(mp: Any, p: Any) -> Any:
    if not 0 <= p <= 2:
        return mp.nan
    if p in (0, 2):
        return mp.inf if p == 0 else -mp.inf
    return _tail(mp, mp.mpf(p)) if p <= 1 else -_tail(mp, 2 - mp.mpf(p))


def _erfinv(mp: Any, x: float) -> Any:
    if not -1 <= x <= 1:
        return mp.nan
    if abs(x) < 1e-30:
        return mp.mpf(x) * mp.sqrt(mp.pi) / 2
    return mp.sign(x) * _erfcinv(mp, 1 - abs(mp.mpf(x)))


def _normcdfinv(mp: Any, p: float) -> Any:
    return -mp.sqrt(2) * _erfcinv(mp, 2 * mp.mpf(p))


def _is_pole(x: float) -> bool:
    return x < 0 and math.isfinite(x) and x == math.floor(x)


def _lgamma(mp: Any, x: float) -> Any:
    if x == 0 or math.isinf(x) or _is_pole(x):
        return mp.inf
    if x > 0:
        return mp.loggamma(x)
    return mp.log(mp.pi / abs(mp.sinpi(x))) - mp.loggamma(1 - mp.mpf(x))


def _tgamma(mp: Any, x: float) -> Any:
    if x == 0:
        return math.copysign(INF, x)
    if _is_pole(x) or x == -INF:
        return mp.nan
    if x > 172:
        return mp.inf
    if x < -190:  # beyond the least subnormal; the sign alternates between the poles
        return math.copysign(0.0, 1 if math.floor(x) % 2 == 0 else -1)
    return mp.gamma(x)


def _bessel_j(mp: Any, order: int, x: float) -> Any:
    if order < 0:
        return mp.nan
    if math.isinf(x):
        return mp.mpf(0)
    if x == 0:
        return mp.mpf(order == 0)
    return mp.besselj(order, x)


def _bessel_y(mp: Any, order: int, x: float) -> Any:
    if order < 0 or x < 0:
        return mp.nan
    if x == 0:
        return -mp.inf
    return mp.mpf(0) if math.isinf(x) else mp.bessely(order, x)


def _bessel_i(mp: Any, order: int, x: float) -> Any:
    if abs(x) > 720:
        return math.copysign(INF, x) if order else INF
    return mp.besseli(order, x)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "erf": _erf,
    "erfc": _erfc,
    "erfcx": _erfcx,
    "erfinv": _erfinv,
    "erfcinv": _erfcinv,
    "normcdf": _normcdf,
    "normcdfinv": _normcdfinv,
    "gelu_derivative": _gelu_derivative,
    "lgamma": _lgamma,
    "tgamma": _tgamma,
    "j0": lambda mp, x: _bessel_j(mp, 0, x),
    "j1": lambda mp, x: _bessel_j(mp, 1, x),
    "y0": lambda mp, x: _bessel_y(mp, 0, x),
    "y1": lambda mp, x: _bessel_y(mp, 1, x),
    "jn": _bessel_j,
    "yn": _bessel_y,
    "cyl_bessel_i0": lambda mp, x: _bessel_i(mp, 0, x),
    "cyl_bessel_i1": lambda mp, x: _bessel_i(mp, 1, x),
}

#: Odd functions keep the sign of a zero.
ODD = {"erf", "erfinv", "j1", "cyl_bessel_i1"}


@lru_cache(maxsize=1 << 16)
def _one(name: str, wide: bool, negative: bool, row: tuple[float, ...]) -> float:
    """``negative`` is the sign of the last argument: to the cache, -0.0 equals 0.0."""
    x = row[-1]
    if math.isnan(x):
        return x
    if x == 0 and name in ODD:
        return -0.0 if negative else 0.0
    mp = _mpmath()
    with mp.workprec(PRECISION):
        value = FUNCTIONS[name](mp.mp, *row[:-1], -0.0 if x == 0 and negative else x)
        if isinstance(value, float):
            return value
        return _rounded(value.real, *((53, -1074) if wide else (24, -149)))


def evaluate(name: str, *args: Array) -> Array:
    """The function of every element (``jn`` and ``yn``: an int32 array first)."""
    dtype = args[-1].dtype
    rows = zip(*(x.ravel().tolist() for x in np.broadcast_arrays(*args)), strict=True)
    values = [_one(name, dtype == np.float64, math.copysign(1, row[-1]) < 0, row) for row in rows]
    return np.array(values, np.float64).astype(dtype).reshape(np.broadcast_shapes(*(x.shape for x in args)))
