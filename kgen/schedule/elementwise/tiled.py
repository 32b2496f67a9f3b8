"""Kernels that transpose through shared memory, one square tile of two dimensions per block: ``tiled``."""

from __future__ import annotations

from collections.abc import Set

from kgen.schedule.elementwise.reasons import group_reasons, listed
from kgen.schedule.elementwise.rows import by_groups, transposed_operands
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.trace import reaches


def tiled(facts: Facts) -> Choice | None:
    """Some input is consecutive along another dimension than the outputs: it goes through tiles of shared memory."""
    second, transposed = transposed_operands(facts)
    if not transposed:
        return None
    group, tuning = facts.group, facts.tuning.elementwise
    if len(transposed) < sum(t.reads for t in facts.step.accesses):
        group = min(group, tuning.max_transposed_width)
    while group > 1 and _tile_bytes(facts, transposed, group) > tuning.tile_bytes:
        group //= 2
    # The other dimensions stay in memory order of the outputs (*Tiles in the order of what is written*).
    space = facts.space.with_first([0, second])
    fits, side = [reaches(n, tuning.shortest_side) for n in space.shape[:2]], tuning.tile_side * group
    if _tile_bytes(facts, transposed, group) > tuning.tile_bytes or not all(fits):
        return None
    if facts.bounded and not reaches(space.numel, tuning.few_tiles * side**2):
        return None  # boxes are smaller
    schedule = by_groups(facts, "tiled", space, group, transposed)
    names = [facts.names[i] for i in sorted(transposed)]
    reason = (
        f"tiled: {listed(names)} consecutive along another dimension, transposed through {side} x {side} tiles of "
        "shared memory"
    )
    return Choice(schedule, space, (reason, *group_reasons(schedule, facts)))


def _tile_bytes(facts: Facts, transposed: Set[int], group: int) -> int:
    side = facts.tuning.elementwise.tile_side * group
    return sum(side**2 * facts.itemsizes[i] for i in transposed)
