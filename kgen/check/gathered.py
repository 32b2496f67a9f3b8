"""Values at computed places: ``x[i, j]``, where indices are integers that a program computes or reads.

(a + b)[i]           ->  gather a at i + gather b at i
sum(x, axis=1)[i]    ->  store sum(x, axis=1), buffer; gather buffer at i
sum(y, axis=1)[i]    ->  concat(sum(a, axis=1), sum(b, axis=1))[i], where y is concat(a, b)
"""

from __future__ import annotations

from kgen.check import gathered_parts
from kgen.check.arranged import NotYetError
from kgen.check.context import Context
from kgen.check.indexed import by_parts, rewrite, unexpanded
from kgen.check.own import Own
from kgen.check.places import SPREAD, Places, Taken, at_place, shape_at
from kgen.check.values import Typed
from kgen.dtypes import INT64
from kgen.ir.builder import broadcast
from kgen.ir.graph import Dim, Gather, IndexMap, Op, Reduction, Shape
from kgen.ir.views import WHOLE, Pick
from kgen.records import replace
from kgen.source import Span


def gather(ctx: Context, value: Typed, index: Places, at: Span) -> Typed | None:
    """``value[index]``.  ``at``: the text of the index."""
    parts = [value.id] if value.imag is None else [value.id, value.imag]
    taken = index.of(value)
    try:
        found = [_gather(ctx, part, taken.below(value.shape, ctx.builder.ops[part].shape), index) for part in parts]
    except NotYetError as problem:
        ctx.error("not-yet", str(problem), at, hint=NotYetError.hint)
        return None
    imag = None if value.imag is None else found[1]
    return replace(value, id=found[0], imag=imag, shape=index.dims(value.shape))


def _gather(ctx: Context, root: int, taken: Taken, index: Places) -> int:
    """The op of the value at these places.  Raises NotYetError."""
    places = [*index.places]
    needed: dict[tuple[int, Taken], list[tuple[int, Taken]]] = {}
    start = (root, _without_added(ctx, root, taken))
    stack = [start]
    while stack:
        at = stack.pop()
        if at in needed:
            continue
        needed[at] = _below(ctx, *at, places)
        stack += needed[at]
    found: dict[tuple[int, Taken], int] = {}
    index = replace(index, places=tuple(places))
    for at in sorted(needed, key=lambda at: at[0]):
        found[at] = _made(ctx, *at, [found[below] for below in needed[at]], index)
    return found[start]


def _below(ctx: Context, number: int, taken: Taken, places: list[Typed]) -> list[tuple[int, Taken]]:
    """What an op is computed from, where it is gathered itself."""
    ops = ctx.builder.ops
    op = ops[number]
    if not taken.is_gathered or isinstance(op.attr, Reduction):
        return []
    if number in ctx.arrays.arranged:
        parts = zip(op.args, ctx.arrays.arranged[number].shapes, strict=True)
        whole = zip(parts, gathered_parts.below(ctx, number, taken, places), strict=True)
        below = [of.below(shape, ops[part].shape) for (part, shape), of in whole]
    elif op.name == "expand":
        below = [taken.before(unexpanded(ctx, op.shape, ops[op.args[0]].shape))]
    else:
        below = [taken.below(op.shape, ops[a].shape) for a in op.args]
    return [(a, _without_added(ctx, a, of)) for a, of in zip(op.args, below, strict=True)]


def _without_added(ctx: Context, number: int, taken: Taken) -> Taken:
    """The same, where axes of one element that an op adds are not gathered."""
    ops = ctx.builder.ops
    op = ops[number]
    match op.attr:
        case IndexMap(_, axes):
            added = {axis for axis, own in enumerate(axes) if own is None}
        case Reduction(_, axes, True):
            added = set(axes)
        case _ if op.name == "index":
            added = set(range(1, len(op.shape)))
        case _ if op.name == "expand":
            places = unexpanded(ctx, op.shape, ops[op.args[0]].shape)
            inner = _without_added(ctx, op.args[0], taken.before(places))
            every = set(range(len(op.shape)))
            spread = {place for place, item in zip(places, inner.axes, strict=True) if item == SPREAD}
            added = every.difference(places) | spread if inner.is_gathered else every
        case _:
            return taken
    axes = tuple(SPREAD if item is not None and axis in added else item for axis, item in enumerate(taken.axes))
    return replace(taken, axes=axes)


