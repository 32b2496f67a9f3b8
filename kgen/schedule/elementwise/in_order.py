"""The choice among families where all operands run along the fastest dimension of the outputs, if they vary along it.

The layouts decide: no time has to be predicted, because every family reads memory in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping

from kgen.layout.kinds import LayoutKind
from kgen.schedule.elementwise.groups import is_shifted
from kgen.schedule.elementwise.interleaved import interleaved
from kgen.schedule.elementwise.linear import flat, has_whole_rows
from kgen.schedule.facts import Facts
from kgen.schedule.schedule import Interleaved
from kgen.schedule.trace import reaches


def family_in_order(facts: Facts) -> str:
    """The name of the family."""
    tuning, width = facts.tuning.elementwise, facts.space.shape[0]
    if not (has_whole_rows(facts) or _has_rows_apart(facts) or _wide(facts)):
        choice = flat(facts)
        if choice is not None and width % facts.group == 0 and facts.group > 1:
            return "rows"  # short, but dense outputs are aligned to whole groups
        # Offsets of 64 bits cost less where they are computed once for each group of a row.
        if choice is not None and (choice.schedule.index_bits == 32 or width < tuning.shortest_shifted_row):
            return "flat"
    # Where nothing that is written is consecutive, neighbouring threads had better take neighbouring elements.
    return "rows" if _writes_groups(facts) and width >= tuning.shortest_row else "strided"


def _has_rows_apart(facts: Facts) -> bool:
    """Whether rows are long enough, and many, so that it pays that each group belongs to one."""
    return (_shifts_long_rows(facts) or _shares_long_rows(facts)) and _has_many(facts)


def _has_many(facts: Facts) -> bool:
    """Whether threads have more to do than to find where rows begin."""
    return not facts.bounded or reaches(facts.space.numel, 16 * facts.tuning.elementwise.few_threads)


def _writes_groups(facts: Facts) -> bool:
    written = [i for i, t in enumerate(facts.step.accesses) if t.writes]
    return not written or any(facts.step_along(i, 0) == 1 for i in written) or any(i in _wide(facts) for i in written)


def _wide(facts: Facts) -> Mapping[int, Interleaved]:
    """The interleaved accesses of rows that are long enough to be walked by groups."""
    is_long = facts.space.shape[0] >= facts.tuning.elementwise.shortest_shifted_row
    if facts.group == 1 or not (is_long or has_whole_rows(facts)):
        return {}
    return interleaved(facts, facts.space, facts.group, aligned=True)


def _shifts_long_rows(facts: Facts) -> bool:
    """Whether an input has long rows of narrow elements that differ from row to row."""
    return facts.space.shape[0] >= facts.tuning.elementwise.shortest_shifted_row and any(
        c is LayoutKind.STRIDED
        and facts.step_along(i, 0) == 1
        and is_shifted(facts.itemsizes[i], facts.group)
        # An operand that is broadcast over all rows is read from the cache.
        and any(facts.step_along(i, d) for d in range(1, len(facts.space.shape)))
        for i, c in enumerate(facts.classes)
    )


def _shares_long_rows(facts: Facts) -> bool:
    """Whether the inputs that are not dense are the same along long rows of narrow elements: to select one of two rows
    for each of many elements, or pairs of them, takes longer than to find where rows begin.
    """
    tuning, width = facts.tuning.elementwise, facts.space.shape[0]
    if not facts.bounded or facts.group < tuning.selecting_group or width < tuning.shortest_shifted_row:
        return False
    strided = [i for i, c in enumerate(facts.classes) if c is LayoutKind.STRIDED]
    return width % 4 != 0 and all(facts.step_along(i, 0) == 0 for i in strided)
