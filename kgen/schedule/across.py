"""Rows that lie across memory, such as the channels of an NCHW image: neighbouring threads have neighbouring rows."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.layout.iterator import IterationSpace
from kgen.schedule.reductions import ELEMENTS, WARP
from kgen.schedule.share import HELD_BYTES, Share

#: Threads of a block, at most: more leave each too few registers for what it keeps.
MOST_THREADS = 512

#: Bytes that threads side by side read at least: a sector of memory.
SECTOR = 32

#: Bytes of the states of all threads of a block, which they exchange through shared memory, at most.
SHARED_BYTES = 1 << 15


def across_share(width: int, held: int, smallest: int, states: int) -> Share | None:
    """Who shares such rows where a block can keep them in registers; None where it cannot.

    ``held``: bytes of an element of all that is read; ``smallest``: of its smallest part; ``states``: of what a thread
    keeps of its reductions.
    """
    each = max(1, min(ELEMENTS, HELD_BYTES // max(held, 1)))
    threads = 1
    while threads * each < width:
        threads *= 2
    rows = min(WARP, MOST_THREADS // threads)
    fits = rows * smallest >= SECTOR and threads * rows * states <= SHARED_BYTES
    return Share(threads, -(-width // threads), 1, threads * rows) if fits else None


def lies_across(space: IterationSpace, reduced: int, wide: Sequence[int]) -> bool:
    """Whether the ``wide`` operands, those that move along rows, have neighbouring rows side by side in memory."""
    return reduced < len(space.shape) and all(abs(space.strides[i][reduced]) == 1 for i in wide)
