"""``rows``: one group of elements of a row per thread; the offset of the row is computed once per group."""

from __future__ import annotations

from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.any_layout import cover_rows
from kgen.schedule.elementwise.launch import rows_rule
from kgen.schedule.elementwise.rows import rows
from kgen.schedule.elementwise.walks import rows_walk
from kgen.schedule.facts import Facts
from kgen.schedule.operand_summary import classes
from kgen.schedule.schedule import Schedule, ranked_suffix


def write(unit: Unit[Schedule]) -> Written:
    from kgen.codegen.elementwise.rows import write_rows

    return write_rows(unit)


FAMILY = Family("rows", Facts, rows, rows_rule, write, ranked_suffix, classes, covers=cover_rows, walk=rows_walk)
