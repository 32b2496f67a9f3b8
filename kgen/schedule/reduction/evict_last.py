"""What L2 is told to evict last: rows that a kernel reads."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.schedule import AccessSchedule
from kgen.schedule.target import Target


def exceeds_l2(target: Target, read: int, written: int) -> bool:
    """Whether a row kernel's reads should last.  ``read``, ``written``: bytes of rows that it reads and writes.

    Nothing of so much stays in L2 until it is read again, and what is written leaves early: rows of 4096 to 32768
    elements 1.02 to 1.03 of a copy, 0.98 to 1.00 without.  Not where the next kernel finds in L2 what this one wrote:
    8 to 32 MiB, written and read in turn, take 5 to 13% longer.
    """
    return target.evict_last is not None and written >= read >= target.evict_last


def evict_last_accesses(
    facts: RowFacts, accesses: Sequence[AccessSchedule], own: Sequence[int], group: int
) -> tuple[int, ...]:
    """The accesses that are to last, of ``own``, those that no two rows share."""
    full = facts.target.vector_bytes
    whole = [i for i in own if accesses[i].kind == "staged" or group * facts.itemsizes[i] == full]
    aligned = [i for i in whole if accesses[i].kind in ("staged", "vector") and accesses[i].alignment == full]
    return tuple(i for i in aligned if accesses[i].restrict and not facts.step.accesses[i].writes)
