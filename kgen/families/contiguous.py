"""``contiguous``: every operand is dense in one order, or a single element.  No offsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kgen.codegen.elementwise.linear import write_linear
from kgen.codegen.family import Family
from kgen.schedule.elementwise.launch import linear_rule
from kgen.schedule.elementwise.linear import contiguous
from kgen.schedule.facts import Facts
from kgen.schedule.schedule import Schedule

if TYPE_CHECKING:  # most first calls take this family: it imports what they need
    from kgen.layout.iterator import IterationSpace
    from kgen.partition.step import Step
    from kgen.schedule.any_layout import LayoutClass
    from kgen.schedule.operand_summary import Class


def suffix(schedule: Schedule, itemsizes: Sequence[int]) -> str:
    aligned = schedule.anchor is None and all(
        t.kind == "scalar" or t.alignment >= min(schedule.group * size, schedule.target.vector_bytes)
        for t, size in zip(schedule.accesses, itemsizes, strict=True)
    )
    return f"contiguous{'' if aligned else '_unaligned'}{schedule.bits_suffix}"


def classes(schedule: Schedule, space: IterationSpace, itemsizes: Sequence[int]) -> tuple[Class, ...]:
    from kgen.schedule.operand_summary import classes as summary

    return summary(schedule, space, itemsizes)


def covers(step: Step, layout: LayoutClass, rank: int) -> Iterator[Schedule]:
    from kgen.schedule.any_layout import cover_contiguous

    return cover_contiguous(step, layout, rank)


FAMILY = Family(
    "contiguous",
    Facts,
    choose=contiguous,
    launch=linear_rule,
    write=write_linear,
    suffix=suffix,
    classes=classes,
    covers=covers,
)
