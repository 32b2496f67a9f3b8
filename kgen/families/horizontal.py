"""``horizontal``: kernels of steps that do not depend on each other, in one launch."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.codegen.family import Family, Unit, Written
from kgen.families import family
from kgen.layout.iterator import IterationSpace
from kgen.schedule.elementwise.horizontal import HorizontalSchedule, horizontal_rule
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.launch import Labels, Rule
from kgen.schedule.operand_summary import Class


def choose(facts: Facts) -> Choice | None:
    """None: steps are fused before any family is asked."""
    return None


def launch(schedule: HorizontalSchedule, labels: Labels) -> Rule:
    rules: list[Rule] = []
    first = 0
    for part in schedule.parts:
        mine = slice(first, first + len(part.accesses))
        rules.append(family(part.template).launch(part, Labels(part, labels.labels[mine], labels.owners[mine])))
        first = mine.stop
    return horizontal_rule(schedule, rules)


def write(unit: Unit[HorizontalSchedule]) -> Written:
    from kgen.codegen.elementwise.horizontal import write_horizontal

    return write_horizontal(unit, family)


def suffix(schedule: HorizontalSchedule, itemsizes: Sequence[int]) -> str:
    return "horizontal"


def classes(schedule: HorizontalSchedule, space: IterationSpace, itemsizes: Sequence[int]) -> tuple[Class, ...]:
    found: list[Class] = []
    for part, own in zip(schedule.parts, schedule.split(space), strict=True):
        sizes = itemsizes[len(found) : len(found) + len(part.accesses)]
        found += family(part.template).classes(part, own, sizes)
    return tuple(found)


FAMILY = Family("horizontal", Facts, choose, launch, write, suffix, classes, has_element=False)
