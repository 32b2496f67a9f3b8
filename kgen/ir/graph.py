"""The typed IR: a flat tuple of ops in definition order.

An op's arguments are the numbers of earlier ops, so nothing recurses, and equal values are found by hashing
one row.  Shapes are tuples of dimension symbols or 1; values broadcast against each other as in
NumPy, aligned at the last axis.
"""

from __future__ import annotations

import math
import struct
from dataclasses import field
from typing import Literal

from kgen.dtypes import DType
from kgen.ir.views import Bound, View, show
from kgen.records import dataclass
from kgen.source import Span
from kgen.syntax.tree import Combine, Outside, RoundingMode

Dim = Literal[1] | str  #: a dimension: one element, or a symbol such as ``n0`` for any other extent
Shape = tuple[Dim, ...]
Role = Literal["input", "inout", "output", "buffer"]  #: a buffer passes values from one kernel to others


@dataclass(frozen=True, slots=True)
class Operand:
    """An array in memory.  ``shape`` is its own, before broadcasting.  ``view``: it is a part of another operand."""

    name: str
    dtype: DType
    shape: Shape
    role: Role
    view: View | None = None


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value passed to the kernel by value."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class IndexMap:
    """Which element of an operand a load or store accesses.

    ``axes`` maps the value's axes to the operand's: entry ``i`` is the operand's axis for value axis ``i``,
    or None for an axis of size 1 that the operand does not have (from ``expand``).
    """

    operand: int
    axes: tuple[int | None, ...]

    @property
    def is_aligned(self) -> bool:
        """Whether the value has the operand's axes in their order, and no others."""
        known = [axis for axis in self.axes if axis is not None]
        return len(known) == len(self.axes) and known == sorted(known)


@dataclass(frozen=True, slots=True)
class Gather:
    """Reads an operand at computed places: the arguments, one for each of its axes.

    ``outside``: what a place beyond an axis means.  It reads 0 (``zero``), also where the program tests it and replaces
    that by another value (``fill``); or the program promises that there is none (``promise``), and nothing tests it.
    """

    operand: int
    outside: Outside = "zero"


@dataclass(frozen=True, slots=True)
class Scatter:
    """Of a store: it writes at computed places, the arguments after the value, and nothing where one is outside.

    ``combine``: what it does with the element that is there, atomically unless it replaces it (``set``).
    """

    operand: int
    combine: Combine = "set"


def combines(combine: Combine, dtype: DType) -> bool:
    """Whether elements of a dtype can be updated so."""
    is_number = dtype.is_int or (dtype.is_float and dtype.size > 1)
    return combine == "set" or is_number or (combine == "add" and dtype.is_complex)


@dataclass(frozen=True, slots=True)
class CastMode:
    """How a cast rounds (by default ``rne`` to a float and ``rz`` to an integer), and whether it saturates."""

    rounding: RoundingMode
    saturate: bool


@dataclass(frozen=True, slots=True)
class Reduction:
    """``kind`` over the argument's ``axes`` (non-negative, ascending)."""

    kind: str
    axes: tuple[int, ...]
    keepdims: bool
    correction: int | float = 0


def reduced_shape(shape: Shape, attr: Reduction) -> Shape:
    """The shape of a value of this shape after a reduction."""
    return tuple(1 if i in attr.axes else dim for i, dim in enumerate(shape) if attr.keepdims or i not in attr.axes)


#: The kinds of reductions, in the order of ``docs/language.md``.
KINDS = (
    "sum", "prod", "mean", "var", "std", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero", "norm",
    "logsumexp",
)  # fmt: skip

#: Kinds that only passes make: ``exp_sum`` is the sum of ``exp(element - maximum)``.
INTERNAL_KINDS = ("exp_sum",)

#: Kinds whose accumulator is complex. Every other kind reduces the real and imaginary parts separately.
COMPLEX_KINDS = ("prod", "logsumexp")

#: Kinds without a value for an empty axis.
NO_IDENTITY = frozenset({"min", "max", "argmin", "argmax"})

Attr = int | str | IndexMap | Gather | Scatter | CastMode | Reduction | None


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

    @property
    def places(self) -> tuple[int, ...]:
        """The computed places at which it reads or writes."""
        if isinstance(self.attr, Gather):
            return self.args
        return self.args[1:] if isinstance(self.attr, Scatter) else ()


