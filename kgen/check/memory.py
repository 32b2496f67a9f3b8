"""Temporaries that are updated at computed places: each is a buffer, which the program stores to, then reads.

let t = where(true, 0, x)    ->  store 0, t_buffer
t[i] += y                    ->  store y, t_buffer at i
out = t * 2                  ->  load t_buffer, which follows all stores
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kgen.check.arranged import NotYetError, outermost
from kgen.check.context import Context
from kgen.check.stored import stored_op
from kgen.check.values import Typed
from kgen.dtypes import DType
from kgen.ir.graph import Gather, IndexMap, Op
from kgen.program import Program
from kgen.records import dataclass
from kgen.syntax.tree import Assign, Let


def updates(program: Program) -> Counter[str]:
    """How many times each temporary is updated, of those that are."""
    lets = {s.name for s in program.statements if isinstance(s, Let)}
    return Counter(s.name for s in program.statements if isinstance(s, Assign) and s.name in lets)


@dataclass(slots=True)
class Memory:
    """A temporary of the ``dtype`` in a buffer, which has it as it is computed, unrounded.

    ``left``: the updates to come.
    """

    operand: int
    dtype: DType
    left: int


def filled(ctx: Context, let: Let, value: Typed, count: int) -> Memory | None:
    """The buffer with the first value of a temporary, which ``count`` updates follow.  None after an error."""
    dtype = value.dtype if value.dtype.is_complex else value.dtype.compute
    number = stored_op(ctx, value, dtype, value.span)
    if outermost(ctx, number) is not None:
        message = f"`{let.name}` is merged, stacked or concatenated, and updated at computed places"
        ctx.error("not-yet", message, let.name_span, hint=NotYetError.hint)
        return None
    buffer = ctx.arrays.add_buffer(let.name, dtype, value.shape)
    access = IndexMap(buffer, tuple(range(len(value.shape))))
    ctx.builder.add(Op("store", (number,), dtype, value.shape, access, span=value.span))
    return Memory(buffer, value.dtype, count)


def updated(ctx: Context, memory: Memory, stores: Iterable[Op]) -> set[int]:
    """Add the stores of one update.

    Returns the reads of the buffer that its places were found with, which are not part of the program.
    """
    reads = {n for n, op in enumerate(ctx.builder.ops) if _reads(op, memory.operand)}
    ctx.builder.forget(reads)
    for op in stores:
        ctx.builder.add(op)
    memory.left -= 1
    return reads


def _reads(op: Op, operand: int) -> bool:
    return op.name != "store" and isinstance(op.attr, IndexMap | Gather) and op.attr.operand == operand
