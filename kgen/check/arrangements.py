"""Typing of ``merge``, ``repeat``, ``stack`` and ``concat``, whose elements come from several places."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgen.check.arranged import add
from kgen.check.arrays import Arranged
from kgen.check.context import Context
from kgen.check.indexed import taken
from kgen.check.numbers import promoted
from kgen.check.own import Own
from kgen.check.shapes import integer, keyword, one_axis, ordered_axes
from kgen.check.values import Deferred, Typed, Value
from kgen.ir.graph import Dim, Shape
from kgen.ir.views import WHOLE, Pick
from kgen.records import replace
from kgen.syntax.tree import Call

Args = list[Value]


def _merge(ctx: Context, node: Call, args: Args) -> Value | None:
    """``merge(x, axis=(-2, -1))``: one axis in place of several that follow each other."""
    value, word = ctx.typed(args[0]), keyword(node, "axis")
    if value is None:
        return None
    rank = len(value.shape)
    shown = f"shape {ctx.dims.show(value.shape)}"
    found = (rank - 2, rank - 1) if word is None else ordered_axes(ctx, word.value, rank, shown)
    if found is None:
        return None
    if len(found) < 2 or found[0] < 0 or list(found) != list(range(found[0], found[0] + len(found))):
        at = node.function_span if word is None else word.span
        hint = "such as `axis=(-2, -1)`; `transpose` brings axes together"
        ctx.error("bad-axis", "merge() takes axes that follow each other", at, hint=hint)
        return None
    for axis in reversed(found[:-1]):
        merged = _merged(ctx, node, value, axis)
        if merged is None:
            return None
        value = merged
    return value


def _merged(ctx: Context, node: Call, value: Typed, axis: int) -> Typed | None:
    """The value with an axis and the next one merged."""
    outer, inner = value.shape[axis : axis + 2]
    if outer == 1 or inner == 1:
        own = Own.at(axis if outer == 1 else axis + 1, Pick(0), len(value.shape))
        found = taken(ctx, own, value, node.function_span, node.span)
        assert found is None or isinstance(found, Typed)
        return found
    dim, item = ctx.arrays.product(outer, inner)
    shape = (*value.shape[:axis], dim, *value.shape[axis + 2 :])
    return _arranged(ctx, node, [value], shape, Arranged(axis, (item,), (value.shape,)))


def _repeat(ctx: Context, node: Call, args: Args) -> Value | None:
    """``repeat(x, 4, axis=1)``: each element four times, one after the other."""
    value, count = ctx.typed(args[0]), integer(ctx, node.args[1], "the number of repeats")
    if value is None or count is None:
        return None
    if keyword(node, "axis") is None:
        ctx.error("missing-keyword", "repeat() needs axis=", node.function_span, hint="repeat(x, 4, axis=1)")
        return None
    axis = one_axis(ctx, node, value.shape, -1)
    if axis is None:
        return None
    if count < 1:
        ctx.error("bad-index", "an element is repeated once at least", node.args[1].span, hint="repeat(x, 4, axis=1)")
        return None
    if count == 1:
        return value
    places: list[int | None] = [*range(axis + 1), None, *range(axis + 1, len(value.shape))]
    beside = taken(ctx, Own((WHOLE,) * len(value.shape), tuple(places)), value, node.function_span, node.span)
    assert isinstance(beside, Typed)
    shape = (*value.shape[: axis + 1], ctx.arrays.count(count), *value.shape[axis + 1 :])
    return _merged(ctx, node, ctx.whole(replace(beside, shape=shape)), axis)


def _stack(ctx: Context, node: Call, args: Args) -> Value | None:
    """``stack(a, b, axis=0)``: values of one shape along a new axis."""
    values = _alike(ctx, node, args, None)
    if values is None:
        return None
    shape = values[0].shape
    axis = one_axis(ctx, node, (*shape, 1), 0)
    if axis is None:
        return None
    whole = (*shape[:axis], ctx.arrays.count(len(values)), *shape[axis:])
    items = tuple(map(Pick, range(len(values))))
    return _arranged(ctx, node, values, whole, Arranged(axis, items, tuple(v.shape for v in values)))


def _concat(ctx: Context, node: Call, args: Args) -> Value | None:
    """``concat(a, b, axis=0)``: values one after the other along an axis."""
    axis = one_axis(ctx, node, args[0].shape, 0)
    values = None if axis is None else _alike(ctx, node, args, axis)
    if axis is None or values is None:
        return None
    dim, items = ctx.arrays.total(tuple(v.shape[axis] for v in values))
    shape = (*values[0].shape[:axis], dim, *values[0].shape[axis + 1 :])
    return _arranged(ctx, node, values, shape, Arranged(axis, items, tuple(v.shape for v in values)))


def _alike(ctx: Context, node: Call, args: Args, apart: int | None) -> list[Typed] | None:
    """The arguments in their common dtype.  They have equal extents, but for the axis ``apart``."""
    first = args[0].shape
    for other in args[1:]:
        dims = enumerate(zip(first, other.shape, strict=False))
        if len(other.shape) != len(first) or any(axis != apart and not _equal(ctx, a, b) for axis, (a, b) in dims):
            message = f"shapes {ctx.dims.show(first)} and {ctx.dims.show(other.shape)} do not fit"
            hint = "nothing is broadcast here" + ("" if apart is None else "; only the axis itself may differ")
            ctx.error("shape-mismatch", message, node.function_span, marks=(args[0].span, other.span), hint=hint)
            return None
    return promoted(ctx, node, args, to_float=False)


def _equal(ctx: Context, a: Dim, b: Dim) -> bool:
    return (a == 1) == (b == 1) and ctx.dims.unify(a, b) is not None


def _arranged(ctx: Context, node: Call, values: Sequence[Typed], shape: Shape, arranged: Arranged) -> Typed:
    """The value of a call, of these parts."""
    dtype = values[0].dtype

    def op(parts: list[int]) -> int:
        return add(ctx, node.function, parts, ctx.builder.ops[parts[0]].dtype, shape, arranged)

    real = op([v.id for v in values])
    imag = [v.imag for v in values if v.imag is not None]
    return Typed(dtype, real, shape, node.span, op(imag) if imag else None)


def arrange(ctx: Context, node: Call, args: Args) -> Value | None:
    """A call of one of these functions; of weak values only, it is weak."""
    rule = ARRANGEMENTS[node.function]
    parts = args[:1] if node.function in ("merge", "repeat") else args
    weak = [part for part in parts if not isinstance(part, Typed)]
    found = rule(ctx, node, args)
    if found is None or len(weak) < len(parts):
        return found
    kind = max(part.kind for part in weak)
    span, site = ctx.site or node.span, ctx.site
    return Deferred(kind, lambda _, values: rule(ctx, node, [*values]), span, tuple(weak), found.shape, site=site)


#: Typing of each of these functions.
ARRANGEMENTS: dict[str, Callable[[Context, Call, Args], Value | None]] = {
    "concat": _concat,
    "merge": _merge,
    "repeat": _repeat,
    "stack": _stack,
}
