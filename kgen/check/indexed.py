"""The rewriting of an indexed value: the same computation on views of its operands.

(a + b)[:, :64]      ->  a[:, :64] + b[:, :64]
sum(x, axis=1)[2:]   ->  sum(x[2:], axis=1)
(x * index(0))[2:]   ->  x[2:] * (index(0) + 2)
transpose(a + b)     ->  transpose(a) + transpose(b)
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.check import arranged
from kgen.check.arranged import NotYetError
from kgen.check.arrays import Arranged
from kgen.check.context import Context
from kgen.check.own import AXES, Own, is_empty
from kgen.check.values import Typed, Value
from kgen.dtypes import INT64
from kgen.ir.graph import Dim, Gather, IndexMap, Op, Reduction, Shape, reduced_shape
from kgen.ir.views import OPS, WHOLE, Bound, Computed, Item, Pick, Split, View
from kgen.records import dataclass, replace
from kgen.source import Span


def taken(ctx: Context, own: Own, value: Value, at: Span, span: Span) -> Value | None:
    """What an index takes of a value.  ``at``: the text of the index."""
    if isinstance(value, Typed):
        return _taken(ctx, own, value, at, span)
    weak = ctx.defer(value.kind, lambda _, values: _taken(ctx, own, values[0], at, span), [value], at, span)
    return weak and replace(weak, shape=own.dims(ctx, value.shape))


def _taken(ctx: Context, own: Own, value: Typed, at: Span, span: Span) -> Typed | None:
    parts = [value.id] if value.imag is None else [value.id, value.imag]
    shape = own.dims(ctx, value.shape)
    try:
        found = [rewrite(ctx, part, value.shape, own) for part in parts]
    except NotYetError as problem:
        ctx.error("not-yet", str(problem), at, hint=NotYetError.hint)
        return None
    if None in found or not own.has_extents(ctx, value.shape):
        message = "this takes no elements of an axis of size 1 that no array has"
        ctx.error("not-yet", message, at, hint="take its one element, `0` or `:`")
        return None
    if not own.add_views(ctx, value.shape):
        message = "this takes a part of an axis that no array has"
        ctx.error("not-yet", message, at, hint="index an array, or compute with `index()`")
        return None
    return Typed(value.dtype, found[0] or 0, shape, span, found[1] if len(found) > 1 else None)


def rewrite(ctx: Context, root: int, shape: Shape, own: Own) -> int | None:
    """The op of the indexed value.  ``shape``: of the value.

    None where an index takes no elements of an axis of extent 1 that no array has.  Raises NotYetError.
    """
    ops = ctx.builder.ops
    start = (root, own.of(shape, ops[root].shape))
    needed: dict[tuple[int, Own], list[tuple[int, Own]]] = {}
    stack = [start]
    while stack:
        at = stack.pop()
        if at not in needed:
            below = _below(ctx, *at)
            if below is None:
                return None
            needed[at] = below
            stack += below
    found: dict[tuple[int, Own], int] = {}
    for at in sorted(needed, key=lambda at: at[0]):
        found[at] = _made(ctx, *at, [found[b] for b in needed[at]])
    return found[start]


def concatenated(ctx: Context, number: int, axes: Sequence[int]) -> list[int]:
    """The parts of a value that is computed from concatenations along one of these axes; itself, if of none, or of some
    with other parts.
    """
    at, shape = arranged.outermost(ctx, number), ctx.builder.ops[number].shape
    if at is None or ctx.builder.ops[at].name != "concat":
        return [number]
    try:
        axis, items = arranged.axis_of(ctx, at, shape), ctx.arrays.arranged[at].items
        if axis not in axes:
            return [number]
        pieces = [rewrite(ctx, number, shape, Own.at(axis, item, len(shape))) for item in items]
    except NotYetError:  # another one has other parts: what is stored says so
        return [number]
    return [part for piece in pieces if piece is not None for part in concatenated(ctx, piece, axes)]


def by_parts(ctx: Context, number: int) -> int | None:
    """A value that is computed from an arranged one, arranged of its own parts; else None.  Raises NotYetError."""
    at, op = arranged.outermost(ctx, number), ctx.builder.ops[number]
    if at is None:
        return None
    axis, items = arranged.axis_of(ctx, at, op.shape), ctx.arrays.arranged[at].items
    owns = [Own.at(axis, item, len(op.shape)) for item in items]
    parts = [part for own in owns if (part := rewrite(ctx, number, op.shape, own)) is not None]
    whole = Arranged(axis, items, tuple(own.dims(ctx, op.shape) for own in owns))
    return arranged.add(ctx, ctx.builder.ops[at].name, parts, op.dtype, op.shape, whole)


def _below(ctx: Context, number: int, own: Own) -> list[tuple[int, Own]] | None:
    """The indexed values that an indexed op is computed from."""
    ops = ctx.builder.ops
    op = ops[number]
    if not op.shape:
        return []
    if number in ctx.arrays.arranged:
        return arranged.below(ctx, number, own)
    if isinstance(op.attr, IndexMap):
        lacking = zip(op.attr.axes, own.items, strict=True)
        return None if any(axis is None and is_empty(ctx, item) for axis, item in lacking) else []
    if op.name == "expand":
        return _below_expand(ctx, op, ops[op.args[0]].shape, own)
    if isinstance(op.attr, Reduction):
        if own.is_whole:  # only new axes: its result is expanded
            return []
        inner = _reduced(ctx, op.attr, ops[op.args[0]].shape, own)
        return None if inner is None else [(op.args[0], inner.own)]
    return [(a, own.of(op.shape, ops[a].shape)) for a in op.args]


def _below_expand(ctx: Context, op: Op, source: Shape, own: Own) -> list[tuple[int, Own]] | None:
    place = unexpanded(ctx, op.shape, source)
    if any(axis not in place and is_empty(ctx, item) for axis, item in enumerate(own.items)):
        return None
    axes = tuple(place.index(axis) for axis in own.axes if axis in place)
    return [(op.args[0], Own(tuple(own.items[axis] for axis in place), axes))]


def _made(ctx: Context, number: int, own: Own, args: list[int]) -> int:
    """The op of an indexed op, from the ops of what it is computed from."""
    op = ctx.builder.ops[number]
    if not op.shape:
        return number
    shape = own.dims(ctx, op.shape)
    if number in ctx.arrays.arranged:
        return arranged.made(ctx, number, own, args)
    if op.name == "expand" or (isinstance(op.attr, Reduction) and not args):
        return _expanded(ctx, args[0] if args else number, op, shape)
    if isinstance(op.attr, Reduction):
        inner = _reduced(ctx, op.attr, ctx.builder.ops[op.args[0]].shape, own)
        assert inner is not None
        own_shape = reduced_shape(inner.own.dims(ctx, ctx.builder.ops[op.args[0]].shape), inner.attr)
        made = ctx.builder.add(replace(op, args=tuple(args), shape=own_shape, attr=inner.attr))
        return _expanded(ctx, made, op, shape)
    if op.name == "index":
        return _coordinate(ctx, op, own, shape)
    attr = op.attr
    if isinstance(attr, IndexMap):
        if ctx.arrays.operands[attr.operand].role == "buffer" and set(own.items) != {WHOLE}:
            return _of_buffer(ctx, op, attr, own)
        attr = _access(ctx, attr, own)
    return ctx.builder.add(Op(op.name, tuple(args), op.dtype, shape, attr, op.label, op.span))


def _expanded(ctx: Context, number: int, op: Op, shape: Shape) -> int:
    found = ctx.builder.ops[number]
    if found.shape == shape:
        return number
    if found.name == "expand":
        number = found.args[0]
    return ctx.builder.add(Op("expand", (number,), op.dtype, shape, None, op.label, op.span))


def unexpanded(ctx: Context, shape: Shape, source: Shape) -> list[int]:
    """The axis of an expanded value for each of the axes of the argument."""
    place: list[int] = []
    axis = len(shape)
    for dim in reversed(source):
        axis -= 1
        while not ctx.arrays.same(shape[axis], dim):
            axis -= 1
        place.insert(0, axis)
    return place


@dataclass(frozen=True, slots=True)
class _Reduced:
    """The index of a reduction's argument, and the reduction of what it takes."""

    own: Own
    attr: Reduction


