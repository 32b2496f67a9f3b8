"""``nextafter`` of halves and fp8: the neighbour in their own format, by a step of the bits."""

from __future__ import annotations

from kgen.check.context import Context
from kgen.check.values import Typed
from kgen.syntax.tree import Call


def narrow_nextafter(ctx: Context, x: Typed, y: Typed, node: Call) -> Typed | None:
    """The neighbour of ``x`` on the way to ``y``, both rounded to their dtype first."""
    shape = ctx.shape_of([x, y], node.function_span)
    if shape is None:
        return None
    dtype, span = x.dtype, node.span
    x, y = ctx.stored(x, dtype), ctx.stored(y, dtype)
    integer = dtype.integer
    stored = ctx.cast(x.id, dtype, span)
    bits = Typed(integer, ctx.builder.op("bitcast", (stored,), dtype=integer, span=span), x.shape, span)
    above, below = (ctx.const(least, integer, span) for least in (1, integer.int_min + 1))
    moved = ctx.inline_prelude(ctx, "_next_bits", [x, y, bits, above, below], span)
    assert isinstance(moved, Typed)
    number = ctx.builder.op("bitcast", (moved.id,), dtype=dtype, span=span)
    stepped = ctx.unpack(number, dtype, shape, span)
    found = ctx.inline_prelude(ctx, "_next", [x, y, stepped], span)
    assert isinstance(found, Typed)
    return found
