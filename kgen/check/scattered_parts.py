"""The parts of what is stored at computed places: of values that are merged, stacked or joined, and of such indices.

out[i] = concat(a, b, axis=-1)   ->  out[:, :size(a, -1)][i] = a, out[:, size(a, -1):][i] = b
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.check.arranged import NotYetError, outermost
from kgen.check.context import Context
from kgen.check.indexed import rewrite
from kgen.check.own import Own
from kgen.check.values import Typed
from kgen.ir.graph import Dim, Gather, Op
from kgen.ir.views import WHOLE, Cut, Item, View
from kgen.records import replace


def parts_of(ctx: Context, whole: Sequence[Typed]) -> list[list[Typed]]:
    """The target and what is written to it, by parts.  Raises NotYetError."""
    todo, done = [list(whole)], list[list[Typed]]()
    while todo:
        one = todo.pop(0)
        at = max((n for v in one if (n := outermost(ctx, v.id)) is not None), default=None)
        if at is None:
            done.append(one)
            continue
        arranged, shape = ctx.arrays.arranged[at], one[0].shape
        dim = ctx.builder.ops[at].shape[arranged.axis]
        axis = next((i for i, other in enumerate(shape) if ctx.arrays.same(dim, other)), None)
        if axis is None:
            raise NotYetError(f"`{ctx.builder.ops[at].name}` is not along an axis of what is written")
        for item in arranged.items:
            own = Own.at(axis, item, len(shape))
            target = _part_of_array(ctx, one[0], axis, item) or _part(ctx, one[0], own)
            todo.append([target, *(_part(ctx, v, own.of(shape, v.shape)) for v in one[1:])])
    return done


def _part(ctx: Context, value: Typed, own: Own) -> Typed:
    found = rewrite(ctx, value.id, value.shape, own)
    assert found is not None
    return replace(value, id=found, shape=own.dims(ctx, value.shape))


def _part_of_array(ctx: Context, target: Typed, axis: int, item: Item) -> Typed | None:
    """The target in a view of its array, so that it walks whole rows; None where the axis is not one of the array."""
    op, right = ctx.builder.ops[target.id], axis - len(target.shape)
    while op.args and op.name != "gather":  # halves are converted, complex numbers taken apart
        op = ctx.builder.ops[op.args[0]]
    along = _walked(ctx, op, right)
    if along is None or not isinstance(item, Cut):
        return None
    assert isinstance(op.attr, Gather)
    base = ctx.arrays.operands[op.attr.operand]
    if base.role == "buffer":  # which has no views
        return None
    items = tuple(item if a == along else WHOLE for a in range(len(base.shape)))
    view = ctx.arrays.view(View(op.attr.operand, items), base.role)
    shape = Own.at(len(op.shape) + right, item, len(op.shape)).dims(ctx, op.shape)
    ones: list[Dim] = [1] * (-right - 1)
    index = replace(ctx.builder.ops[op.args[along]], shape=(shape[right], *ones))
    places = (*op.args[:along], ctx.builder.add(index), *op.args[along + 1 :])
    part = ctx.builder.add(replace(op, args=places, shape=shape, attr=replace(op.attr, operand=view)))
    return replace(target, id=part, shape=Own.at(axis, item, len(target.shape)).dims(ctx, target.shape))


def _walked(ctx: Context, op: Op, right: int) -> int | None:
    """The axis of an array whose places are the coordinates along an axis of what is taken of it, from the right."""
    dims = ctx.arrays.operands[op.attr.operand].shape if isinstance(op.attr, Gather) else ()
    for along, place in enumerate(op.places):
        at = ctx.builder.ops[place]
        if at.name == "index" and at.attr == right and ctx.arrays.same(at.shape[right], dims[along]):
            return along
    return None
