"""Horizontal fusion: steps that do not depend on each other share one launch, whose blocks are divided among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kgen.ir.graph import Graph, Op
from kgen.partition.reduction_step import ReductionStep
from kgen.partition.step import Access, Step
from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class HorizontalStep(Step):
    """Several steps.  ``shape``, ``accesses`` and the ops of ``graph`` are theirs, one after the other."""

    parts: tuple[Step, ...]

    def index_axes(self) -> frozenset[int]:
        return frozenset()  # each part has its own


def horizontal(graph: Graph, steps: Sequence[Step]) -> HorizontalStep | None:
    """One step instead of several.  None where these depend on each other, reduce, or are one."""
    if len(steps) < 2 or any(isinstance(s, ReductionStep) for s in steps) or _depend(graph, steps):
        return None
    ops: list[Op] = []
    for step in steps:
        ops += [replace(op, args=tuple(len(ops) + a for a in op.args)) for op in step.graph.ops]
    shape = tuple(dim for step in steps for dim in step.shape)
    return HorizontalStep(replace(steps[0].graph, ops=tuple(ops)), shape, tuple(_accesses(steps)), tuple(steps))


def _depend(graph: Graph, steps: Sequence[Step]) -> bool:
    """Whether a step writes to an operand, or to a view of one, that another one accesses."""
    written = [{graph.base(o) for o in s.written} for s in steps]
    accessed = [{graph.base(o) for o in s.operands} for s in steps]
    return any(w & a for i, w in enumerate(written) for j, a in enumerate(accessed) if i != j)


def _accesses(steps: Sequence[Step]) -> Iterator[Access]:
    """Their accesses, which do not vary along the axes of later steps."""
    behind = sum(len(step.shape) for step in steps)
    for step in steps:
        behind -= len(step.shape)
        yield from (replace(access, axes=access.axes + (None,) * behind) for access in step.accesses)
