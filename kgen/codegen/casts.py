"""Casts and bit casts as CUDA text.  A cast rounds once, from the exact value."""

from __future__ import annotations

from kgen.codegen.conversions import CONVERSIONS, MODE, bits_name, from_bits_name, saturated
from kgen.codegen.expressions import Expr, Level, Spelling, call, convert, infix
from kgen.codegen.literals import constant, integer
from kgen.dtypes import BOOL, FLOAT32, FLOAT64, INT32, INT64, UINT8, UINT32, DType
from kgen.ir.graph import CastMode


def spell_cast(mode: CastMode, dtype: DType, a: Expr, source: DType) -> Spelling:
    """``a``, a value of ``source``, as ``dtype``."""
    if dtype.is_complex or source.is_complex:
        return _complex(dtype, a, source)
    if dtype is source and not (mode.saturate and dtype.is_float):
        return Spelling(a)
    if source.is_narrow and dtype is not source:
        wide = CONVERSIONS[source].widen(a)
        found = spell_cast(mode, dtype, wide.expr, FLOAT32)
        return Spelling(found.expr, (*wide.helpers, *found.helpers))
    if dtype.is_bool:
        return Spelling(infix("!=", a, constant(0, source) if source.is_float else Expr("0", Level.PRIMARY)))
    if source.is_bool:
        mode, source = CastMode(mode.rounding, False), UINT8  # 0 or 1, in range everywhere
    if dtype.is_int:
        return _float_to_int(mode, dtype, a, source) if source.is_float else _int_to_int(mode, dtype, a, source)
    return CONVERSIONS[dtype].narrow(mode, a, source) if dtype.is_narrow else _to_float(mode, dtype, a, source)


def _complex(dtype: DType, a: Expr, source: DType) -> Spelling:
    if dtype is source:
        return Spelling(a)
    if dtype is BOOL:
        return Spelling(call("is_nonzero", [a]), ("is_nonzero",))
    if source.is_complex:
        helper = f"to_{dtype.storage}"
        return Spelling(call(helper, [a]), (helper,))
    real = spell_cast(CastMode("rne", False), dtype.real, a, source)
    return Spelling(make_complex(dtype, real.expr, constant(0, dtype.real)), real.helpers)


def make_complex(dtype: DType, real: Expr, imag: Expr) -> Expr:
    return call(f"make_{dtype.storage}", [real, imag])


def _int_to_int(mode: CastMode, dtype: DType, a: Expr, source: DType) -> Spelling:
    if mode.saturate:
        if source.int_min < dtype.int_min:
            a = call("max", [a, integer(dtype.int_min, source)])
        if source.int_max > dtype.int_max:
            a = call("min", [a, integer(dtype.int_max, source)])
    return Spelling(convert(dtype.register, a))


def _float_to_int(mode: CastMode, dtype: DType, a: Expr, source: DType) -> Spelling:
    """Conversion instructions clamp to the 32- and 64-bit ranges; only float to 32 bits turns NaN into 0."""
    wide = dtype if dtype.size >= 4 else INT32 if dtype.signed else UINT32
    helpers: tuple[str, ...] = ()
    if source is FLOAT64 or wide.size == 8:
        a, helpers = call("nan_to_zero", [a]), ("nan_to_zero",)
    value = call(f"__{source.intrinsic}2{wide.intrinsic}_{MODE[mode.rounding]}", [a])
    if dtype is not wide:
        value = _int_to_int(CastMode("rz", True), dtype, value, wide).expr
    return Spelling(value, helpers)


def _to_float(mode: CastMode, dtype: DType, a: Expr, source: DType) -> Spelling:
    """To float32 or float64."""
    if source is not dtype:
        is_exact = source.size < dtype.size
        if is_exact or mode.rounding == "rne":
            a = convert(dtype.storage, a)
        else:
            a = call(f"__{source.intrinsic}2{dtype.intrinsic}_{MODE[mode.rounding]}", [a])
    return saturated(mode, a, source, dtype)


# --- bit casts ------------------------------------------------------------------------------------


def spell_bitcast(dtype: DType, a: Expr, source: DType) -> Spelling:
    """The bits of ``a``, a value of ``source``, as ``dtype``, which has the same width."""
    if dtype is source:
        return Spelling(a)
    if dtype.is_complex or source.is_complex:
        return Spelling(call(f"bit_cast<{dtype.storage}>", [a]), ("bit_cast",))
    if source.is_float:
        wanted = dtype if dtype.is_int else source.unsigned
        opaque = source.size == 2 and dtype.is_int
        a, source = _bits(a, source, wanted), wanted
        if opaque:
            return Spelling(call("opaque_bits", [a]), ("opaque_bits",))
    if dtype.is_float:
        return _from_bits(dtype, a, source)
    if dtype is source:
        return Spelling(a)
    if dtype.is_bool:
        return Spelling(infix("!=", a, Expr("0", Level.PRIMARY)))  # as a load from memory
    return Spelling(convert(dtype.register, a))


def _bits(a: Expr, source: DType, wanted: DType) -> Expr:
    if source.is_narrow:
        return CONVERSIONS[source].bits(a, wanted)
    if source is FLOAT64 and not wanted.signed:  # there is no intrinsic for unsigned
        return convert(wanted.register, call(bits_name(source, INT64), [a]))
    return call(bits_name(source, wanted), [a])


def _from_bits(dtype: DType, a: Expr, source: DType) -> Spelling:
    if dtype.is_narrow:
        return CONVERSIONS[dtype].from_bits(a, source)
    if dtype is FLOAT64 and not source.signed:
        return Spelling(call(from_bits_name(dtype, INT64), [convert("long long", a)]))
    return Spelling(call(from_bits_name(dtype, source), [a]))
