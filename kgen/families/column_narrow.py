"""``column_narrow``: reductions over a slow dimension with few columns; each thread's vectors go across rows."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.operand_summary import row_classes
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.launch import narrow_columns_rule
from kgen.schedule.reduction.narrow_columns import narrow_columns
from kgen.schedule.reduction.schedule import NarrowColumnSchedule


def write(unit: Unit[NarrowColumnSchedule]) -> Written:
    from kgen.codegen.reduction.describe import write_reduction
    from kgen.codegen.reduction.narrow_columns import describe_narrow_columns

    return write_reduction(describe_narrow_columns, unit, needs_n=False, shares=True, is_brief=False)


def suffix(schedule: NarrowColumnSchedule, itemsizes: Sequence[int]) -> str:
    return f"columns_{schedule.rows}{'_split' if schedule.split else ''}{schedule.bits_suffix}"


FAMILY = Family(
    "column_narrow", RowFacts, narrow_columns, narrow_columns_rule, write, suffix, row_classes, has_element=False
)
