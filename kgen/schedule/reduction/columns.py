"""Schedules of reductions along a slow dimension: threads go across rows that are consecutive in memory, columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kgen.layout.access import stride_patterns
from kgen.layout.iterator import IterationSpace
from kgen.partition.cut import RowStep
from kgen.schedule.elementwise.policy import Choice
from kgen.schedule.reduction.reasons import shared_reasons
from kgen.schedule.reduction.schedule import RowSchedule, coordinate_axes, is_plain, is_small, state_bytes, wide_touches
from kgen.schedule.reduction.streaming import streamed
from kgen.schedule.schedule import AccessKind, TouchSchedule
from kgen.schedule.target import PORTABLE, Target

#: Threads of a block.
BLOCK = 256

#: Columns that are worth going across.
FEWEST_COLUMNS = 16

#: Bytes that a block reads of what lies side by side: all of it where it is short, and fewer where few blocks would
#: have to share many columns, so that more of them have columns of their own and less is left to the last one.
ACROSS, ALL_ACROSS, NARROW = 256, 512, 128
FEWEST_TILES = 10

#: Bytes that a thread reads before it uses them, twice as many of narrow elements, which take longer to be used; and
#: how many reads that may be.
FLYING_BYTES = 64
NARROW_ELEMENT = 2
MOST_FLYING = 16

#: Blocks of a launch where several share columns: those that an H200 holds at once, as more leave more to merge.
COLUMN_BLOCKS = 512

#: Batches of reads that a thread should have before others share its columns, and before other blocks do: an exchange
#: between threads costs about as much as one.
BATCHES, BATCHES_OF_BLOCKS = 4, 2

#: The share of threads that may be left without columns.
MOST_IDLE = 0.06

#: Bytes of the states of one thread's columns, which are in registers and then in shared memory: 32 KiB a block.
STATE_BYTES = 128


@dataclass(frozen=True, slots=True)
class Shape:
    """``lanes`` threads of a block go across, ``threads`` share each group of columns; each reads ``vectors`` of its
    elements at once.  ``tall``: whether it has twice as many or more.  ``split``: whether several blocks share columns.
    """

    lanes: int
    threads: int
    vectors: int
    tall: bool
    split: bool


def choose_columns(
    step: RowStep,
    reduced: int,
    space: IterationSpace,
    itemsizes: Sequence[int],
    addresses: Sequence[int],
    aliased: Sequence[bool],
    *,
    bounded: bool = True,
    target: Target = PORTABLE,
) -> Choice | None:
    """The schedule of a kernel whose rows are consecutive in memory, element by element; None for all others.

    The arguments are those of ``choose_rows``.
    """
    if not _is_plain(step) or space.shape[reduced] < FEWEST_COLUMNS:
        return None
    wide = wide_touches(step)
    reads = [i for i, w in enumerate(wide) if w and step.touches[i].reads]
    across = [i for i in reads if space.strides[i][reduced] == 1]
    if not across or any(space.strides[i][0] == 1 and space.shape[0] > 1 for i in reads):
        return None
    group = max(1, target.vector_bytes // max(itemsizes[i] for i in across))
    states = state_bytes(step)
    if states > STATE_BYTES:
        return None
    while space.shape[reduced] % group or group * states > STATE_BYTES:
        group //= 2
    touches = column_touches(space, reduced, itemsizes, addresses, aliased, group, target)
    everywhere = [True] * len(wide)
    bits: Literal[32, 64] = 32 if is_small(space, reduced, itemsizes, everywhere) else 64
    coordinates = tuple((axis, space.dim_of(axis)) for axis in sorted(coordinate_axes(step)))
    height = math.prod(space.shape[:reduced])
    groups, others = space.shape[reduced] // group, math.prod(space.shape[reduced + 1 :])
    flying = group * sum(itemsizes[i] for i in reads)
    shape = _shape(groups, group, group * max(itemsizes[i] for i in across), flying, height, others)
    told = bounded and shape.split  # blocks with columns of their own lose (sums of a middle axis 1.04 to 1.00)
    schedule = RowSchedule(
        "column_reduce",
        shape.lanes * shape.threads,
        group,
        len(space.shape),
        bits,
        touches,
        coordinates,
        threads=shape.threads,
        vectors=shape.vectors,
        reduced=reduced,
        split=shape.split,
        tall=shape.tall or not bounded,
        down=tuple(reads),
        streamed=streamed(step, space, touches, itemsizes, group, target, short=False) if told else (),
    )
    share = f"{shape.threads} threads share each group" if shape.threads > 1 else "a thread has a group"
    what = f"columns: {shape.lanes} threads across groups of {group} columns, {share}"
    return Choice(schedule, space, (what, *shared_reasons(schedule)))


def column_touches(
    space: IterationSpace, reduced: int, itemsizes: Sequence[int], addresses: Sequence[int], aliased: Sequence[bool],
    group: int, target: Target,
) -> tuple[TouchSchedule, ...]:  # fmt: skip
    """How each operand is read or written by threads that have ``group`` neighbouring columns each.

    The dimension that threads go across comes first among the kept ones, in groups.
    """
    touches: list[TouchSchedule] = []
    _, found = stride_patterns(across_space(space, reduced), list(range(len(itemsizes))))
    for i, size in enumerate(itemsizes):
        step_across = space.strides[i][reduced]
        kind: AccessKind = "vector" if step_across == 1 else "row" if step_across == 0 else "gather"
        alignment = 0
        if kind == "vector":
            full = min(target.vector_bytes, group * size)
            aligned = addresses[i] % full == 0 and all(s * size % full == 0 for s in other_strides(space, i, reduced))
            alignment = full if aligned else size
        touches.append(TouchSchedule(kind, alignment, found[i], not aliased[i]))
    return tuple(touches)


def other_strides(space: IterationSpace, touch: int, reduced: int) -> list[int]:
    """An operand's strides, but the one across columns."""
    strides = zip(space.shape, space.strides[touch], strict=True)
    return [s for d, (n, s) in enumerate(strides) if n > 1 and d != reduced]


