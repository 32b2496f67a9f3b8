"""Schedules of chains of reductions along a slow dimension, such as softmax over the channels of an NCHW image: a block
keeps some columns in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from kgen.layout.iterator import IterationSpace
from kgen.records import dataclass
from kgen.schedule.facts import Choice
from kgen.schedule.reduction.column_choice import column_accesses
from kgen.schedule.reduction.evict_last import evict_last_accesses, exceeds_l2
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.few import few_columns
from kgen.schedule.reduction.reasons import resident_column_reasons
from kgen.schedule.reduction.schedule import ResidentColumnSchedule
from kgen.schedule.target import SECTOR, WARP, WORD
from kgen.schedule.tuning import H200, Tuning


@dataclass(frozen=True, slots=True)
class ResidentMapping:
    """A thread takes ``group`` neighbouring columns and keeps ``vectors`` elements of each.  ``lanes`` threads take
    neighbouring groups, and ``threads`` share each group.
    """

    group: int
    lanes: int
    threads: int
    vectors: int


@dataclass(frozen=True, slots=True)
class Demand:
    """What the thread mapping of columns of ``height`` elements depends on.

    ``group``: columns per vector.  ``sizes``: bytes of an element of each operand that is kept; ``smallest``: of any
    operand.  ``states``: bytes of the states of one column's reductions in a thread.  ``ragged``: whether runs of
    neighbouring columns may begin within a sector.
    """

    height: int
    group: int
    sizes: tuple[int, ...]
    smallest: int
    states: int
    ragged: bool
    tuning: Tuning = H200

    def kept_bytes(self, group: int) -> int:
        """Bytes that a thread keeps for one element of ``group`` columns; of several operands, their words and what is
        computed of them count as well."""
        registers = self.word_bytes(group) + WORD * group if len(self.sizes) > 1 else 0
        return max(group * sum(self.sizes), ceil(self.tuning.resident_columns.share_of_registers * registers))

    def word_bytes(self, group: int) -> int:
        """The same of operands, in whole words."""
        return sum(max(WORD, group * size) for size in self.sizes)


def map_columns(columns: Demand) -> ResidentMapping | None:
    """The thread mapping of resident columns; None where none fits."""
    tuning, group, height = columns.tuning.resident_columns, columns.group, columns.height
    while group > 1 and group * columns.states > columns.tuning.columns.state_bytes:
        group //= 2
    ragged, thin = tuning.ragged if columns.ragged else (), tuning.thin if columns.smallest < WORD else ()
    for most, narrowest in (*ragged, *tuning.ways, *thin):
        threads = _threads(columns, columns.kept_bytes(group), most)
        usual = next(n for least, n in tuning.lanes if group * columns.smallest >= least)
        if threads > 1 and height <= tuning.short and group * columns.smallest < WORD:
            usual = tuning.lanes_of_short
        lanes = max(min(usual, tuning.largest_block // threads), tuning.smallest_block // threads)
        while _left(lanes, threads, group * columns.states) > tuning.shared_bytes:
            lanes //= 2
        if lanes * group * columns.smallest >= narrowest:
            return _with_another(columns, ResidentMapping(group, lanes, threads, -(-height // threads)))
    return None


def _with_another(columns: Demand, found: ResidentMapping) -> ResidentMapping:
    """The mapping; or, where several operands leave an SM registers for one of the largest blocks, fewer elements a
    thread, so that another block works while one waits."""
    tuning, group, threads = columns.tuning.resident_columns, found.group, 2 * found.threads
    registers = tuning.other_registers + found.vectors * columns.word_bytes(group) // WORD
    alone = len(columns.sizes) > 1 and registers > tuning.registers_of_two
    alone = alone and found.lanes * found.threads == tuning.largest_block
    lanes = found.lanes // 2
    wide = lanes * group * columns.smallest >= tuning.narrowest_of_two and found.vectors > 1
    fits = wide and _left(lanes, threads, group * columns.states) <= tuning.shared_bytes
    return ResidentMapping(group, lanes, threads, -(-columns.height // threads)) if alone and fits else found


def _threads(columns: Demand, size: int, most: int) -> int:
    """Threads that share columns.  Each keeps at most ``most`` bytes, ``size`` for each element of its columns."""
    tuning, height = columns.tuning.resident_columns, columns.height
    each = max(1, min(tuning.most_each, most // size), height if height * size <= tuning.alone_bytes else 0)
    threads = 1
    while threads * each < height:
        threads *= 2
    half = max(1, threads // 2)
    fits = -(-height // half) * size <= tuning.waste_bytes
    return half if _waste(height, threads) > _waste(height, half) + tuning.waste and fits else threads


def _left(lanes: int, threads: int, states: int) -> int:
    """Bytes of partials in shared memory, from each thread or warp that shares columns.  ``states``: of one thread."""
    entries = 0 if threads == 1 else lanes * threads // WARP if lanes < WARP else threads
    return entries * lanes * states


def _waste(height: int, threads: int) -> float:
    """The fraction of register slots that stay unused, relative to ``height``."""
    return -height % threads / height


def resident_columns(facts: RowFacts) -> Choice | None:
    """The schedule of a kernel that keeps columns; None where rows are not columns, or are too long."""
    # Where the length of columns is not known, they may not fit registers.
    found = resident_mapping(facts) if facts.along and not facts.scatters_results else None
    if found is None:
        return None
    if (few := few_columns(facts, found.group, kept=True)) is not None:
        found = ResidentMapping(few.group, few.lanes, few.threads, -(-facts.width // few.threads))
    else:
        found = _sharing_sectors(facts, found)
        found = replace(found, lanes=_filled(facts, found))
    reads = [i for i in facts.varying(facts.reads) if facts.step.accesses[i].reads]
    accesses = column_accesses(facts, found.group)
    read, written = (facts.space.numel * size for size in (facts.bytes_of(reads), facts.bytes_written))
    large = facts.bounded and exceeds_l2(facts.target, read, written)
    schedule = ResidentColumnSchedule(
        "column_resident",
        found.lanes * found.threads,
        found.group,
        len(facts.space.shape),
        facts.index_bits([True] * len(accesses)),
        accesses,
        facts.coordinates,
        target=facts.target,
        threads=found.threads,
        vectors=found.vectors,
        reduced=facts.reduced,
        columnwise=tuple(i for i, varies in enumerate(facts.varies) if varies),
        evict_last=evict_last_accesses(facts, accesses, reads, found.group) if large else (),
    )
    return Choice(schedule, facts.space, resident_column_reasons(schedule, facts.step, facts.width))


def _sharing_sectors(facts: RowFacts, found: ResidentMapping) -> ResidentMapping:
    """The mapping; where few columns lie side by side, more threads down each, so that warps use whole sectors."""
    tuning, beside = facts.tuning.resident_columns, facts.space.shape[facts.reduced]
    size = max(facts.itemsizes[i] for i in facts.reads)
    if beside * size >= SECTOR or found.threads >= tuning.sharers_of_few or facts.width < 2 * tuning.sharers_of_few:
        return found
    threads = tuning.sharers_of_few
    return ResidentMapping(found.group, tuning.smallest_block // threads, threads, -(-facts.width // threads))


def _filled(facts: RowFacts, found: ResidentMapping) -> int:
    """Threads across of many blocks that move at least ``block_bytes``: a device starts blocks at a limited rate."""
    tuning, lanes = facts.tuning.rows, found.lanes
    each = found.group * facts.width * (facts.bytes_of(facts.reads) + facts.bytes_written)
    many = facts.bounded and facts.rows >= facts.tuning.resident_columns.many_blocks * lanes * found.group
    while many and lanes * found.threads < tuning.filled_block and lanes * each < tuning.block_bytes:
        lanes *= 2
    return lanes


def resident_mapping(facts: RowFacts) -> ResidentMapping | None:
    """The thread mapping of resident columns; None where rows are not columns, or a block cannot keep them."""
    if not _has_unit_stride_kept_axis(facts.space, facts.reduced):
        return None
    whole = facts.varying([i for i, varies in enumerate(facts.varies) if varies])
    reads = [i for i in whole if facts.step.accesses[i].reads]
    across = all(_is_fastest_across(facts, i) for i in whole)
    if facts.is_plain or not reads or not facts.space.numel or not across:
        return None
    sizes, smallest = tuple(map(facts.itemsizes.__getitem__, reads)), min(map(facts.itemsizes.__getitem__, whole))
    ragged = any(s * facts.itemsizes[i] % SECTOR for i in whole for s in facts.other_strides(i, facts.reduced))
    group = widest_group(facts, whole)
    demand = Demand(facts.width, group, sizes, smallest, facts.state_bytes, ragged, facts.tuning)
    # Where vectors that all operands are aligned to are too narrow, unaligned operands are read element by element.
    wide = widest_group(replace(facts, addresses=(0,) * len(facts.addresses)), whole)
    return map_columns(demand) or map_columns(replace(demand, group=wide))


def _is_fastest_across(facts: RowFacts, access: int) -> bool:
    """Whether neighbouring columns are nearer to each other in memory than other elements of an operand."""
    step = abs(facts.step_along(access, facts.reduced))
    return all(step <= abs(s) for s in facts.other_strides(access, facts.reduced))


def _has_unit_stride_kept_axis(space: IterationSpace, reduced: int) -> bool:
    """Whether the first kept axis has stride 1 in some operand."""
    several = 0 < reduced < len(space.shape) and space.shape[reduced] > 1
    return several and any(strides[reduced] == 1 for strides in space.strides)


def widest_group(facts: RowFacts, among: Sequence[int]) -> int:
    """Columns per vector: the widest vectors to which all operands of ``among`` are aligned."""
    group = max(1, facts.target.vector_bytes // max(facts.itemsizes[i] for i in among))
    lengths = [facts.space.shape[facts.reduced]]
    for i in among:
        lengths += [facts.addresses[i] // facts.itemsizes[i], *facts.other_strides(i, facts.reduced)]
    while any(n % group for n in lengths):
        group //= 2
    return group
