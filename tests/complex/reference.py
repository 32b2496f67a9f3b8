"""What complex functions are, from mpmath, and how far a result is from that."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

Array = np.ndarray[Any, Any]

#: Bits: what is next to a branch point may be as little as the square of the least float64.
PRECISION = {"complex64": 500, "complex128": 2400}

#: The functions with branch cuts or poles where a part is zero.
CUT = {
    "sqrt", "rsqrt", "log", "log2", "log10", "log1p", "asin", "acos", "atan", "asinh", "acosh", "atanh",
}  # fmt: skip


def _log2(z: Any) -> Any:
    return mpmath.log(z) / mpmath.ln(2)


def _log10(z: Any) -> Any:
    return mpmath.log(z) / mpmath.ln(10)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": mpmath.sqrt, "rsqrt": lambda z: 1 / mpmath.sqrt(z), "exp": mpmath.exp,
    "expm1": mpmath.expm1, "log": mpmath.log, "log2": _log2, "log10": _log10,
    "log1p": lambda z: mpmath.log(1 + z), "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan,
    "sinh": mpmath.sinh, "cosh": mpmath.cosh, "tanh": mpmath.tanh, "asin": mpmath.asin, "acos": mpmath.acos,
    "atan": mpmath.atan, "asinh": mpmath.asinh, "acosh": mpmath.acosh, "atanh": mpmath.atanh,
    "sign": lambda z: z / abs(z), "abs": abs, "reciprocal": lambda z: 1 / z, "square": lambda z: z * z,
    "divide": lambda a, b: a / b, "multiply": lambda a, b: a * b, "pow": lambda a, b: mpmath.exp(b * mpmath.log(a)),
}  # fmt: skip

POLES: dict[str, tuple[complex, ...]] = {
    **dict.fromkeys(("log", "log2", "log10", "rsqrt", "sign", "reciprocal", "divide"), (0,)),
    "log1p": (-1,), "atanh": (1, -1), "atan": (1j, -1j),
}  # fmt: skip


def values(name: str, *args: Array) -> list[Any]:
    """The exact values, None at poles.  At a branch cut, zeros count as the limit from their sign's side."""

    def value(*row: complex) -> Any:
        z = [mpmath.mpc(*_parts(name, one)) for one in row]
        if row[-1] in POLES.get(name, ()):
            return None
        return FUNCTIONS[name](*z)

    with mpmath.workprec(PRECISION[str(args[0].dtype)] if name in CUT else 300):
        return [value(*row) for row in zip(*(a.tolist() for a in args), strict=True)]


def _parts(name: str, z: complex) -> list[Any]:
    parts = (z.real, z.imag)
    return [mpmath.ldexp(math.copysign(1, p), -3000) if p == 0 and name in CUT else p for p in parts]


def errors(got: Array, want: list[Any]) -> Array:
    """The distance of each result from the exact value, in units in the last place of its magnitude; 0 at poles.

    What is too large for the dtype has to be infinite, in that part; its other part may be anything but NaN.
    """
    return np.array([0.0 if w is None else _error(complex(g), w, got.dtype) for g, w in zip(got, want, strict=True)])


def _following(part: float, info: Any) -> Any:
    return mpmath.ldexp(math.copysign(1, part), int(info.maxexp))


def _error(got: complex, want: Any, dtype: np.dtype[Any]) -> float:
    info = np.finfo(dtype)
    huge = float(info.max) * (1 + float(info.eps) / 4)
    parts = [(got.real, mpmath.re(want)), (got.imag, mpmath.im(want))]
    if any(abs(exact) > huge for _, exact in parts):
        overflows = [part for part, exact in parts if abs(exact) > huge and part != mpmath.sign(exact) * mpmath.inf]
        return math.inf if overflows or got != got else 0.0
    if any(math.isnan(part) for part, _ in parts):
        return math.inf
    with mpmath.workprec(3000):
        # Infinity is as far off as the number that would follow the largest: CUDA's hypot rounds up to it.
        parts = [(_following(part, info) if math.isinf(part) else part, exact) for part, exact in parts]
        off = mpmath.hypot(*(part - exact for part, exact in parts))
        exponent = mpmath.frexp(mpmath.hypot(*(exact for _, exact in parts)))[1]
        least = -1074 if info.nmant == 52 else -149
        return float(off / mpmath.ldexp(1, max(exponent - info.nmant - 1, least)))
