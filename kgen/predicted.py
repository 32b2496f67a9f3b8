"""The predicted time of a kernel of a program that reduces, for the choice among variants."""

from __future__ import annotations

import math

from kgen.families import facts_of
from kgen.lowering import LoweredStep
from kgen.schedule.cost import coarse
from kgen.schedule.facts import Choice
from kgen.schedule.reduction.column_search import column_seconds
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.row_cost import row_seconds
from kgen.schedule.reduction.schedule import ColumnSchedule, RowSchedule
from kgen.schedule.step_layout import Placed
from kgen.schedule.target import Target
from kgen.schedule.traffic import needed_bytes, traffic


def seconds_of(step: LoweredStep, target: Target) -> float:
    """Seconds of a kernel among others: from how it walks its space, where that is known."""
    planned, launch = step.schedule, target.tuning.traffic.launch
    walks = isinstance(planned, ColumnSchedule) and planned.template == "column_reduce" and not planned.split
    if walks or (isinstance(planned, RowSchedule) and planned.template == "row_reduce" and planned.chunk):
        facts, choice = facts_of(step.step, step.placed, target), Choice(planned, step.placed.space, ())
        assert isinstance(facts, RowFacts)
        if walks:
            return launch + column_seconds(facts, choice)
        return row_seconds(facts, choice, target.tuning.gathered_rates)
    if step.costs:
        return launch + step.costs[0][1]
    return traffic(planned, step.step, step.placed.space, step.placed.itemsizes).seconds(target)


def needed_seconds(step: LoweredStep, target: Target) -> float:
    """The time that the bytes of a kernel need, among other kernels."""
    rates = target.tuning.traffic
    return rates.launch + needed_bytes(step.placed.space, step.placed.itemsizes) / rates.memory


def least_seconds_of(placed: Placed, target: Target) -> float:
    """What a kernel takes with any schedule, at least: by the fastest of the rates, over extents as predictions take
    them."""
    tuning, space = target.tuning, coarse(placed.space)
    moved = 0.0
    for size, strides in zip(placed.itemsizes, space.strides, strict=True):
        own = [(n, step) for n, step in zip(space.shape, strides, strict=True) if step]
        reach = 1 + sum((n - 1) * step for n, step in own)
        moved += size * min(math.prod(n for n, _ in own), reach)
    memory = max(r.memory for r in (tuning.traffic, tuning.gathered_rates, tuning.costs, tuning.chunk_costs))
    return min(tuning.traffic.launch, tuning.gathered_rates.launch) + moved / memory
