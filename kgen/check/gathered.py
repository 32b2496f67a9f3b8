"""Values at computed places: ``x[i, j]``, where indices are integers that a program computes or reads.

(a + b)[i]           ->  gather a at i + gather b at i
sum(x, axis=1)[i]    ->  store sum(x, axis=1), buffer; gather buffer at i
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgen.check.context import Context
from kgen.check.indexed import rewrite, unexpanded
from kgen.check.own import Own
from kgen.check.values import Typed
from kgen.dtypes import INT64
from kgen.ir.builder import broadcast
from kgen.ir.graph import Dim, Gather, IndexMap, Op, Reduction, Shape, from_bits
from kgen.ir.views import WHOLE, Pick
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
        return Taken(whole, self.first)


@dataclass(frozen=True, slots=True)
class Taken:
    """What an index takes of an op: for each of its axes the number of the place, :data:`SPREAD`, or None for all.

    ``lead``: how many of the axes that are left stand before those of the places.
    """

    axes: tuple[int | None, ...]
    lead: int

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
        return Taken(axes, max(0, self.lead - sum(item is None for item in self.axes[:missing])))

    def before(self, places: Sequence[int]) -> Taken:
        """The same of an argument whose axes are at these places of the op's, before ``expand``."""
        left = [axis for axis in self.left[: self.lead] if axis in places]
        return Taken(tuple(self.axes[axis] for axis in places), len(left))


def place(ctx: Context, value: Typed, dim: Dim) -> Typed:
    """An index as a place from 0: a negative one counts from the end of the axis, once."""
    at = ctx.cast(value.id, INT64, value.span)
    if not _is_natural(ctx.builder.ops, at):
        number = ctx.builder
        size = number.const(1, INT64) if dim == 1 else _size(ctx, dim)
        negative = number.op("lt", (at, number.const(0, INT64)), span=value.span)
        at = number.op("where", (negative, number.op("add", (at, size), span=value.span), at), span=value.span)
    return Typed(INT64, at, value.shape, value.span)


def _size(ctx: Context, dim: Dim) -> int:
    return ctx.builder.op("size", (), dtype=INT64, shape=(), attr=ctx.dims.find(str(dim)))


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


def gather(ctx: Context, value: Typed, index: Places) -> Typed | None:
    """``value[index]``.  None after an error."""
    parts = [value.id] if value.imag is None else [value.id, value.imag]
    taken = index.of(value)
    found = [_gather(ctx, part, taken.below(value.shape, ctx.builder.ops[part].shape), index) for part in parts]
    real, imag = found[0], found[-1]
    if real is None or imag is None:
        message = "an array as the index of what is merged, stacked or concatenated is not supported yet"
        hint = "index the arrays of which it is made, or pass the result to another program"
        ctx.error("not-yet", message, value.span, hint=hint)
        return None
    return replace(value, id=real, imag=None if value.imag is None else imag, shape=index.dims(value.shape))


def _gather(ctx: Context, root: int, taken: Taken, index: Places) -> int | None:
    """The op of the value at these places.  None where its parts lie along one of their axes."""
    ops = ctx.builder.ops
    needed: dict[tuple[int, Taken], list[tuple[int, Taken]]] = {}
    start = (root, _without_added(ops, root, taken))
    stack = [start]
    while stack:
        at = stack.pop()
        if at in needed:
            continue
        op = ops[at[0]]
        if at[1].is_gathered and at[0] in ctx.arrays.arranged:
            return None
        needed[at] = [] if isinstance(op.attr, Reduction) else _below(ops, op, at[1])
        stack += needed[at]
    found: dict[tuple[int, Taken], int] = {}
    for at in sorted(needed, key=lambda at: at[0]):
        made = _made(ctx, *at, [found[below] for below in needed[at]], index)
        if made is None:
            return None
        found[at] = made
    return found[start]


def _below(ops: Sequence[Op], op: Op, taken: Taken) -> list[tuple[int, Taken]]:
    """What an op is computed from, where it is gathered itself."""
    if not taken.is_gathered:
        return []
    if op.name == "expand":
        below = [taken.before(unexpanded(op.shape, ops[op.args[0]].shape))]
    else:
        below = [taken.below(op.shape, ops[a].shape) for a in op.args]
    return [(a, _without_added(ops, a, of)) for a, of in zip(op.args, below, strict=True)]