def _reduced(ctx: Context, attr: Reduction, argument: Shape, own: Own) -> _Reduced | None:
    """The reduction that gives the indexed result, but for axes of extent 1; None for no elements of such an axis."""
    kept = _kept(attr, len(argument))
    found = dict(zip(kept, own.items, strict=True))
    left = [found.pop(axis) for axis in attr.axes if axis in found]
    if any(is_empty(ctx, item) for item in left):
        return None
    items = tuple(found.get(axis, WHOLE) for axis in range(len(argument)))
    axes = [None if axis is None else kept[axis] for axis in own.axes]
    keepdims = attr.keepdims and not any(isinstance(item, Pick) for item in left) and not own.is_transposed
    if not keepdims:
        axes = _with_all(attr.axes, axes)
    places = tuple(place for place, axis in enumerate(axes) if axis in attr.axes)
    return _Reduced(Own(items, tuple(axes)), replace(attr, axes=places, keepdims=keepdims))


def _kept(attr: Reduction, rank: int) -> list[int]:
    """The axis of the argument for each axis of the result."""
    return [axis for axis in range(rank) if attr.keepdims or axis not in attr.axes]


def _with_all(reduced: tuple[int, ...], axes: list[int | None]) -> list[int | None]:
    """The axes of an argument with those that are reduced, in their order."""
    found: list[int | None] = []
    waiting = list(reduced)
    for axis in (axis for axis in axes if axis not in reduced):
        while axis is not None and waiting and waiting[0] < axis:
            found.append(waiting.pop(0))
        found.append(axis)
    return [*found, *waiting]