@dataclass(frozen=True, slots=True)
class Graph:
    """A typed program: operands, by-value scalars and ops.  ``store`` ops are its effects, in order.

    ``derived``: dimensions whose extents follow from others, such as that of merged axes; they may have no array.
    """

    operands: tuple[Operand, ...]
    scalars: tuple[Scalar, ...]
    ops: tuple[Op, ...]
    derived: tuple[tuple[str, Bound], ...] = ()

    def show_view(self, view: View, *, by_name: bool = False) -> str:
        """A view as programs write it: ``x[:, size(x, 1) // 2:]``.  ``by_name``: of a view by its name."""
        sizes = {
            d: f"size({o.name}, {axis})"
            for o in reversed(self.operands)
            for axis, d in enumerate(o.shape)
            if isinstance(d, str) and o.view is None
        }
        base = self.operands[view.of]
        return show(view, base.name if by_name or base.view is None else self.show_view(base.view), sizes)

    @property
    def results(self) -> tuple[Operand, ...]:
        """The arrays that are written: outputs, and arguments that are updated."""
        return tuple(o for o in self.operands if o.role not in ("input", "buffer") and o.view is None)

    def base(self, operand: int) -> int:
        """The number of the array that an operand is a view of, or its own."""
        while (view := self.operands[operand].view) is not None:
            operand = view.of
        return operand

    @property
    def gathered(self) -> frozenset[int]:
        """The operands that are read at computed places."""
        return frozenset(op.attr.operand for op in self.ops if isinstance(op.attr, Gather))

    @property
    def scattered(self) -> frozenset[int]:
        """The operands that are written at computed places."""
        return frozenset(op.attr.operand for op in self.ops if isinstance(op.attr, Scatter))

    @property
    def stored_buffers(self) -> frozenset[int]:
        """The buffers that the program itself stores to; a read of one follows all stores to it."""
        found = {op.attr.operand for op in self.stores if isinstance(op.attr, IndexMap | Scatter)}
        return frozenset(number for number in found if self.operands[number].role == "buffer")

    @property
    def stores(self) -> tuple[Op, ...]:
        return tuple(op for op in self.ops if op.name == "store")


def is_within(place: Op, dim: Dim) -> bool:
    """Whether a place is always within an axis: a coordinate of an axis of the same extent, or 0 of one element."""
    if place.name == "index" and isinstance(place.attr, int):
        return place.shape[place.attr] == dim
    return place.name == "const" and place.attr == 0 and dim == 1


def to_bits(value: bool | int | float, dtype: DType) -> int:
    """The bit pattern of a constant. ``const`` ops hold it so that 0.0 and -0.0, or 1, True and 1.0, are different."""
    return int.from_bytes(to_bytes(value, dtype), "little")


def to_bytes(value: bool | int | float, dtype: DType) -> bytes:
    """The bytes of a value in memory, of any dtype that is not complex.

    Floats are rounded to nearest even, once; integers must be in range.
    """
    if dtype.is_float and isinstance(value, int):
        value = odd_float(value) if dtype.size < 8 else float(value)
    if not dtype.code:
        return _narrow_bits(value, dtype).to_bytes(dtype.size, "little")
    try:
        return struct.pack("<" + dtype.code, value)
    except OverflowError:
        if not dtype.is_float:
            raise
        return struct.pack("<" + dtype.code, math.copysign(math.inf, value))  # finite, but not in this dtype


def _narrow_bits(value: float, dtype: DType) -> int:
    """The bits of a float that ``struct`` cannot write; ``ir/rounding.py`` does the same to whole arrays."""
    if math.isnan(value):
        return dtype.nan_bits
    sign = 1 << (dtype.bits - 1) if math.copysign(1.0, value) < 0 else 0
    past = dtype.nan_bits if dtype.infinity_bits is None else dtype.infinity_bits
    if math.isinf(value) or value == 0:
        return sign | past if value else sign
    least = dtype.least_exponent
    quantum = max(math.frexp(value)[1] - 1 - dtype.mantissa, least)
    # A carry out of the mantissa increments the exponent field, also when a subnormal becomes normal.
    bits = ((quantum - least) << dtype.mantissa) + round(math.ldexp(abs(value), -quantum))
    return sign | (past if bits > dtype.largest_bits else bits)


def odd_float(value: int) -> float:
    """The integer rounded to odd in float64, so that rounding it to a narrower float gives the correct result.

    Raises OverflowError beyond the range of float64.
    """
    extra = abs(value).bit_length() - 53
    if extra <= 0:
        return float(value)
    kept = abs(value) >> extra
    kept |= kept << extra != abs(value)
    return math.copysign(math.ldexp(kept, extra), value)


def from_bits(bits: int, dtype: DType) -> bool | int | float:
    """The value of a bit pattern of bool, an integer, float32 or float64."""
    value: bool | int | float = struct.unpack("<" + dtype.code, bits.to_bytes(dtype.size, "little"))[0]
    return value
