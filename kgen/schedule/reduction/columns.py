"""Schedules of reductions along a slow dimension: neighbouring threads take neighbouring columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from kgen.layout.kinds import stride_patterns
from kgen.partition.column_sums import BLOCKS
from kgen.records import dataclass
from kgen.schedule.column_tuning import Columns
from kgen.schedule.cost import coarse, predict
from kgen.schedule.facts import Choice
from kgen.schedule.reduction.column_chunks import chunk_of, operand_beside, with_second
from kgen.schedule.reduction.column_tiles import down_columns_only, run_length, tile_index_bits, transpose
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.few import Across, few_columns
from kgen.schedule.reduction.reasons import common_reasons, transposed_reasons
from kgen.schedule.reduction.schedule import ColumnSchedule
from kgen.schedule.reduction.streaming import streaming_accesses
from kgen.schedule.reduction.walks import columns_walk
from kgen.schedule.schedule import AccessKind, AccessSchedule
from kgen.schedule.target import SECTOR


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """``lanes`` threads of a block take neighbouring groups of columns; ``threads`` share each group, and each reads
    ``vectors`` vectors of it at once.  ``loops``: whether a thread has at least two such batches.  ``split``: whether
    several blocks share columns.  ``at_once`` and ``chunk``: as in :class:`RowSchedule`.
    """

    lanes: int
    threads: int
    vectors: int
    loops: bool
    split: bool
    at_once: bool = False
    chunk: int = 0


def down_columns(facts: RowFacts) -> Choice | None:
    """The schedule of a kernel that reduces columns; None where the family does not apply."""
    group = _group(facts)
    if group is None or facts.scatters_results:
        return None
    if BLOCKS in facts.step.shape:
        return _choice(facts, group, partials_shape_of(_Columns(facts, group)))
    few = few_columns(facts, group, kept=False)
    if transposed := down_columns_only(facts):
        run = run_length(facts, group, transposed)
        tiled = tiled_shape_of(_Columns(facts, group), run)
        if few is None:
            tiled = fastest(_Columns(facts, group), tiled, run)
        if few is None or not tiled.split:
            return _choice(facts, group, tiled, transposed, run)
    if few is not None:
        return _choice(facts, few.group, few_shape_of(_Columns(facts, few.group), few))
    columns, beside = _Columns(facts, group), operand_beside(facts) if facts.bounded else None
    if beside is None or columns.groups < columns.tuning.fewest_chunked:
        return _choice(facts, group, fastest(columns, shape_of(columns)))
    there = with_second(facts, beside[1])
    shape = chunked_shape_of(_Columns(there, group))
    choice = _choice(there, group, shape)
    taken = predict(columns_walk(there, choice), facts.tuning.chunk_costs)
    what = f"chunks: `{facts.names[beside[0]]}` is consecutive along another kept dimension"
    reasons = (*choice.reasons, *([f"{what}: blocks take {shape.chunk * group} columns of it"] if shape.chunk else []))
    return replace(choice, costs=((choice.schedule.template, taken),), reasons=reasons)


def _choice(facts: RowFacts, group: int, shape: ColumnMapping, transposed: Sequence[int] = (), run: int = 0) -> Choice:
    """``transposed``: operands that are read by runs of ``run`` elements of each column."""
    accesses = column_accesses(facts, group)
    if transposed:
        accesses = transpose(facts, accesses, transposed, run)
    told = facts.bounded and shape.split  # slower without split (sums of a middle axis 1.00, not 1.04)
    schedule = ColumnSchedule(
        "column_reduce",
        shape.lanes * shape.threads,
        group,
        len(facts.space.shape),
        tile_index_bits(facts, group, transposed),
        accesses,
        facts.coordinates,
        target=facts.target,
        threads=shape.threads,
        vectors=shape.vectors,
        reduced=facts.reduced,
        split=shape.split,
        loops=shape.loops or not facts.bounded,
        at_once=shape.at_once and facts.bounded,
        chunk=shape.chunk,
        columnwise=_moving(facts),
        streaming=streaming_accesses(facts, accesses, group, short=False) if told else (),
    )
    share = f"{shape.threads} threads share each group" if shape.threads > 1 else "a thread has a group"
    what = f"columns: {shape.lanes} threads across groups of {group} columns, {share}"
    tiles = transposed_reasons(schedule, [facts.names[i] for i in transposed])
    return Choice(schedule, facts.space, (what, *tiles, *common_reasons(schedule)))


def _moving(facts: RowFacts) -> tuple[int, ...]:
    """The operands that are read and differ from element to element of a column, as far as that is known."""
    inner = range(facts.reduced)
    return tuple(i for i in facts.reads if not facts.bounded or any(facts.space.strides[i][d] for d in inner))


def _group(facts: RowFacts) -> int | None:
    """Columns that a thread takes at once; None where the family does not apply."""
    space, tuning = facts.space, facts.tuning.columns
    if not _is_plain(facts):
        return None
    across = [i for i in facts.reads if space.strides[i][facts.reduced] == 1]
    if not _are_side_by_side(facts, across):
        return None
    # Where all that differs from row to row is consecutive along rows, row kernels find the rest in the cache.
    whole = any(i in across for i in facts.varying(facts.reads))
    tiles = whole and facts.width >= facts.tuning.column_tiles.shortest
    if (down_columns_only(facts) and not tiles) or facts.state_bytes > tuning.state_bytes:
        return None
    group = max(1, facts.target.vector_bytes // max(facts.itemsizes[i] for i in across))
    while space.shape[facts.reduced] % group or group * facts.state_bytes > tuning.state_bytes:
        group = group // 2 if facts.across else 1
    return group


def _are_side_by_side(facts: RowFacts, across: Sequence[int]) -> bool:
    """Whether enough columns are, perhaps through several dimensions, and then in operands with most of the bytes.
    ``across``: the operands in which neighbouring columns are."""
    fewest, rest = facts.tuning.columns.fewest, set(facts.varying(facts.reads)) - set(across)
    alike = facts.space.shape[facts.reduced] >= fewest or 2 * facts.bytes_of([*rest]) <= facts.bytes_of(across)
    return alike and any(_run(facts, i) >= fewest for i in across)


def _run(facts: RowFacts, access: int) -> int:
    """How far columns lie side by side in an operand, without long gaps, through all kept dimensions."""
    run = 1
    for extent, step in zip(facts.kept.shape, facts.kept.strides[access], strict=True):
        if abs(step) > 2 * run:
            break
        run = max(run, abs(step) * extent)
    return run


def column_accesses(facts: RowFacts, group: int) -> tuple[AccessSchedule, ...]:
    """How each operand is read or written by threads that take ``group`` neighbouring columns each.

    Groups are along the first of the kept dimensions.
    """
    accesses: list[AccessSchedule] = []
    _, found = stride_patterns(facts.space_from(facts.reduced + 1), list(range(len(facts.itemsizes))))
    for i, size in enumerate(facts.itemsizes):
        step_across = facts.space.strides[i][facts.reduced]
        kind: AccessKind = "vector" if step_across == 1 else "row" if step_across == 0 else "gather"
        alignment = 0
        if kind == "vector":
            full, strides = min(facts.target.vector_bytes, group * size), facts.other_strides(i, facts.reduced)
            aligned = facts.addresses[i] % full == 0 and all(s * size % full == 0 for s in strides)
            alignment = full if aligned else size
        accesses.append(AccessSchedule(kind, alignment, found[i], not facts.aliased[i]))
    return tuple(accesses)


def _is_plain(facts: RowFacts) -> bool:
    """Whether a kernel has one round of reductions and writes one element per row (rows may have only one element)."""
    return facts.is_plain or (facts.step.kept == len(facts.step.shape) and facts.rounds == 1)


@dataclass(frozen=True)
class _Columns:
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
        """Bytes of a group."""
        space, reduced = self.facts.space, self.facts.reduced
        return self.group * max(self.facts.itemsizes[i] for i in self.facts.reads if space.strides[i][reduced] == 1)

    @cached_property
    def most(self) -> int:
        """Reads in flight per thread, at most."""
        tuning, flying = self.tuning, self.size_down
        narrow = self.size <= tuning.narrow_element * self.group
        most = 2
        while most < tuning.most_in_flight and 2 * most * flying <= tuning.in_flight_bytes * (2 if narrow else 1):
            most *= 2
        return most

    @property
    def size_down(self) -> int:
        """Bytes that a thread reads for one element of each of its columns."""
        return self.group * self.facts.bytes_of(self.facts.reads)

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


def tiled_shape_of(columns: _Columns, run: int) -> ColumnMapping:
    """The thread mapping of columns where threads take runs of ``run`` elements."""
    tuning = columns.tuning
    most = max(1, columns.facts.tuning.column_tiles.across_bytes // columns.size)
    lanes = min(columns.lanes_within(most), columns.across)
    threads = min(tuning.block // lanes, -(-columns.facts.width // run))
    each = -(-columns.facts.width // threads)
    split = threads >= max(columns.group, 2) and each > 2 * run and columns.tiles(lanes) < tuning.split_blocks // 2
    return ColumnMapping(lanes, threads, run, True, split)


def open_shape_of(columns: _Columns) -> ColumnMapping:
    """The thread mapping of any number of columns, in a file that leaves it open: a few kernels serve all."""
    tuning = columns.tuning
    lanes = min(tuning.across_bytes // columns.size, tuning.most_across)
    threads, vectors = tuning.block // lanes, tuning.most_alone
    is_tall = columns.each(threads) > tuning.batches_of_blocks * vectors
    split = threads >= max(columns.group, 2) and is_tall and columns.tiles(lanes) < tuning.split_blocks // 2
    return ColumnMapping(lanes, threads, vectors, True, split)


def shape_of(columns: _Columns) -> ColumnMapping:
    """The thread mapping of columns."""
    if not columns.facts.across:
        return open_shape_of(columns)
    tuning, lanes, most = columns.tuning, columns.lanes, columns.most
    threads = tuning.block // lanes
    # The last block merges partials with at least one thread per column.
    may_split = threads >= max(columns.group, 2) and columns.each(threads) > tuning.batches_of_blocks * most
    split = may_split and columns.tiles(lanes) < tuning.split_blocks // 2
    fewer = columns.fewer(lanes)
    if not split or columns.has_enough(fewer):
        lanes, threads, split = fewer, tuning.block // fewer, False
    if threads == 1 and columns.facts.width * columns.size_down >= tuning.lone_bytes:
        lanes = min(lanes, tuning.lone_block)
    most = columns.most if split else min(columns.most, tuning.most_alone)
    return _mapping(columns, lanes, threads, most, split=split)


def partials_shape_of(columns: _Columns) -> ColumnMapping:
    """The thread mapping of partial sums, which are in L2: enough blocks, none of which waits for another one."""
    tuning = columns.tuning
    fewest, most = SECTOR // columns.size, tuning.narrowest_bytes // columns.size
    lanes = max(fewest, min(most, columns.groups // tuning.partial_tiles), 1)
    lanes = 1 << (lanes.bit_length() - 1)
    return _mapping(columns, lanes, tuning.block // lanes, columns.most, split=False)


def fastest(columns: _Columns, usual: ColumnMapping, run: int = 0) -> ColumnMapping:
    """The usual mapping, or the one with the least predicted time where that is less than ``gain`` of its time.

    Where columns do not fill the device, fewer lanes and more threads down each have more loads in flight.  ``run``: of
    tiles, else 0.
    """
    facts, tuning, model = columns.facts, columns.tuning, columns.facts.tuning.chunk_costs
    if usual.split or not (facts.bounded and facts.across):
        return usual
    alike = _Columns(replace(facts, space=coarse(facts.space)), columns.group)
    if alike.tiles(usual.lanes) * usual.lanes * usual.threads >= tuning.enough_waves * model.threads:
        return usual
    schedule = _choice(facts, columns.group, usual, down_columns_only(facts) if run else (), run).schedule
    assert isinstance(schedule, ColumnSchedule)

    def seconds(one: ColumnMapping) -> float:
        shaped = replace(schedule, block=one.lanes * one.threads, threads=one.threads, vectors=one.vectors)
        return predict(columns_walk(facts, Choice(shaped, alike.facts.space, ())), model)

    taken = {way: seconds(_of_way(alike, way, run)) for way in _ways(alike, usual.threads)}
    best = min(taken, key=taken.__getitem__, default=None)
    return usual if best is None or taken[best] >= tuning.gain * seconds(usual) else _of_way(columns, best, run)


Way = tuple[int, int, int]  #: threads across and down columns, and elements of each column in flight a thread, at most


def _ways(columns: _Columns, least: int) -> Iterator[Way]:
    """``least``: threads down a column."""
    facts, tuning = columns.facts, columns.tuning
    flying = [n for n in (2, 4, 8) if n * columns.size_down <= tuning.most_flying_bytes]
    for lanes in (8, 16, 32, 64, 128):
        across = lanes * columns.size
        for block in (tuning.block // 2, tuning.block):
            threads = block // lanes
            states = block * columns.group * facts.state_bytes if threads > 1 else 0
            fits = states <= tuning.shared_bytes and columns.each(threads) >= tuning.fewest_of_few
            fits = fits and SECTOR <= across <= tuning.all_across_bytes and lanes < 2 * columns.groups
            if fits and threads >= least:
                yield from ((lanes, threads, most) for most in flying)


def _of_way(columns: _Columns, way: Way, run: int) -> ColumnMapping:
    lanes, threads, most = way
    if run:
        return ColumnMapping(lanes, threads, run, True, False)
    return _mapping(columns, lanes, threads, most, split=False)


def few_shape_of(columns: _Columns, few: Across) -> ColumnMapping:
    """The thread mapping of few columns: threads read all of their elements at once, if they can."""
    each = columns.each(few.threads)
    if 1 < each <= columns.whole and not few.split:
        return ColumnMapping(few.lanes, few.threads, each, False, False, at_once=True)
    return _mapping(columns, few.lanes, few.threads, columns.most, split=few.split)


def chunked_shape_of(columns: _Columns) -> ColumnMapping:
    """The thread mapping of columns in chunks."""
    tuning, facts, lanes, threads = columns.tuning, columns.facts, columns.tuning.block, 1
    if facts.width >= 2 * tuning.fewest_each and 2 * lanes * columns.group * facts.state_bytes <= tuning.shared_bytes:
        threads = 2
        if columns.groups < tuning.few_chunked and facts.width >= 4 * tuning.fewest_each:
            lanes, threads = lanes // 2, 4
    chunk = chunk_of(facts, lanes, columns.group)
    return _mapping(columns, lanes, threads, tuning.chunks_in_flight, chunk if chunk < columns.across else 0)


def _mapping(
    columns: _Columns, lanes: int, threads: int, most: int, chunk: int = 0, *, split: bool = False
) -> ColumnMapping:
    """So many threads across and down columns, with at most ``most`` elements of each column in flight a thread."""
    each = columns.each(threads)
    if threads == 1 and 1 < each <= columns.whole:
        return ColumnMapping(lanes, 1, each, False, False, at_once=True, chunk=chunk)
    vectors = 1 << (min(most, each).bit_length() - 1)
    return ColumnMapping(lanes, threads, vectors, each >= 2 * vectors, split, chunk=chunk)
