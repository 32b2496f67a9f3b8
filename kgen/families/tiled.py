"""``tiled``: square tiles of two dimensions, one per block, for operands that are consecutive along the second."""

from __future__ import annotations

from functools import partial

from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.any_layout import cover_tiles
from kgen.schedule.elementwise.launch import tiles_rule
from kgen.schedule.elementwise.tiled import tiled
from kgen.schedule.elementwise.walks import tiles_walk
from kgen.schedule.facts import Facts
from kgen.schedule.operand_summary import classes
from kgen.schedule.schedule import Schedule, ranked_suffix


def write(unit: Unit[Schedule]) -> Written:
    from kgen.codegen.elementwise.tiles import write_tiled

    return write_tiled(unit)


FAMILY = Family[Facts, Schedule](
    "tiled",
    Facts,
    choose=tiled,
    launch=tiles_rule,
    write=write,
    suffix=ranked_suffix,
    covers=cover_tiles,
    classes=partial(classes, costs=""),
    walk=tiles_walk,
)