def _made(ctx: Context, number: int, taken: Taken, args: list[int], index: Places) -> int:
    op = ctx.builder.ops[number]
    if not taken.is_gathered:
        return _unchanged(ctx, number, taken, index)
    if number in ctx.arrays.arranged:
        return gathered_parts.made(ctx, number, taken, args, index)
    shape = shape_at(op, taken, index)
    if isinstance(op.attr, IndexMap):
        return _load(ctx, op, op.attr, taken, index)
    if isinstance(op.attr, Reduction):
        arranged = by_parts(ctx, number)
        return (
            _load(ctx, op, _stored(ctx, number), taken, index)
            if arranged is None
            else _gather(ctx, arranged, taken, index)
        )
    if op.name == "index":
        return at_place(ctx, index.places[taken.axes[0] or 0], len(taken.left))
    if op.name == "expand" and ctx.builder.ops[args[0]].shape == shape:
        return args[0]
    if op.name != "expand":  # axes of one element that no argument has are in none of them
        shape = broadcast([ctx.builder.ops[arg].shape for arg in args])
    return ctx.builder.add(Op(op.name, tuple(args), op.dtype, shape, op.attr, op.label, op.span))


def _stored(ctx: Context, number: int) -> IndexMap:
    """The access to a value by way of a buffer, which is read at computed places once the value is complete."""
    op = ctx.builder.ops[number]
    axes, buffer = tuple(range(len(op.shape))), ctx.arrays.buffered(number)
    if buffer is None:
        kind = op.attr.kind if isinstance(op.attr, Reduction) else "value"
        buffer = ctx.arrays.buffer_of(number, op.label or kind, op.dtype, op.shape)
        ctx.builder.add(Op("store", (number,), op.dtype, op.shape, IndexMap(buffer, axes), span=op.span))
    return IndexMap(buffer, axes)


def _unchanged(ctx: Context, number: int, taken: Taken, index: Places) -> int:
    """An op that lies along none of the axes: only its axes of one element change."""
    if not taken.axes:
        return number
    new = (None,) * (len(index.shape) if taken.lead else 0)
    items = tuple(WHOLE if item is None else Pick(0) for item in taken.axes)
    own = Own(items, (*taken.left[: taken.lead], *new, *taken.left[taken.lead :]))
    found = rewrite(ctx, number, ctx.builder.ops[number].shape, own)
    assert found is not None  # each axis keeps an element
    return found


def _load(ctx: Context, op: Op, access: IndexMap, taken: Taken, index: Places) -> int:
    shape = shape_at(op, taken, index)
    places = [ctx.builder.const(0, INT64)] * len(ctx.arrays.operands[access.operand].shape)
    for axis, item in enumerate(taken.axes):
        own = access.axes[axis]
        if own is None or item == SPREAD:
            continue
        if item is None:
            at = taken.left.index(axis)
            right = at - len(taken.left) if at >= taken.lead else at - len(shape)
            places[own] = _coordinate(ctx, shape, right)
        else:
            places[own] = at_place(ctx, index.places[item], len(taken.left) - taken.lead)
    attr = Gather(access.operand, taken.outside)
    return ctx.builder.add(Op("gather", tuple(places), op.dtype, shape, attr, op.label, op.span))


def _coordinate(ctx: Context, shape: Shape, right: int) -> int:
    ones: list[Dim] = [1] * (-right - 1)
    return ctx.builder.op("index", (), dtype=INT64, shape=(shape[right], *ones), attr=right)
