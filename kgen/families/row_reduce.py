"""``row_reduce``: reductions along rows, each shared by one or more threads.  Covers every layout."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.facts import Choice
from kgen.schedule.operand_summary import row_classes
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.launch import rows_rule
from kgen.schedule.reduction.row_orders import along_rows
from kgen.schedule.reduction.schedule import RowSchedule


def write(unit: Unit[RowSchedule]) -> Written:
    """The number of rows is not needed where each block takes one row, because the grid is then exact."""
    from kgen.codegen.reduction.describe import write_reduction
    from kgen.codegen.reduction.rows import describe_rows

    needs_n = unit.schedule.rows > 1 or unit.schedule.shared_operand is not None
    return write_reduction(describe_rows, unit, needs_n=needs_n, shares=True, is_brief=unit.schedule.vectors > 0)


def suffix(schedule: RowSchedule, itemsizes: Sequence[int]) -> str:
    ends = "_staged" if schedule.stages else "_peeled" if schedule.anchor is not None else ""
    cluster = "" if schedule.cluster == 1 else "_cluster" if schedule.shared_operand is None else "_persistent"
    return f"reduce_{schedule.residency_suffix}{ends}{'_split' if schedule.split else cluster}{schedule.bits_suffix}"


def seconds(facts: RowFacts, choice: Choice) -> float | None:
    """By traffic and instructions."""
    from kgen.schedule.reduction.row_cost import busy, warp_instructions
    from kgen.schedule.traffic import traffic

    tuning, moved = facts.tuning, traffic(choice.schedule, facts.step, choice.space, facts.itemsizes)
    return moved.seconds(tuning, warp_instructions(facts, choice, tuning.gathered_rates), busy(facts, choice))


FAMILY = Family(
    "row_reduce", RowFacts, along_rows, rows_rule, write, suffix, row_classes, has_element=False, seconds=seconds
)
