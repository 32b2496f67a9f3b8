"""The kernel families: a record for each kind of kernel (:class:`~kgen.codegen.family.Family`), in order of priority.

A family is a module here, imported when it is first asked, and its name in a table.  No other code depends on which
families there are.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kgen.codegen.family import Family
from kgen.partition.reduction_step import ReductionStep
from kgen.records import replace
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.launch import Labels, Launch, Rule
from kgen.schedule.target import PORTABLE, Target

if TYPE_CHECKING:
    from kgen.layout.iterator import IterationSpace
    from kgen.partition.step import Step
    from kgen.schedule.any_layout import LayoutClass
    from kgen.schedule.operand_summary import Class
    from kgen.schedule.schedule import Schedule
    from kgen.schedule.step_layout import Placed

#: The families of steps that reduce, and those of others, in order of priority: see :func:`choose`.
REDUCING = (
    "column_narrow", "column_boxes", "column_reduce", "column_resident", "resident_boxes", "row_reduce", "row_columns",
)  # fmt: skip
ELEMENTWISE = (
    "bins", "contiguous", "skewed", "boxes", "tiled", "flat", "row_pairs", "batches", "row_batches", "rows", "strided",
)  # fmt: skip

#: For families whose threads have one group, those with several that are taken where they apply.
_SEVERAL = {"rows": ("row_pairs", "batches", "row_batches"), "flat": ("row_pairs",)}

#: Those whose kernels may be parts of a horizontal one, in order of priority.
_PARTS = ("row_pairs", "batches", "row_batches", "rows")


NAMES = (*REDUCING, *ELEMENTWISE, "horizontal")


@cache
def family(name: str) -> Family[Any, Any]:
    """A family, imported when it is first asked for: a dense program needs two."""
    found: Family[Any, Any] = import_module(f"{__name__}.{name}").FAMILY
    return found


def facts_of(
    step: Step, placed: Placed, target: Target = PORTABLE, *, along: bool = True, across: bool = True
) -> Facts:
    """``along``: whether the extents of the reduced dimensions are known; ``across``: whether those of others are."""
    where = placed.space, placed.itemsizes, placed.addresses, placed.offsets, placed.aliased, target, along and across
    if not isinstance(step, ReductionStep):
        return Facts(step, *where, sources=placed.sources)
    from kgen.schedule.reduction.facts import RowColumnsFacts, RowFacts

    of = RowColumnsFacts if step.sums else RowFacts
    return of(step, *where, placed.reduced, along, across, sources=placed.sources)


def choose(facts: Facts, among: Container[str] = NAMES) -> Choice:
    """The schedule of the first family that applies; but where operands run along different dimensions, the one with
    the least predicted time.
    """
    found: dict[str, Choice] = {}
    names = ELEMENTWISE if type(facts) is Facts else REDUCING
    for one in (family(name) for name in names if name in among):
        choice = one.choose(facts) if one.facts is type(facts) else None
        if choice is not None and one.walk is None:
            return choice
        if choice is not None:
            found[one.name] = choice
    if "boxes" in found:
        return _fastest(facts, found)
    if "tiled" in found and not facts.bounded:
        return found["tiled"]
    from kgen.schedule.elementwise.in_order import family_in_order

    name = family_in_order(facts)
    several = (one for one in _SEVERAL.get(name, ()) if one in found)
    return found[next(several, name)]


def choose_part(facts: Facts) -> Choice:
    """The schedule of a part of a horizontal kernel.  Copies of NumPy's arrays on a GPU may lie in memory order, for
    which none of the families is made.
    """
    from kgen.schedule.elementwise.rows import by_rows

    found = (family(name).choose(facts) for name in _PARTS)
    return next(filter(None, found), None) or by_rows(facts)


def fuse_horizontally(schedules: Sequence[Schedule]) -> bool:
    """Whether kernels with these schedules may share a launch.  Dense ones have none in common with rows."""
    from kgen.schedule.elementwise.horizontal import shares_launch

    along_rows = all(one.template in _PARTS and (one.template != "batches" or one.rank > 1) for one in schedules)
    return along_rows and shares_launch(schedules)


def _fastest(facts: Facts, found: Mapping[str, Choice]) -> Choice:
    """The choice with the least predicted time.  ``found``: by family; all of these have a walk."""
    from kgen.schedule.cost import predict
    from kgen.schedule.search import factors

    walks = {name: family(name).walk for name in found}
    seconds = {name: predict(walk(facts, found[name]), facts.tuning.costs) for name, walk in walks.items() if walk}
    doubted = {name: factor * seconds[name] for name, factor in zip(seconds, factors(facts.tuning.doubt), strict=False)}
    name, *others = sorted(doubted, key=doubted.__getitem__)
    return replace(found[name], seconds=seconds[name], others=tuple((other, seconds[other]) for other in others))


def family_of(schedule: Schedule) -> Family[Any, Any]:
    return family(schedule.template)


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
    names = REDUCING if isinstance(step, ReductionStep) else ELEMENTWISE
    return tuple(schedule for name in names for schedule in family(name).covers(step, layout, rank))
