"""Loads with L2's evict-last hint: rows that a kernel reads."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.ir.graph import IndexMap, Reduction
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.schedule import AccessSchedule
from kgen.schedule.target import Target

#: Registers that a thread has for L2's policy.
POLICY_REGISTERS = 2


def exceeds_l2(target: Target, read: int, written: int) -> bool:
    """Whether a row kernel should load rows with the hint.  ``read``, ``written``: bytes of rows.

    So many rows do not stay in L2 until they are read again, and with the hint L2 evicts written data early: rows of
    4096 to 32768 elements 1.02 to 1.03 of a copy, 0.98 to 1.00 without.  Small arrays do not get the hint, because the
    next kernel may find in L2 what this one wrote: 8 to 32 MiB, written and read by such kernels in turn, take 5 to 13%
    longer.
    """
    return target.evict_last is not None and written >= read >= target.evict_last


def evict_last_accesses(
    facts: RowFacts, accesses: Sequence[AccessSchedule], own: Sequence[int], group: int
) -> tuple[int, ...]:
    """The accesses that get the hint, among ``own``: those that rows do not share."""
    full = facts.target.vector_bytes
    # Elements of 16 bytes are loaded one by one.
    whole = [i for i in own if accesses[i].kind == "staged" or (group > 1 and group * facts.itemsizes[i] == full)]
    aligned = [i for i in whole if accesses[i].kind in ("staged", "vector") and accesses[i].alignment == full]
    return tuple(i for i in aligned if accesses[i].restrict and not facts.step.accesses[i].writes)


def reduces_shared(facts: RowFacts, shared: Sequence[int]) -> bool:
    """Whether a reduction depends on what accesses of ``shared`` read."""
    operands = {facts.step.accesses[i].operand for i in shared}
    depends: list[bool] = []
    for op in facts.step.graph.ops:
        is_shared = op.name == "load" and isinstance(op.attr, IndexMap) and op.attr.operand in operands
        depends.append(is_shared or any(depends[arg] for arg in op.args))
        if depends[-1] and isinstance(op.attr, Reduction):
            return True
    return False
