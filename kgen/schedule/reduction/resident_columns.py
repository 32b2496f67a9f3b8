"""Schedules of chains of reductions along a slow dimension, such as softmax over the channels of an NCHW image: a block
keeps some columns (rows that are consecutive in memory) in registers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kgen.layout.iterator import IterationSpace
from kgen.partition.cut import RowStep
from kgen.schedule.elementwise.policy import WORD, Choice
from kgen.schedule.reduction.access import whole_touches
from kgen.schedule.reduction.columns import STATE_BYTES, column_touches, other_strides
from kgen.schedule.reduction.evict_last import evicted_last, exceeds_l2
from kgen.schedule.reduction.reasons import held_column_reasons
from kgen.schedule.reduction.schedule import (
    WARP,
    RowSchedule,
    coordinate_axes,
    is_plain,
    is_small,
    state_bytes,
    wide_touches,
)
from kgen.schedule.target import PORTABLE, Target

#: How columns are kept, the first way that fits: bytes that a thread keeps, and that a block reads side by side at
#: least.  More kept leave room for fewer blocks.  ``RAGGED`` come first where rows begin between sectors of memory, so
#: that a smaller part of what is read belongs to other blocks; ``THIN`` are the last ones for halves and bytes, for
#: which two kernels are slow as well.
WAYS = ((128, 64), (256, 64))
RAGGED = ((128, 256), (256, 256))
THIN = ((256, 32),)

#: Bytes of a sector.
SECTOR = 32

#: Elements of a column that a thread keeps at most; more where it then has the column for itself, in so many bytes.
MOST_EACH, ALONE_BYTES = 16, 48

#: Half as many threads share columns where that leaves fewer of their elements unused by that part of all, and each
#: keeps no more bytes than these.
WASTE, WASTE_BYTES = 0.08, 192

#: Threads of a block, at least and at most.
SMALLEST_BLOCK, LARGEST_BLOCK = 64, 512

#: Bytes of shared memory that a block may have, for what its threads leave for each other.
SHARED_BYTES = 48 << 10

#: Threads that go across, by the bytes that each reads at once: 256 bytes side by side, but for small elements.
LANES = ((8, 16), (4, 64), (1, 32))


@dataclass(frozen=True, slots=True)
class Held:
    """A thread has ``group`` neighbouring columns, ``vectors`` elements of each; ``lanes`` threads go across, and
    ``threads`` share each group.
    """

    group: int
    lanes: int
    threads: int
    vectors: int


def share_columns(height: int, group: int, held: int, smallest: int, states: int, *, ragged: bool) -> Held | None:
    """How a block keeps some columns of ``height`` elements; None where it cannot.

    ``group``: columns of a vector.  ``held``: bytes of an element of all that is kept, ``smallest``: of its smallest
    part; ``states``: of what a thread keeps of the reductions of a column.  ``ragged``: whether rows of neighbouring
    columns begin between sectors.
    """
    while group > 1 and group * states > STATE_BYTES:
        group //= 2
    size = group * held
    for most, narrowest in (*(RAGGED if ragged else ()), *WAYS, *(THIN if smallest < WORD else ())):
        each = max(1, min(MOST_EACH, most // size), height if height * size <= ALONE_BYTES else 0)
        threads = 1
        while threads * each < height:
            threads *= 2
        half = max(1, threads // 2)
        if _waste(height, threads) > _waste(height, half) + WASTE and -(-height // half) * size <= WASTE_BYTES:
            threads = half
        usual = next(n for least, n in LANES if group * smallest >= least)
        lanes = max(min(usual, LARGEST_BLOCK // threads), SMALLEST_BLOCK // threads)
        while _left(lanes, threads, group * states) > SHARED_BYTES:
            lanes //= 2
        if lanes * group * smallest >= narrowest:
            return Held(group, lanes, threads, -(-height // threads))
    return None


def _left(lanes: int, threads: int, states: int) -> int:
    """Bytes that threads, or warps whose threads share columns, leave for each other; ``states``: of a thread."""
    entries = 0 if threads == 1 else lanes * threads // WARP if lanes < WARP else threads
    return entries * lanes * states


def _waste(height: int, threads: int) -> float:
    """The share of elements that threads have room for in vain."""
    return -height % threads / height


def choose_held_columns(
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
    """The schedule of a kernel that keeps columns; None where rows do not lie so, or are too long.

    The arguments are those of ``choose_rows``.
    """
    if not _may_lie_across(space, reduced):
        return None
    wide = wide_touches(step)
    found = held_columns(step, wide, reduced, space, itemsizes, addresses, target)
    if found is None:
        return None
    reads = [i for i in whole_touches(space, range(len(wide))) if wide[i] and step.touches[i].reads]
    touches = column_touches(space, reduced, itemsizes, addresses, aliased, found.group, target)
    read = space.numel * sum(itemsizes[i] for i in reads)
    written = space.numel * sum(itemsizes[i] for i, w in enumerate(wide) if w and step.touches[i].writes)
    large = bounded and exceeds_l2(target, read, written)
    schedule = RowSchedule(
        "column_held",
        found.lanes * found.threads,
        found.group,
        len(space.shape),
        32 if is_small(space, reduced, itemsizes, [True] * len(wide)) else 64,
        touches,
        tuple((axis, space.dim_of(axis)) for axis in sorted(coordinate_axes(step))),
        threads=found.threads,
        vectors=found.vectors,
        reduced=reduced,
        down=tuple(i for i, w in enumerate(wide) if w),
        evict_last=evicted_last(step, touches, itemsizes, reads, found.group, target.vector_bytes) if large else (),
    )
    return Choice(schedule, space, held_column_reasons(schedule, step, math.prod(space.shape[:reduced])))


def held_columns(
    step: RowStep, wide: Sequence[bool], reduced: int, space: IterationSpace, itemsizes: Sequence[int],
    addresses: Sequence[int], target: Target,
) -> Held | None:  # fmt: skip
    """Who shares the columns of a kernel; None where it has none, or none that a block can keep.

    ``wide``: for each operand, whether it moves along rows.
    """
    whole = whole_touches(space, [i for i, w in enumerate(wide) if w])
    reads = [i for i in whole if step.touches[i].reads]
    across = _may_lie_across(space, reduced) and all(space.strides[i][reduced] == 1 for i in whole)
    if is_plain(step) or not reads or not space.numel or not across:
        return None
    height = math.prod(space.shape[:reduced])
    held, smallest = sum(itemsizes[i] for i in reads), min(itemsizes[i] for i in whole)
    widest = widest_group(space, reduced, itemsizes, addresses, whole, target)
    ragged = any(s * itemsizes[i] % SECTOR for i in whole for s in other_strides(space, i, reduced))
    return share_columns(height, widest, held, smallest, state_bytes(step), ragged=ragged)


def _may_lie_across(space: IterationSpace, reduced: int) -> bool:
    """Whether any operand has neighbouring rows side by side in memory."""
    several = 0 < reduced < len(space.shape) and space.shape[reduced] > 1
    return several and any(strides[reduced] == 1 for strides in space.strides)


def widest_group(
    space: IterationSpace, reduced: int, itemsizes: Sequence[int], addresses: Sequence[int], among: Sequence[int],
    target: Target,
) -> int:  # fmt: skip
    """Columns of the widest vectors that all operands of ``among`` are aligned to."""
    group = max(1, target.vector_bytes // max(itemsizes[i] for i in among))
    lengths = [space.shape[reduced]]
    for i in among:
        lengths += [addresses[i] // itemsizes[i], *other_strides(space, i, reduced)]
    while any(n % group for n in lengths):
        group //= 2
    return group
