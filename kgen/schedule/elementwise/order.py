"""The order in which kernels walk rows: those that share a large operand follow each other, so that L2 still has it."""

from __future__ import annotations

from math import prod

from kgen.layout.iterator import IterationSpace
from kgen.schedule.facts import Facts


def shared_first(facts: Facts) -> IterationSpace:
    """The space with the dimension in second place along which the largest operands are the same, where these do not
    stay in L2 until rows that share them would follow.  Rows that are too long for that become several.
    """
    space, tuning = facts.space, facts.tuning.elementwise
    rank = len(space.shape)
    if not facts.bounded or rank < 2 or facts.sources or any(d == 0 for _, d in facts.coordinates):
        return space
    sizes = {d: shared_bytes(facts, d, walked=d) for d in range(1, rank)}
    dimension = max(sizes, key=sizes.__getitem__)
    if sizes[dimension] < tuning.kept_in_l2:
        return space
    moved = space.with_first([0, dimension])
    part = tuning.longest_part
    while part >= tuning.shortest_part and space.shape[0] % part != 0:
        part //= 2
    if part < tuning.shortest_part:
        return moved if space.shape[0] >= tuning.shortest_part else space
    return _parted(moved, part)


def shared_bytes(facts: Facts, dimension: int, walked: int | None = None) -> int:
    """Bytes of the operands that are the same along a dimension.  ``walked``: only what is read of them along so many
    of the first dimensions.
    """
    found = 0
    for access, itemsize in enumerate(facts.itemsizes):
        own = [n for d, n in enumerate(facts.space.shape[:walked]) if facts.step_along(access, d)]
        if own and not facts.step_along(access, dimension):
            found += itemsize * prod(own)
    return found


def _parted(space: IterationSpace, part: int) -> IterationSpace:
    """Rows in parts of so many elements, of which those of neighbouring rows follow each other."""
    width, second, *rest = space.shape
    if width == part:
        return space
    return IterationSpace(
        (part, second, width // part, *rest),
        tuple((s[0], s[1], s[0] * part, *s[2:]) for s in space.strides),
        ((), space.axes[1], space.axes[0], *space.axes[2:]),
    )
