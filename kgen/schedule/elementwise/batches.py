"""Kernels in which a thread takes two groups, a block of threads apart, because blocks of one move little: ``batches``.

A device begins a limited number of blocks a microsecond.  Where operands come from L2, blocks that move little each do
not keep up with it.
"""

from __future__ import annotations

from kgen.records import replace
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.schedule import Schedule
from kgen.schedule.trace import reaches

REASON = "batches: two groups a thread, because blocks of one would move little"
#: What groups are made of: accesses that a whole group does at once, or once.
_KINDS = frozenset({"vector", "interleaved", "column", "scalar"})


def batches(facts: Facts) -> Choice | None:
    """Rows of whole groups that move little.  Dense operands: :func:`~kgen.schedule.elementwise.linear.contiguous`."""
    from kgen.schedule.elementwise.rows import rows

    if not may_batch(facts):
        return None
    choice = rows(facts)
    if choice is None or not moves_little(facts, choice.schedule, choice.space.shape[0]):
        return None
    schedule = replace(choice.schedule, template="batches", block=facts.tuning.elementwise.block)
    return Choice(schedule, choice.space, (REASON, *choice.reasons))


def may_batch(facts: Facts) -> bool:
    """Whether operands have some MiB, and elements take neither coordinates nor functions."""
    if not facts.bounded or facts.sources or facts.coordinates or facts.takes_long:
        return False
    moved, (least, most) = facts.space.numel * _moved_bytes(facts), facts.tuning.elementwise.batched_bytes
    return reaches(moved, least) and not reaches(moved, most)


def moves_little(facts: Facts, schedule: Schedule, width: int) -> bool:
    """Whether groups are whole, and move few bytes.  ``width``: elements of a row."""
    little = schedule.group * _moved_bytes(facts) <= facts.tuning.elementwise.batched_group_bytes
    return little and has_whole_groups(facts, schedule, width)


def _moved_bytes(facts: Facts) -> int:
    """Bytes per element of what moves along rows."""
    return sum(facts.itemsizes[i] for i in facts.streamed if facts.step_along(i, 0))


def has_whole_groups(facts: Facts, schedule: Schedule, width: int) -> bool:
    """Whether there are whole groups only.  Quotients of elements have a path of their own in ``rows``."""
    fits = all(t.kind in _KINDS and not t.reaches_beyond for t in schedule.accesses)
    divides = any(op.name == "div" and op.shape and op.shape[-1] != 1 for op in facts.step.graph.ops)
    return bool(fits and schedule.anchor is None and width % schedule.group == 0 and not divides)
