"""``resident_boxes``: chains of reductions over a slow dimension, of operands that are consecutive along different
dimensions; a block keeps some columns in registers."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.operand_summary import row_classes
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.launch import column_boxes_rule
from kgen.schedule.reduction.resident_boxes import kept_seconds, resident_boxes
from kgen.schedule.reduction.schedule import BoxColumnSchedule


def write(unit: Unit[BoxColumnSchedule]) -> Written:
    from kgen.codegen.reduction.describe import write_reduction
    from kgen.codegen.reduction.resident_boxes import describe_resident_boxes

    return write_reduction(describe_resident_boxes, unit, needs_n=False, shares=True, is_brief=True)


def suffix(schedule: BoxColumnSchedule, itemsizes: Sequence[int]) -> str:
    sides = f"{schedule.columns}x{schedule.places}" if schedule.places > 1 else f"{schedule.columns}"
    return f"columns_{schedule.residency_suffix}_boxes_{sides}{schedule.bits_suffix}"


FAMILY = Family(
    "resident_boxes",
    RowFacts,
    resident_boxes,
    column_boxes_rule,
    write,
    suffix,
    row_classes,
    has_element=False,
    seconds=kept_seconds,
)
