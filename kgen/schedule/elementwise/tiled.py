"""Kernels that transpose through shared memory, a square tile of two dimensions each block: ``tiled``."""

from __future__ import annotations

from collections.abc import Set

from kgen.schedule.elementwise.reasons import bits_reason, listed, spoilers
from kgen.schedule.elementwise.rows import by_groups, second_first, transposed
from kgen.schedule.facts import Choice, Facts


def tiled(facts: Facts) -> Choice | None:
    """Some operand is consecutive along a dimension other than the outputs': through shared memory, by tiles."""
    second, turned = transposed(facts)
    if not turned:
        return None
    group, tuning = facts.group, facts.tuning.elementwise
    if len(turned) < sum(t.reads for t in facts.step.touches):
        group = min(group, tuning.widest_beside)
    while group > 1 and _tile_bytes(facts, turned, group) > tuning.tile_bytes:
        group //= 2
    space = second_first(facts.space, second, min(turned))
    if _tile_bytes(facts, turned, group) > tuning.tile_bytes or min(space.shape[:2]) < tuning.shortest_side:
        return None
    schedule = by_groups(facts, "tiled", space, group, turned)
    side = tuning.tile_side * group
    names = [facts.names[i] for i in sorted(turned)]
    reason = (
        f"tiled: {listed(names)} consecutive along another dimension, turned in {side} x {side} tiles of shared memory"
    )
    return Choice(schedule, space, (reason, *spoilers(schedule, facts), bits_reason(schedule)))


def _tile_bytes(facts: Facts, turned: Set[int], group: int) -> int:
    side = facts.tuning.elementwise.tile_side * group
    return sum(side**2 * facts.itemsizes[i] for i in turned)
