"""``column_resident``: chains of reductions over a slow dimension; a block keeps some columns in registers."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.facts import Choice
from kgen.schedule.launch import Labels, Rule
from kgen.schedule.operand_summary import row_classes
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.schedule import RowSchedule


def choose(facts: RowFacts) -> Choice | None:
    from kgen.schedule.reduction.resident_columns import resident_columns

    return resident_columns(facts)


def launch(schedule: RowSchedule, labels: Labels) -> Rule:
    from kgen.schedule.reduction.launch import resident_columns_rule

    return resident_columns_rule(schedule, labels)


def write(unit: Unit[RowSchedule]) -> Written:
    from kgen.codegen.reduction.describe import write_reduction
    from kgen.codegen.reduction.resident_columns import describe_resident_columns

    return write_reduction(describe_resident_columns, unit, needs_n=False, shares=True, is_brief=True)


def suffix(schedule: RowSchedule, itemsizes: Sequence[int]) -> str:
    return f"columns_{schedule.residency_suffix}{schedule.bits_suffix}"


COLUMN_RESIDENT = Family("column_resident", RowFacts, choose, launch, write, suffix, row_classes, has_element=False)
