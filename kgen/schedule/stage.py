"""Short rows of odd length that lie one after the other in memory.

A block reads its rows flat, in aligned vectors, into shared memory; threads take their elements from there, and what
they write for whole rows goes back the same way.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import pairwise

from kgen.layout.iterator import IterationSpace

#: Longer rows are better read where they are.
LONGEST = 256

#: Elements that a thread works through, of several rows where these are short: enough loads in flight.
ELEMENTS = 32
MOST_ROWS = 8

#: Shared memory of a block: several blocks fit an SM.
SHARED = 32 * 1024

#: Bytes that a thread takes from shared memory at least, of rows that begin between two of them as well.
WORD = 4

#: Every block begins at a multiple of 16 bytes where the array does.
ROWS = 16


def dense(space: IterationSpace, walking: Sequence[int]) -> Set[int]:
    """The operands whose rows lie one after the other, in order, without gaps."""

    def is_dense(strides: Sequence[int]) -> bool:
        moved = [(n, s) for n, s in zip(space.shape, strides, strict=True) if n > 1]
        return all(after == n * s for (n, s), (_, after) in pairwise(moved))

    return frozenset(i for i in walking if is_dense(space.strides[i]))


def block_of(threads: int, held: int, element: int, most: int) -> tuple[int, int] | None:
    """Threads of a block, and rows that each takes one after the other; None where shared memory is too small.

    ``held``: elements of a row that there is room for; ``element``: bytes of one, of all operands; ``most``: threads.
    """
    repeat = 1
    while threads == 1 and 2 * repeat <= MOST_ROWS and 2 * repeat * held <= ELEMENTS:
        repeat *= 2
    block = most
    while block // threads * repeat * held * element > SHARED:
        block //= 2
    return (block, repeat) if block >= max(32, ROWS * threads // repeat) else None
