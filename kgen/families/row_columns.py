"""``row_columns``: rows whose kernel also sums over them; persistent blocks keep a sum for each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.facts import Choice
from kgen.schedule.launch import Labels, Rule
from kgen.schedule.operand_summary import row_classes
from kgen.schedule.reduction.facts import RowColumnsFacts

if TYPE_CHECKING:
    from kgen.schedule.reduction.row_columns import RowColumnsSchedule


def choose(facts: RowColumnsFacts) -> Choice | None:
    from kgen.schedule.reduction.row_columns import along_rows_and_columns

    return along_rows_and_columns(facts)


def launch(schedule: RowColumnsSchedule, labels: Labels) -> Rule:
    from kgen.schedule.reduction.row_columns import row_columns_rule

    return row_columns_rule(schedule, labels)


def write(unit: Unit[RowColumnsSchedule]) -> Written:
    from kgen.codegen.reduction.describe import write_reduction
    from kgen.codegen.reduction.row_columns import describe_rows_and_columns

    return write_reduction(describe_rows_and_columns, unit, needs_n=True, shares=True, is_brief=True)


def suffix(schedule: RowColumnsSchedule, itemsizes: Sequence[int]) -> str:
    return f"rows_columns{schedule.resident}{schedule.bits_suffix}"


ROW_COLUMNS = Family("row_columns", RowColumnsFacts, choose, launch, write, suffix, row_classes, has_element=False)
