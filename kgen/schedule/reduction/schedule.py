"""Kernels with reductions: their schedule, their space, and what a choice depends on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from kgen.dtypes import Kind
from kgen.ir.kernel import Access, Reduction
from kgen.layout.iterator import IterationSpace
from kgen.partition.cut import RowStep
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
    and exchange through each other's shared memory.  ``repeat``: how many rows a thread takes one after the other.
    ``near``: a touch of which a block keeps in shared memory what all rows share, while clusters take row after row.
    ``evict_last``: touches of which L2 is told to evict last what is read; ``streamed``: that caches drop first.

    In a column kernel a group is ``group`` rows that are consecutive in memory, ``threads`` of the block share it, and
    each of them reads ``vectors`` of its elements before it uses them, or keeps them.  ``tall``: whether a thread may
    have twice as many, or more.  ``down``: touches that move along columns.
    """

    by_columns: ClassVar[bool] = False  # whether threads go across rows that are consecutive in memory
    keeps_columns: ClassVar[bool] = False  # and keep them in registers

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
    def held(self) -> int:
        """Elements of a row that there are registers for."""
        return self.sharers * self.vectors * (1 if self.by_columns else self.group)

    @property
    def fills(self) -> bool:
        """Whether rows are so long that no thread's groups but its last one lie outside, and that is made use of.

        Fewer questions let the compiler read further ahead, which takes registers: none are left in longer rows.
        """
        most = self.target.tuning.rows.elements
        few = self.rows == 1 and self.lead is None and self.vectors * self.group <= most
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
    def held_suffix(self) -> str:
        """The part of a kernel's name that says whether rows are kept."""
        return f"held{self.held}" if self.vectors else "long"

    @property
    def kept(self) -> int:
        """Dimensions that are kept."""
        return self.rank - self.reduced


@dataclass(frozen=True, slots=True)
class ColumnSchedule(RowSchedule):
    """``threads`` go down columns that lie side by side, each of which is read once."""

    by_columns = True


@dataclass(frozen=True, slots=True)
class HeldColumnSchedule(ColumnSchedule):
    """Columns are kept in registers."""

    keeps_columns = True


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
