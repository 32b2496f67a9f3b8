"""Staging of short rows through shared memory.

A block copies all of its rows, in aligned vectors, into shared memory, and its threads read their elements from there.
Outputs that vary along the row are written the same way.  Rows with gaps between them are copied row by row.  Operands
that run across rows, from one row to the next, are accessed directly: then neighbouring threads take neighbouring rows.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import pairwise

from kgen.layout.iterator import IterationSpace
from kgen.records import dataclass, replace
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.target import SECTOR, WARP, WORD


@dataclass(frozen=True, slots=True)
class StagedRows:
    """``operands``: those that are staged.  ``spaced``: those that are, with gaps between their rows.  ``anchor``: the
    one at whose addresses threads align words; the rest is as in
    :class:`~kgen.schedule.reduction.schedule.RowSchedule`."""

    operands: Set[int]
    spaced: Set[int]
    group: int
    anchor: int | None
    threads: int
    vectors: int
    block: int
    rows_per_thread: int


@dataclass(frozen=True, slots=True)
class _Lying:
    """How operands that vary along rows lie in memory.  ``dense``: contiguous rows; ``spaced``: inputs with gaps
    between rows; ``across``: neighbouring rows are nearer to each other than the elements of a row."""

    dense: Set[int]
    spaced: Set[int]
    across: Set[int]

    @staticmethod
    def of(facts: RowFacts, walking: Sequence[int]) -> _Lying:
        space = facts.space
        dense = frozenset(i for i in walking if _is_dense(space, i))
        spaced = frozenset(i for i in facts.reads if _runs_along(space, i)) - dense - facts.written
        sizes = facts.itemsizes
        across = frozenset(i for i, varies in enumerate(facts.varies) if varies and _runs_across(space, i, sizes[i]))
        return _Lying(dense, spaced, across)

    def is_mostly_across(self, facts: RowFacts) -> bool:
        """Whether no more bytes lie along rows than across them."""
        across, along = (sum(facts.itemsizes[i] for i in among) for among in (self.across, self.dense | self.spaced))
        return across >= along


def stage(facts: RowFacts, walking: Sequence[int], group: int) -> StagedRows | None:
    """How rows are staged; None where they should not be.

    ``walking``: the operands that are consecutive along a row.  Outputs that vary along the row have to be staged, or
    run across rows.  ``group``: elements that fill a vector.
    """
    lying = _Lying.of(facts, walking)
    if not facts.written <= lying.dense | lying.across or not _pays(facts, lying, group):
        return None
    tuning, width = facts.tuning.staging, facts.space.shape[0]
    while width % group:
        group //= 2
    anchor = None
    long = group == 1 and width > tuning.elements and not lying.across
    if long and max(facts.itemsizes[i] for i in lying.dense) < WORD:
        group, anchor = 2, min(lying.dense)
    count = -(-width // group)
    threads = _threads(facts, count * group)
    if threads > 1 and lying.spaced and not lying.is_mostly_across(facts):
        # Threads of a warp share rows, because each would otherwise read from a line of its own.
        lying, threads = replace(lying, spaced=frozenset()), max(threads, min(WARP, 1 << (count.bit_length() - 1)))
    if threads > (tuning.most_across if lying.across else WARP):
        return None
    vectors = -(-count // threads)
    found = _blocks(facts, lying, threads, threads * vectors * group)
    return found and StagedRows(lying.dense, lying.spaced, group, anchor, threads, vectors, *found)


def stage_dense(facts: RowFacts, walking: Sequence[int], group: int, threads: int) -> StagedRows | None:
    """How ``threads`` share rows of which the dense ones are staged, and others are read in place.

    None where vectors move rows in place as well, or rows are too short or too long for that.
    """
    lying = replace(_Lying.of(facts, walking), spaced=frozenset())
    tuning, width = facts.tuning.staging, facts.space.shape[0]
    while width % group:
        group //= 2
    size = width * max((facts.itemsizes[i] for i in lying.dense), default=0)
    fits = size >= tuning.shortest_across and width <= threads * tuning.shared_elements
    if group > 1 or not fits or not facts.written <= lying.dense | lying.across:
        return None
    vectors = -(-width // threads)
    found = _blocks(facts, lying, threads, threads * vectors)
    return found and StagedRows(lying.dense, lying.spaced, group, None, threads, vectors, *found)


def _threads(facts: RowFacts, elements: int) -> int:
    """Threads that share a row of so many elements."""
    tuning, threads = facts.tuning.staging, 1
    while elements > threads * (tuning.elements if threads == 1 else tuning.shared_elements):
        threads *= 2
    return threads


def _pays(facts: RowFacts, lying: _Lying, vector: int) -> bool:
    """Whether rows are so short, or so badly aligned, that staging is faster than direct access."""
    tuning, width = facts.tuning.staging, facts.space.shape[0]
    beside = width * max((facts.itemsizes[i] for i in lying.dense | lying.spaced), default=0)
    if lying.across and tuning.shortest_across <= beside <= tuning.longest_across:
        return True
    if not facts.written <= lying.dense:
        return False
    size = width * max((facts.itemsizes[i] for i in lying.dense), default=0)
    if not 0 < size <= tuning.longest:
        return False
    even = width % vector == 0 and (not any(facts.addresses[i] for i in lying.dense) or _is_read_in_place(facts, lying))
    return not even or size <= (tuning.longest_odd if width // vector % 2 else tuning.longest_even)


def _is_read_in_place(facts: RowFacts, lying: _Lying) -> bool:
    """Whether unaligned rows of whole vectors are short and of wide elements: a vector is few loads, and threads that
    each take a row out of shared memory would find all of them in the same banks."""
    widest = max(facts.itemsizes[i] for i in lying.dense)
    return not lying.spaced and widest >= WORD and facts.space.shape[0] <= facts.tuning.staging.elements


def _blocks(facts: RowFacts, lying: _Lying, threads: int, capacity: int) -> tuple[int, int] | None:
    """Threads per block, and rows per thread; None where blocks would be too small.

    ``capacity``: elements for which a row has room.
    """
    tuning, width = facts.tuning.staging, facts.space.shape[0]
    sizes = [facts.itemsizes[i] for i in lying.dense]
    whole = 16 // min(sizes, default=16)  # a multiple of this many rows is a multiple of 16 bytes
    block, rows_per_thread = tuning.block, 1
    several = threads == 1 and not lying.spaced and (not lying.across or width < tuning.shortest_alone)
    while several and 2 * rows_per_thread <= tuning.most_rows and 2 * rows_per_thread * width <= tuning.elements:
        rows_per_thread *= 2
    # Where the number of rows is not known, assume that there are many.
    if facts.bounded and facts.space.numel // width < tuning.enough_blocks * block * rows_per_thread:
        rows_per_thread = 1
    spaced = sum(facts.itemsizes[i] for i in lying.spaced)
    while block // threads * rows_per_thread * (capacity * sum(sizes) + (capacity + 1) * spaced) > tuning.shared_bytes:
        block //= 2
    return None if block < 32 or block // threads * rows_per_thread % whole else (block, rows_per_thread)


def _is_dense(space: IterationSpace, operand: int) -> bool:
    """Whether an operand's rows are contiguous: in order, without gaps."""
    moved = [(n, s) for n, s in zip(space.shape, space.strides[operand], strict=True) if n > 1]
    return len(moved) > 1 and all(after == n * s for (n, s), (_, after) in pairwise(moved))


def _runs_along(space: IterationSpace, operand: int) -> bool:
    """Whether the elements of a row are nearer to each other than rows, of which there are several."""
    along, *kept = map(abs, space.strides[operand])
    return any(kept) and 0 < along < min(s for s in kept if s)


def _runs_across(space: IterationSpace, operand: int, size: int) -> bool:
    """Whether neighbouring rows are nearer to each other than the elements of a row, in runs of a sector or more.
    ``size``: of an element, in bytes."""
    along, *kept = map(abs, space.strides[operand])
    if not kept or not 0 < kept[0] < along:
        return False
    reach = kept[0]
    for extent, step in zip(space.shape[1:], kept, strict=True):
        if step <= reach:
            reach = max(reach, step * extent)
    return reach * size >= SECTOR
