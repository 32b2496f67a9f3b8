"""Clusters that stay: which operand that all rows share a block keeps in shared memory while it takes row after row."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.ir.kernel import Access, Reduction
from kgen.partition.cut import RowStep
from kgen.partition.trace import spread
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.schedule import TouchSchedule
from kgen.schedule.target import WARP

_ROOMY = frozenset({"exp_sum", "logsumexp", "argmin", "argmax"})  # their states take more registers


def kept_near(facts: RowFacts, touches: Sequence[TouchSchedule], threads: int, cluster: int, each: int) -> int | None:
    """The touch that blocks keep; None where they do not stay.  ``each``: elements of a row that a thread has.

    They stay for one round of sums or extremes that weights take no part in.
    """
    tuning, step = facts.tuning.persistent, facts.step
    if threads != tuning.threads or each > tuning.most_elements or facts.rounds != 1 or not _suits(step):
        return None
    shared = {i for i, t in enumerate(touches) if t.access == "vector" and t.pattern is None}
    if shared & _reduced(step) or len(shared) == len(touches):
        return None
    room = tuning.shared_bytes - _exchanged(step, threads // WARP * cluster) - 64
    kept = [i for i in sorted(shared) if touches[i].restrict and not step.touches[i].writes]
    return next((i for i in kept if each * threads * facts.itemsizes[i] <= room), None)


def _exchanged(step: RowStep, warps: int) -> int:
    """Bytes that the warps of all blocks leave for each other: three numbers for each reduction, twice."""
    ops = step.kernel.ops
    sizes = [ops[op.args[0]].dtype.size for op in ops if isinstance(op.attr, Reduction)]
    return 2 * warps * sum(3 * max(size, 4) for size in sizes)


def _suits(step: RowStep) -> bool:
    """Whether states are small, and no place in a row is asked for."""
    ops = step.kernel.ops
    roomy = any(isinstance(op.attr, Reduction) and op.attr.kind in _ROOMY for op in ops)
    return not roomy and not any(op.name == "index" for op in ops)


def _reduced(step: RowStep) -> set[int]:
    """The touches that reductions read."""
    ops = step.kernel.ops
    needed: set[int] = set()
    found: set[int] = set()
    for number in range(len(ops) - 1, -1, -1):
        if ops[number].name == "reduce" or number in needed:
            needed.update(ops[number].args)
    for number in needed:
        attr = ops[number].attr
        if isinstance(attr, Access):
            axes = spread(ops[number], step.places[number], len(step.shape))
            found |= {i for i, t in enumerate(step.touches) if (t.operand, t.axes) == (attr.operand, axes)}
    return found
