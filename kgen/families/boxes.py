"""``boxes``: boxes of two or three dimensions, one per block, for operands that run along different dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.elementwise.boxes import BoxSchedule, boxes
from kgen.schedule.elementwise.launch import boxes_rule
from kgen.schedule.elementwise.walks import boxes_walk
from kgen.schedule.facts import Facts
from kgen.schedule.operand_summary import classes


def write(unit: Unit[BoxSchedule]) -> Written:
    from kgen.codegen.elementwise.boxes import write_boxes

    return write_boxes(unit)


def suffix(schedule: BoxSchedule, itemsizes: Sequence[int]) -> str:
    return f"boxes_{'x'.join(map(str, schedule.box))}_{schedule.rank}d{schedule.bits_suffix}"


FAMILY = Family[Facts, BoxSchedule](
    "boxes", Facts, boxes, boxes_rule, write, suffix, partial(classes, costs=""), walk=boxes_walk
)
