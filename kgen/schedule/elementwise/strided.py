"""Elements at offsets computed from their coordinates: ``strided`` covers every layout."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.layout.kinds import LayoutKind, index_bits, stride_patterns
from kgen.schedule.elementwise.reasons import index_width_reason
from kgen.schedule.facts import Choice, Facts, group_size
from kgen.schedule.schedule import AccessSchedule, Schedule


def strided(facts: Facts) -> Choice:
    """The fallback: applies to every layout."""
    numbers = [i for i, c in enumerate(facts.classes) if c is LayoutKind.STRIDED]
    pattern_of = dict(zip(numbers, stride_patterns(facts.space, numbers)[1], strict=True))
    accesses: list[AccessSchedule] = []
    for i, (c, alias) in enumerate(zip(facts.classes, facts.aliased, strict=True)):
        if pattern_of.get(i) is not None:
            accesses.append(AccessSchedule("strided", pattern=pattern_of[i], restrict=not alias))
        else:
            accesses.append(AccessSchedule("linear" if c is LayoutKind.CONTIGUOUS else "scalar", restrict=not alias))
    bits = index_bits(facts.space, facts.itemsizes)
    rank = len(facts.space.shape)
    block = facts.tuning.elementwise.strided_block
    group = facts.spread(elements_a_thread(facts.itemsizes), one_by_one=True)
    schedule = Schedule("strided", block, group, rank, bits, tuple(accesses), facts.coordinates, target=facts.target)
    reason = "strided: elements are taken one by one, and found by their coordinates"
    return Choice(schedule, facts.space, (reason, index_width_reason(schedule)))


def elements_a_thread(itemsizes: Sequence[int]) -> int:
    """Enough loads in flight: as many elements as fill a 16-byte access, at most eight."""
    return min(8, group_size(itemsizes))
