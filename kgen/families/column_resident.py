"""``column_resident``: chains of reductions over a slow dimension; a block keeps some columns in registers."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.operand_summary import row_classes
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.launch import resident_columns_rule
from kgen.schedule.reduction.resident_columns import resident_columns
from kgen.schedule.reduction.schedule import RowSchedule


def write(unit: Unit[RowSchedule]) -> Written:
    from kgen.codegen.reduction.describe import write_reduction
    from kgen.codegen.reduction.resident_columns import describe_resident_columns

    return write_reduction(describe_resident_columns, unit, needs_n=False, shares=True, is_brief=True)


def suffix(schedule: RowSchedule, itemsizes: Sequence[int]) -> str:
    return f"columns_{schedule.residency_suffix}{schedule.bits_suffix}"


FAMILY = Family(
    "column_resident", RowFacts, resident_columns, resident_columns_rule, write, suffix, row_classes, has_element=False
)
