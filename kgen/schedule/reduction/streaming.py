"""Loads with the evict-first hint: operands that a kernel reads once."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.schedule import AccessSchedule


def streaming_accesses(
    facts: RowFacts, accesses: Sequence[AccessSchedule], group: int, *, short: bool
) -> tuple[int, ...]:
    """The accesses that get the hint, where more is read than L2 holds.  Callers check that no rows are written.

    ``short``: whether rows are short.  These gain most (sums of 64 to 512 float32 1.08 to 1.12 of a copy, 1.03 to 1.08
    without); others gain 0.3%.  Elements of less than 4 bytes get the hint only in short rows (rows of 32768 bfloat16
    0.98, 1.07 without).  Arrays that L2 may hold never get it (sums of 32 MiB would take 1.8 times as long).
    """
    told = [
        i
        for i in facts.varying(range(len(accesses)))
        if facts.step.accesses[i].reads
        and not facts.step.accesses[i].writes
        and group > 1
        and accesses[i].kind == "vector"
        and accesses[i].restrict
        and accesses[i].alignment == group * facts.itemsizes[i] == facts.target.vector_bytes
        and (short or facts.itemsizes[i] >= 4)
    ]
    large, read = facts.target.streaming, facts.space.numel * facts.bytes_of(told)
    return tuple(told) if large is not None and read >= large else ()
