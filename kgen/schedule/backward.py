"""Kernels that take the last elements first: L2 still has what the kernel ahead of them read last."""

from __future__ import annotations

from kgen.ir.graph import Scatter
from kgen.partition.reduction_step import ReductionStep
from kgen.partition.step import Step
from kgen.schedule.reduction.schedule import goes_along_rows
from kgen.schedule.schedule import Schedule
from kgen.schedule.step_layout import Placed

REASON = "backward: the last elements first, because L2 still has what the kernel ahead read last"
#: The families whose threads may be counted from the last one.
_BY_THREADS = frozenset({"contiguous", "flat", "rows", "strided"})


def takes_last_first(step: Step, schedule: Schedule, placed: Placed, ahead: Step, before: Schedule) -> bool:
    """Whether an elementwise kernel reads again what the kernel ahead (``ahead``, ``before``) walks along rows.

    Not few bytes: L2 has all of these, in whatever order.
    """
    walks = isinstance(ahead, ReductionStep) and goes_along_rows(before)
    if not walks or schedule.template not in _BY_THREADS or any(isinstance(op.attr, Scatter) for op in step.graph.ops):
        return False
    read = {access.operand for access in ahead.accesses if access.reads}
    again = [n for n, access in enumerate(step.accesses) if access.reads and access.operand in read]
    moved = sum(placed.itemsizes[n] * placed.space.elements_of(n) for n in again)
    return bool(moved >= schedule.target.tuning.elementwise.backward_bytes)
