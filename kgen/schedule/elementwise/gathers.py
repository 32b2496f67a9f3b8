"""Gathered rows: operands read or written at computed places that are the same for a whole row of the space.

But for one axis, along which they are consecutive: a kernel finds the row's address once for a group, and moves groups.
"""

from __future__ import annotations

from kgen.ir.graph import Gather, Op, Scatter
from kgen.partition.step import Step
from kgen.schedule.facts import Facts
from kgen.schedule.schedule import Schedule
from kgen.schedule.step_layout import Source


def gathered_rows(facts: Facts, group: int) -> tuple[tuple[int, int], ...]:
    """The operands that are read or written by rows, each with the alignment of its groups in bytes."""
    rank = len(facts.step.shape)
    if group == 1 or dict(facts.coordinates).get(-1) != 0 or facts.space.axes[0] != (rank - 1,):
        return ()
    found = ((source.operand, _alignment(facts, source, group)) for source in facts.sources)
    return tuple((operand, alignment) for operand, alignment in found if alignment is not None)


def _alignment(facts: Facts, source: Source, group: int) -> int | None:
    """The alignment of the groups of an operand; None where they are not consecutive, or not all aligned."""
    attrs = ((op, op.attr) for op in facts.step.graph.ops)
    ops = [op for op, a in attrs if isinstance(a, Gather | Scatter) and a.operand == source.operand]
    axis, *others = {row_axis(facts.step, op) for op in ops}
    if others or axis is None or source.strides[axis] != 1:
        return None
    unit = min(group, max(1, facts.target.vector_bytes // source.itemsize)) * source.itemsize
    steps = [s * source.itemsize for a, s in enumerate(source.strides) if a != axis]
    return unit if source.address % unit == 0 and all(step % unit == 0 for step in steps) else None


def row_axis(step: Step, op: Op) -> int | None:
    """The axis of a gathered operand that the last axis of the space walks, from end to end.

    None where there is none, or another place varies along it.
    """
    ops = step.graph.ops
    assert isinstance(op.attr, Gather | Scatter)
    dims = step.graph.operands[op.attr.operand].shape
    found: list[int] = []
    for axis, number in enumerate(op.places):
        place = ops[number]
        if place.shape and place.shape[-1] != 1:
            if place.name != "index" or place.attr != -1 or place.shape[-1] != dims[axis]:
                return None
            found.append(axis)
    return found[0] if len(found) == 1 else None


def ops_of_rows(step: Step, schedule: Schedule) -> tuple[int, ...]:
    """The ops that read or write rows at computed places."""
    rows, ops = dict(schedule.gathered), enumerate(step.graph.ops)
    return tuple(n for n, op in ops if isinstance(op.attr, Gather | Scatter) and op.attr.operand in rows)
