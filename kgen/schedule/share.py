"""Who shares a row: threads, blocks of a cluster; and how many elements of it each keeps in registers."""

from __future__ import annotations

from dataclasses import dataclass

from kgen.schedule.few import few_vectors, two_vectors
from kgen.schedule.reductions import ELEMENTS, WARP

#: Threads of a block whose rows are a warp's work or less: small blocks come and go evenly (1024 bfloat16: 1.02 of a
#: copy, 1.00 with 256).
SHORT_BLOCK = 64

#: Bytes of a row that a thread keeps in registers where a block's worth of threads has less to do otherwise: more
#: bytes in flight, and the exchange a smaller part, beat more threads (16384 bfloat16: 0.99 of a copy and 0.87).
HELD_BYTES = 128

#: Threads that share a row which is read again for each round; twice as many where rows do not stay in the caches near
#: an SM until then, or where every element is a load of its own.
LOOP_THREADS = 512
LONGEST_NEAR = 1 << 16


@dataclass(frozen=True, slots=True)
class Share:
    """As in :class:`~kgen.schedule.reductions.RowSchedule`."""

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


def few_share(count: int, *, as_much: bool) -> Share | None:
    """Who shares a row of ``count`` vectors; None for longer rows.  ``as_much``: whether as much is written as read."""
    if as_much and (pairs := two_vectors(count)):
        return block_of(pairs, 2)
    few = few_vectors(count)
    return None if few is None else Share(*few)


def share(width: int, group: int, element: int, rounds: int, least: int, largest: int, *, along: bool) -> Share:
    """Who shares a row of ``width`` elements.

    ``element``: bytes of an element of all that is held.  ``rounds``: of reductions.  ``least``: threads that a row has
    to have.  ``largest``: blocks that may form a cluster.  ``along``: whether the width is known.
    """
    if not along:
        return block_of(LOOP_THREADS, 0)
    count = max(1, -(-width // group))  # groups of a row
    vectors = max(1, ELEMENTS // group)
    for threads in (1, 2, 4, 8, 16, WARP, 64, 128, 256):
        if threads >= least and count <= threads * vectors:
            return block_of(threads, -(-count // threads))
    more = max(vectors, HELD_BYTES // (group * max(element, 1)))
    for threads in (256, 512):
        if count <= threads * more:
            return block_of(threads, -(-count // threads))
    if rounds == 1 and count <= 2 * LOOP_THREADS * vectors:
        return block_of(2 * LOOP_THREADS, -(-count // (2 * LOOP_THREADS)))
    for threads, cluster in ((256, 2), (256, 4), (256, 8), (512, 8)):
        if cluster <= largest and count <= threads * cluster * more:
            return block_of(threads, -(-count // (threads * cluster)), cluster)
    return block_of(LOOP_THREADS if width <= LONGEST_NEAR and group > 1 else 2 * LOOP_THREADS, 0)
