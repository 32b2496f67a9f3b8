"""Values at computed places whose elements lie in several parts: merged, stacked and joined ones.

merge(x)[i]          ->  x[i // n, i % n], where n is the extent of the last axis
stack(a, b)[i]       ->  i == 0 ? a : i == 1 ? b : 0
concat(a, b)[i]      ->  i < n ? a[i] : b[i - n], where n is the extent of a
concat(a, b)[:, i]   ->  concat(a[:, i], b[:, i])
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.check.arranged import add
from kgen.check.arrays import Arranged
from kgen.check.context import Context
from kgen.check.indexed import extent_op
from kgen.check.own import AXES
from kgen.check.places import Places, Taken, at_place
from kgen.check.values import Typed
from kgen.dtypes import BOOL
from kgen.ir.graph import Shape
from kgen.ir.views import Bound, Cut, Pick, Split
from kgen.records import replace


def below(ctx: Context, number: int, taken: Taken, places: list[Typed]) -> list[Taken]:
    """What is taken of each part; adds the places along their axes to ``places``."""
    arranged = ctx.arrays.arranged[number]
    axis, at = arranged.axis, taken.axes[arranged.axis]
    before, behind = taken.axes[:axis], taken.axes[axis + 1 :]
    if at is None:
        count = AXES[type(arranged.items[0])]
        leads = taken.left.index(axis) < taken.lead
        part = replace(taken, axes=(*before, *(None,) * count, *behind), lead=taken.lead + leads * (count - 1))
        return [part] * len(arranged.items)
    found: list[Taken] = []
    for item, start in zip(arranged.items, _starts(arranged), strict=True):
        match item:
            case Pick():
                found.append(replace(taken, axes=(*before, *behind)))
            case Split():
                own = [_computed(ctx, name, places[at], item.by) for name in ("floordiv", "mod")]
                found.append(replace(taken, axes=(*before, len(places), len(places) + 1, *behind)))
                places += own
            case Cut():  # other parts have no such element, which is no mistake of the program
                found.append(replace(taken, axes=(*before, len(places), *behind), outside="fill"))
                places.append(_computed(ctx, "sub", places[at], start))
    return found


def made(ctx: Context, number: int, taken: Taken, args: Sequence[int], index: Places) -> int:
    """The op of the value at these places, from those of its parts."""
    op, arranged = ctx.builder.ops[number], ctx.arrays.arranged[number]
    at = taken.axes[arranged.axis]
    if at is None:
        place = taken.left.index(arranged.axis)
        axis = place + (place >= taken.lead) * len(index.shape)
        of_parts = zip(arranged.shapes, below(ctx, number, taken, []), strict=True)
        shapes = tuple(_whole_shape(shape, part, index) for shape, part in of_parts)
        shape = _whole_shape(op.shape, taken, index)
        return add(ctx, op.name, [*args], op.dtype, shape, Arranged(axis, arranged.items, shapes))
    own = at_place(ctx, index.places[at], len(taken.left) - taken.lead)
    match arranged.items[-1]:
        case Split():
            return args[0]
        case Cut():
            ends = [item.stop for item in arranged.items if isinstance(item, Cut) and item.stop is not None]
            tests = [ctx.builder.op("lt", (own, extent_op(ctx, end)), span=op.span) for end in ends]
            found = args[-1]
        case Pick():
            tests = [ctx.builder.op("eq", (own, extent_op(ctx, n)), span=op.span) for n in range(len(args))]
            found = ctx.cast(ctx.builder.const(False, BOOL), op.dtype, index.places[at].span)
    for test, part in reversed([*zip(tests, args, strict=False)]):
        found = ctx.builder.op("where", (test, part, found), span=op.span)
    return found


def _starts(arranged: Arranged) -> list[Bound]:
    return [item.start or 0 if isinstance(item, Cut) else 0 for item in arranged.items]


def _computed(ctx: Context, name: str, place: Typed, bound: Bound) -> Typed:
    """The place along an axis of a part."""
    return replace(place, id=ctx.builder.op(name, (place.id, extent_op(ctx, bound)), span=place.span))


def _whole_shape(shape: Shape, taken: Taken, index: Places) -> Shape:
    """The shape of what is taken of a value, with all axes of the index."""
    left = [shape[axis] for axis in taken.left]
    return (*left[: taken.lead], *index.shape, *left[taken.lead :])