def _is_plain(step: RowStep) -> bool:
    """Whether a kernel has one round of reductions and writes one element a row, which may be all that a row has."""
    return is_plain(step) or (step.kept == len(step.shape) and max(step.phase()) == 1)


def _shape(groups: int, group: int, size: int, flying: int, height: int, others: int) -> Shape:
    """How blocks take columns: ``groups`` of them, of ``size`` bytes, ``height`` elements each, ``others`` times.

    ``flying``: bytes of one read of all operands.
    """
    bytes_flying = FLYING_BYTES * (2 if size <= NARROW_ELEMENT * group else 1)
    most = 2
    while most < MOST_FLYING and 2 * most * flying <= bytes_flying:
        most *= 2
    lanes = _lanes(groups, max(1, ACROSS // size))
    if -(-groups // lanes) * others < FEWEST_TILES:
        lanes = _lanes(groups, max(1, NARROW // size))
    elif groups * size <= ALL_ACROSS and groups <= BLOCK:
        lanes = groups
    while 2 * lanes <= BLOCK and lanes < groups and height < BATCHES * most * (BLOCK // lanes):
        lanes = _lanes(groups, 2 * lanes)
    threads = BLOCK // lanes
    each = max(1, -(-height // threads))
    vectors = min(most, 1 << (each.bit_length() - 1))
    # A block merges what others leave with a thread for each column, or more.
    may_split = threads >= max(group, 2) and each > BATCHES_OF_BLOCKS * most
    split = may_split and -(-groups // lanes) * others < COLUMN_BLOCKS // 2
    return Shape(lanes, threads, vectors, each >= 2 * vectors, split)


def _lanes(groups: int, most: int) -> int:
    """How many threads go across, so that few of them stay without columns."""
    if groups <= most:
        return groups
    idle = {n: -groups % n / groups for n in range(most, most // 2, -1)}
    return next((n for n, rate in idle.items() if rate < MOST_IDLE), min(idle, key=lambda n: idle[n]))


def across_space(space: IterationSpace, reduced: int) -> IterationSpace:
    """The kept dimensions but the fastest, which threads go across."""
    first = reduced + 1
    return IterationSpace(space.shape[first:], tuple(s[first:] for s in space.strides), space.axes[first:])