def _access(ctx: Context, access: IndexMap, own: Own) -> IndexMap:
    """The access of a load, to a view of its operand where the index is more than new axes."""
    operand = ctx.arrays.operands[access.operand]
    items: list[Item] = [WHOLE] * len(operand.shape)
    for axis, item in zip(access.axes, own.items, strict=True):
        if axis is not None and (operand.shape[axis] != 1 or is_empty(ctx, item)):
            items[axis] = item
    left = [axis for axis, item in enumerate(items) for _ in range(AXES[type(item)])]
    found = tuple(
        left.index(axis) + (at in own.axes[:place] and isinstance(items[axis], Split))
        if at is not None and (axis := access.axes[at]) is not None
        else None
        for place, at in enumerate(own.axes)
    )
    if all(item == WHOLE for item in items):
        return IndexMap(access.operand, found)
    return IndexMap(ctx.arrays.view(View(access.operand, tuple(items))), found)


def _of_buffer(ctx: Context, op: Op, access: IndexMap, own: Own) -> int:
    """An indexed load of a buffer, which has no views: an element for each place."""
    places = [ctx.builder.const(0, INT64)] * len(ctx.arrays.operands[access.operand].shape)
    for axis, at in enumerate(access.axes):
        if at is not None:
            right = axis - len(op.shape)
            ones: list[Dim] = [1] * (-right - 1)
            along: Shape = (op.shape[axis], *ones)
            number = ctx.builder.op("index", (), dtype=INT64, shape=along, attr=right)
            found = rewrite(ctx, number, along, own.of(op.shape, along))
            assert found is not None
            places[at] = found
    shape = own.dims(ctx, op.shape)
    return ctx.builder.add(Op("gather", tuple(places), op.dtype, shape, Gather(access.operand), op.label, op.span))


def _coordinate(ctx: Context, op: Op, own: Own, shape: Shape) -> int:
    """``index(k)`` of an indexed value: ``start + step * index`` of the axis that is left, or the place."""
    item, dim = own.items[0], op.shape[0]
    builder = ctx.builder

    def integer(name: str, *args: int) -> int:
        return builder.op(name, args)

    def counted(bound: Bound) -> int:
        """A place of the axis, from its start."""
        value, size = extent_op(ctx, bound), extent_op(ctx, dim)
        if isinstance(bound, int):
            return value if bound >= 0 else integer("add", value, size)
        negative = builder.op("lt", (value, builder.const(0, INT64)))
        return integer("where", negative, integer("add", value, size), value)

    if isinstance(item, Pick):
        return counted(item.place)

    def along(right: int) -> int:
        """The coordinate along an axis of the result, counted from the right."""
        ones: list[Dim] = [1] * (-right - 1)
        return builder.op("index", (), dtype=INT64, shape=(shape[right], *ones), attr=right)

    right = own.axes.index(0) - len(own.axes)
    place = along(right)
    if isinstance(item, Split):
        return integer("add", integer("mul", place, extent_op(ctx, item.by)), along(right + 1))
    if item.step != 1:
        place = integer("mul", place, extent_op(ctx, item.step))
    zero = extent_op(ctx, 0)
    if item.step > 0:
        if item.start is None:
            return place
        start = counted(item.start)
        bounded = isinstance(item.start, int) and item.start >= 0
        return integer("add", place, start if bounded else integer("max", start, zero))
    last = extent_op(ctx, Computed("-", dim, 1))
    return integer("add", place, last if item.start is None else integer("min", counted(item.start), last))


def extent_op(ctx: Context, bound: Bound) -> int:
    """The op of a bound, an int64."""
    match bound:
        case int():
            return ctx.builder.const(bound, INT64)
        case Computed():
            return ctx.builder.op(OPS[bound.op], (extent_op(ctx, bound.left), extent_op(ctx, bound.right)))
        case _:
            return ctx.builder.op("size", (), dtype=INT64, shape=(), attr=ctx.dims.find(bound))
