"""Constants as C++ literals: the shortest digits that read back as the same value, with the suffix of the type.

NVRTC has neither INFINITY nor NAN, so these are written as their bits.
"""

from __future__ import annotations

import math
import struct

from kgen.codegen.conversions import from_bits_name
from kgen.codegen.expressions import Expr, Level, call
from kgen.dtypes import DType
from kgen.ir.graph import from_bits


def constant(bits: int, dtype: DType) -> Expr:
    """The constant with this bit pattern (bool, an integer, float32 or float64)."""
    if dtype.is_bool:
        return Expr("true" if bits else "false", Level.PRIMARY)
    value = from_bits(bits, dtype)
    if dtype.is_int:
        return integer(int(value), dtype)
    if not math.isfinite(value):
        text = f"0x{bits:0{2 * dtype.size}x} /* {value} */"
        return call(from_bits_name(dtype, dtype.integer), [Expr(text, Level.PRIMARY)])
    digits = _shortest32(float(value)) if dtype.size == 4 else repr(float(value))
    return _signed(digits + dtype.suffix)


def integer(value: int, dtype: DType) -> Expr:
    """An integer constant of ``dtype``; a plain int for 8 and 16 bits, since C promotes these to int anyway."""
    suffix = dtype.suffix
    if dtype.signed and dtype.size >= 4 and value == dtype.int_min:
        # C has no negative literals, and 2147483648 does not fit an int.
        return Expr(f"({value + 1}{suffix} - 1)", Level.PRIMARY)
    return _signed(f"{value}{suffix}")


def in_hex(expr: Expr, dtype: DType) -> Expr:
    """An integer literal for a bit operator: in hexadecimal from 10 on, which is easier to read there."""
    value = literal_value(expr)
    if value is None or value < 10:
        return expr
    digits = 1 << (len(f"{value:x}") - 1).bit_length()  # 2, 4, 8 or 16
    return Expr(f"0x{value:0{digits}x}{dtype.suffix}", Level.PRIMARY)


def literal_value(expr: Expr) -> int | None:
    """The value of an integer literal's text, None for any other expression."""
    digits = expr.code.rstrip("ul")
    return int(digits) if digits.removeprefix("-").isdecimal() else None


def _signed(text: str) -> Expr:
    return Expr(text, Level.UNARY if text.startswith("-") else Level.PRIMARY)


def _shortest32(value: float) -> str:
    """The shortest digits that round to this float32."""
    packed = struct.pack("<f", value)
    for precision in range(1, 9):
        nearby = float(f"{value:.{precision}g}")
        if abs(nearby) < 3.4028236e38 and struct.pack("<f", nearby) == packed:
            return repr(nearby)
    return repr(float(f"{value:.9g}"))
