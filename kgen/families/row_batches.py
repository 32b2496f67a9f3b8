"""``row_batches``: several groups of elements a thread, a block of threads apart, of rows at computed places."""

from __future__ import annotations

from kgen.codegen.elementwise.row_batches import write_row_batches
from kgen.codegen.family import Family
from kgen.schedule.elementwise.launch import row_batches_rule
from kgen.schedule.elementwise.row_batches import row_batches
from kgen.schedule.elementwise.walks import rows_walk
from kgen.schedule.facts import Facts
from kgen.schedule.operand_summary import classes
from kgen.schedule.schedule import ranked_suffix

ROW_BATCHES = Family(
    "row_batches",
    Facts,
    choose=row_batches,
    launch=row_batches_rule,
    write=write_row_batches,
    suffix=ranked_suffix,
    classes=classes,
    walk=rows_walk,
)
