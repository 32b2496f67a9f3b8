"""``column_boxes``: reductions over a slow dimension, of operands that are consecutive along different dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.operand_summary import row_classes
from kgen.schedule.reduction.boxes import box_seconds
from kgen.schedule.reduction.column_boxes import boxed_columns
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.launch import column_boxes_rule
from kgen.schedule.reduction.schedule import BoxColumnSchedule


def write(unit: Unit[BoxColumnSchedule]) -> Written:
    from kgen.codegen.reduction.column_boxes import describe_column_boxes
    from kgen.codegen.reduction.describe import write_reduction

    return write_reduction(describe_column_boxes, unit, needs_n=False, shares=True, is_brief=False)


def suffix(schedule: BoxColumnSchedule, itemsizes: Sequence[int]) -> str:
    return f"columns_boxes_{schedule.columns}x{schedule.places}x{schedule.deep}{schedule.bits_suffix}"


FAMILY = Family(
    "column_boxes",
    RowFacts,
    boxed_columns,
    column_boxes_rule,
    write,
    suffix,
    row_classes,
    has_element=False,
    seconds=box_seconds,
)