def _without_added(ops: Sequence[Op], number: int, taken: Taken) -> Taken:
    """The same, where axes of one element that an op adds are not gathered."""
    op = ops[number]
    match op.attr:
        case IndexMap(_, axes):
            added = {axis for axis, own in enumerate(axes) if own is None}
        case Reduction(_, axes, True):
            added = set(axes)
        case _ if op.name == "index":
            added = set(range(1, len(op.shape)))
        case _ if op.name == "expand":
            places = unexpanded(op.shape, ops[op.args[0]].shape)
            inner = _without_added(ops, op.args[0], taken.before(places))
            every = set(range(len(op.shape)))
            spread = {place for place, item in zip(places, inner.axes, strict=True) if item == SPREAD}
            added = every.difference(places) | spread if inner.is_gathered else every
        case _:
            return taken
    axes = tuple(SPREAD if item is not None and axis in added else item for axis, item in enumerate(taken.axes))
    return Taken(axes, taken.lead)


def _made(ctx: Context, number: int, taken: Taken, args: list[int], index: Places) -> int | None:
    op = ctx.builder.ops[number]
    if not taken.is_gathered:
        return _unchanged(ctx, number, taken, index)
    shape = _shape(op, taken, index)
    if isinstance(op.attr, IndexMap):
        return _load(ctx, op, op.attr, taken, index)
    if isinstance(op.attr, Reduction):
        return _load(ctx, op, _stored(ctx, number), taken, index)
    if op.name == "index":
        return _of_place(ctx, index.places[taken.axes[0] or 0], len(taken.left))
    if op.name == "expand" and ctx.builder.ops[args[0]].shape == shape:
        return args[0]
    return ctx.builder.add(Op(op.name, tuple(args), op.dtype, shape, op.attr, op.label, op.span))


def _stored(ctx: Context, number: int) -> IndexMap:
    """The access to a value by way of a buffer, which is read at computed places once the value is complete."""
    op = ctx.builder.ops[number]
    axes, buffer = tuple(range(len(op.shape))), ctx.arrays.buffered(number)
    if buffer is None:
        kind = op.attr.kind if isinstance(op.attr, Reduction) else "value"
        buffer = ctx.arrays.add_buffer(number, op.label or kind, op.dtype, op.shape)
        ctx.builder.add(Op("store", (number,), op.dtype, op.shape, IndexMap(buffer, axes), span=op.span))
    return IndexMap(buffer, axes)


def _unchanged(ctx: Context, number: int, taken: Taken, index: Places) -> int | None:
    """An op that lies along none of the axes: only its axes of one element change."""
    if not taken.axes:
        return number
    new = (None,) * (len(index.shape) if taken.lead else 0)
    items = tuple(WHOLE if item is None else Pick(0) for item in taken.axes)
    own = Own(items, (*taken.left[: taken.lead], *new, *taken.left[taken.lead :]))
    return rewrite(ctx, number, ctx.builder.ops[number].shape, own)


def _shape(op: Op, taken: Taken, index: Places) -> Shape:
    """The shape of a gathered op."""
    used = broadcast([index.places[item].shape for item in taken.axes if item is not None and item != SPREAD])
    if taken.lead:
        ones: list[Dim] = [1] * (len(index.shape) - len(used))
        used = (*ones, *used)
    left = [op.shape[axis] for axis in taken.left]
    return (*left[: taken.lead], *used, *left[taken.lead :])


def _load(ctx: Context, op: Op, access: IndexMap, taken: Taken, index: Places) -> int:
    operand = ctx.arrays.operands[access.operand]
    shape = _shape(op, taken, index)
    places = [ctx.builder.const(0, INT64)] * len(operand.shape)
    for axis, item in enumerate(taken.axes):
        own = access.axes[axis]
        if own is None or item == SPREAD:
            continue
        if item is None:
            if operand.shape[own] != 1:
                at = taken.left.index(axis)
                right = at - len(taken.left) if at >= taken.lead else at - len(shape)
                places[own] = _coordinate(ctx, shape, right)
        else:
            places[own] = _of_place(ctx, index.places[item], len(taken.left) - taken.lead)
    attr = Gather(access.operand, index.outside)
    return ctx.builder.add(Op("gather", tuple(places), op.dtype, shape, attr, op.label, op.span))


def _coordinate(ctx: Context, shape: Shape, right: int) -> int:
    ones: list[Dim] = [1] * (-right - 1)
    return ctx.builder.op("index", (), dtype=INT64, shape=(shape[right], *ones), attr=right)


def _of_place(ctx: Context, value: Typed, behind: int) -> int:
    """A place with so many axes of one element behind it."""
    rank = len(value.shape)
    own = Own((WHOLE,) * rank, (*range(rank), *(None,) * behind))
    found = rewrite(ctx, value.id, value.shape, own) if behind and rank else value.id
    assert found is not None
    return found
