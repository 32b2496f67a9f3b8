"""Typing of the functions that take the elements of a value in other places: ``transpose`` and ``flip``.

Each is an index of the value, and :mod:`kgen.check.indexed` rewrites it.
"""

from __future__ import annotations

from collections.abc import Callable

from kgen.check.context import Context
from kgen.check.indexed import Own, taken
from kgen.check.shapes import axes, keyword, ordered_axes
from kgen.check.values import Value
from kgen.ir.graph import Shape
from kgen.ir.views import REVERSED, WHOLE
from kgen.syntax.tree import Call


def view(ctx: Context, node: Call, value: Value) -> Value | None:
    """A call of one of these functions.  ``value``: of its argument."""
    own = _FUNCTIONS[node.function](ctx, node, value.shape)
    return None if own is None else taken(ctx, own, value, node.function_span, node.span)


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


_FUNCTIONS: dict[str, Callable[[Context, Call, Shape], Own | None]] = {"flip": _flip, "transpose": _transpose}
