"""``contiguous``: every operand is dense in one order, or a single element.  No offsets."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.codegen.elementwise.linear import write_linear
from kgen.codegen.family import Family
from kgen.schedule.any_layout import cover_contiguous
from kgen.schedule.elementwise.launch import linear_rule
from kgen.schedule.elementwise.linear import contiguous
from kgen.schedule.elementwise.walks import linear_walk
from kgen.schedule.facts import Facts
from kgen.schedule.operand_summary import classes
from kgen.schedule.schedule import Schedule


def suffix(schedule: Schedule, itemsizes: Sequence[int]) -> str:
    aligned = schedule.anchor is None and all(
        t.kind == "scalar" or t.alignment >= schedule.group * size
        for t, size in zip(schedule.accesses, itemsizes, strict=True)
    )
    return f"contiguous{'' if aligned else '_unaligned'}{schedule.bits_suffix}"


CONTIGUOUS = Family(
    "contiguous",
    Facts,
    choose=contiguous,
    launch=linear_rule,
    write=write_linear,
    suffix=suffix,
    classes=classes,
    covers=cover_contiguous,
    walk=linear_walk,
)
