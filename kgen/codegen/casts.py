"""Casts and bit casts as CUDA text.

A cast rounds once, from the exact value.  Two facts keep the texts short: rounding twice in the same direction is
rounding once (up, down, toward zero: not to nearest); and an integer that float32 cannot hold is beyond every
narrower float, on the side where rounding no longer matters.
"""

from __future__ import annotations

from kgen.codegen.c_types import register_type, storage_type
from kgen.codegen.expressions import Expr, Level, Spelling, call, convert, infix, member
from kgen.codegen.literals import integer
from kgen.dtypes import BFLOAT16, BOOL, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, INT32, UINT8, UINT32, UINT64, DType
from kgen.ir.kernel import CastMode
from kgen.syntax.tree import RoundingMode

_MODE = {"rne": "rn", "rz": "rz", "ru": "ru", "rd": "rd"}
_DIRECTION = {"rz": 0, "ru": 1, "rd": -1}
_LARGEST_FP8 = {"float8_e4m3fn": 448, "float8_e5m2": 57344}

#: The dtypes that conversion intrinsics name, as in ``__ll2float_rz``.
_INTRINSIC = {
    "int32": "int", "uint32": "uint", "int64": "ll", "uint64": "ull", "float32": "float", "float64": "double",
    "float16": "half", "bfloat16": "bfloat16",
}  # fmt: skip


def spell_cast(mode: CastMode, dtype: DType, a: Expr, source: DType) -> Spelling:
    """``a``, a value of ``source``, as ``dtype``."""
    if dtype.is_complex or source.is_complex:
        return _complex(dtype, a, source)
    if dtype.is_bool:
        return _to_bool(a, source)
    if dtype is source and not (mode.saturate and dtype.is_float):
        return Spelling(a)
    if source.is_bool:
        mode, source = CastMode(mode.rounding, False), UINT8  # 0 or 1, in range everywhere
    if source.is_narrow and dtype is not source:
        a, source = widened(a, source), FLOAT32  # exact
    if dtype.is_int:
        return _float_to_int(mode, dtype, a, source) if source.is_float else _int_to_int(mode, dtype, a, source)
    return _to_fp8(mode, dtype, a, source) if dtype.is_fp8 else _to_float(mode, dtype, a, source)


def widened(a: Expr, source: DType) -> Expr:
    """A narrow float as float32."""
    if source.is_fp8:
        return convert("float", a)
    return call(f"__{_INTRINSIC[source.name]}2float", [a])


def _to_bool(a: Expr, source: DType) -> Spelling:
    if source.is_bool:
        return Spelling(a)
    if source.is_narrow:
        a, source = widened(a, source), FLOAT32
    zero = {FLOAT32: "0.0f", FLOAT64: "0.0"}.get(source, "0")
    return Spelling(infix("!=", a, Expr(zero, Level.PRIMARY)))


def _complex(dtype: DType, a: Expr, source: DType) -> Spelling:
    if dtype is source:
        return Spelling(a)
    if dtype is BOOL:
        return Spelling(call("nonzero", [a]), ("nonzero",))
    if source.is_complex:
        helper = f"to_{storage_type(dtype)}"
        return Spelling(call(helper, [a]), (helper,))
    real = spell_cast(CastMode("rne", False), dtype.real, a, source)
    zero = Expr("0.0f" if dtype is COMPLEX64 else "0.0", Level.PRIMARY)
    return Spelling(make_complex(dtype, real.expr, zero), real.helpers)


def make_complex(dtype: DType, real: Expr, imag: Expr) -> Expr:
    return call(f"make_{storage_type(dtype)}", [real, imag])


# --- to integers ----------------------------------------------------------------------------------


def _int_to_int(mode: CastMode, dtype: DType, a: Expr, source: DType) -> Spelling:
    if mode.saturate:
        if source.int_min < dtype.int_min:
            a = call("max", [a, integer(dtype.int_min, source)])
        if source.int_max > dtype.int_max:
            a = call("min", [a, integer(dtype.int_max, source)])
    return Spelling(convert(register_type(dtype), a))


def _float_to_int(mode: CastMode, dtype: DType, a: Expr, source: DType) -> Spelling:
    """The conversion instructions clamp to the ranges of 32 and 64 bits; their NaN is 0 for float to 32 bits only."""
    wide = dtype if dtype.size >= 4 else INT32 if dtype.signed else UINT32
    helpers: tuple[str, ...] = ()
    if source is FLOAT64 or wide.size == 8:
        a, helpers = call("nan_to_zero", [a]), ("nan_to_zero",)
    value = call(f"__{_INTRINSIC[source.name]}2{_INTRINSIC[wide.name]}_{_MODE[mode.rounding]}", [a])
    if dtype is not wide:
        value = _int_to_int(CastMode("rz", True), dtype, value, wide).expr
    return Spelling(value, helpers)


# --- to floats ------------------------------------------------------------------------------------


