"""The true value of every real function that is not exact, and of every entry of the prelude, by mpmath.

Written from each function's definition: neither kgen's formulas nor its oracle are used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp

Exact = Callable[..., Any]

#: Stands for the argument at which exp overflows.
EDGE = float("inf")


@dataclass(frozen=True, slots=True)
class Row:
    """``of`` gives the true value; ``ranges`` bound each argument, ``dense`` are places to look at closely.

    ``scale``: the error is in units of the larger of the result and this.  ``note`` says so in the document.
    """

    of: Exact
    ranges: tuple[tuple[float, float], ...]
    dense: tuple[float, ...] = ()
    scale: Exact | None = None
    note: str = ""
    call: str = ""  #: what is written, with * for the arguments, where it is not just the name and these


def _norm(*x: Any) -> Any:
    return mp.sqrt(sum(v * v for v in x))


def _cbrt(x: Any) -> Any:
    return mp.sign(x) * mp.cbrt(abs(x))


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def _erfcinv(p: Any) -> Any:
    """mpmath has no inverse of erfc: Newton from the logarithm."""
    if p > 1:
        return -_erfcinv(2 - p)
    if p > 0.4:
        return mp.erfinv(1 - p)
    x = mp.sqrt(-mp.log(p))
    for _ in range(80):
        value = mp.erfc(x)
        step = (mp.log(value) - mp.log(p)) * value * mp.sqrt(mp.pi) / 2 * mp.exp(x * x)
        x += step
        if abs(step) < abs(x) * mp.mpf(2) ** -90:
            break
    return x


def _erfinv(x: Any) -> Any:
    if abs(x) < mp.mpf(10) ** -20:
        return x * mp.sqrt(mp.pi) / 2
    return mp.sign(x) * _erfcinv(1 - abs(x))


def _erfcx(x: Any) -> Any:
    if x > 1e6:
        return (1 - 1 / (2 * x * x) + 3 / (4 * x**4)) / (x * mp.sqrt(mp.pi))
    return mp.exp(x * x) * mp.erfc(x)


def _lgamma(x: Any) -> Any:
    if x > 0:
        return mp.loggamma(x)
    return mp.log(mp.pi / abs(mp.sinpi(x))) - mp.loggamma(1 - x)


def _tanhshrink(x: Any) -> Any:
    return x - mp.tanh(x) if abs(x) > 1e-10 else x**3 / 3


def _sinc(x: Any) -> Any:
    return mp.sinpi(x) / (mp.pi * x) if x else mp.mpf(1)


def _softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


def _logaddexp(a: Any, b: Any, base: Any = mp.e) -> Any:
    return max(a, b) + mp.log1p(mp.power(base, -abs(a - b))) / mp.log(base)


def _gelu_argument(x: Any) -> Any:
    return 2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3)


def _smoothstep(a: Any, b: Any, x: Any) -> Any:
    t = min(max((x - a) / (b - a), mp.mpf(0)), mp.mpf(1))
    return t * t * (3 - 2 * t)


def _lround(x: Any) -> Any:
    return mp.sign(x) * mp.floor(abs(x) + 0.5)


def _amplitude(x: Any) -> Any:
    """Of a Bessel function, where zeros follow each other."""
    return mp.sqrt(2 / (mp.pi * abs(x))) if abs(x) > 0.8 else mp.mpf(0)


def _elu(x: Any) -> Any:
    return x if x > 0 else mp.expm1(x)


_SCALE = mp.mpf("1.0507009873554804934193349852946")
_ALPHA = mp.mpf("1.6732632423543772848170429916717")

_ANY = ((-1e30, 1e30),)
_POSITIVE = ((0.0, 1e30),)
_UNIT = ((-1.0, 1.0),)
_EXP = ((-EDGE, EDGE),)
_WAVE = ((-1e4, 1e4),)
_BESSEL = "beyond 0.8, of the amplitude sqrt(2 / (pi x))"
_ZEROS = (2.404825557695773, 3.8317059702075125, 0.8935769662791675, 2.197141326031017, 5.520078110286311)

OPS: dict[str, Row] = {
    "sqrt": Row(mp.sqrt, _POSITIVE),
    "rsqrt": Row(lambda x: 1 / mp.sqrt(x), _POSITIVE),
    "cbrt": Row(_cbrt, _ANY),
    "rcbrt": Row(lambda x: 1 / _cbrt(x), _ANY),
    "exp": Row(mp.exp, _EXP, (0.0,)),
    "exp2": Row(lambda x: mp.mpf(2) ** x, ((-EDGE, EDGE),), (0.0,)),
    "exp10": Row(lambda x: mp.mpf(10) ** x, ((-EDGE, EDGE),), (0.0,)),
    "expm1": Row(mp.expm1, _EXP, (0.0, 1.0)),
    "log": Row(mp.log, _POSITIVE, (1.0,)),
    "log2": Row(lambda x: mp.log(x) / mp.log(2), _POSITIVE, (1.0,)),
    "log10": Row(mp.log10, _POSITIVE, (1.0,)),
    "log1p": Row(mp.log1p, ((-1.0, 1e30),), (-1.0, 0.0)),
    "sin": Row(mp.sin, _ANY, (3.141592653589793, 6.283185307179586, 355.0)),
    "cos": Row(mp.cos, _ANY, (1.5707963267948966, 4.71238898038469, 1e6)),
    "tan": Row(mp.tan, _ANY, (1.5707963267948966, 3.141592653589793)),
    "sinpi": Row(mp.sinpi, _WAVE, (0.0, 1.0, -2.0, 0.5)),
    "cospi": Row(mp.cospi, _WAVE, (0.5, -1.5, 0.0)),
    "asin": Row(mp.asin, _UNIT, (1.0, -1.0, 0.5)),
    "acos": Row(mp.acos, _UNIT, (1.0, -1.0, 0.5)),
    "atan": Row(mp.atan, _ANY, (1.0,)),
    "sinh": Row(mp.sinh, _EXP, (0.0,)),
    "cosh": Row(mp.cosh, _EXP, (0.0,)),
    "tanh": Row(mp.tanh, ((-60.0, 60.0),), (0.0, 0.6)),
    "asinh": Row(mp.asinh, _ANY, (0.0,)),
    "acosh": Row(mp.acosh, ((1.0, 1e30),), (1.0,)),
    "atanh": Row(mp.atanh, _UNIT, (0.0, 1.0, -1.0)),
    "erf": Row(mp.erf, ((-8.0, 8.0),), (0.0, 1.0)),
    "erfc": Row(mp.erfc, ((-8.0, 27.0),), (0.0, 1.0)),
    "erfcx": Row(_erfcx, ((-9.0, 1e30),), (0.0, 10.0)),
    "erfinv": Row(_erfinv, _UNIT, (1.0, -1.0, 0.0)),
    "erfcinv": Row(_erfcinv, ((0.0, 2.0),), (1.0, 2.0)),
    "normcdf": Row(lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, ((-38.0, 10.0),), (0.0,)),
    "gelu_derivative": Row(
        lambda x: mp.erfc(-x / mp.sqrt(2)) / 2 + x * mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi),
        ((-38.0, 10.0),),
        (0.0, -0.7517915246935645),
        lambda x: mp.mpf(0.2 if -1 < x < -0.5 else 0),
        "from -1 to -0.5, of at least 0.2",
    ),
    "normcdfinv": Row(lambda p: -mp.sqrt(2) * _erfcinv(2 * p), ((0.0, 1.0),), (0.5, 1.0)),
    "lgamma": Row(
        _lgamma,
        ((-60.0, 1e30),),
        (1.0, 2.0, -1.0, -2.4570247382208006, -2.7476826467274127, -3.143580888349980),
        lambda x: mp.mpf(1 if x < 0 else 0),
        "below 0, of at least 1",
    ),
    "tgamma": Row(mp.gamma, ((-30.0, 171.0),), (1.0, -1.0, -2.0, 2.0)),
    "j0": Row(lambda x: mp.besselj(0, x), _WAVE, _ZEROS, _amplitude, _BESSEL),
    "j1": Row(lambda x: mp.besselj(1, x), _WAVE, _ZEROS, _amplitude, _BESSEL),
    "y0": Row(lambda x: mp.bessely(0, x), ((0.0, 1e4),), _ZEROS, _amplitude, _BESSEL),
    "y1": Row(lambda x: mp.bessely(1, x), ((0.0, 1e4),), _ZEROS, _amplitude, _BESSEL),
    "jn": Row(lambda x: mp.besselj(3, x), ((0.5, 100.0),), (6.38016189592398,), _amplitude, _BESSEL, "jn(3, *)"),
    "yn": Row(lambda x: mp.bessely(3, x), ((0.5, 100.0),), (4.52702466,), _amplitude, _BESSEL, "yn(3, *)"),
    "cyl_bessel_i0": Row(lambda x: mp.besseli(0, x), ((-85.0, 85.0),), (0.0, 30.0)),
    "cyl_bessel_i1": Row(lambda x: mp.besseli(1, x), ((-85.0, 85.0),), (0.0, 30.0)),
    "pow": Row(lambda x, y: x**y, ((0.0, 1e30), (-20.0, 20.0)), (1.0,)),
    "atan2": Row(mp.atan2, (_ANY[0], _ANY[0])),
    "hypot": Row(_norm, (_ANY[0],) * 2),
    "rhypot": Row(lambda *x: 1 / _norm(*x), (_ANY[0],) * 2),
    "norm3d": Row(_norm, (_ANY[0],) * 3),
    "rnorm3d": Row(lambda *x: 1 / _norm(*x), (_ANY[0],) * 3),
    "norm4d": Row(_norm, (_ANY[0],) * 4),
    "rnorm4d": Row(lambda *x: 1 / _norm(*x), (_ANY[0],) * 4),
}

_ARGUMENT = "times 1 + the argument of its exp"

PRELUDE: dict[str, Row] = {
    "sigmoid": Row(_sigmoid, _EXP, (0.0,)),
    "relu": Row(lambda x: max(x, 0), _ANY),
    "relu6": Row(lambda x: min(max(x, 0), 6), _ANY, (6.0,)),
    "silu": Row(lambda x: x * _sigmoid(x), _EXP, (0.0, -1.2784645427610738)),
    "gelu": Row(lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2, ((-38.0, 1e30),), (0.0, -2.9, -6.0)),
    "gelu_tanh": Row(
        lambda x: x * _sigmoid(_gelu_argument(x)), ((-20.0, 1e30),), (0.0, -5.0),
        lambda x: abs(x * _sigmoid(_gelu_argument(x))) * (1 + max(-_gelu_argument(x), 0)), _ARGUMENT,
    ),
    "quick_gelu": Row(
        lambda x: x * _sigmoid(mp.mpf("1.702") * x), ((-400.0, 1e30),), (0.0,),
        lambda x: abs(x * _sigmoid(mp.mpf("1.702") * x)) * (1 + max(-mp.mpf("1.702") * x, 0)), _ARGUMENT,
    ),
    "softplus": Row(_softplus, _EXP, (0.0,)),
    "mish": Row(lambda x: x * mp.tanh(_softplus(x)), _EXP, (0.0, 19.0)),
    "elu": Row(_elu, _EXP, (0.0,)),
    "celu": Row(_elu, _EXP, (0.0,)),
    "selu": Row(lambda x: _SCALE * (x if x > 0 else _ALPHA * mp.expm1(x)), _EXP, (0.0,)),
    "leaky_relu": Row(lambda x, k: x if x > 0 else x * k, (_ANY[0], (-2.0, 2.0))),
    "softsign": Row(lambda x: x / (1 + abs(x)), _ANY),
    "tanhshrink": Row(_tanhshrink, _ANY, (0.0, 1.5, -0.5)),
    "hardtanh": Row(lambda x: min(max(x, -1), 1), _ANY, (1.0,)),
    "hardsigmoid": Row(lambda x: min(max(x + 3, 0), 6) / 6, _ANY, (-3.0, 3.0)),
    "hardswish": Row(lambda x: x * min(max(x + 3, 0), 6) / 6, _ANY, (-3.0, 3.0, 0.0)),
    "hardshrink": Row(lambda x, k: x if abs(x) > k else mp.mpf(0), (_ANY[0], (0.0, 2.0))),
    "softshrink": Row(lambda x, k: mp.sign(x) * max(abs(x) - k, 0), (_ANY[0], (0.0, 2.0)), (1.0,)),
    "logsigmoid": Row(lambda x: -_softplus(-x), _EXP, (0.0,)),
    "logit": Row(lambda x: mp.log(x) - mp.log1p(-x), ((0.0, 1.0),), (0.5, 0.25, 0.75, 1.0)),
    "square": Row(lambda x: x * x, _ANY),
    "reciprocal": Row(lambda x: 1 / x, _ANY),
    "clip": Row(lambda x, lo, hi: min(max(x, lo), hi), (_ANY[0], (-2.0, 0.0), (0.5, 2.0))),
    "saturate": Row(lambda x: min(max(x, 0), 1), _ANY, (1.0,)),
    "lerp": Row(
        lambda a, b, t: a + t * (b - a), ((-1e6, 1e6), (-1e6, 1e6), (0.0, 1.0)), (),
        lambda a, b, t: max(abs(a) * (1 - t), abs(b) * t), "of the larger share",
    ),
    "step": Row(lambda edge, x: mp.mpf(0 if x < edge else 1), (_ANY[0], _ANY[0])),
    "smoothstep": Row(_smoothstep, ((-1.0, 1.0), (2.0, 4.0), (-1.0, 4.0))),
    "heaviside": Row(lambda x, h: mp.mpf(x > 0) if x else h, (_ANY[0], _ANY[0])),
    "deg2rad": Row(lambda x: x * mp.pi / 180, _ANY),
    "rad2deg": Row(lambda x: x * 180 / mp.pi, _ANY),
    "sinc": Row(_sinc, _WAVE, (0.0, 1.0, 2.0, 1e-9)),
    "xlogy": Row(lambda x, y: x * mp.log(y), (_ANY[0], (0.0, 1e30)), (1.0,)),
    "xlog1py": Row(lambda x, y: x * mp.log1p(y), (_ANY[0], (-1.0, 1e30)), (0.0, -1.0)),
    "logaddexp": Row(
        _logaddexp, ((-EDGE, EDGE), (-EDGE, EDGE)), (0.0, -0.6931471805599453),
        lambda a, b: max(abs(a), abs(b)), "of the largest of result and arguments",
    ),
    "logaddexp2": Row(
        lambda a, b: _logaddexp(a, b, mp.mpf(2)), ((-EDGE, EDGE), (-EDGE, EDGE)), (0.0, -1.0),
        lambda a, b: max(abs(a), abs(b)), "of the largest of result and arguments",
    ),
    "lrint": Row(mp.nint, ((-1e9, 1e9),), (0.5, 1.5)),
    "lround": Row(_lround, ((-1e9, 1e9),), (0.5, 1.5, 0.49999999)),
}  # fmt: skip

ROWS: dict[str, Row] = {**OPS, **PRELUDE}
