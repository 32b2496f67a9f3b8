"""The predicted time of a kernel, for the choice among variants of a program that reduces, and for `explain`."""

from __future__ import annotations

import math

from kgen.families import facts_of, family_of
from kgen.lowering import LoweredStep
from kgen.schedule.cost import coarse, refined, refinement
from kgen.schedule.facts import Choice
from kgen.schedule.step_layout import Placed
from kgen.schedule.target import Target
from kgen.schedule.traffic import needed_bytes, traffic


def seconds_of(step: LoweredStep, target: Target) -> float:
    """Seconds of a kernel among others: as its family predicts them, as they were compared, or by its traffic."""
    planned, placed = step.schedule, step.placed
    choice = Choice(planned, placed.space, step.reasons)
    seconds = family_of(planned).seconds(facts_of(step.step, placed, target), choice)
    if seconds is not None:
        return seconds
    if step.seconds is not None:
        return target.tuning.traffic.launch + refined(step.seconds, placed.space, target.tuning.costs)
    return traffic(planned, step.step, placed.space, placed.itemsizes).seconds(target.tuning)


def needed_seconds(step: LoweredStep, target: Target) -> float:
    """The time that the bytes of a kernel need, among other kernels."""
    rates = target.tuning.traffic
    return rates.launch + needed_bytes(step.placed.space, step.placed.itemsizes) / rates.memory


def least_seconds_of(placed: Placed, target: Target) -> float:
    """What a kernel takes with any schedule, at least: by the fastest of the rates, over coarse extents, as some
    predictions take them."""
    tuning, space = target.tuning, coarse(placed.space)
    moved = 0.0
    for size, strides in zip(placed.itemsizes, space.strides, strict=True):
        own = [(n, step) for n, step in zip(space.shape, strides, strict=True) if step]
        reach = 1 + sum((n - 1) * step for n, step in own)
        moved += size * min(math.prod(n for n, _ in own), reach)
    memory = max(r.memory for r in (tuning.traffic, tuning.gathered_rates, tuning.costs, tuning.chunk_costs))
    moved *= min(1.0, refinement(placed.space))
    return min(tuning.traffic.launch, tuning.gathered_rates.launch) + moved / memory
