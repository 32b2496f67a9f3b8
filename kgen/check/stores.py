"""The stores of a statement: one, or one for each part of a value that is merged, stacked or concatenated.

out = merge(x)       ->  split(out) = x
out = stack(a, b)    ->  out[0] = a, out[1] = b
out = concat(a, b)   ->  out[:size(a, 0)] = a, out[size(a, 0):] = b
"""

from __future__ import annotations

from kgen.check.arranged import axis_of, outermost
from kgen.check.context import Context
from kgen.check.own import Own
from kgen.ir.graph import Role, Shape
from kgen.ir.views import View
from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class Stored:
    """A value of this shape, stored to an operand."""

    operand: int
    value: int
    shape: Shape


def stores(ctx: Context, whole: Stored, role: Role) -> list[Stored]:
    """What is stored, to views of the operand for parts.  Raises NotYetError."""
    todo, found = [whole], list[Stored]()
    while todo:
        one = todo.pop(0)
        at = outermost(ctx, one.value)
        if at is None:
            found.append(one)
            continue
        from kgen.check.indexed import rewrite

        axis = axis_of(ctx, at, one.shape)
        for item in ctx.arrays.arranged[at].items:
            own = Own.at(axis, item, len(one.shape))
            part = rewrite(ctx, one.value, one.shape, own)
            assert part is not None
            todo.append(Stored(ctx.arrays.view(View(one.operand, own.items), role), part, own.dims(ctx, one.shape)))
    return found
