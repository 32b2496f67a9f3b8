"""``strided``: one element per thread, at offsets computed from its coordinates.  Covers every layout."""

from __future__ import annotations

from kgen.codegen.elementwise.linear import write_strided
from kgen.codegen.family import Family
from kgen.schedule.any_layout import cover_strided
from kgen.schedule.elementwise.launch import linear_rule
from kgen.schedule.elementwise.strided import strided
from kgen.schedule.elementwise.walks import linear_walk
from kgen.schedule.facts import Facts
from kgen.schedule.operand_summary import classes
from kgen.schedule.schedule import ranked_suffix

FAMILY = Family(
    "strided",
    Facts,
    choose=strided,
    launch=linear_rule,
    write=write_strided,
    suffix=ranked_suffix,
    classes=classes,
    covers=cover_strided,
    walk=linear_walk,
)
