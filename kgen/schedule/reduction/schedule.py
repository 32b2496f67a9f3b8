"""Kernels with reductions: their schedule, their space, and what a choice depends on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from kgen.dtypes import Kind
from kgen.ir.graph import IndexMap, Reduction
from kgen.layout.iterator import IterationSpace
from kgen.partition.cut import ReductionStep
from kgen.partition.trace import spread
from kgen.schedule.schedule import Schedule
from kgen.schedule.target import WARP as WARP

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
    and exchange through each other's shared memory.  ``rows_per_thread``: how many rows a thread takes one after the
    other. ``shared_operand``: an access of which a block keeps in shared memory what all rows share, while clusters
    take row after row. ``evict_last``: accesses of which L2 is told to evict last what is read; ``streaming_accesses``:
    that caches drop first.

    In a column kernel a group is ``group`` rows that are consecutive in memory, ``threads`` of the block share it, and
    each of them reads ``vectors`` of its elements before it uses them, or keeps them.  ``loops``: whether a thread may
    have twice as many, or more.  ``columnwise``: accesses that move along columns.
    """

    is_column: ClassVar[bool] = False  # whether threads go across rows that are consecutive in memory
    keeps_columns: ClassVar[bool] = False  # and keep them in registers

    threads: int = WARP
    vectors: int = 0
    reduced: int = 1
    split: bool = False
    cluster: int = 1
    rows_per_thread: int = 1
    loops: bool = False
    columnwise: tuple[int, ...] = ()
    shared_operand: int | None = None
    evict_last: tuple[int, ...] = ()
    streaming: tuple[int, ...] = ()

    @property
    def row_threads(self) -> int:
        """Threads that share a row, of all blocks."""
        return self.threads * self.cluster

    @property
    def rows(self) -> int:
        """Rows of a block."""
        rows = self.block // self.threads * self.rows_per_thread
        return rows * self.group if self.is_column else rows

    @property
    def resident(self) -> int:
        """Elements of a row that there are registers for."""
        return self.row_threads * self.vectors * (1 if self.is_column else self.group)

    @property
    def fills(self) -> bool:
        """Whether rows are so long that no thread's groups but its last one lie outside, and that is made use of.

        Fewer questions let the compiler read further ahead, which takes registers: none are left in longer rows.
        """
        most = self.target.tuning.rows.elements
        few = self.rows == 1 and self.anchor is None and self.vectors * self.group <= most
        return self.vectors > 1 and (self.stages or few or self.shared_operand is not None)

    @property
    def stages(self) -> bool:
        """Whether rows go by way of shared memory."""
        return any(t.kind == "staged" for t in self.accesses)

    @property
    def shifts(self) -> bool:
        """Whether groups of some operand are shifted out of aligned blocks."""
        return any(t.kind == "shifted" for t in self.accesses)

    @property
    def residency_suffix(self) -> str:
        """The part of a kernel's name that says whether rows are kept."""
        return f"regs{self.resident}" if self.vectors else "long"

    @property
    def kept(self) -> int:
        """Dimensions that are kept."""
        return self.rank - self.reduced


@dataclass(frozen=True, slots=True)
class ColumnSchedule(RowSchedule):
    """``threads`` go down columns that lie side by side, each of which is read once."""

    is_column = True


@dataclass(frozen=True, slots=True)
class ResidentColumnSchedule(ColumnSchedule):
    """Columns are kept in registers."""

    keeps_columns = True


def varying_accesses(step: ReductionStep) -> tuple[bool, ...]:
    """For each access, whether it varies along the row."""
    rank = len(step.shape)
    varies = {
        (op.attr.operand, spread(op, step.places[n], rank))
        for n, op in enumerate(step.kernel.ops)
        if isinstance(op.attr, IndexMap) and step.varies_along_row(n)
    }
    return tuple((t.operand, t.axes) in varies for t in step.accesses)


# --- what a choice depends on ---------------------------------------------------------------------------


def is_small(space: IterationSpace, reduced: int, itemsizes: Sequence[int], varies: Sequence[bool]) -> bool:
    """Whether rows are numbered below 2^31, and places within a row, in bytes, too."""
    if math.prod(space.shape[reduced:]) >= _MOST or math.prod(space.shape[:reduced]) >= _MOST - _ROOM:
        return False
    for strides, size, moves in zip(space.strides, itemsizes, varies, strict=True):
        span = sum((n - 1) * abs(s) for n, s in zip(space.shape[:reduced], strides[:reduced], strict=True))
        if moves and (span + 1) * size >= _MOST:
            return False
    return True


def is_plain(step: ReductionStep) -> bool:
    """Whether a kernel has one round of reductions, and then writes one element a row."""
    return max(step.phase()) == 1 and not any(
        op.name == "store" and step.varies_along_row(n) for n, op in enumerate(step.kernel.ops)
    )


def state_bytes(step: ReductionStep) -> int:
    """Bytes of what the reductions of a kernel keep of a row in a thread, at most."""
    return sum(
        _NUMBERS.get(op.attr.kind, 1) * (max(4, op.dtype.size) if op.dtype.kind >= Kind.FLOAT else 8)
        for op in step.kernel.ops
        if isinstance(op.attr, Reduction)
    )
