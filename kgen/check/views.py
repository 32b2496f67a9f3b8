"""Typing of the functions that take the elements of a value in other places: ``transpose``, ``flip`` and ``split``.

Each is an index of the value, and :mod:`kgen.check.indexed` rewrites it.  ``merge`` and others have no such index:
:mod:`kgen.check.arrangements` types these.
"""

from __future__ import annotations

from collections.abc import Callable

from kgen.check.arrangements import ARRANGEMENTS, arrange
from kgen.check.context import Context
from kgen.check.indexed import taken
from kgen.check.own import Own
from kgen.check.shapes import axes, integer, keyword, one_axis, ordered_axes
from kgen.check.values import Value
from kgen.ir.graph import Shape
from kgen.ir.views import REVERSED, WHOLE, Item, Split, groups
from kgen.syntax.tree import Call


def view(ctx: Context, node: Call, values: list[Value]) -> Value | None:
    """A call of one of these functions.  ``values``: of its arguments."""
    if node.function in ARRANGEMENTS:
        return arrange(ctx, node, values)
    own = _FUNCTIONS[node.function](ctx, node, values[0].shape)
    return None if own is None else taken(ctx, own, values[0], node.function_span, node.span)


def _transpose(ctx: Context, node: Call, shape: Shape) -> Own | None:
    """``transpose(x, (1, 0))``: axis 0 of the result is axis 1 of ``x``.  Without axes, in reverse."""
    rank, word = len(shape), keyword(node, "axes")
    order: tuple[int, ...] | None = tuple(reversed(range(rank)))
    if word is not None:
        order = ordered_axes(ctx, word.value, rank, f"shape {ctx.dims.show(shape)}")
        if order is not None and len(order) != rank:
            message = f"{len(order)} axes are named, and the shape is {ctx.dims.show(shape)}"
            ctx.error("bad-axis", message, word.span, hint=f"name each of its {rank} axes once")
            return None
    return None if order is None else Own((WHOLE,) * rank, order)


def _flip(ctx: Context, node: Call, shape: Shape) -> Own | None:
    """``flip(x, axis=0)``: the last element first.  Without ``axis``, along all axes."""
    rank, word = len(shape), keyword(node, "axis")
    found: tuple[int, ...] | None = tuple(range(rank))
    if word is not None:
        found = axes(ctx, word.value, rank, f"shape {ctx.dims.show(shape)}")
    if found is None:
        return None
    return Own(tuple(REVERSED if axis in found else WHOLE for axis in range(rank)), tuple(range(rank)))


def _split(ctx: Context, node: Call, shape: Shape) -> Own | None:
    """``split(x, axis=-1, by=128)``: two axes in place of one, the groups and the elements of a group."""
    by, axis = keyword(node, "by"), one_axis(ctx, node, shape, -1)
    if by is None:
        ctx.error("missing-keyword", "split() needs by=", node.function_span, hint="split(x, axis=-1, by=128)")
        return None
    count = integer(ctx, by.value, "by=")
    if count is None or axis is None:
        return None
    try:
        groups(Split(count), ctx.dims.extent(shape[axis]), ctx.dims)
    except IndexError as problem:
        ctx.error("bad-split", str(problem), by.span, hint="`by` divides the extent of the axis")
        return None
    items: list[Item] = [WHOLE] * len(shape)
    places: list[int | None] = [*range(axis + 1), axis, *range(axis + 1, len(shape))]
    if shape[axis] == 1:
        places[axis + 1] = None
    else:
        items[axis] = Split(count)
    return Own(tuple(items), tuple(places))


_FUNCTIONS: dict[str, Callable[[Context, Call, Shape], Own | None]] = {
    "flip": _flip,
    "split": _split,
    "transpose": _transpose,
}
