"""Rows that do not begin or end where groups do.

Groups begin where one operand, the leader, is aligned.  The elements before and after, fewer than two groups, are taken
one each by the threads that share a row.  Where operands are shifted out of aligned blocks, so many more go with them
that the blocks around all groups lie within the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from kgen.schedule.reduction.facts import RowFacts

#: Bytes of the blocks that what all rows share is shifted out of, where caches keep it: no words to choose from.
CACHED_BLOCK_BYTES = 4


def margins(group: int, shifted: Iterable[tuple[int, bool]]) -> tuple[int, int]:
    """Elements at the start and at the end of a row that no group may have.

    ``shifted``: for each such operand, elements of a block, and whether rows begin with one.
    """
    blocks = list(shifted)
    start = 0 if all(whole for _, whole in blocks) else group
    return start, max((elements for elements, _ in blocks), default=0)


def max_edge_elements(group: int, margins: tuple[int, int]) -> int:
    """The most elements of a row that are in no group."""
    return 2 * (group - 1) + sum(margins)


def choose_anchor(facts: RowFacts, walking: Sequence[int], group: int) -> tuple[int | None, Set[int]]:
    """The operand that decides where groups begin, and those whose rows are always aligned there as well.

    None where groups may begin where rows do.  ``walking``: the operands that are consecutive along a row; those that
    most bytes go with decide.  Where extents are not known, only equal strides are alike.
    """

    def place(i: int) -> tuple[int, ...]:
        """Where rows begin, in elements, modulo a group."""
        strides = facts.other_strides(i, 0)
        first = facts.addresses[i] // facts.itemsizes[i] % group
        return (first, *(s % group if facts.bounded else s for s in strides))

    alike = {i: {j for j in walking if place(j) == place(i)} for i in walking}
    anchor = max(walking, key=lambda i: facts.bytes_of([*alike[i]]))
    even = facts.along and not any(s % group for s in place(anchor)) and facts.space.shape[0] % group == 0
    return None if even else anchor, alike[anchor]
