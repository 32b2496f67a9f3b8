"""The constants of ``complex.k``, in capitals there, whose values depend on the float dtype.

A pair is a number of twice the precision, stored as a complex value: the rounded number and the remainder.
"""

from __future__ import annotations

import math

from kgen.check.context import Context
from kgen.check.values import Typed
from kgen.dtypes import COMPLEX64, COMPLEX128, FLOAT64, DType
from kgen.ir.graph import from_bits, to_bits
from kgen.source import Span

#: For float32 and float64.
_BY_DTYPE: dict[str, tuple[float, float]] = {
    # quotients: operands above FAR, or below FAR_DOWN, are scaled by the other
    "FAR": (2.0**60, 2.0**500),
    "FAR_DOWN": (2.0**-60, 2.0**-500),
    # square roots: operands above NEAR_MAX, or below NEAR_MIN, are scaled; small ones by SQRT_UP ** 2
    "NEAR_MAX": (2.0**124, 2.0**1020),
    "NEAR_MIN": (2.0**-100, 2.0**-960),
    "SQRT_UP": (2.0**24, 2.0**54),
    # exponentials: exp(EXP_BIG) is finite, and beyond EXP_BIG - SINH_SHIFT sinh and cosh are exp / 2
    "EXP_BIG": (88.0, 709.0),
    "EXP_OF_BIG": (math.exp(88), math.exp(709)),
    "SINH_SHIFT": (78.0, 688.0),
    "EXP_OF_SHIFT": (math.exp(78), math.exp(688)),
}

_PAIRS = {
    "LN2": "0.69314718055994530941723212145817656807550013436026",
    "PI": "3.14159265358979323846264338327950288419716939937511",
    "HALF_PI": "1.57079632679489661923132169163975144209858469968755",
    "ATAN_1_4": "0.24497866312686415417208248121127581091414409838118",
    "ATAN_1_2": "0.46364760900080611621425623146121440202853705428612",
    "ATAN_3_4": "0.64350110879328438680280922871732263804151059111531",
    "THIRD": "1/3",
}

NAMES = frozenset(_BY_DTYPE) | frozenset(_PAIRS)


def constant(ctx: Context, name: str, real: DType, span: Span) -> Typed:
    """The constant ``name`` for parts of dtype ``real``."""
    if name in _BY_DTYPE:
        return ctx.const(_BY_DTYPE[name][real is FLOAT64], real, span)
    from fractions import Fraction  # with `decimal`, 2 ms that few programs need

    value = Fraction(_PAIRS[name])
    high = from_bits(to_bits(float(value), real), real)
    parts = [ctx.builder.const(part, real) for part in (high, float(value - Fraction(high)))]
    return Typed(COMPLEX128 if real is FLOAT64 else COMPLEX64, parts[0], (), span, parts[1])
