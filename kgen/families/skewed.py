"""``skewed``: tiles whose rows begin at sectors of memory, one per block, where rows of operands in two orders begin
anywhere in a sector.
"""

from __future__ import annotations

from functools import partial

from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.elementwise.launch import tiles_rule
from kgen.schedule.elementwise.skewed import skewed, skewed_walk
from kgen.schedule.facts import Facts
from kgen.schedule.operand_summary import classes
from kgen.schedule.schedule import Schedule, ranked_suffix


def write(unit: Unit[Schedule]) -> Written:
    from kgen.codegen.elementwise.skewed import SkewedWriter

    return SkewedWriter(unit).write()


FAMILY = Family[Facts, Schedule](
    "skewed", Facts, skewed, tiles_rule, write, ranked_suffix, partial(classes, costs=""), walk=skewed_walk
)
