"""Short rows that lie one after the other in memory.

A block reads its rows flat, in aligned vectors, into shared memory; threads take their elements from there, and what
they write for whole rows goes back the same way.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from kgen.layout.iterator import IterationSpace

#: Longer rows, in bytes, are better read where they are.
LONGEST = 448

#: Rows of whole vectors are better read where they are, but for those that one thread would read at a stride, and for
#: short ones of an odd number of vectors, of which every other begins amid a sector of memory (40 bfloat16: rmsnorm
#: 0.995 of a copy and 0.68, layernorm 0.94 and 0.79; of 72 1.00 and 0.79).
LONGEST_EVEN, LONGEST_ODD = 48, 176

#: Elements of a row that a thread takes alone, and that each takes of those that share one: rows are often a power of
#: two and a bit.
ELEMENTS, SHARED_ELEMENTS = 32, 36

#: Short rows are taken several by each thread, as many as make so many elements, so that enough loads are in flight.
MOST_ROWS = 8

#: Rows of a block, where there are enough of them for so many blocks.
BLOCK = 256
ENOUGH_BLOCKS = 256

#: Shared memory of a block: several blocks fit an SM.
SHARED = 36 * 1024

#: Bytes that threads take from shared memory at least, even where every other row begins between two such words.
WORD = 4


@dataclass(frozen=True, slots=True)
class Stage:
    """``operands`` go by way of shared memory.  ``lead``: that by whose address threads find whole words; the rest is
    as in :class:`~kgen.schedule.reduction.schedule.RowSchedule`."""

    operands: Set[int]
    group: int
    lead: int | None
    threads: int
    vectors: int
    block: int
    repeat: int


def stage(
    space: IterationSpace, walking: Sequence[int], written: Set[int], itemsizes: Sequence[int],
    addresses: Sequence[int], group: int, *, bounded: bool,
) -> Stage | None:  # fmt: skip
    """How rows go by way of shared memory, if they should.

    ``walking``: the operands that are consecutive along a row; ``written``: those that whole rows are written of, which
    all have to be staged, since rows beyond the last one are computed as well.  ``group``: elements that fill a vector.
    ``bounded``: whether the number of rows is known, else there are many.
    """
    width = space.shape[0]
    operands = frozenset(i for i in walking if _is_dense(space, i))
    if not written <= operands:
        return None
    largest = max((itemsizes[i] for i in operands), default=0)
    if not 0 < width * largest <= LONGEST:
        return None
    even = width % group == 0 and not any(addresses[i] for i in operands)
    if even and width * largest > (LONGEST_ODD if width // group % 2 else LONGEST_EVEN):
        return None
    while width % group:
        group //= 2
    lead = None
    if group == 1 and width > ELEMENTS and largest < WORD:
        group, lead = 2, min(operands)
    count = -(-width // group)
    threads = 1
    while count * group > threads * (ELEMENTS if threads == 1 else SHARED_ELEMENTS):
        threads *= 2
    vectors = -(-count // threads)
    element = sum(itemsizes[i] for i in operands)
    whole = 16 // min(itemsizes[i] for i in operands)  # so many rows are a multiple of 16 bytes
    block, repeat = BLOCK, 1
    while threads == 1 and 2 * repeat <= MOST_ROWS and 2 * repeat * width <= ELEMENTS:
        repeat *= 2
    if bounded and space.numel // width < ENOUGH_BLOCKS * block * repeat:
        repeat = 1
    while block // threads * repeat * threads * vectors * group * element > SHARED:
        block //= 2
    if block < 32 or block // threads * repeat % whole:
        return None
    return Stage(operands, group, lead, threads, vectors, block, repeat)


def _is_dense(space: IterationSpace, operand: int) -> bool:
    """Whether an operand's rows lie one after the other, in order, without gaps."""
    moved = [(n, s) for n, s in zip(space.shape, space.strides[operand], strict=True) if n > 1]
    return len(moved) > 1 and all(after == n * s for (n, s), (_, after) in pairwise(moved))
