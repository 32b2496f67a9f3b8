"""What caches are told to drop first: arrays that a kernel only reads, once."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.layout.iterator import IterationSpace
from kgen.partition.cut import RowStep
from kgen.schedule.reduction.access import whole_touches
from kgen.schedule.schedule import TouchSchedule
from kgen.schedule.target import Target


def streamed(
    step: RowStep, space: IterationSpace, touches: Sequence[TouchSchedule], itemsizes: Sequence[int], group: int,
    target: Target, *, short: bool,
) -> tuple[int, ...]:  # fmt: skip
    """The touches that are told so, where more is read than L2 could keep, and nothing as large is written.

    ``short``: whether rows are short: sums of 64 to 512 float32 1.08 to 1.12 of a copy, 1.03 to 1.08 without; others
    gain 0.3%.  Less than 4 bytes an element only there (rows of 32768 bfloat16 0.98, 1.07 without), and nothing that L2
    might hold (sums of 32 MiB take 1.8 times as long).
    """
    told = [
        i
        for i in whole_touches(space, range(len(touches)))
        if step.touches[i].reads
        and not step.touches[i].writes
        and touches[i].access == "vector"
        and touches[i].restrict
        and touches[i].alignment == group * itemsizes[i] == target.vector_bytes
        and (short or itemsizes[i] >= 4)
    ]
    read = space.numel * sum(itemsizes[i] for i in told)
    large = target.evict_last is not None and read >= target.evict_last
    return tuple(told) if large else ()
