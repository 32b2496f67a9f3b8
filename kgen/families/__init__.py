"""The kernel families: a record for each kind of kernel (:class:`~kgen.codegen.family.Family`), in order of priority.

A family is a module here and an entry of :data:`FAMILIES`.  No other code depends on which families there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from kgen.codegen.family import Family
from kgen.families.bins import BINS
from kgen.families.boxes import BOXES
from kgen.families.column_narrow import COLUMN_NARROW
from kgen.families.column_reduce import COLUMN_REDUCE
from kgen.families.column_resident import COLUMN_RESIDENT
from kgen.families.contiguous import CONTIGUOUS
from kgen.families.flat import FLAT
from kgen.families.horizontal import horizontal_family
from kgen.families.row_batches import ROW_BATCHES
from kgen.families.row_columns import ROW_COLUMNS
from kgen.families.row_pairs import ROW_PAIRS
from kgen.families.row_reduce import ROW_REDUCE
from kgen.families.rows import ROWS
from kgen.families.strided import STRIDED
from kgen.families.tiled import TILED
from kgen.layout.iterator import IterationSpace
from kgen.partition.reduction_step import ReductionStep
from kgen.partition.step import Step
from kgen.schedule.any_layout import LayoutClass
from kgen.schedule.cost import predict
from kgen.schedule.elementwise.horizontal import shares_launch
from kgen.schedule.elementwise.in_order import family_in_order
from kgen.schedule.elementwise.rows import by_rows
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.launch import Labels, Launch, Rule
from kgen.schedule.operand_summary import Class
from kgen.schedule.reduction.facts import RowColumnsFacts, RowFacts
from kgen.schedule.schedule import Schedule
from kgen.schedule.step_layout import Placed
from kgen.schedule.target import PORTABLE, Target

#: In order of priority, see :func:`choose`.
FAMILIES: tuple[Family[Any, Any], ...] = (
    COLUMN_NARROW, COLUMN_REDUCE, COLUMN_RESIDENT, ROW_REDUCE, ROW_COLUMNS,
    BINS, CONTIGUOUS, BOXES, TILED, FLAT, ROW_PAIRS, ROW_BATCHES, ROWS, STRIDED,
)  # fmt: skip

#: For families whose threads have one group, those with several that are taken where they apply.
_SEVERAL = {ROWS.name: (ROW_PAIRS, ROW_BATCHES), FLAT.name: (ROW_PAIRS,)}

#: Those whose kernels may be parts of a horizontal one, in order of priority.
_PARTS = (ROW_PAIRS, ROW_BATCHES, ROWS)
HORIZONTAL = horizontal_family({family.name: family for family in _PARTS})

BY_NAME: Mapping[str, Family[Any, Any]] = MappingProxyType({family.name: family for family in (*FAMILIES, HORIZONTAL)})


def facts_of(
    step: Step, placed: Placed, target: Target = PORTABLE, *, along: bool = True, across: bool = True
) -> Facts:
    """``along``: whether the extents of the reduced dimensions are known; ``across``: whether those of others are."""
    where = placed.space, placed.itemsizes, placed.addresses, placed.offsets, placed.aliased, target, along and across
    if not isinstance(step, ReductionStep):
        return Facts(step, *where, sources=placed.sources)
    of = RowColumnsFacts if step.sums else RowFacts
    return of(step, *where, placed.reduced, along, across, sources=placed.sources)


def choose(facts: Facts, families: Sequence[Family[Any, Any]] = FAMILIES) -> Choice:
    """The schedule of the first family that applies; but where operands run along different dimensions, the one with
    the least predicted time.
    """
    found: dict[str, Choice] = {}
    for family in (f for f in families if f.facts is type(facts)):
        choice = family.choose(facts)
        if choice is not None and (family.walk is None or family is CONTIGUOUS):
            return choice
        if choice is not None:
            found[family.name] = choice
    if BOXES.name in found:
        return _fastest(facts, found)
    if TILED.name in found and not facts.bounded:
        return found[TILED.name]
    name = family_in_order(facts)
    several = (family.name for family in _SEVERAL.get(name, ()) if family.name in found)
    return found[next(several, name)]


def choose_part(facts: Facts) -> Choice:
    """The schedule of a part of a horizontal kernel.  Copies of NumPy's arrays on a GPU may lie in memory order, for
    which none of the families is made.
    """
    found = (family.choose(facts) for family in _PARTS)
    return next(filter(None, found), None) or by_rows(facts)


def fuse_horizontally(schedules: Sequence[Schedule]) -> bool:
    """Whether kernels with these schedules may share a launch."""
    templates = {family.name for family in _PARTS}
    return all(one.template in templates for one in schedules) and shares_launch(schedules)


def _fastest(facts: Facts, found: Mapping[str, Choice]) -> Choice:
    """The choice with the least predicted time.  ``found``: by family; all of these have a walk."""
    walks = {name: BY_NAME[name].walk for name in found}
    seconds = {name: predict(walk(facts, found[name]), facts.tuning.costs) for name, walk in walks.items() if walk}
    (name, least), *others = sorted(seconds.items(), key=lambda one: one[1])
    return replace(found[name], seconds=least, others=tuple(others))


def family_of(schedule: Schedule) -> Family[Any, Any]:
    return BY_NAME[schedule.template]


@lru_cache(maxsize=1024)
def rule_of(schedule: Schedule) -> Rule:
    """The launch rule of a schedule."""
    return family_of(schedule).launch(schedule, Labels.numbered(schedule))


def launch_of(schedule: Schedule, space: IterationSpace) -> Launch:
    """The grid, block and arguments other than pointers of a launch over ``space``."""
    return rule_of(schedule).launch(space)


def suffix_of(schedule: Schedule, itemsizes: Sequence[int]) -> str:
    """The suffix that makes a kernel's name unique in its file.  ``itemsizes``: of each access, in bytes."""
    return family_of(schedule).suffix(schedule, itemsizes)


def classes_of(schedule: Schedule, space: IterationSpace, itemsizes: Sequence[int]) -> tuple[Class, ...]:
    """A description of each operand's layout and of how the kernel accesses it."""
    return family_of(schedule).classes(schedule, space, itemsizes)


def covering(step: Step, layout: LayoutClass, rank: int) -> tuple[Schedule, ...]:
    """The schedules that cover ``layout`` up to ``rank`` merged dimensions, for files generated ahead of time."""
    facts = RowFacts if isinstance(step, ReductionStep) else Facts
    return tuple(s for family in FAMILIES if family.facts is facts for s in family.covers(step, layout, rank))
