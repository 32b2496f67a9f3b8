"""Scratch memory of a program's kernels, in bytes: buffers between them, partials and counters of blocks."""

from __future__ import annotations

from kgen.ir.graph import Graph
from kgen.schedule.expressions import Expr, Name, ceil_div, maximum, product

ALIGNMENT = 256  # every array starts at a multiple of what allocators align to
COUNTER_BYTES = 4


def aligned(size: Expr) -> Expr:
    """``size`` rounded up to where the next array may start."""
    return ceil_div(size, ALIGNMENT) * ALIGNMENT


def buffer_bytes(graph: Graph) -> dict[int, Expr]:
    """The size of each buffer, by operand, over the program's dimension symbols."""
    return {
        number: maximum(product(1 if dim == 1 else Name(dim) for dim in operand.shape), 1) * operand.dtype.size
        for number, operand in enumerate(graph.operands)
        if operand.role == "buffer"
    }
