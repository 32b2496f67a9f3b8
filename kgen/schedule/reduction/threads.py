"""Who shares a row: threads, blocks of a cluster; and how many elements of it each keeps in registers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kgen.schedule.reduction.schedule import ELEMENTS, WARP
from kgen.schedule.reduction.short_rows import few_vectors, two_vectors

#: Threads of a block whose rows are a warp's work or less: small blocks come and go evenly (1024 bfloat16: 1.02 of a
#: copy, 1.00 with 256).
SHORT_BLOCK = 64

#: Blocks of several rows that would move fewer bytes have more threads, up to so many: blocks begin at a limited rate
#: (sums of 128 bfloat16: 0.82 of a copy with 2 KiB a block, 1.03 with 4 KiB; of 144 0.93 with 2.25 KiB).
BLOCK_BYTES = 3 << 10
FILLED_BLOCK = 256

#: Elements of a row that a thread keeps where less is written than read: fewer lanes without work in rows of five or
#: six times a power of two (sums of 640 bfloat16: 1.11 of a copy, 1.03; of 1152 1.13, 0.93).  And bytes of it, where
#: elements are small (sums of 4096 int8: 1.03 of a copy, 0.96 with 32 bytes).
READ_ELEMENTS, READ_BYTES = 48, 64

#: Bytes of a row that a thread keeps in registers where a block's worth of threads has less to do otherwise: more
#: bytes in flight, and the exchange a smaller part, beat more threads (16384 bfloat16: 0.99 of a copy and 0.87).
HELD_BYTES = 128

#: The same before there are 512 threads, where registers hold an element each, and before clusters have 512 (layernorm
#: of 9216 float32: 1.01 of a copy, 0.87 with 512 threads; of 81920: 0.96 and 0.73).
MOST_BYTES = 224

#: Threads that share a row which is read again for each round; twice as many where rows do not stay in the caches near
#: an SM until then, or where every element is a load of its own.
LOOP_THREADS = 512
LONGEST_NEAR = 1 << 16


@dataclass(frozen=True, slots=True)
class Share:
    """As in :class:`~kgen.schedule.reduction.schedule.RowSchedule`."""

    threads: int
    vectors: int
    cluster: int = 1
    block: int = SHORT_BLOCK
    repeat: int = 1

    def halved(self, count: int) -> Share:
        """With half the threads, for rows of ``count`` groups."""
        return block_of(self.threads // 2, -(-count // (self.threads // 2)))


def block_of(threads: int, vectors: int, cluster: int = 1) -> Share:
    """Threads that share a row, in blocks of a row each, or of several short ones."""
    return Share(threads, vectors, cluster, threads if threads > WARP else max(threads, SHORT_BLOCK))


def filled(share: Share, row_bytes: int) -> Share:
    """With blocks that move enough bytes.  ``row_bytes``: that are read and written of a row."""
    block = share.block
    while share.threads <= WARP and block < FILLED_BLOCK and block // share.threads * row_bytes < BLOCK_BYTES:
        block *= 2
    return replace(share, block=block)


def few_share(count: int, *, as_much: bool) -> Share | None:
    """Who shares a row of ``count`` vectors; None for longer rows.  ``as_much``: whether as much is written as read."""
    if as_much and (pairs := two_vectors(count)):
        return block_of(pairs, 2)
    few = few_vectors(count)
    return None if few is None else Share(*few)


def share(
    width: int, group: int, element: int, rounds: int, least: int, largest: int, *, along: bool, as_much: bool
) -> Share:
    """Who shares a row of ``width`` elements.

    ``element``: bytes of an element of all that is held.  ``rounds``: of reductions.  ``least``: threads that a row has
    to have.  ``largest``: blocks that may form a cluster.  ``along``: whether the width is known.  ``as_much``: as in
    :func:`few_share`.
    """
    if not along:
        return block_of(LOOP_THREADS, 0)
    count = max(1, -(-width // group))  # groups of a row

    def vectors(elements: int, held: int = HELD_BYTES) -> int:
        return max(1, min(elements, held // max(element, 1)) // group)

    each = vectors(ELEMENTS if as_much else max(READ_ELEMENTS, READ_BYTES // max(element, 1)))
    most = vectors(width, MOST_BYTES)
    held = vectors(width)
    short = [(threads, 1, each) for threads in (1, 2, 4, 8, 16, WARP, 64, 128, 256) if threads >= least]
    alone = [(256, 1, most if as_much and element >= 4 else held), (512, 1, held)]
    together = [(256, 2, held), (256, 4, held), (256, 8, held), (256, 8, most), (512, 8, held)]
    if rounds == 1 and largest == 1:  # one exchange among many threads is better than reading again
        together = [(2 * LOOP_THREADS, 1, vectors(ELEMENTS))]
    for threads, cluster, fits in (*short, *alone, *together):
        if cluster <= largest and count <= threads * cluster * fits:
            return block_of(threads, -(-count // (threads * cluster)), cluster)
    return block_of(LOOP_THREADS if width <= LONGEST_NEAR and group > 1 else 2 * LOOP_THREADS, 0)
