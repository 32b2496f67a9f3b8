"""Kernels in which a thread takes several groups, a block of threads apart: ``row_batches``.

Rows at computed places wait for the place first.  A thread loads all of its places, then all of its rows, so that two
waits serve several groups.
"""

from __future__ import annotations

from kgen.records import replace
from kgen.schedule.elementwise.batches import has_whole_groups
from kgen.schedule.elementwise.reasons import group_reasons
from kgen.schedule.elementwise.rows import rows
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.trace import reaches

#: Groups of a thread, and threads of a block (rows of 16 KiB gathered 0.98 of a copy, with 256 threads 0.96, with one
#: group of 256 0.90; scattered 0.95, 0.93 and 0.95; four groups no more).
GROUPS, BLOCK = 2, 128


def row_batches(facts: Facts) -> Choice | None:
    """Rows of whole groups, some at computed places."""
    if not facts.sources or not facts.bounded:
        return None
    choice = rows(facts)
    if choice is None or not choice.schedule.gathered or not _are_many(facts, choice):
        return None
    if not has_whole_groups(facts, choice.schedule, choice.space.shape[0]):
        return None
    schedule = replace(choice.schedule, template="row_batches", block=BLOCK)
    rows_of = " and ".join(f"`{facts.step.graph.operands[operand].name}`" for operand, _ in schedule.gathered)
    reason = f"row batches: {GROUPS} groups a thread, because rows of {rows_of} wait for their places"
    return Choice(schedule, choice.space, (reason, *group_reasons(schedule, facts)))


def _are_many(facts: Facts, choice: Choice) -> bool:
    return reaches(choice.space.numel, facts.tuning.elementwise.pair_threads * GROUPS * choice.schedule.group)
