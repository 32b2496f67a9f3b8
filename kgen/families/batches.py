"""``batches``: two groups of elements a thread, a block of threads apart."""

from __future__ import annotations

from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.elementwise.batches import batches
from kgen.schedule.elementwise.launch import row_batches_rule
from kgen.schedule.elementwise.walks import rows_walk
from kgen.schedule.facts import Facts
from kgen.schedule.operand_summary import classes
from kgen.schedule.schedule import Schedule, ranked_suffix


def write(unit: Unit[Schedule]) -> Written:
    from kgen.codegen.elementwise.row_batches import write_row_batches

    return write_row_batches(unit)


FAMILY = Family("batches", Facts, batches, row_batches_rule, write, ranked_suffix, classes, walk=rows_walk)
