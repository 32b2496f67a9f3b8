"""``bins``: few elements that are updated often, which each block combines in shared memory first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.elementwise.bins import BinsSchedule, bins
from kgen.schedule.elementwise.launch import bins_rule
from kgen.schedule.facts import Facts
from kgen.schedule.schedule import ranked_suffix

if TYPE_CHECKING:  # every elementwise step asks this family
    from kgen.layout.iterator import IterationSpace
    from kgen.schedule.operand_summary import Class


def write(unit: Unit[BinsSchedule]) -> Written:
    from kgen.codegen.elementwise.bins import write_bins

    return write_bins(unit)


def suffix(schedule: BinsSchedule, itemsizes: Sequence[int]) -> str:
    return f"{ranked_suffix(schedule, itemsizes)}_{'_'.join(str(room) for _, room in schedule.bins)}"


def classes(schedule: BinsSchedule, space: IterationSpace, itemsizes: Sequence[int]) -> tuple[Class, ...]:
    from kgen.schedule.operand_summary import classes as summary

    return summary(schedule, space, itemsizes)


FAMILY = Family("bins", Facts, bins, bins_rule, write, suffix, classes)
