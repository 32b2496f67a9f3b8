"""Nested reductions: over all of a row, and over the segments of it.

Of ``x`` with the axes (token, group, element), the mean over groups and elements has rows of both axes; the maximum
over elements has segments of these rows, one for each group.  One kernel can compute both, in either order, and reduce
the results of segments to one of the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from kgen.ir.graph import Graph, IndexMap, Reduction
from kgen.partition.kernel_body import KernelSpace, rows_of
from kgen.partition.reduction_step import PLACES


def nested_spaces(kernel: Graph) -> Mapping[int, KernelSpace]:
    """The space of each reduction that shares one with reductions over more or fewer axes, of the same operands."""
    ops = kernel.ops
    alone = {n: rows_of(op, ops) for n, op in enumerate(ops) if isinstance(op.attr, Reduction)}
    read = _read(kernel)
    found: dict[int, KernelSpace] = {}
    for n, m in product(alone, repeat=2):
        rows, segments = alone[n], alone[m]
        if rows.dims == segments.dims and _reduced(segments) < _reduced(rows) and read[n] & read[m] and n not in found:
            space = KernelSpace(rows.dims, rows.reduced, _reduced(segments))
            members = [k for k, own in alone.items() if read[k] & read[n] and space.axes_of(own) is not None]
            if not any(_is_place(kernel, k) for k in members) and found.keys().isdisjoint(members):
                found |= dict.fromkeys(members, space)
    return found


def _reduced(space: KernelSpace) -> frozenset[int]:
    return space.reduced or frozenset()


def _is_place(kernel: Graph, number: int) -> bool:
    attr = kernel.ops[number].attr
    return isinstance(attr, Reduction) and attr.kind in PLACES


def _read(kernel: Graph) -> list[int]:
    """For each value, a bit mask of the operands that it depends on."""
    found: list[int] = []
    for op in kernel.ops:
        bits = 1 << op.attr.operand if op.name == "load" and isinstance(op.attr, IndexMap) else 0
        for a in op.args:
            bits |= found[a]
        found.append(bits)
    return found
