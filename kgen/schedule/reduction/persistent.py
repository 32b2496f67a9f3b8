"""Clusters that stay: which operand that all rows share a block keeps in shared memory while it takes row after row."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.ir.kernel import Access, Reduction
from kgen.partition.cut import RowStep
from kgen.partition.trace import spread
from kgen.schedule.schedule import TouchSchedule

#: Threads of a block, and elements of a row that each has at most: few enough for what follows.
STAYING_THREADS = 256
MOST_ELEMENTS = 64

#: Blocks an SM that leave room for what they keep, and for the rest in the cache (layernorm of 131072 bfloat16: 0.96 of
#: a copy, 0.92 with four).
STAYING_BLOCKS = 3

#: Bytes of shared memory that need no permission.
MOST_SHARED = 48 << 10

_ROOMY = frozenset({"exp_sum", "logsumexp", "argmin", "argmax"})  # their states take more registers


def kept_near(
    step: RowStep, touches: Sequence[TouchSchedule], itemsizes: Sequence[int], threads: int, cluster: int, each: int
) -> int | None:
    """The touch that blocks keep; None where they do not stay.  ``each``: elements of a row that a thread has.

    They stay for one round of sums or extremes that weights take no part in.
    """
    ops = step.kernel.ops
    reductions = [op for op in ops if isinstance(op.attr, Reduction)]
    roomy = any(isinstance(op.attr, Reduction) and op.attr.kind in _ROOMY for op in reductions)
    if threads != STAYING_THREADS or each > MOST_ELEMENTS or roomy or max(step.phase()) != 1:
        return None
    planned = list(zip(step.touches, touches, strict=True))
    shared = {i for i, (_, t) in enumerate(planned) if t.access == "vector" and t.pattern is None}
    if shared & _reduced(step) or any(op.name == "index" for op in ops) or len(shared) == len(touches):
        return None
    # Warps of all blocks leave three numbers for each reduction, twice.
    slots = 2 * (threads // 32 * cluster) * sum(3 * max(ops[op.args[0]].dtype.size, 4) for op in reductions)
    room = MOST_SHARED - slots - 64
    kept = [i for i in sorted(shared) if touches[i].restrict and not step.touches[i].writes]
    return next((i for i in kept if each * threads * itemsizes[i] <= room), None)


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
