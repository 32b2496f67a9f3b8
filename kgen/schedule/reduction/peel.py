"""Peeled rows: rows that do not begin or end at aligned addresses.

Groups begin where one operand, the alignment anchor, is aligned.  The elements before and after them, fewer than two
groups, are edge elements: each is one thread's work.  Where operands are shifted, more elements become edge elements,
so that all aligned blocks that are loaded lie within the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from kgen.schedule.reduction.facts import RowFacts

#: Bytes of the aligned blocks of shifted operands that all rows share.  These are in the cache, so short blocks do.
CACHED_BLOCK_BYTES = 4


def margins(group: int, shifted: Iterable[tuple[int, bool]]) -> tuple[int, int]:
    """How many elements at the start and at the end of a row must not be in a group.

    ``shifted``: for each shifted operand, the elements of an aligned block, and whether rows begin at one.
    """
    blocks = list(shifted)
    start = 0 if all(whole for _, whole in blocks) else group
    return start, max((elements for elements, _ in blocks), default=0)


def max_edge_elements(group: int, margins: tuple[int, int]) -> int:
    """The most edge elements that a row can have."""
    return 2 * (group - 1) + sum(margins)


def choose_anchor(facts: RowFacts, walking: Sequence[int], group: int) -> tuple[int | None, Set[int]]:
    """The alignment anchor, and the operands whose rows are always aligned where its rows are.

    The anchor is None where groups may begin where rows do.  ``walking``: the operands that are consecutive along a
    row.  Those that are aligned alike and have the most bytes together win.  Where extents are not known, operands are
    alike only if their strides are equal.
    """

    def place(i: int) -> tuple[int, ...]:
        """The address and the outer strides, in elements, modulo a group: they give the alignment of all rows."""
        strides = facts.other_strides(i, 0)
        first = facts.addresses[i] // facts.itemsizes[i] % group
        return (first, *(s % group if facts.bounded else s for s in strides))

    alike = {i: {j for j in walking if place(j) == place(i)} for i in walking}
    anchor = max(walking, key=lambda i: facts.bytes_of([*alike[i]]))
    even = not any(s % group for s in place(anchor)) and facts.space.shape[0] % group == 0
    return None if even else anchor, alike[anchor]
