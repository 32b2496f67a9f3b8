"""Stores at computed places: ``out[slot] = value``, where an index of the same text would read."""

from __future__ import annotations

from kgen.check.arranged import outermost
from kgen.check.context import Context
from kgen.check.values import Typed
from kgen.ir.graph import Gather, Op, Scatter
from kgen.syntax.tree import Index


def scatter(ctx: Context, node: Index, target: Typed, operand: int, value: Typed) -> Op | None:
    """The store of a value that has the operand's dtype.  ``target``: the value of ``node``.  None after an error."""
    if any(outermost(ctx, one) is not None for one in (target.id, value.id)):
        message = "merged, stacked and concatenated values are not written to computed places yet"
        ctx.error("not-yet", message, value.span, marks=(node.span,), hint="write a statement for each part")
        return None
    number, ops = target.id, ctx.builder.ops
    while ops[number].args and ops[number].name != "gather":
        number = ops[number].args[0]
    if ops[number].attr != Gather(operand):
        message = "what is written has computed indices, and no slices but `:`"
        ctx.error("not-yet", message, node.items_span, hint="pass the view as an argument of the call")
        return None
    joined = ctx.dims.broadcast(target.shape, value.shape)
    pairs = zip(reversed(target.shape), reversed(value.shape), strict=False)
    if isinstance(joined, int) or len(joined) > len(target.shape) or any(o == 1 != new for o, new in pairs):
        message = f"{ctx.dims.show(value.shape)} is written to {ctx.dims.show(target.shape)}"
        hint = "the value is broadcast to what is written, not the reverse"
        ctx.error("inout-shape", message, node.span, marks=(value.span,), hint=hint)
        return None
    attr = Scatter(operand)
    return Op("store", (value.id, *ops[number].args), ops[value.id].dtype, target.shape, attr, span=node.span)
