"""``row_columns``: rows whose kernel also sums over them; persistent blocks keep a sum for each column."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.operand_summary import row_classes
from kgen.schedule.reduction.facts import RowColumnsFacts
from kgen.schedule.reduction.row_columns import RowColumnsSchedule, along_rows_and_columns, row_columns_rule


def write(unit: Unit[RowColumnsSchedule]) -> Written:
    from kgen.codegen.reduction.describe import write_reduction
    from kgen.codegen.reduction.row_columns import describe_rows_and_columns

    return write_reduction(describe_rows_and_columns, unit, needs_n=True, shares=True, is_brief=True)


def suffix(schedule: RowColumnsSchedule, itemsizes: Sequence[int]) -> str:
    return f"rows_columns{schedule.resident}{schedule.bits_suffix}"


FAMILY = Family(
    "row_columns",
    RowColumnsFacts,
    along_rows_and_columns,
    row_columns_rule,
    write,
    suffix,
    row_classes,
    has_element=False,
)