def _to_float(mode: CastMode, dtype: DType, a: Expr, source: DType) -> Spelling:
    expr = a if source is dtype else _rounded(mode.rounding, dtype, a, source)
    # The largest uint64 is within float32 and bfloat16; 65520 is where float16 rounds to infinity.
    may_overflow = source.is_float or (dtype is FLOAT16 and source.int_max >= 65520)
    if mode.saturate and may_overflow:
        return Spelling(call("to_finite", [expr]), (f"to_finite_{dtype.short}",))
    return Spelling(expr)


def _rounded(rounding: RoundingMode, dtype: DType, a: Expr, source: DType) -> Expr:
    mode, name = _MODE[rounding], _INTRINSIC[dtype.name]
    if not dtype.is_narrow:
        exact = source.size < dtype.size
        if exact or rounding == "rne":
            return convert(storage_type(dtype), a)
        return call(f"__{_INTRINSIC[source.name]}2{name}_{mode}", [a])
    if source is FLOAT64:
        if rounding == "rne":
            return call(f"__double2{name}", [a])
        a = call(f"__double2float_{mode}", [a])
    elif source.is_int and source.size < 4:
        a = convert("float", a)
    elif source.is_int:
        return call(f"__{_INTRINSIC[source.name]}2{name}_{mode}", [a])
    return call(f"__float2{name}_{mode}", [a])


def _to_fp8(mode: CastMode, dtype: DType, a: Expr, source: DType) -> Spelling:
    helpers: tuple[str, ...] = ()
    if source is dtype or source.is_int:
        a = convert("float", a)
    elif source is FLOAT64 and mode.rounding == "rne":
        a, helpers = call("round_to_odd", [a]), ("round_to_odd",)
    elif source is FLOAT64:
        a = call(f"__double2float_{_MODE[mode.rounding]}", [a])
    if mode.rounding != "rne":
        saturate = "true" if mode.saturate else "false"
        arguments = f"{storage_type(dtype)}, {dtype.exponent}, {_DIRECTION[mode.rounding]}, {saturate}"
        return Spelling(call(f"directed_fp8<{arguments}>", [a]), (*helpers, "directed_fp8"))
    if mode.saturate or (source.is_int and source.int_max <= _LARGEST_FP8[dtype.name]):
        return Spelling(call(storage_type(dtype), [a]), helpers)  # CUDA's own conversion saturates
    helper = "to_e4m3" if dtype.exponent == 4 else "to_e5m2"
    return Spelling(call(helper, [a]), (*helpers, helper))


# --- bit casts ------------------------------------------------------------------------------------

#: What reads a float's bits as an integer of its width, and which one.
_FLOAT_BITS = {
    ("float32", "int32"): "__float_as_int", ("float32", "uint32"): "__float_as_uint",
    ("int32", "float32"): "__int_as_float", ("uint32", "float32"): "__uint_as_float",
    ("float64", "int64"): "__double_as_longlong", ("int64", "float64"): "__longlong_as_double",
    ("float16", "int16"): "__half_as_short", ("float16", "uint16"): "__half_as_ushort",
    ("int16", "float16"): "__short_as_half", ("uint16", "float16"): "__ushort_as_half",
    ("bfloat16", "int16"): "__bfloat16_as_short", ("bfloat16", "uint16"): "__bfloat16_as_ushort",
    ("int16", "bfloat16"): "__short_as_bfloat16", ("uint16", "bfloat16"): "__ushort_as_bfloat16",
}  # fmt: skip


def spell_bitcast(dtype: DType, a: Expr, source: DType) -> Spelling:
    """The bits of ``a``, a value of ``source``, as ``dtype``, which has the same width."""
    if dtype is source:
        return Spelling(a)
    if dtype.size == 1:
        return _bitcast8(dtype, a, source)
    if source.is_int and dtype.is_int:
        return Spelling(convert(register_type(dtype), a))
    function = _FLOAT_BITS.get((source.name, dtype.name))
    if function is not None:
        return Spelling(call(function, [a]))
    if source is UINT64 and dtype is FLOAT64:
        return Spelling(call("__longlong_as_double", [convert("long long", a)]))
    if source is FLOAT64 and dtype is UINT64:
        return Spelling(convert("unsigned long long", call("__double_as_longlong", [a])))
    if {source, dtype} == {FLOAT16, BFLOAT16}:
        bits = call(f"__{_INTRINSIC[source.name]}_as_ushort", [a])
        return Spelling(call(f"__ushort_as_{_INTRINSIC[dtype.name]}", [bits]))
    return Spelling(call(f"bit_cast<{storage_type(dtype)}>", [a]), ("bit_cast",))


def _bitcast8(dtype: DType, a: Expr, source: DType) -> Spelling:
    bits = member(a, "__x") if source.is_fp8 else a
    if dtype.is_bool:
        return Spelling(infix("!=", bits, Expr("0", Level.PRIMARY)))  # as a load from memory
    if dtype.is_fp8:
        return Spelling(call(f"fp8_from_bits<{storage_type(dtype)}>", [bits]), ("fp8_from_bits",))
    return Spelling(bits if source.is_fp8 and not dtype.signed else convert(register_type(dtype), bits))
