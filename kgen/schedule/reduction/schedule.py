"""Kernels with reductions: their schedule, their space, and what a choice depends on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kgen.dtypes import Kind
from kgen.ir.kernel import Access, Reduction
from kgen.layout.iterator import IterationSpace, OperandLayout, iteration_space
from kgen.partition.cut import RowStep
from kgen.partition.trace import spread
from kgen.schedule.schedule import Schedule

WARP = 32

#: Elements of a row that a thread keeps in registers: enough for several loads in flight, and for rounds of reductions
#: to be a small part of the work.
ELEMENTS = 32

#: Blocks that keep a device busy: several for each of about 130 SMs, in several waves.
ENOUGH_BLOCKS = 1024

#: Groups of a row that a thread reads at once where several blocks share the row.
IN_FLIGHT = 8

#: What a reduction keeps of a row, in numbers of its type.
_NUMBERS = {"var": 3, "std": 3, "logsumexp": 2, "exp_sum": 2, "argmin": 2, "argmax": 2}

_MOST = 2**31

#: Elements below that number that a row ends before, where its places are counted in 32 bits: loops go that far beyond.
_ROOM = 1 << 16


@dataclass(frozen=True, slots=True)
class RowSchedule(Schedule):
    """``threads`` of a block share a row.  ``vectors``: groups of elements that each of them keeps in registers; 0
    where the row is read again for each round of reductions.  ``reduced``: dimensions of the space, the first ones,
    that are reduced.  ``rank`` counts all dimensions.  ``split``: whether several blocks share a row, each a span of
    it; the last to arrive merges their results.  ``cluster``: how many blocks share a row that they keep in registers,
    and exchange through each other's shared memory.  ``repeat``: how many rows a thread takes one after the other.
    ``near``: a touch of which a block keeps in shared memory what all rows share, while clusters take row after row.
    ``evict_last``: touches of which L2 is told to evict last what is read; ``streamed``: that caches drop first.

    In a column kernel a group is ``group`` rows that are consecutive in memory, ``threads`` of the block share it, and
    each of them reads ``vectors`` of its elements before it uses them, or keeps them.  ``tall``: whether a thread may
    have twice as many, or more.  ``down``: touches that move along columns.
    """

    threads: int = WARP
    vectors: int = 0
    reduced: int = 1
    split: bool = False
    cluster: int = 1
    repeat: int = 1
    tall: bool = False
    down: tuple[int, ...] = ()
    near: int | None = None
    evict_last: tuple[int, ...] = ()
    streamed: tuple[int, ...] = ()

    @property
    def sharers(self) -> int:
        """Threads that share a row, of all blocks."""
        return self.threads * self.cluster

    @property
    def rows(self) -> int:
        """Rows of a block."""
        rows = self.block // self.threads * self.repeat
        return rows * self.group if self.by_columns else rows

    @property
    def by_columns(self) -> bool:
        """Whether threads go across rows that are consecutive in memory."""
        return self.template in ("column_reduce", "column_held")

    @property
    def held(self) -> int:
        """Elements of a row that there are registers for."""
        return self.sharers * self.vectors * (1 if self.by_columns else self.group)

    @property
    def fills(self) -> bool:
        """Whether rows are so long that no thread's groups but its last one lie outside, and that is made use of.

        Fewer questions let the compiler read further ahead, which takes registers: none are left in longer rows.
        """
        few = self.rows == 1 and self.lead is None and self.vectors * self.group <= ELEMENTS
        return self.vectors > 1 and (self.stages or few or self.near is not None)

    @property
    def stages(self) -> bool:
        """Whether rows go by way of shared memory."""
        return any(t.access == "staged" for t in self.touches)

    @property
    def shifts(self) -> bool:
        """Whether groups of some operand are shifted out of aligned blocks."""
        return any(t.access == "shifted" for t in self.touches)

    @property
    def kept(self) -> int:
        """Dimensions that are kept."""
        return self.rank - self.reduced

    def suffix(self, itemsizes: Sequence[int]) -> str:
        wide = "_64bit" if self.index_bits == 64 else ""
        held = f"held{self.held}" if self.vectors else "long"
        shape = {"column_reduce": "columns", "column_held": f"columns_{held}"}.get(self.template, f"rows_{held}")
        ends = "_staged" if self.stages else "_peeled" if self.lead is not None else ""
        cluster = "" if self.cluster == 1 else "_cluster" if self.near is None else "_staying"
        shared = "_split" if self.split else cluster
        return f"{shape}{ends}{shared}{wide}"


# --- the space ------------------------------------------------------------------------------------------


def row_space(step: RowStep, shape: tuple[int, ...], layouts: Sequence[OperandLayout]) -> tuple[IterationSpace, int]:
    """The reduced dimensions, fastest first, then the kept ones; and how many are reduced.

    Both are ordered after the operands that walk the most axes.  Where a reduction gives a place in its row, the
    reduced axes keep the order of the program.
    """
    order = sorted(range(len(layouts)), key=lambda i: -sum(a is not None for a in step.touches[i].axes))
    linear = any(isinstance(op.attr, Reduction) and op.attr.kind in ("argmin", "argmax") for op in step.kernel.ops)
    parts: list[IterationSpace] = []
    for first, last in ((step.kept, len(shape)), (0, step.kept)):
        keep = frozenset(a - first for a in coordinate_axes(step) if first <= a < last)
        seen = [OperandLayout(layouts[i].shape[first:last], layouts[i].strides[first:last]) for i in order]
        part = iteration_space(shape[first:last], seen, keep=keep, linear=linear and first == step.kept)
        axes = tuple(tuple(a + first for a in merged) for merged in part.axes)
        strides = tuple(part.strides[order.index(i)] for i in range(len(layouts)))
        parts.append(IterationSpace(part.shape, strides, axes))
    reduced, kept = parts
    space = IterationSpace(
        reduced.shape + kept.shape,
        tuple(a + b for a, b in zip(reduced.strides, kept.strides, strict=True)),
        reduced.axes + kept.axes,
    )
    return space, len(reduced.shape)


def coordinate_axes(step: RowStep) -> frozenset[int]:
    """The axes of the space that ``index()`` reads."""
    found: set[int] = set()
    for number, op in enumerate(step.kernel.ops):
        if op.name == "index" and isinstance(op.attr, int):
            place = step.places[number][op.attr]
            if place is not None:
                found.add(place)
    return frozenset(found)


def wide_touches(step: RowStep) -> tuple[bool, ...]:
    """For each touch, whether it moves along a row."""
    rank = len(step.shape)
    wide = {
        (op.attr.operand, spread(op, step.places[n], rank))
        for n, op in enumerate(step.kernel.ops)
        if isinstance(op.attr, Access) and step.is_wide(n)
    }
    return tuple((t.operand, t.axes) in wide for t in step.touches)


# --- what a choice depends on ---------------------------------------------------------------------------


def is_small(space: IterationSpace, reduced: int, itemsizes: Sequence[int], wide: Sequence[bool]) -> bool:
    """Whether rows are numbered below 2^31, and places within a row, in bytes, too."""
    if math.prod(space.shape[reduced:]) >= _MOST or math.prod(space.shape[:reduced]) >= _MOST - _ROOM:
        return False
    for strides, size, is_wide in zip(space.strides, itemsizes, wide, strict=True):
        span = sum((n - 1) * abs(s) for n, s in zip(space.shape[:reduced], strides[:reduced], strict=True))
        if is_wide and (span + 1) * size >= _MOST:
            return False
    return True


def is_plain(step: RowStep) -> bool:
    """Whether a kernel has one round of reductions, and then writes one element a row."""
    return max(step.phase()) == 1 and not any(
        op.name == "store" and step.is_wide(n) for n, op in enumerate(step.kernel.ops)
    )


def state_bytes(step: RowStep) -> int:
    """Bytes of what the reductions of a kernel keep of a row in a thread, at most."""
    return sum(
        _NUMBERS.get(op.attr.kind, 1) * (max(4, op.dtype.size) if op.dtype.kind >= Kind.FLOAT else 8)
        for op in step.kernel.ops
        if isinstance(op.attr, Reduction)
    )
