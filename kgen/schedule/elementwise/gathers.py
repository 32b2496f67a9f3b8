"""Gathered rows: operands read or written at computed places that are the same for a whole row of the space.

But for one axis, along which they are consecutive: a kernel finds the row's address once for a group, and moves groups.
"""

from __future__ import annotations

from kgen.ir.graph import Dim, Gather, Scatter
from kgen.partition.reduction_step import ReductionStep
from kgen.partition.step import Step
from kgen.schedule.facts import Facts
from kgen.schedule.schedule import Schedule
from kgen.schedule.step_layout import Source


def gathered_rows(facts: Facts, group: int) -> tuple[tuple[int, int], ...]:
    """The operands that are read or written by rows, each with the alignment of its groups in bytes."""
    last = len(facts.step.shape) - 1
    fastest = last if isinstance(facts.step, ReductionStep) else -1
    if group == 1 or dict(facts.coordinates).get(fastest) != 0 or facts.space.axes[0] != (last,):
        return ()
    found = ((source.operand, _alignment(facts, source, group)) for source in facts.sources)
    return tuple((operand, alignment) for operand, alignment in found if alignment is not None)


def _alignment(facts: Facts, source: Source, group: int) -> int | None:
    """The alignment of the groups of an operand; None where they are not consecutive, or not all aligned."""
    attrs = enumerate(op.attr for op in facts.step.graph.ops)
    ops = [n for n, a in attrs if isinstance(a, Gather | Scatter) and a.operand == source.operand]
    axis, *others = {row_axis(facts.step, n) for n in ops}
    if others or axis is None or source.strides[axis] != 1:
        return None
    unit = min(group, max(1, facts.target.vector_bytes // source.itemsize)) * source.itemsize
    steps = [s * source.itemsize for a, s in enumerate(source.strides) if a != axis]
    return unit if source.address % unit == 0 and all(step % unit == 0 for step in steps) else None


def row_axis(step: Step, number: int) -> int | None:
    """The axis of the operand of a gather or scatter that the last axis of the space walks, from end to end.

    None where there is none, another place varies along it, or one depends on a reduction.
    """
    op = step.graph.ops[number]
    assert isinstance(op.attr, Gather | Scatter)
    dims = step.graph.operands[op.attr.operand].shape
    found: list[int] = []
    for axis, place in enumerate(op.places):
        if _varies_along_row(step, place):
            if not _is_coordinate(step, place, dims[axis]):
                return None
            found.append(axis)
    known = not isinstance(step, ReductionStep) or not any(step.phase()[place] for place in op.places)
    return found[0] if len(found) == 1 and known else None


def _varies_along_row(step: Step, number: int) -> bool:
    op = step.graph.ops[number]
    if isinstance(step, ReductionStep):
        return step.varies_along_row(number)
    return bool(op.shape) and op.shape[-1] != 1


def _is_coordinate(step: Step, number: int, dim: Dim) -> bool:
    """Whether a value is the coordinate along the last axis of the space, from 0 to an extent."""
    op = step.graph.ops[number]
    if op.name != "index" or not isinstance(op.attr, int) or op.shape[op.attr] != dim:
        return False
    return step.places[number][op.attr] == len(step.shape) - 1 if isinstance(step, ReductionStep) else op.attr == -1


def ops_of_rows(step: Step, schedule: Schedule) -> tuple[int, ...]:
    """The ops that read or write rows at computed places."""
    rows, ops = dict(schedule.gathered), enumerate(step.graph.ops)
    return tuple(n for n, op in ops if isinstance(op.attr, Gather | Scatter) and op.attr.operand in rows)
