"""Staging of short, contiguous rows through shared memory.

A block copies all of its rows, in aligned vectors, into shared memory, and its threads read their elements from there.
Outputs that vary along the row are written the same way.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from kgen.layout.iterator import IterationSpace
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.target import WORD


@dataclass(frozen=True, slots=True)
class StagedRows:
    """``operands``: those that are staged.  ``anchor``: the one at whose addresses threads align words; the rest is as
    in :class:`~kgen.schedule.reduction.schedule.RowSchedule`."""

    operands: Set[int]
    group: int
    anchor: int | None
    threads: int
    vectors: int
    block: int
    rows_per_thread: int


def stage(facts: RowFacts, walking: Sequence[int], group: int) -> StagedRows | None:
    """How rows are staged; None where they should not be.

    ``walking``: the operands that are consecutive along a row.  All outputs that vary along the row have to be staged,
    because threads also compute rows beyond the last one.  ``group``: elements that fill a vector.
    """
    operands = frozenset(i for i in walking if _is_dense(facts.space, i))
    if not facts.written <= operands or not _pays(facts, operands, group):
        return None
    tuning, width = facts.tuning.staging, facts.space.shape[0]
    while width % group:
        group //= 2
    anchor = None
    if group == 1 and width > tuning.elements and max(facts.itemsizes[i] for i in operands) < WORD:
        group, anchor = 2, min(operands)
    count, threads = -(-width // group), 1
    while count * group > threads * (tuning.elements if threads == 1 else tuning.shared_elements):
        threads *= 2
    if _reads_others_along_rows(facts, operands):
        threads = max(threads, 1 << (count.bit_length() - 1))
    vectors = -(-count // threads)
    found = _blocks(facts, operands, threads, threads * vectors * group)
    return found and StagedRows(operands, group, anchor, threads, vectors, *found)


def _reads_others_along_rows(facts: RowFacts, staged: Set[int]) -> bool:
    """Whether operands that are not staged go along rows, with gaps: then the threads of a warp should share rows,
    because each would otherwise read from a line of its own."""
    strides = [facts.space.strides[i] for i in facts.varying(facts.reads) if i not in staged]
    return any(abs(s[0]) < min(map(abs, s[1:]), default=0) for s in strides)


def _pays(facts: RowFacts, operands: Set[int], vector: int) -> bool:
    """Whether rows of these operands are so short, or so badly aligned, that staging is faster than direct access."""
    tuning, width = facts.tuning.staging, facts.space.shape[0]
    size = width * max((facts.itemsizes[i] for i in operands), default=0)
    if not 0 < size <= tuning.longest:
        return False
    even = width % vector == 0 and not any(facts.addresses[i] for i in operands)
    return not even or size <= (tuning.longest_odd if width // vector % 2 else tuning.longest_even)


def _blocks(facts: RowFacts, operands: Set[int], threads: int, capacity: int) -> tuple[int, int] | None:
    """Threads per block, and rows per thread; None where blocks would be too small.

    ``capacity``: elements for which a row has room.
    """
    tuning, width = facts.tuning.staging, facts.space.shape[0]
    whole = 16 // min(facts.itemsizes[i] for i in operands)  # a multiple of this many rows is a multiple of 16 bytes
    block, rows_per_thread = tuning.block, 1
    while threads == 1 and 2 * rows_per_thread <= tuning.most_rows and 2 * rows_per_thread * width <= tuning.elements:
        rows_per_thread *= 2
    # Where the number of rows is not known, assume that there are many.
    if facts.bounded and facts.space.numel // width < tuning.enough_blocks * block * rows_per_thread:
        rows_per_thread = 1
    while block // threads * rows_per_thread * capacity * facts.bytes_of(frozenset(operands)) > tuning.shared_bytes:
        block //= 2
    return None if block < 32 or block // threads * rows_per_thread % whole else (block, rows_per_thread)


def _is_dense(space: IterationSpace, operand: int) -> bool:
    """Whether an operand's rows are contiguous: in order, without gaps."""
    moved = [(n, s) for n, s in zip(space.shape, space.strides[operand], strict=True) if n > 1]
    return len(moved) > 1 and all(after == n * s for (n, s), (_, after) in pairwise(moved))
