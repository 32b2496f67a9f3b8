"""Column kernels with operands that are consecutive along another kept dimension than the others.

A block takes a chunk of neighbouring columns at several places along that dimension, so that it uses whole lines of
every operand; what several of its threads read is in L1 meanwhile.
"""

from __future__ import annotations

from kgen.records import replace
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.target import SECTOR


def operand_beside(facts: RowFacts) -> tuple[int, int] | None:
    """An operand that is closer together along some kept dimension than from column to column, and that dimension; None
    if there is none.  Results count where columns are short.
    """
    reduced = facts.reduced
    short = facts.width < 2 * facts.tuning.columns.fewest_each
    results = [i for i, one in enumerate(facts.step.accesses) if one.writes and i not in facts.reads]
    for i in (*facts.reads, *(results if short else ())):
        if facts.step_along(i, reduced) in (0, 1):
            continue
        steps = {d: abs(facts.step_along(i, d)) for d in range(reduced + 1, len(facts.space.shape))}
        near = [d for d, step in steps.items() if 0 < step * facts.itemsizes[i] < SECTOR]
        if near:
            return i, min(near, key=steps.__getitem__)
    return None


def with_second(facts: RowFacts, dimension: int) -> RowFacts:
    """The same with this dimension behind the first of the kept ones."""
    return replace(facts, space=facts.space.with_first([*range(facts.reduced + 1), dimension]))


def chunk_of(facts: RowFacts, lanes: int, group: int) -> int:
    """Neighbouring groups that a block of ``lanes`` threads across takes, a power of two.

    A run of memory wastes about as much at its ends, whatever its elements: so chunks are as wide as there are places,
    and wider where more operands run across columns than beside them.
    """
    steps = [facts.step_along(i, facts.reduced) for i in facts.reads]
    across = max(1, steps.count(1))
    beside = max(1, sum(step not in (0, 1) for step in steps))
    # Single columns are no multiple of a vector: their runs begin anywhere, and are better wider.
    limit = lanes * group * across - (group > 1)
    chunk = 1
    while 2 * (chunk * group) ** 2 * beside <= limit:
        chunk *= 2
    return chunk
