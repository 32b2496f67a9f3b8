"""How the threads of column kernels are mapped to columns."""

from __future__ import annotations

from functools import cached_property
from math import prod

from kgen.records import dataclass
from kgen.schedule.column_tuning import Columns
from kgen.schedule.reduction.column_chunks import chunk_of
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.few import Across
from kgen.schedule.target import SECTOR


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """``lanes`` threads of a block take neighbouring groups of columns; ``threads`` share each group, and each reads
    ``vectors`` vectors of it at once.  ``loops``: whether a thread has at least two such batches.  ``split``: whether
    several blocks share columns.  ``at_once`` and ``chunk``: as in :class:`ColumnSchedule`.  ``tiled``: whether
    operands that are consecutive down columns are read by runs of ``vectors`` elements.
    """

    lanes: int
    threads: int
    vectors: int
    loops: bool
    split: bool
    at_once: bool = False
    chunk: int = 0
    tiled: bool = False
    apart: bool = False


@dataclass(frozen=True)
class ColumnDemand:
    """What the thread mapping of columns depends on."""

    facts: RowFacts
    group: int

    @property
    def tuning(self) -> Columns:
        return self.facts.tuning.columns

    @cached_property
    def groups(self) -> int:
        """Groups of columns, along all kept dimensions."""
        return self.facts.rows // self.group

    @property
    def across(self) -> int:
        """Groups of columns side by side."""
        return self.facts.space.shape[self.facts.reduced] // self.group

    @cached_property
    def size(self) -> int:
        """Bytes of a group, where columns are side by side."""
        facts = self.facts
        beside = [facts.itemsizes[i] for i in facts.reads if facts.space.strides[i][facts.reduced] == 1]
        return self.group * max(beside or [facts.itemsizes[i] for i in facts.reads])

    @cached_property
    def most(self) -> int:
        """Reads in flight per thread, at most."""
        tuning, facts = self.tuning, self.facts
        flying = self.group * facts.bytes_of([i for i in facts.reads if self._goes_down(i)])
        narrow = self.size <= tuning.narrow_element * self.group
        limit, most = tuning.in_flight_narrow if narrow else tuning.in_flight_bytes, 2
        while most < tuning.most_in_flight and 2 * most * flying <= limit:
            most *= 2
        return most

    def _goes_down(self, access: int) -> bool:
        """Whether an operand differs from element to element of a column; others are read ahead."""
        return any(self.facts.step_along(access, d) for d in range(self.facts.reduced))

    @property
    def size_down(self) -> int:
        """Bytes that a thread reads for one element of each of its columns."""
        return self.group * self.facts.bytes_of(self.facts.reads)

    @property
    def bytes_alone(self) -> int:
        """Bytes that a thread reads which takes columns alone, of operands that differ from column to column."""
        facts, reduced, shape = self.facts, self.facts.reduced, self.facts.space.shape
        across = (i for i in facts.reads if facts.step_along(i, reduced))
        down = ((i, zip(shape, facts.space.strides[i][:reduced], strict=False)) for i in across)
        return self.group * sum(facts.itemsizes[i] * prod(n for n, step in inner if step) for i, inner in down)

    @property
    def whole(self) -> int:
        """Elements of the longest column that a thread reads at once."""
        return min(self.tuning.most_in_flight, self.tuning.whole_bytes // self.size_down)

    @cached_property
    def lanes(self) -> int:
        """Threads across columns."""
        tuning, groups, most = self.tuning, self.groups, self.lanes_within
        lanes = most(max(1, min(tuning.across_bytes // self.size, tuning.most_across)))
        if self.tiles(lanes) < tuning.fewest_tiles:
            lanes = most(max(1, tuning.narrow_bytes // self.size))
        elif groups * self.size <= tuning.all_across_bytes and groups <= tuning.block:
            lanes = groups
        height = self.facts.width
        while 2 * lanes <= tuning.block and lanes < groups and height < tuning.fewest_each * (tuning.block // lanes):
            lanes = most(2 * lanes)
        return lanes

    def has_enough(self, lanes: int) -> bool:
        """Whether blocks with so many threads across columns keep a device busy without sharing columns.  Where threads
        have few elements each, half as many take less time than the merge of several blocks."""
        short = self.each(self.tuning.block // lanes) <= self.tuning.few_each
        return self.tiles(lanes) * self.tuning.block * (2 if short else 1) >= self.tuning.enough_threads

    def fewer(self, lanes: int) -> int:
        """Fewer threads across columns, where few columns would leave most of a device idle."""
        tuning, height = self.tuning, self.facts.width
        while not self.has_enough(lanes) and lanes % 2 == 0 and lanes * self.size >= 2 * tuning.narrowest_bytes:
            if height < 2 * tuning.fewest_of_few * (tuning.block // lanes):
                break
            lanes //= 2
        return lanes

    def each(self, threads: int) -> int:
        """Elements of a column for each of so many threads."""
        return max(1, -(-self.facts.width // threads))

    def tiles(self, lanes: int) -> int:
        """Tiles: blocks with different columns."""
        return -(-self.groups // lanes)

    def lanes_within(self, most: int) -> int:
        """Threads across columns, ``most`` or somewhat fewer, so that few of them are idle."""
        if self.groups <= most:
            return max(1, self.groups)  # there may be no columns at all
        idle = {n: -self.groups % n / self.groups for n in range(most, most // 2, -1)}
        return next((n for n, rate in idle.items() if rate < self.tuning.most_idle), min(idle, key=lambda n: idle[n]))


def tiled_mapping(columns: ColumnDemand, run: int) -> ColumnMapping:
    """The thread mapping of columns where threads take runs of ``run`` elements."""
    tuning, tiles = columns.tuning, columns.facts.tuning.column_tiles
    most = max(1, tiles.across_bytes // columns.size)
    lanes = min(columns.lanes_within(most), columns.across)
    threads = min(tuning.block // lanes, -(-columns.facts.width // run))
    while lanes * threads < tiles.fewest_threads and 2 * lanes <= columns.groups:
        lanes *= 2
    each = -(-columns.facts.width // threads)
    split = threads >= max(columns.group, 2) and each > 2 * run and columns.tiles(lanes) < tuning.split_blocks // 2
    return ColumnMapping(lanes, threads, run, True, split, tiled=True)


def open_mapping(columns: ColumnDemand) -> ColumnMapping:
    """The thread mapping of any number of columns, in a file that leaves it open: a few kernels serve all."""
    tuning = columns.tuning
    lanes = min(tuning.across_bytes // columns.size, tuning.most_across)
    threads, vectors = tuning.block // lanes, tuning.most_alone
    is_tall = columns.each(threads) > tuning.batches_of_blocks * vectors
    split = threads >= max(columns.group, 2) and is_tall and columns.tiles(lanes) < tuning.split_blocks // 2
    if split and columns.group > 1 and columns.tiles(lanes) < tuning.fewest_tiles:
        lanes = tuning.narrow_bytes // columns.size
        threads = tuning.block // lanes
    return ColumnMapping(lanes, threads, vectors, True, split)


def usual_mapping(columns: ColumnDemand) -> ColumnMapping:
    """The thread mapping of columns."""
    if not columns.facts.across:
        return open_mapping(columns)
    tuning, lanes, most = columns.tuning, columns.lanes, columns.most
    threads = tuning.block // lanes
    # The last block merges partials with at least one thread per column.
    may_split = threads >= max(columns.group, 2) and columns.each(threads) > tuning.batches_of_blocks * most
    split = may_split and columns.tiles(lanes) < tuning.split_blocks // 2
    fewer = columns.fewer(lanes)
    if not split or columns.has_enough(fewer):
        lanes, threads, split = fewer, tuning.block // fewer, False
    if threads == 1 and columns.bytes_alone >= tuning.lone_bytes:
        lanes = min(lanes, tuning.lone_block)
    alone = tuning.most_alone if columns.group > 1 else tuning.most_alone_single
    return mapping_of(columns, lanes, threads, columns.most if split else min(columns.most, alone), split=split)


def partials_mapping(columns: ColumnDemand) -> ColumnMapping:
    """The thread mapping of partial sums, which are in L2: enough blocks, none of which waits for another one."""
    tuning = columns.tuning
    fewest, most = SECTOR // columns.size, tuning.narrowest_bytes // columns.size
    lanes = max(fewest, min(most, columns.groups // tuning.partial_tiles), 1)
    lanes = 1 << (lanes.bit_length() - 1)
    return mapping_of(columns, lanes, tuning.block // lanes, columns.most, split=False)


def few_mapping(columns: ColumnDemand, few: Across) -> ColumnMapping:
    """The thread mapping of few columns: threads read all of their elements at once, if they can."""
    if few.run:
        return ColumnMapping(few.lanes, few.threads, few.run, True, False, tiled=True)
    each = columns.each(few.threads)
    if 1 < each <= columns.whole and not few.split:
        return ColumnMapping(few.lanes, few.threads, each, False, False, at_once=True)
    return mapping_of(columns, few.lanes, few.threads, columns.most, split=few.split)


def chunked_mapping(columns: ColumnDemand) -> ColumnMapping:
    """The thread mapping of columns in chunks."""
    tuning, facts, lanes, threads = columns.tuning, columns.facts, columns.tuning.block, 1
    if facts.width >= 2 * tuning.fewest_each and 2 * lanes * columns.group * facts.state_bytes <= tuning.shared_bytes:
        threads = 2
        if columns.groups < tuning.few_chunked and facts.width >= 4 * tuning.fewest_each:
            lanes, threads = lanes // 2, 4
    chunk = chunk_of(facts, lanes, columns.group)
    return mapping_of(columns, lanes, threads, tuning.chunks_in_flight, chunk if chunk < columns.across else 0)


def mapping_of(
    columns: ColumnDemand, lanes: int, threads: int, most: int, chunk: int = 0, *, split: bool = False
) -> ColumnMapping:
    """So many threads across and down columns, with at most ``most`` elements of each column in flight a thread."""
    each = columns.each(threads)
    if threads == 1 and 1 < each <= columns.whole:
        return ColumnMapping(lanes, 1, each, False, False, at_once=True, chunk=chunk)
    vectors = 1 << (min(most, each).bit_length() - 1)
    return ColumnMapping(lanes, threads, vectors, each >= 2 * vectors, split, chunk=chunk)
