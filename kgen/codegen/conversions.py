"""How CUDA converts to and from each narrow float.

Two facts keep the texts short.  Rounding up, down or toward zero twice is the same as rounding once (rounding to
nearest is not).  And an integer that float32 cannot hold exactly is beyond the range of 8-bit floats, so that rounding
it to float32 first does not change the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kgen.codegen.expressions import Expr, Spelling, call, convert, member
from kgen.dtypes import BFLOAT16, FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT16, FLOAT64, DType
from kgen.ir.graph import CastMode
from kgen.records import dataclass

#: Rounding modes as intrinsics name them.
MODE = {"rne": "rn", "rz": "rz", "ru": "ru", "rd": "rd"}
_DIRECTION = {"rz": 0, "ru": 1, "rd": -1}
_WORD = {2: "short", 4: "int", 8: "longlong"}  # size in bytes -> the integer's name in intrinsics


@dataclass(frozen=True, slots=True)
class Conversions:
    """The conversions of one narrow float.

    ``widen``: its value as float32, exactly.
    ``narrow``: a value of an integer dtype, float32, float64 or of the narrow float itself, rounded to it once.
    ``bits``: its bits as an integer of the given dtype, which has its width.
    ``from_bits``: the value with the bits of such an integer.
    ``helpers``: the device helpers that only these conversions call, in ``templates/device``.
    """

    widen: Callable[[Expr], Spelling]
    narrow: Callable[[CastMode, Expr, DType], Spelling]
    bits: Callable[[Expr, DType], Expr]
    from_bits: Callable[[Expr, DType], Spelling]
    helpers: tuple[str, ...] = ()


def may_overflow(source: DType, dtype: DType) -> bool:
    """Whether a value of ``source`` may be beyond the range of the float ``dtype``."""
    return not source.is_int or source.int_max >= dtype.overflow


def saturated(mode: CastMode, a: Expr, source: DType, dtype: DType) -> Spelling:
    """``a``, rounded from ``source`` to the float ``dtype``; a saturating mode makes infinity the largest finite."""
    if mode.saturate and may_overflow(source, dtype):
        return Spelling(call("to_finite", [a]), (f"to_finite_{dtype.short}",))
    return Spelling(a)


def bits_name(dtype: DType, integer: DType) -> str:
    """The intrinsic that reads the bits of a float: ``__float_as_int``."""
    return f"__{dtype.intrinsic}_as_{_word(integer)}"


def from_bits_name(dtype: DType, integer: DType) -> str:
    """The intrinsic that makes a float from its bits: ``__int_as_float``."""
    return f"__{_word(integer)}_as_{dtype.intrinsic}"


def _word(integer: DType) -> str:
    return ("" if integer.signed else "u") + _WORD[integer.size]


# --- floats with conversion intrinsics ------------------------------------------------------------


def _with_intrinsics(dtype: DType) -> Conversions:
    """``__half`` and ``__nv_bfloat16``."""

    def widen(a: Expr) -> Spelling:
        return Spelling(call(f"__{dtype.intrinsic}2float", [a]))

    def narrow(mode: CastMode, a: Expr, source: DType) -> Spelling:
        return saturated(mode, a if source is dtype else rounded(mode, a, source), source, dtype)

    def rounded(mode: CastMode, a: Expr, source: DType) -> Expr:
        name = MODE[mode.rounding]
        if source.is_int and source.size >= 4:
            return call(f"__{source.intrinsic}2{dtype.intrinsic}_{name}", [a])
        if source is FLOAT64 and mode.rounding == "rne":
            return call(f"__double2{dtype.intrinsic}", [a])
        if source is FLOAT64:
            a = call(f"__double2float_{name}", [a])
        elif source.is_int:
            a = convert("float", a)
        return call(f"__float2{dtype.intrinsic}_{name}", [a])

    return Conversions(
        widen,
        narrow,
        bits=lambda a, integer: call(bits_name(dtype, integer), [a]),
        from_bits=lambda a, integer: Spelling(call(from_bits_name(dtype, integer), [a])),
    )


# --- 8-bit floats ---------------------------------------------------------------------------------


def _fp8(dtype: DType, to_nearest: str) -> Conversions:
    """8-bit floats such as ``__nv_fp8_e4m3``.  CUDA's own conversion saturates; the helper ``to_nearest`` does not."""

    def narrow(mode: CastMode, a: Expr, source: DType) -> Spelling:
        single = _as_float32(mode, a, source)
        if mode.rounding != "rne":
            saturate = "true" if mode.saturate else "false"
            arguments = f"{dtype.storage}, {dtype.exponent}, {_DIRECTION[mode.rounding]}, {saturate}"
            return Spelling(call(f"directed_fp8<{arguments}>", [single.expr]), (*single.helpers, "directed_fp8"))
        if mode.saturate or not may_overflow(source, dtype):
            return Spelling(call(dtype.storage, [single.expr]), single.helpers)
        return Spelling(call(to_nearest, [single.expr]), (*single.helpers, to_nearest))

    def bits(a: Expr, integer: DType) -> Expr:
        return convert(integer.storage, member(a, "__x")) if integer.signed else member(a, "__x")

    def from_bits(a: Expr, integer: DType) -> Spelling:
        return Spelling(call(f"fp8_from_bits<{dtype.storage}>", [a]), ("fp8_from_bits",))

    return Conversions(lambda a: Spelling(convert("float", a)), narrow, bits, from_bits, (to_nearest,))


def _as_float32(mode: CastMode, a: Expr, source: DType) -> Spelling:
    """A float32 that rounds to the same 8-bit float as ``a`` does."""
    if source is FLOAT64 and mode.rounding == "rne":
        return Spelling(call("round_to_odd", [a]), ("round_to_odd",))
    if source is FLOAT64:
        return Spelling(call(f"__double2float_{MODE[mode.rounding]}", [a]))
    if source.is_narrow:
        return CONVERSIONS[source].widen(a)
    return Spelling(convert("float", a) if source.is_int else a)


CONVERSIONS: Mapping[DType, Conversions] = {
    FLOAT16: _with_intrinsics(FLOAT16),
    BFLOAT16: _with_intrinsics(BFLOAT16),
    FLOAT8_E4M3FN: _fp8(FLOAT8_E4M3FN, "to_e4m3"),
    FLOAT8_E5M2: _fp8(FLOAT8_E5M2, "to_e5m2"),
}
