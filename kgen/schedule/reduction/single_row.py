"""A row alone is scheduled like a row among others, so that its bits do not depend on how many there are."""

from __future__ import annotations

import math

from kgen.layout.iterator import IterationSpace
from kgen.partition.reduction_step import ReductionStep
from kgen.records import replace


def beside_another(step: ReductionStep, space: IterationSpace, reduced: int) -> IterationSpace:
    """The space of two rows, where there is one and the program could have more; else ``space``.

    Rows lie one behind the other.  Operands of fewer dimensions than others are taken to be the same for all rows.
    """
    is_alone = math.prod(space.shape[reduced:]) == 1 and math.prod(space.shape[:reduced]) > 1
    if not is_alone or not may_have_rows(step):
        return space
    ranks = _ranks(step)
    differs = [r == max(ranks) or access.writes for r, access in zip(ranks, step.accesses, strict=True)]
    strides = tuple(
        (*along[:reduced], _behind(space.shape[:reduced], along) if own else 0)
        for along, own in zip(space.strides, differs, strict=True)
    )
    return replace(space, shape=(*space.shape[:reduced], 2), strides=strides)


def may_have_rows(step: ReductionStep) -> bool:
    """Whether the program could have several rows: not everything is reduced."""
    return max(_ranks(step), default=0) > len(step.shape) - step.kept


def _ranks(step: ReductionStep) -> list[int]:
    """How many dimensions the operand of each access has."""
    return [len(step.graph.operands[access.operand].shape) for access in step.accesses]


def _behind(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """From a row to the next, where there is no gap between them."""
    return max(max(n * abs(s) for n, s in zip(shape, strides, strict=False)), 1)


def of_one_row(space: IterationSpace, reduced: int) -> IterationSpace:
    """The space of the first row."""
    return replace(space, shape=(*space.shape[:reduced], 1))
