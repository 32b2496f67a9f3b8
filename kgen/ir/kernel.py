"""The typed IR: a flat tuple of ops in definition order.

An op's arguments are the numbers of earlier ops, so that nothing recurses and equal values are found by
hashing one row.  Shapes are tuples of dimension symbols or 1; values broadcast against each other as in
NumPy, aligned at the last axis.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import Literal

from kgen.dtypes import DType
from kgen.source import Span
from kgen.syntax.tree import RoundingMode

Dim = Literal[1] | str  #: a dimension: one element, or a symbol such as ``n0`` for any other extent
Shape = tuple[Dim, ...]
Role = Literal["input", "inout", "output", "buffer"]  #: a buffer is kgen's own, written by one kernel for others


@dataclass(frozen=True, slots=True)
class Operand:
    """An array in memory.  ``shape`` is its own, before broadcasting."""

    name: str
    dtype: DType
    shape: Shape
    role: Role


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value passed to the kernel by value."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Access:
    """Which element of an operand a load or store touches.

    ``axes`` maps the value's axes to the operand's: entry ``i`` is the operand axis that value axis ``i`` walks
    along, or None for an axis of size 1 that the operand does not have (put there by ``expand``).
    """

    operand: int
    axes: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class CastMode:
    """How a cast rounds (``rne`` to a float, ``rz`` to an integer unless said otherwise), and whether it saturates."""

    rounding: RoundingMode
    saturate: bool


@dataclass(frozen=True, slots=True)
class Reduction:
    """``kind`` over the argument's ``axes`` (non-negative, ascending)."""

    kind: str
    axes: tuple[int, ...]
    keepdims: bool
    correction: int | float = 0


#: Reductions that have no value for an empty axis.
NO_IDENTITY = frozenset({"min", "max", "argmin", "argmax"})

Attr = int | str | Access | CastMode | Reduction | None


@dataclass(frozen=True, slots=True)
class Op:
    """One value: ``name`` is a row of ``ir/ops.py``, ``args`` are numbers of earlier ops.

    ``label`` is the user's name for the value and ``span`` the text it comes from; neither takes part in equality.
    """

    name: str
    args: tuple[int, ...]
    dtype: DType
    shape: Shape
    attr: Attr = None
    label: str | None = field(default=None, compare=False)
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A typed program: operands, by-value scalars and ops.  ``store`` ops are its effects, in order."""

    operands: tuple[Operand, ...]
    scalars: tuple[Scalar, ...]
    ops: tuple[Op, ...]

    @property
    def stores(self) -> tuple[Op, ...]:
        return tuple(op for op in self.ops if op.name == "store")


_FORMATS = {
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q",
    "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q", "float32": "f", "float64": "d",
}  # fmt: skip


def to_bits(value: bool | int | float, dtype: DType) -> int:
    """The bit pattern of a constant: what ``const`` ops hold, so that -0.0, NaN and 1/True/1.0 stay apart.

    Floats are rounded to nearest even; integers must be in range.  float32 and wider only.
    """
    if dtype.name == "float32":
        return int.from_bytes(_f32(odd_float(value) if isinstance(value, int) else value), "little")
    return int.from_bytes(struct.pack("<" + _FORMATS[dtype.name], value), "little")


def odd_float(value: int) -> float:
    """The float64 that rounds on to any narrower float as the integer itself does.

    Digits beyond 53 bits only leave a mark in the last one.  Raises OverflowError where float64 ends.
    """
    extra = abs(value).bit_length() - 53
    if extra <= 0:
        return float(value)
    kept = abs(value) >> extra
    kept |= kept << extra != abs(value)
    return math.copysign(math.ldexp(kept, extra), value)


def from_bits(bits: int, dtype: DType) -> bool | int | float:
    """The value of a bit pattern."""
    value: bool | int | float = struct.unpack("<" + _FORMATS[dtype.name], bits.to_bytes(dtype.size, "little"))[0]
    return value


def _f32(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:  # finite, but rounds to infinity in float32
        return struct.pack("<f", float("inf") if value > 0 else float("-inf"))
