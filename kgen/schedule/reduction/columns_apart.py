"""Columns that are so short that a thread moves too few bytes for what it takes to begin and end: it takes several.

They are as far apart as there are threads across, so that neighbouring threads still read neighbouring elements, from
whatever address on: odd numbers of columns need no other accesses.
"""

from __future__ import annotations

from kgen.records import replace
from kgen.schedule.facts import Choice
from kgen.schedule.reduction.column_choice import choice_of
from kgen.schedule.reduction.column_mapping import ColumnDemand, mapping_of
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.schedule import ColumnSchedule


def with_columns_apart(facts: RowFacts, found: Choice) -> Choice:
    """``found``, or the same with several columns a thread."""
    schedule, tuning = found.schedule, facts.tuning.columns
    assert isinstance(schedule, ColumnSchedule)
    alone = schedule.threads == 1 and schedule.vectors == facts.width and not schedule.chunk
    if not (alone and facts.bounded and not facts.is_few and schedule.group <= tuning.widest_beside_apart):
        return found
    one = ColumnDemand(facts, 1)
    moved = one.bytes_alone + facts.bytes_of([i for i, a in enumerate(facts.step.accesses) if a.writes])
    if schedule.group * moved >= tuning.moved_bytes:
        return found
    several = 2
    while several < tuning.most_apart and several * moved < tuning.moved_bytes:
        several *= 2
    columns = facts.space.shape[facts.reduced]
    idle = -columns % several > tuning.most_idle * columns
    if idle or one.groups < several * tuning.enough_waves * facts.tuning.chunk_costs.threads:
        return found
    mapping = mapping_of(ColumnDemand(facts, several), tuning.block, 1, tuning.most_in_flight)
    choice = choice_of(facts, several, replace(mapping, apart=True))
    why = f"apart: one column is too few bytes for a thread, so it takes {several}, which are not neighbours"
    return replace(choice, reasons=(*choice.reasons, why))
