"""``horizontal``: kernels of steps that do not depend on each other, in one launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kgen.codegen.family import Family, Unit, Written
from kgen.layout.iterator import IterationSpace
from kgen.schedule.elementwise.horizontal import HorizontalSchedule, horizontal_rule
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.launch import Labels, Rule
from kgen.schedule.operand_summary import Class

Families = Mapping[str, Family[Any, Any]]


def horizontal_family(families: Families) -> Family[Facts, HorizontalSchedule]:
    """``families``: those of the parts, by name."""

    def launch(schedule: HorizontalSchedule, labels: Labels) -> Rule:
        rules: list[Rule] = []
        first = 0
        for part in schedule.parts:
            mine = slice(first, first + len(part.accesses))
            rules.append(families[part.template].launch(part, Labels(part, labels.labels[mine], labels.owners[mine])))
            first = mine.stop
        return horizontal_rule(schedule, rules)

    def write(unit: Unit[HorizontalSchedule]) -> Written:
        from kgen.codegen.elementwise.horizontal import write_horizontal

        return write_horizontal(unit, families)

    def classes(schedule: HorizontalSchedule, space: IterationSpace, itemsizes: Sequence[int]) -> tuple[Class, ...]:
        found: list[Class] = []
        for part, own in zip(schedule.parts, schedule.split(space), strict=True):
            sizes = itemsizes[len(found) : len(found) + len(part.accesses)]
            found += families[part.template].classes(part, own, sizes)
        return tuple(found)

    return Family("horizontal", Facts, _never, launch, write, _suffix, classes, has_element=False)


def _never(facts: Facts) -> Choice | None:
    """Steps are fused before any family is asked."""
    return None


def _suffix(schedule: HorizontalSchedule, itemsizes: Sequence[int]) -> str:
    return "horizontal"
