"""``flat``: dense outputs, one group of elements per thread; the other operands' offsets are computed per element."""

from __future__ import annotations

from functools import partial

from kgen.codegen.elementwise.linear import write_linear
from kgen.codegen.family import Family
from kgen.schedule.elementwise.launch import linear_rule
from kgen.schedule.elementwise.linear import flat
from kgen.schedule.elementwise.walks import linear_walk
from kgen.schedule.facts import Facts
from kgen.schedule.operand_summary import classes
from kgen.schedule.schedule import Schedule, ranked_suffix

FAMILY = Family[Facts, Schedule](
    "flat",
    Facts,
    choose=flat,
    launch=linear_rule,
    write=write_linear,
    suffix=ranked_suffix,
    classes=partial(classes, costs="costs divisions for each element"),
    walk=linear_walk,
)
