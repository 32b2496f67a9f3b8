"""The schedules of kernels with reductions, and properties of steps that the choice depends on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeGuard

from kgen.ir.graph import IndexMap
from kgen.layout.iterator import IterationSpace
from kgen.partition.kernel_body import spread
from kgen.partition.reduction_step import ReductionStep
from kgen.records import dataclass
from kgen.schedule.reduction.thread_mapping import Order
from kgen.schedule.schedule import Schedule
from kgen.schedule.target import WARP as WARP

_MOST = 2**31

#: Rows with 32-bit indices are shorter than ``_MOST`` by this much, because loop counters run beyond the last element.
_ROOM = 1 << 16


@dataclass(frozen=True, slots=True)
class RowSchedule(Schedule):
    """``threads``: threads of a block that share a row.  ``vectors``: groups that each of them keeps in registers; 0
    where the row is read again for each round of reductions.  ``reduced``: how many of the first dimensions of the
    space are reduced.  ``rank`` counts all dimensions.  ``split``: whether several blocks share a row, each a span of
    it; the last to finish merges their partials.  ``span_groups``: groups of a span that each thread takes at least, in
    row kernels.  ``cluster``: how many blocks of a cluster share a row, which they keep in registers, and exchange
    through shared memory.  ``rows_per_thread``: how many rows a thread takes, one after the other.  ``shared_operand``:
    the access that persistent clusters keep in shared memory; all rows share it.  ``prefetches``: whether row operands
    are loaded with a row's own elements, ahead of the first round, not where they are used.  ``evict_last``: accesses
    with L2's evict-last hint.  ``streaming``: accesses with the evict-first hint.  ``dense``: accesses whose rows have
    several dimensions, without gaps between them.  ``segment_threads``: threads of a warp that share a segment; 0 where
    no segments are reduced.  ``segment_vectors``: the groups that each of them has of it: one, or all of its groups.
    ``any_length``: whether rows may be shorter than what threads keep, by any number of groups.  ``chunk``: where it is
    not 0, rows are numbered through so many places along the kept dimension ``chunked`` first, with all dimensions
    before it, then through the other dimensions, then along the next chunk.  ``stores_first``: whether halves that a
    thread keeps are stored ahead of the rounds, not with other outputs.  ``order``: in which the threads of a row add
    floats, where they are more than if rows were many.  ``exact``: whether rows have just as many elements as threads
    keep, so that nothing is checked.  ``has_width``: whether the kernel reads their number.

    In a column kernel, a group is ``group`` neighbouring columns.  ``threads`` of the block share it, and each reads
    ``vectors`` vectors of it at once, or keeps them in registers.  ``loops``: whether a thread may have at least two
    such batches.  ``columnwise``: accesses that vary along columns.
    """

    is_column: ClassVar[bool] = False  # whether rows are columns: neighbouring threads take neighbouring rows

    threads: int = WARP
    vectors: int = 0
    reduced: int = 1
    split: bool = False
    span_groups: int = 0
    cluster: int = 1
    rows_per_thread: int = 1
    loops: bool = False
    columnwise: tuple[int, ...] = ()
    shared_operand: int | None = None
    prefetches: bool = False
    evict_last: tuple[int, ...] = ()
    streaming: tuple[int, ...] = ()
    dense: tuple[int, ...] = ()
    segment_threads: int = 0
    segment_vectors: int = 1
    any_length: bool = False
    chunk: int = 0
    chunked: int = 0
    stores_first: bool = False
    order: Order | None = None
    exact: bool = False
    has_width: bool = True

    @property
    def segment(self) -> int:
        """Elements of a segment."""
        return self.segment_threads * self.segment_vectors * self.group

    @property
    def segments(self) -> int:
        """Segments of which a thread has a part."""
        return self.vectors // self.segment_vectors

    @property
    def counts_places(self) -> bool:
        """Whether the coordinates of an element are computed from its place in the row."""
        direct = all(i in self.dense or t.kind in ("row", "column") for i, t in enumerate(self.accesses))
        return not (self.segment_threads and self.reduced == 2 and direct)

    @property
    def row_threads(self) -> int:
        """Threads that share a row, in all blocks of the cluster."""
        return self.threads * self.cluster

    @property
    def rows(self) -> int:
        """Rows per block."""
        rows = self.block // self.threads * self.rows_per_thread
        return rows * self.group if self.is_column else rows

    @property
    def down(self) -> int:
        """Elements of a column that a block reads by one vector a thread."""
        return self.threads

    @property
    def resident(self) -> int:
        """Elements of a row for which there are registers."""
        return self.row_threads * self.vectors * (1 if self.is_column else self.group)

    @property
    def shortest(self) -> int:
        """Elements of a row that is staged, at least."""
        each = self.row_threads * self.group
        return self.resident if self.threads == 1 else self.resident - each + 1 if self.fills else 1

    @property
    def fills(self) -> bool:
        """Whether all groups of a thread but its last one are known to lie within the row, so that only that one is
        checked.

        With fewer checks, the compiler issues loads earlier, which takes registers: longer rows have none left.
        """
        most = self.target.tuning.rows.elements
        few = self.rows == 1 and self.anchor is None and self.vectors * self.group <= most and not self.any_length
        return self.vectors > 1 == self.segment_vectors and (self.stages or few or self.shared_operand is not None)

    @property
    def stages(self) -> bool:
        """Whether rows are staged through shared memory."""
        return any(t.kind in ("staged", "spaced") for t in self.accesses)

    @property
    def crosses(self) -> bool:
        """Whether staged rows are beside operands that run across rows: neighbouring threads take neighbouring rows."""
        return self.stages and any(t.kind == "gather" and t.pattern is not None for t in self.accesses)

    @property
    def pitch(self) -> int:
        """The distance of spaced rows in shared memory, in elements: odd, so that threads find theirs in different
        banks."""
        return self.resident | 1

    @property
    def shifts(self) -> bool:
        """Whether some operand is shifted."""
        return any(t.kind == "shifted" for t in self.accesses)

    @property
    def residency_suffix(self) -> str:
        """The part of a kernel's name that says whether rows are register-resident."""
        return f"regs{self.resident}" if self.vectors else "long"

    @property
    def kept(self) -> int:
        """How many dimensions are kept."""
        return self.rank - self.reduced


