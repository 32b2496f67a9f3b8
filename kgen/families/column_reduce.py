"""``column_reduce``: reductions over a slow dimension; each thread reduces some columns."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.facts import Choice
from kgen.schedule.operand_summary import row_classes
from kgen.schedule.reduction.columns import down_columns
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.launch import columns_rule
from kgen.schedule.reduction.schedule import ColumnSchedule


def write(unit: Unit[ColumnSchedule]) -> Written:
    from kgen.codegen.reduction.columns import describe_columns
    from kgen.codegen.reduction.describe import write_reduction

    return write_reduction(describe_columns, unit, needs_n=False, shares=True, is_brief=False)


def suffix(schedule: ColumnSchedule, itemsizes: Sequence[int]) -> str:
    return f"columns{'_split' if schedule.split else ''}{schedule.bits_suffix}"


def seconds(facts: RowFacts, choice: Choice) -> float | None:
    """By how blocks walk columns, unless several share these: merges are not predicted."""
    from kgen.schedule.cost import refined
    from kgen.schedule.reduction.column_search import column_seconds

    assert isinstance(choice.schedule, ColumnSchedule)
    if choice.schedule.split:
        return None
    tuning = facts.tuning
    return tuning.traffic.launch + refined(column_seconds(facts, choice), choice.space, tuning.chunk_costs)


FAMILY = Family(
    "column_reduce",
    RowFacts,
    down_columns,
    columns_rule,
    write,
    suffix,
    row_classes,
    has_element=False,
    seconds=seconds,
)
