"""The operations of the IR: one row each, with arity and type rule.

A row of ``ir/evaluator.py`` defines the op in NumPy, and a row of ``codegen/spelling.py`` writes it in CUDA; a test
asserts that the three tables have the same keys.

Every value has one dtype, that of its register.  ``float16``, ``bfloat16``, fp8 and complex values are only loaded,
stored, cast, bitcast or split into parts; arithmetic runs on bool, integers, float32 and float64.  Arguments of
arithmetic ops have one dtype: ``kgen/check`` promotes with explicit ``cast`` ops.
"""

from __future__ import annotations

from typing import Literal

from kgen.records import dataclass

Result = Literal["same", "bool", "int32", "stated"]


@dataclass(frozen=True, slots=True)
class OpRow:
    """Type rule of one op.

    ``arity``: None where the attribute gives it.  ``accepts``: the kinds of its arguments: ``b`` bool, ``i`` integers,
    ``f`` float32 and float64, ``*`` any.
    ``result``: ``same`` as the (last) argument, a fixed dtype, or ``stated`` by the op itself.
    ``ulp``: the largest error, in units in the last place, for float32 and float64 on any target; ``0`` means correctly
    rounded.  From the CUDA C++ Programming Guide, "Mathematical Functions".  The bounds of Bessel functions hold for
    |x| < 8, those of lgamma and gelu_derivative away from their zeros below 0; elsewhere errors are absolute.
    """

    arity: int | None
    accepts: str
    result: Result = "same"
    ulp: tuple[float, float] = (0, 0)


def _float(arity: int, f32: float, f64: float) -> OpRow:
    return OpRow(arity, "f", ulp=(f32, f64))