@dataclass(frozen=True, slots=True)
class ColumnSchedule(RowSchedule):
    """Rows are columns, each of which is read once.  With transposed accesses, the ``vectors`` elements that a thread
    takes at once are consecutive in each of its columns.

    Groups of columns are numbered through all kept dimensions, the fastest first.  ``chunk``: of neighbouring groups.
    ``at_once``: whether a
    thread reads all of its elements at once: ``vectors`` of each column, or one fewer where threads share columns.
    ``apart``: whether the columns of a group are not neighbours, but as far apart as there are groups side by side, so
    that neighbouring threads have neighbouring columns.  ``shifted_runs``: the transposed accesses whose runs are
    shifted out of the aligned blocks that hold them, but those of the first and the last column.  ``in_turn``:
    neighbouring threads go along so many groups of columns that lie side by side, then down these, then to the next
    ones; 0 where they go across all groups of a block first.
    """

    is_column = True

    at_once: bool = False
    apart: bool = False
    shifted_runs: tuple[int, ...] = ()
    in_turn: int = 0


#: Threads that may read down columns one behind the other; and the fraction of their elements that may be beyond these.
_LINES, _BEYOND = (32, 64, 16, 8, 4), 0.1


@dataclass(frozen=True, slots=True)
class BoxColumnSchedule(ColumnSchedule):
    """``lanes`` threads across groups of columns, at ``places`` places of the second kept dimension.

    Two kinds of accesses go through shared memory: those that are read along the second kept dimension (``beside``),
    and those that are read down columns (``below``).
    """

    lanes: int = 1
    places: int = 1
    beside: tuple[int, ...] = ()
    below: tuple[int, ...] = ()

    @property
    def columns(self) -> int:
        """Neighbouring columns of a block."""
        return self.lanes * self.group

    @property
    def deep(self) -> int:
        """Elements of each column that a block takes at a time."""
        return self.threads * self.vectors

    @property
    def boxed(self) -> tuple[int, ...]:
        return tuple(sorted((*self.beside, *self.below)))

    def line(self, access: int) -> int:
        """Threads that read a boxed access one behind the other."""
        if access in self.beside:
            return self.places
        # Where whole columns do not divide the threads of a block: so many that few read beyond a column's end.
        lines = self.columns * self.places
        few = (n for n in _LINES if self.block <= lines * n and -self.deep % n <= _BEYOND * self.deep)
        return self.deep if self.block % self.deep == 0 else next(few, _LINES[-1])

    def steps_along(self, access: int) -> int:
        """How often these threads go on along a line."""
        return 1 if access in self.beside else -(-self.deep // self.line(access))

    @property
    def tile_rows(self) -> int:
        """Elements of each column for which shared memory has room."""
        return max([self.deep, *(self.line(i) * self.steps_along(i) for i in self.below)])


@dataclass(frozen=True, slots=True)
class NarrowColumnSchedule(ColumnSchedule):
    """Rows are columns, ``columns`` of them side by side.  A block's ``block`` vectors cover whole rows of these.

    ``blocks_per_sm``: how many blocks an SM holds at once, where several share columns.
    """

    columns: int = 1
    blocks_per_sm: int = 1

    @property
    def rows(self) -> int:
        return self.columns

    @property
    def down(self) -> int:
        return self.block * self.group // self.columns


def are_apart(schedule: RowSchedule) -> bool:
    """Whether the columns of a thread are not neighbours."""
    return isinstance(schedule, ColumnSchedule) and schedule.apart


def goes_along_rows(schedule: Schedule) -> TypeGuard[RowSchedule]:
    """Whether a kernel reduces rows whose elements neighbouring threads take, not columns."""
    return isinstance(schedule, RowSchedule) and not schedule.is_column


def varying_accesses(step: ReductionStep) -> tuple[bool, ...]:
    """For each access, whether it varies along the row.  Stores of one element for each segment, and
    of the sums of a block's rows, do not count."""
    return _accesses_of(step, lambda n: step.varies_along_row(n) and not (_stores_segments(step, n) or step.is_sum(n)))


def segment_stores(step: ReductionStep) -> tuple[bool, ...]:
    """For each access, whether it stores one element for each segment."""
    return _accesses_of(step, lambda n: _stores_segments(step, n))


def _stores_segments(step: ReductionStep, number: int) -> bool:
    return step.graph.ops[number].name == "store" and step.is_of_segment(number)


def _accesses_of(step: ReductionStep, of: Callable[[int], bool]) -> tuple[bool, ...]:
    """For each access, whether one of its ops is one of those."""
    ops = enumerate(step.graph.ops)
    found = {
        (op.attr.operand, spread(op, step.places[n], len(step.shape)))
        for n, op in ops
        if isinstance(op.attr, IndexMap) and of(n)
    }
    return tuple((t.operand, t.axes) in found for t in step.accesses)


# --- properties of steps --------------------------------------------------------------------------------


def is_small(space: IterationSpace, reduced: int, itemsizes: Sequence[int], varies: Sequence[bool]) -> bool:
    """Whether row numbers, and byte offsets within a row, are below 2^31."""
    if math.prod(space.shape[reduced:]) >= _MOST or math.prod(space.shape[:reduced]) >= _MOST - _ROOM:
        return False
    for strides, size, moves in zip(space.strides, itemsizes, varies, strict=True):
        span = sum((n - 1) * abs(s) for n, s in zip(space.shape[:reduced], strides[:reduced], strict=True))
        if moves and (span + 1) * size >= _MOST:
            return False
    return True


def is_plain(step: ReductionStep) -> bool:
    """Whether a kernel has one round of reductions, and writes one element per row."""
    return max(step.phase()) == 1 and not any(
        op.name == "store" and step.varies_along_row(n) for n, op in enumerate(step.graph.ops)
    )
