"""Computed places along the axes of a value, and what they take of an op."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.check.context import Context
from kgen.check.indexed import extent_op, rewrite
from kgen.check.own import Own
from kgen.check.values import Typed
from kgen.dtypes import INT64
from kgen.ir.builder import broadcast
from kgen.ir.graph import Dim, Op, Reduction, Shape, from_bits
from kgen.ir.views import WHOLE
from kgen.records import dataclass
from kgen.syntax.tree import Outside

SPREAD = -1  #: an axis of one element that a value lacks, or that is broadcast


@dataclass(frozen=True, slots=True)
class Places:
    """An index: ``places``, from 0, along the axes from ``first`` on.  ``shape``: their common shape.

    ``outside``: see :class:`kgen.ir.graph.Gather`.
    """

    first: int
    places: tuple[Typed, ...]
    shape: Shape
    outside: Outside = "zero"

    def dims(self, shape: Shape) -> Shape:
        """The shape of the result."""
        return shape[: self.first] + self.shape + shape[self.first + len(self.places) :]

    def of(self, value: Typed) -> Taken:
        """What it takes of the op of a value."""
        gathered = range(self.first, self.first + len(self.places))
        whole = tuple(axis - self.first if axis in gathered else None for axis in range(len(value.shape)))
        return Taken(whole, self.first, self.outside)


@dataclass(frozen=True, slots=True)
class Taken:
    """What an index takes of an op: for each of its axes the number of the place, :data:`SPREAD`, or None for all.

    ``lead``: how many of the axes that are left stand before those of the places.  ``outside``: as of :class:`Places`.
    """

    axes: tuple[int | None, ...]
    lead: int
    outside: Outside

    @property
    def left(self) -> tuple[int, ...]:
        return tuple(axis for axis, item in enumerate(self.axes) if item is None)

    @property
    def is_gathered(self) -> bool:
        return any(item is not None and item != SPREAD for item in self.axes)

    def below(self, shape: Shape, argument: Shape) -> Taken:
        """The same of an argument that broadcasts to an op of this shape."""
        missing = len(shape) - len(argument)
        axes = tuple(
            SPREAD if item is not None and argument[axis] == 1 and shape[axis + missing] != 1 else item
            for axis, item in enumerate(self.axes[missing:])
        )
        lead = max(0, self.lead - sum(item is None for item in self.axes[:missing]))
        return Taken(axes, lead, self.outside)

    def before(self, places: Sequence[int]) -> Taken:
        """The same of an argument whose axes are at these places of the op's, before ``expand``."""
        left = [axis for axis in self.left[: self.lead] if axis in places]
        return Taken(tuple(self.axes[axis] for axis in places), len(left), self.outside)


def place(ctx: Context, value: Typed, dim: Dim) -> Typed:
    """An index as a place from 0: a negative one counts from the end of the axis, once."""
    at = ctx.cast(value.id, INT64, value.span)
    if not _is_natural(ctx.builder.ops, at):
        number = ctx.builder
        size = extent_op(ctx, ctx.arrays.bound(dim))
        negative = number.op("lt", (at, number.const(0, INT64)), span=value.span)
        at = number.op("where", (negative, number.op("add", (at, size), span=value.span), at), span=value.span)
    return Typed(INT64, at, value.shape, value.span)


def _is_natural(ops: Sequence[Op], number: int) -> bool:
    """Whether a value is never negative."""
    op = ops[number]
    match op.name:
        case "const":
            return isinstance(op.attr, int) and from_bits(op.attr, op.dtype) >= 0
        case "index" | "size":
            return True
        case "cast":
            source = ops[op.args[0]].dtype
            return source.is_bool or (source.is_int and not source.signed)
        case "reduce":
            return isinstance(op.attr, Reduction) and op.attr.kind in ("argmin", "argmax", "count_nonzero")
    return False


def shape_at(op: Op, taken: Taken, index: Places) -> Shape:
    """The shape of a gathered op."""
    used = broadcast([index.places[item].shape for item in taken.axes if item is not None and item != SPREAD])
    if taken.lead:
        ones: list[Dim] = [1] * (len(index.shape) - len(used))
        used = (*ones, *used)
    left = [op.shape[axis] for axis in taken.left]
    return (*left[: taken.lead], *used, *left[taken.lead :])


def at_place(ctx: Context, value: Typed, behind: int) -> int:
    """A place with so many axes of one element behind it."""
    rank = len(value.shape)
    own = Own((WHOLE,) * rank, (*range(rank), *(None,) * behind))
    found = rewrite(ctx, value.id, value.shape, own) if behind and rank else value.id
    assert found is not None
    return found