OPS: dict[str, OpRow] = {
    # structure
    "load": OpRow(0, "*", "stated"),  # attr: Access
    "store": OpRow(None, "*", "stated"),  # attr: Access; or Scatter, and places like those of a gather
    "gather": OpRow(None, "i", "stated"),  # attr: Gather; the places along each axis of the operand, from 0
    "scalar": OpRow(0, "*", "stated"),  # attr: index into Kernel.scalars
    "const": OpRow(0, "*", "stated"),  # attr: the bit pattern
    "index": OpRow(0, "*", "stated"),  # attr: logical axis of the iteration space, from the right (-1 is the last)
    "size": OpRow(0, "*", "stated"),  # attr: a dimension symbol
    "reduce": OpRow(1, "*", "stated"),  # attr: Reduction
    "expand": OpRow(1, "*"),  # its argument with inserted axes of size 1
    "cast": OpRow(1, "*", "stated"),  # attr: CastMode
    "bitcast": OpRow(1, "*", "stated"),
    "complex": OpRow(2, "f", "stated"),
    "real": OpRow(1, "*", "stated"),
    "imag": OpRow(1, "*", "stated"),
    # arithmetic
    "add": OpRow(2, "if"),
    "sub": OpRow(2, "if"),
    "mul": OpRow(2, "if"),
    "div": OpRow(2, "f"),
    "floordiv": OpRow(2, "if"),
    "mod": OpRow(2, "if"),
    "neg": OpRow(1, "if"),
    "abs": OpRow(1, "if"),
    "sign": OpRow(1, "if"),
    "powi": OpRow(1, "if"),  # attr: the exponent, 0 <= n <= 8, multiplied out by squaring
    "pow": OpRow(2, "if", ulp=(4, 2)),
    "fma": OpRow(3, "f"),
    "div_rn": OpRow(2, "f"),  # the same as div; NVVM assumes nothing about its sign
    "mul_rn": OpRow(2, "f"),  # a product that is never contracted with a sum
    "min": OpRow(2, "if"),  # NaN wins; -0.0 < +0.0
    "max": OpRow(2, "if"),
    "fmin": OpRow(2, "f"),  # NaN loses; -0.0 < +0.0
    "fmax": OpRow(2, "f"),
    # bits and logic (bool: logical)
    "and": OpRow(2, "bi"),
    "or": OpRow(2, "bi"),
    "xor": OpRow(2, "bi"),
    "not": OpRow(1, "bi"),
    "shl": OpRow(2, "i"),
    "shr": OpRow(2, "i"),
    "popcount": OpRow(1, "i", "int32"),
    "clz": OpRow(1, "i", "int32"),
    "ffs": OpRow(1, "i", "int32"),
    # comparison and selection
    "lt": OpRow(2, "bif", "bool"),
    "le": OpRow(2, "bif", "bool"),
    "gt": OpRow(2, "bif", "bool"),
    "ge": OpRow(2, "bif", "bool"),
    "eq": OpRow(2, "bif", "bool"),
    "ne": OpRow(2, "bif", "bool"),
    "where": OpRow(3, "bif"),  # the first argument is bool
    # rounding and classification
    "floor": OpRow(1, "f"),
    "ceil": OpRow(1, "f"),
    "trunc": OpRow(1, "f"),
    "round": OpRow(1, "f"),  # half to even
    "isnan": OpRow(1, "f", "bool"),
    "isinf": OpRow(1, "f", "bool"),
    "isfinite": OpRow(1, "f", "bool"),
    "signbit": OpRow(1, "f", "bool"),
    "copysign": OpRow(2, "f"),
    "nextafter": OpRow(2, "f"),
    "fmod": OpRow(2, "if"),  # the sign of the first argument; of integers by 0 it is 0
    "fdim": OpRow(2, "f"),
    "logb": OpRow(1, "f"),
    "ilogb": OpRow(1, "f", "int32"),
    "ldexp": OpRow(2, "f"),  # the second argument is int32
    # functions
    "sqrt": OpRow(1, "f"),
    "rsqrt": _float(1, 2, 1),
    "cbrt": _float(1, 1, 1),
    "rcbrt": _float(1, 1, 1),
    "exp": _float(1, 2, 1),
    "exp2": _float(1, 2, 1),
    "exp10": _float(1, 2, 1),
    "expm1": _float(1, 1, 1),
    "log": _float(1, 1, 1),
    "log2": _float(1, 1, 1),
    "log10": _float(1, 2, 1),
    "log1p": _float(1, 1, 1),
    "sin": _float(1, 2, 2),
    "cos": _float(1, 2, 2),
    "tan": _float(1, 4, 2),
    "sinpi": _float(1, 1, 2),
    "cospi": _float(1, 1, 2),
    "asin": _float(1, 2, 2),
    "acos": _float(1, 2, 2),
    "atan": _float(1, 2, 2),
    "sinh": _float(1, 3, 2),
    "cosh": _float(1, 2, 1),
    "tanh": _float(1, 2, 2),
    "asinh": _float(1, 3, 3),
    "acosh": _float(1, 4, 3),
    "atanh": _float(1, 3, 2),
    "erf": _float(1, 2, 2),
    "erfc": _float(1, 4, 5),
    "erfinv": _float(1, 2, 5),
    "erfcinv": _float(1, 4, 6),
    "erfcx": _float(1, 4, 4),
    "lgamma": _float(1, 6, 4),
    "tgamma": _float(1, 5, 10),
    "normcdf": _float(1, 6, 5),  # in float32 kgen's own, templates/device/normal_cdf_f32.cu
    "gelu_derivative": _float(1, 7, 8),  # kgen's own, templates/device/gelu_derivative_f32.cu
    "normcdfinv": _float(1, 5, 8),
    "j0": _float(1, 9, 7),
    "j1": _float(1, 9, 7),
    "y0": _float(1, 9, 7),
    "y1": _float(1, 9, 7),
    "cyl_bessel_i0": _float(1, 6, 6),
    "cyl_bessel_i1": _float(1, 6, 6),
    "jn": _float(2, 9, 7),  # the first argument is int32
    "yn": _float(2, 9, 7),  # the first argument is int32
    "atan2": _float(2, 3, 2),
    "hypot": _float(2, 3, 2),
    "rhypot": _float(2, 2, 1),
    "norm3d": _float(3, 3, 2),
    "rnorm3d": _float(3, 2, 1),
    "norm4d": _float(4, 3, 2),
    "rnorm4d": _float(4, 2, 1),
}

#: The ops whose result is one defined value on every target (contraction off).
EXACT: frozenset[str] = frozenset(name for name, row in OPS.items() if row.ulp == (0, 0))

#: Ops whose code has branches: divisions, and functions that are not exact.
BRANCHING: frozenset[str] = frozenset(("div", "floordiv", "mod", *(name for name in OPS if name not in EXACT)))
