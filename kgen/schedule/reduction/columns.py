"""Schedules of reductions along a slow dimension: threads go across rows that are consecutive in memory, columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from kgen.layout.kinds import stride_patterns
from kgen.schedule.facts import Choice
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.reasons import common_reasons
from kgen.schedule.reduction.schedule import ColumnSchedule
from kgen.schedule.reduction.streaming import streaming_accesses
from kgen.schedule.schedule import AccessKind, AccessSchedule
from kgen.schedule.tuning import Columns


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """``lanes`` threads of a block go across, ``threads`` share each group of columns; each reads ``vectors`` of its
    elements at once.  ``loops``: whether it has twice as many or more.  ``split``: whether several blocks share
    columns.
    """

    lanes: int
    threads: int
    vectors: int
    loops: bool
    split: bool


def down_columns(facts: RowFacts) -> Choice | None:
    """The schedule of a kernel whose rows are consecutive in memory, element by element; None for all others."""
    group = _group(facts)
    if group is None:
        return None
    accesses = column_accesses(facts, group)
    shape = shape_of(_Columns(facts, group))
    told = facts.bounded and shape.split  # blocks with columns of their own lose (sums of a middle axis 1.04 to 1.00)
    schedule = ColumnSchedule(
        "column_reduce",
        shape.lanes * shape.threads,
        group,
        len(facts.space.shape),
        facts.index_bits([True] * len(accesses)),
        accesses,
        facts.coordinates,
        target=facts.target,
        threads=shape.threads,
        vectors=shape.vectors,
        reduced=facts.reduced,
        split=shape.split,
        loops=shape.loops or not facts.bounded,
        columnwise=facts.reads,
        streaming=streaming_accesses(facts, accesses, group, short=False) if told else (),
    )
    share = f"{shape.threads} threads share each group" if shape.threads > 1 else "a thread has a group"
    what = f"columns: {shape.lanes} threads across groups of {group} columns, {share}"
    return Choice(schedule, facts.space, (what, *common_reasons(schedule)))


def _group(facts: RowFacts) -> int | None:
    """Columns that a thread takes at once; None where threads should not go across."""
    space, tuning = facts.space, facts.tuning.columns
    if not _is_plain(facts) or space.shape[facts.reduced] < tuning.fewest:
        return None
    across = [i for i in facts.reads if space.strides[i][facts.reduced] == 1]
    along = any(space.strides[i][0] == 1 and space.shape[0] > 1 for i in facts.reads)
    if not across or along or facts.state_bytes > tuning.state_bytes:
        return None
    group = max(1, facts.target.vector_bytes // max(facts.itemsizes[i] for i in across))
    while space.shape[facts.reduced] % group or group * facts.state_bytes > tuning.state_bytes:
        group //= 2
    return group


def column_accesses(facts: RowFacts, group: int) -> tuple[AccessSchedule, ...]:
    """How each operand is read or written by threads that have ``group`` neighbouring columns each.

    The dimension that threads go across comes first among the kept ones, in groups.
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
    """Whether a kernel has one round of reductions and writes one element a row, which may be all that a row has."""
    return facts.is_plain or (facts.step.kept == len(facts.step.shape) and facts.rounds == 1)


@dataclass(frozen=True)
class _Columns:
    """What decides who shares columns."""

    facts: RowFacts
    group: int

    @property
    def tuning(self) -> Columns:
        return self.facts.tuning.columns

    @cached_property
    def groups(self) -> int:
        return self.facts.space.shape[self.facts.reduced] // self.group

    @cached_property
    def others(self) -> int:
        """How often there are so many groups."""
        return math.prod(self.facts.space.shape[self.facts.reduced + 1 :])

    @cached_property
    def size(self) -> int:
        """Bytes of a group."""
        space, reduced = self.facts.space, self.facts.reduced
        return self.group * max(self.facts.itemsizes[i] for i in self.facts.reads if space.strides[i][reduced] == 1)

    @cached_property
    def most(self) -> int:
        """Reads of a thread that may be in flight."""
        tuning, flying = self.tuning, self.group * self.facts.bytes_of(self.facts.reads)
        narrow = self.size <= tuning.narrow_element * self.group
        most = 2
        while most < tuning.most_in_flight and 2 * most * flying <= tuning.in_flight_bytes * (2 if narrow else 1):
            most *= 2
        return most

    @cached_property
    def lanes(self) -> int:
        """Threads that go across."""
        tuning, groups, most = self.tuning, self.groups, self._lanes
        lanes = most(max(1, tuning.across_bytes // self.size))
        if self.tiles(lanes) < tuning.fewest_tiles:
            lanes = most(max(1, tuning.narrow_bytes // self.size))
        elif groups * self.size <= tuning.all_across_bytes and groups <= tuning.block:
            lanes = groups
        height, batch = self.facts.width, tuning.batches * self.most
        while 2 * lanes <= tuning.block and lanes < groups and height < batch * (tuning.block // lanes):
            lanes = most(2 * lanes)
        return lanes

    def tiles(self, lanes: int) -> int:
        """Blocks with columns of their own."""
        return -(-self.groups // lanes) * self.others

    def _lanes(self, most: int) -> int:
        """How many threads go across, so that few of them stay without columns."""
        if self.groups <= most:
            return self.groups
        idle = {n: -self.groups % n / self.groups for n in range(most, most // 2, -1)}
        return next((n for n, rate in idle.items() if rate < self.tuning.most_idle), min(idle, key=lambda n: idle[n]))


def shape_of(columns: _Columns) -> ColumnMapping:
    """How blocks take columns."""
    tuning, lanes, most = columns.tuning, columns.lanes, columns.most
    threads = tuning.block // lanes
    each = max(1, -(-columns.facts.width // threads))
    vectors = min(most, 1 << (each.bit_length() - 1))
    # A block merges what others leave with a thread for each column, or more.
    may_split = threads >= max(columns.group, 2) and each > tuning.batches_of_blocks * most
    split = may_split and columns.tiles(lanes) < tuning.split_blocks // 2
    return ColumnMapping(lanes, threads, vectors, each >= 2 * vectors, split)
