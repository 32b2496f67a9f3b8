"""Values whose elements lie in other places than any view has them: merged axes, stacks and concatenations.

Their ops exist only while a program is typed.  An index that takes one part of such a value is an index of that part;
a statement stores each part to a view of its output (:mod:`kgen.check.stores`).

merge(x)[...] split again  ->  x
stack(a, b)[0]             ->  a
concat(a, b)[:size(a, 0)]  ->  a
"""

from __future__ import annotations

from kgen.check.arrays import Arranged
from kgen.check.context import Context
from kgen.check.own import AXES, Own
from kgen.dtypes import DType
from kgen.ir.graph import Op, Shape
from kgen.ir.views import WHOLE, Cut, Item, Split
from kgen.records import replace


class NotYetError(Exception):
    """An index or a reduction of merged, stacked or concatenated elements that is not supported."""

    hint = "index or reduce before `merge`, `stack`, `concat` and `repeat`, or what they are made of"


def add(ctx: Context, name: str, parts: list[int], dtype: DType, shape: Shape, arranged: Arranged) -> int:
    """The op of a value that is arranged of these parts."""
    op = Op(name, tuple(parts), dtype, shape, arranged.axis)
    number = ctx.builder.add(op)
    ctx.arrays.arranged[number] = arranged
    return number


def below(ctx: Context, number: int, own: Own) -> list[tuple[int, Own]]:
    """The parts that an index of an arranged value takes, and the index of each.  Raises NotYetError."""
    op, arranged = ctx.builder.ops[number], ctx.arrays.arranged[number]
    taken = _taken(ctx, arranged, own.items[arranged.axis], op)
    shapes = zip(op.args, arranged.shapes, strict=True)
    found = [(part, _index(arranged, own).of(shape, ctx.builder.ops[part].shape)) for part, shape in shapes]
    return found if taken is None else [found[taken]]


def made(ctx: Context, number: int, own: Own, args: list[int]) -> int:
    """The op of an indexed one, from its indexed parts."""
    op, arranged = ctx.builder.ops[number], ctx.arrays.arranged[number]
    if own.items[arranged.axis] != WHOLE:
        return args[0]
    index = _index(arranged, own)
    shapes = tuple(index.dims(ctx, shape) for shape in arranged.shapes)
    moved = replace(arranged, axis=own.axes.index(arranged.axis), shapes=shapes)
    return add(ctx, op.name, args, op.dtype, own.dims(ctx, op.shape), moved)


def _taken(ctx: Context, arranged: Arranged, item: Item, op: Op) -> int | None:
    """The number of the part that an item takes; None for all of them.  Raises NotYetError."""
    dim = op.shape[arranged.axis]
    if item == WHOLE:
        return None
    if item in arranged.items:
        return arranged.items.index(item)
    own, axis = arranged.items[0], arranged.axis
    if isinstance(item, Split) and isinstance(own, Split) and ctx.arrays.same_bound(item.by, own.by):
        pairs = zip(ctx.arrays.parts(dim, item), arranged.shapes[0][axis : axis + 2], strict=True)
        if all(ctx.dims.unify(a, b) is not None for a, b in pairs):
            return 0
    if isinstance(own, Cut):
        part = ctx.arrays.part_of_total(dim, item, tuple(shape[axis] for shape in arranged.shapes))
        if part is not None:
            return part
    raise NotYetError(f"this takes elements of several parts of `{op.name}`")


def _index(arranged: Arranged, own: Own) -> Own:
    """The index of a part, for that of the whole."""
    axis, count = arranged.axis, AXES[type(arranged.items[0])]
    items = (*own.items[:axis], *(WHOLE,) * count, *own.items[axis + 1 :])
    axes: list[int | None] = []
    for place, at in enumerate(own.axes):
        if at is None or at < axis:
            axes.append(at)
        elif at > axis:
            axes.append(at + count - 1)
        elif own.items[axis] == WHOLE:
            axes += range(axis, axis + count)
        else:
            axes.append(axis + own.axes[:place].count(axis))
    return Own(items, tuple(axes))


def axis_of(ctx: Context, number: int, shape: Shape) -> int:
    """The axis along which an arranged value lies in one that is computed from it.  Raises NotYetError."""
    op, own = ctx.builder.ops[number], ctx.arrays.arranged[number].axis
    axis = next((axis for axis, dim in enumerate(shape) if ctx.arrays.same(op.shape[own], dim)), None)
    if axis is None:
        raise NotYetError(f"this reduces an axis of `{op.name}`")
    return axis


def outermost(ctx: Context, root: int) -> int | None:
    """The last arranged value that a value is computed from."""
    found: int | None = None
    stack, seen = [root], set[int]()
    while stack:
        number = stack.pop()
        if number in seen:
            continue
        seen.add(number)
        if number in ctx.arrays.arranged:
            found = number if found is None else max(found, number)
        stack += ctx.builder.ops[number].args
    return found
