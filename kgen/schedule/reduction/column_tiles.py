"""Column kernels with transposed operands: those that are consecutive down columns, where others are so across.

A thread takes a tile: a group of neighbouring columns, and a run of consecutive elements of each.  So it reads every
operand by vectors, each along its own fastest dimension, and has the same elements of all of them in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kgen.records import replace
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.schedule import AccessSchedule
from kgen.schedule.target import SECTOR, WORD


def down_columns_only(facts: RowFacts) -> tuple[int, ...]:
    """The operands that are consecutive down columns, and differ from column to column without being so across."""
    return tuple(i for i in facts.reads if facts.is_consecutive(i) and facts.step_along(i, facts.reduced) not in (0, 1))


def run_length(facts: RowFacts, group: int, transposed: Sequence[int]) -> int:
    """Elements of each column that a thread takes at once: as many as fill a sector of the widest transposed operand,
    fewer where tiles would take too many registers."""
    tuning = facts.tuning.column_tiles
    run = tuning.run_bytes // max(facts.itemsizes[i] for i in transposed)
    while run > 1 and group * run * facts.bytes_of(facts.reads) > tuning.kept_bytes:
        run //= 2
    while not is_of_one_column(facts, run):
        run //= 2
    return run


def is_of_one_column(facts: RowFacts, run: int) -> bool:
    """Whether each run of so many elements, which are consecutive in a transposed operand, is of one column: none goes
    on beyond the fastest dimension, where other columns may follow.  ``facts``: with exact extents.
    """
    return facts.reduced == 1 or facts.space.shape[0] % run == 0


def tile_index_bits(facts: RowFacts, group: int, transposed: Sequence[int]) -> Literal[32, 64]:
    """The width of offsets, which go from the first of a thread's columns to any element of its last one."""
    space, reduced = facts.space, facts.reduced
    for i in transposed:
        inner = zip(space.shape[:reduced], space.strides[i], strict=False)
        span = sum((n - 1) * abs(s) for n, s in inner) + (group - 1) * abs(facts.step_along(i, reduced))
        if (span + 1) * facts.itemsizes[i] >= 2**31:
            return 64
    return facts.index_bits([True] * len(facts.itemsizes))


def transpose(
    facts: RowFacts, accesses: Sequence[AccessSchedule], transposed: Sequence[int], run: int
) -> tuple[AccessSchedule, ...]:
    """The accesses, with those in ``transposed`` read by runs of so many elements."""
    return tuple(
        replace(planned, kind="transposed", alignment=_alignment(facts, i, run)) if i in transposed else planned
        for i, planned in enumerate(accesses)
    )


def _alignment(facts: RowFacts, access: int, run: int) -> int:
    """The alignment of an operand's runs in bytes: that of the widest accesses they consist of, or one element."""
    size, full = facts.itemsizes[access], facts.target.vector_bytes
    while run * size % full:
        full //= 2
    aligned = facts.addresses[access] % full == 0 and all(s * size % full == 0 for s in facts.other_strides(access, 0))
    return full if aligned else size


def shifted_runs(
    facts: RowFacts, accesses: Sequence[AccessSchedule], transposed: Sequence[int], run: int
) -> tuple[int, ...]:
    """The transposed operands whose runs are sectors of narrow elements at any address, read as the aligned blocks that
    hold them: where each step along another dimension is at least a run, so that only blocks of the first and of the
    last column may reach beyond the operand (*Runs at odd addresses*).
    """
    return tuple(
        i
        for i in transposed
        if facts.bounded
        and facts.itemsizes[i] < WORD
        and run * facts.itemsizes[i] == SECTOR
        and accesses[i].alignment == facts.itemsizes[i]
        and all(step >= run for step in facts.other_strides(i, 0))
    )
