"""Rows that do not begin or end where groups do.

Groups begin where one operand, the leader, is aligned.  The elements before and after, fewer than two groups, are taken
one each by the threads that share a row.  Where operands are shifted out of aligned blocks, so many more go with them
that the blocks around all groups lie within the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from kgen.layout.iterator import IterationSpace

#: Shorter rows, in bytes, are better read element by element than by threads that are mostly idle.
SHORTEST = 449


#: In shorter rows, of so many elements, operands that begin elsewhere are read element by element: shifting takes
#: registers, which leaves fewer blocks (layernorm of 301 bfloat16: 0.87 of a copy, 0.80 shifted; 1001: 0.72 and 0.95).
SHORTEST_SHIFTED = 400

#: Bytes of the blocks that what all rows share is shifted out of, where it stays near an SM: no words to choose from.
NEAR_BLOCK = 4


def margins(group: int, shifted: Iterable[tuple[int, bool]]) -> tuple[int, int]:
    """Elements at the start and at the end of a row that no group may have.

    ``shifted``: for each such operand, elements of a block, and whether rows begin with one.
    """
    blocks = list(shifted)
    start = 0 if all(whole for _, whole in blocks) else group
    return start, max((elements for elements, _ in blocks), default=0)


def most_singles(group: int, margins: tuple[int, int]) -> int:
    """The most elements of a row that are in no group."""
    return 2 * (group - 1) + sum(margins)


def leader(
    space: IterationSpace, walking: Sequence[int], itemsizes: Sequence[int], addresses: Sequence[int], group: int,
    *, bounded: bool, along: bool,
) -> tuple[int | None, Set[int]]:  # fmt: skip
    """The operand that decides where groups begin, and those whose rows are always aligned there as well.

    None where groups may begin where rows do.  ``walking``: the operands that are consecutive along a row; those that
    most bytes go with decide.  Where extents are not known (not ``bounded``), only equal strides are alike; ``along``:
    whether that of the rows is.
    """

    def place(i: int) -> tuple[int, ...]:
        """Where rows begin, in elements, modulo a group."""
        strides = [s for n, s in zip(space.shape[1:], space.strides[i][1:], strict=True) if n > 1]
        return (addresses[i] // itemsizes[i] % group, *(s % group if bounded else s for s in strides))

    alike = {i: {j for j in walking if place(j) == place(i)} for i in walking}
    lead = max(walking, key=lambda i: sum(itemsizes[j] for j in alike[i]))
    even = along and not any(s % group for s in place(lead)) and space.shape[0] % group == 0
    return None if even else lead, alike[lead]
