"""Persistent clusters: which of the operands that all rows share is kept in shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.ir.graph import IndexMap, Reduction
from kgen.partition.kernel_body import spread
from kgen.partition.reduction_step import ReductionStep
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.schedule import AccessSchedule
from kgen.schedule.target import WARP

_LARGE_STATES = frozenset({"exp_sum", "logsumexp", "argmin", "argmax"})  # reductions whose states take more registers


def choose_shared_operand(
    facts: RowFacts, accesses: Sequence[AccessSchedule], threads: int, cluster: int, each: int
) -> int | None:
    """The access that blocks keep in shared memory; None where clusters are not persistent.  ``each``: elements of a
    row per thread.

    Clusters are persistent only for one round of reductions with small states, which shared operands do not enter.
    """
    tuning, step = facts.tuning.persistent, facts.step
    if threads != tuning.threads or each > tuning.most_elements or facts.rounds != 1 or not _suits(step):
        return None
    shared = {i for i, t in enumerate(accesses) if t.kind == "vector" and t.pattern is None}
    if shared & _reduced(step) or len(shared) == len(accesses):
        return None
    room = tuning.shared_bytes - _exchanged(step, threads // WARP * cluster) - 64
    kept = [i for i in sorted(shared) if accesses[i].restrict and not step.accesses[i].writes]
    return next((i for i in kept if each * threads * facts.itemsizes[i] <= room), None)


def _exchanged(step: ReductionStep, warps: int) -> int:
    """Bytes of the partials of all warps of a cluster: up to three numbers per reduction, in two copies."""
    ops = step.graph.ops
    sizes = [ops[op.args[0]].dtype.size for op in ops if isinstance(op.attr, Reduction)]
    return 2 * warps * sum(3 * max(size, 4) for size in sizes)


def _suits(step: ReductionStep) -> bool:
    """Whether the states of reductions are small, and the program does not use ``index()``."""
    ops = step.graph.ops
    roomy = any(isinstance(op.attr, Reduction) and op.attr.kind in _LARGE_STATES for op in ops)
    return not roomy and not any(op.name == "index" for op in ops)


def _reduced(step: ReductionStep) -> set[int]:
    """The accesses that reductions depend on."""
    ops = step.graph.ops
    needed: set[int] = set()
    found: set[int] = set()
    for number in range(len(ops) - 1, -1, -1):
        if ops[number].name == "reduce" or number in needed:
            needed.update(ops[number].args)
    for number in needed:
        attr = ops[number].attr
        if isinstance(attr, IndexMap):
            axes = spread(ops[number], step.places[number], len(step.shape))
            found |= {i for i, t in enumerate(step.accesses) if (t.operand, t.axes) == (attr.operand, axes)}
    return found
