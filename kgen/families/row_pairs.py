"""``row_pairs``: a group of elements of several rows per thread, which reads once what these rows share."""

from __future__ import annotations

from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.elementwise.launch import row_pairs_rule
from kgen.schedule.elementwise.row_pairs import PairSchedule, row_pairs
from kgen.schedule.elementwise.walks import sets_walk
from kgen.schedule.facts import Facts
from kgen.schedule.operand_summary import classes
from kgen.schedule.schedule import ranked_suffix


def write(unit: Unit[PairSchedule]) -> Written:
    from kgen.codegen.elementwise.row_pairs import write_row_pairs

    return write_row_pairs(unit)


FAMILY = Family[Facts, PairSchedule](
    "row_pairs", Facts, row_pairs, row_pairs_rule, write, ranked_suffix, classes, walk=sets_walk
)
