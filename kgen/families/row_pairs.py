"""``row_pairs``: a group of elements of two rows per thread, which reads once what both rows share."""

from __future__ import annotations

from kgen.codegen.elementwise.row_pairs import write_row_pairs
from kgen.codegen.family import Family
from kgen.schedule.elementwise.launch import row_pairs_rule
from kgen.schedule.elementwise.row_pairs import PairSchedule, row_pairs
from kgen.schedule.elementwise.walks import rows_walk
from kgen.schedule.facts import Facts
from kgen.schedule.operand_summary import classes
from kgen.schedule.schedule import ranked_suffix

ROW_PAIRS = Family[Facts, PairSchedule](
    "row_pairs",
    Facts,
    choose=row_pairs,
    launch=row_pairs_rule,
    write=write_row_pairs,
    suffix=ranked_suffix,
    classes=classes,
    walk=rows_walk,
)
