"""Horizontal fusion: steps that do not depend on each other share one launch, whose blocks are divided among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgen.ir.graph import Graph, Op, Operand
from kgen.ir.views import WHOLE, Cut
from kgen.partition.reduction_step import ReductionStep
from kgen.partition.step import Access, Step
from kgen.records import dataclass, replace

Place = tuple[object, ...]


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
    """Whether a step writes to an operand that another one accesses; but several may write parts of one that none of
    them reads.
    """
    accessed = [{graph.base(o) for o in s.operands} for s in steps]
    read: set[int] = set()
    parts: dict[int, list[int]] = {}  # the operands that are written, by base
    for step in steps:
        read |= {graph.base(o) for o in step.read}
        for operand in sorted(step.written):
            parts.setdefault(graph.base(operand), []).append(operand)
    shared = [base for base in parts if sum(base in found for found in accessed) > 1]
    return any(base in read or not _follow(graph, parts[base]) for base in shared)


def _follow(graph: Graph, parts: Sequence[int]) -> bool:
    """Whether these views of one array follow each other along an axis, as those that ``concat`` writes do."""
    spans = dict(_span(graph.operands[part]) for part in parts)
    place = next((start for start in spans if start[1:] == (None,)), None)
    for _ in parts:
        if place is None or place not in spans:
            return False
        place = spans.pop(place)
    return True


def _span(operand: Operand) -> tuple[Place, Place]:
    """Where a view begins and ends: the axis that it cuts, and the bound.  Empty where it is none of one axis."""
    items = () if operand.view is None else operand.view.items
    cut = [(axis, item) for axis, item in enumerate(items) if item != WHOLE]
    axis, item = cut[0] if len(cut) == 1 else (0, None)
    return ((axis, item.start), (axis, item.stop)) if isinstance(item, Cut) and item.step == 1 else ((), ())


def _accesses(steps: Sequence[Step]) -> Iterator[Access]:
    """Their accesses, which do not vary along the axes of later steps."""
    behind = sum(len(step.shape) for step in steps)
    for step in steps:
        behind -= len(step.shape)
        yield from (replace(access, axes=access.axes + (None,) * behind) for access in step.accesses)
