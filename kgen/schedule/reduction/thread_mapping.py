"""Who shares a row: threads, blocks of a cluster; and how many elements of it each keeps in registers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kgen.schedule.target import WARP
from kgen.schedule.tuning import H200, Rows


@dataclass(frozen=True, slots=True)
class ThreadMapping:
    """As in :class:`~kgen.schedule.reduction.schedule.RowSchedule`."""

    threads: int
    vectors: int
    cluster: int = 1
    block: int = H200.rows.short_block
    rows_per_thread: int = 1

    def halved(self, count: int) -> ThreadMapping:
        """With half the threads, for rows of ``count`` groups."""
        return one_row_mapping(self.threads // 2, -(-count // (self.threads // 2)))


@dataclass(frozen=True, slots=True)
class Demand:
    """What decides who shares a row of ``width`` elements, in groups of ``group``.

    ``element``: bytes of an element of all that is kept.  ``rounds``: of reductions.  ``least``: threads that a row has
    to have.  ``largest``: blocks that may form a cluster.  ``along``: whether the width is known.  ``as_much``: whether
    as much is written as read.
    """

    width: int
    group: int
    element: int
    rounds: int
    least: int
    largest: int
    along: bool
    as_much: bool
    tuning: Rows = H200.rows

    @property
    def count(self) -> int:
        """Groups of a row."""
        return max(1, -(-self.width // self.group))

    def vectors(self, elements: int, size: int) -> int:
        """Groups that a thread keeps, of so many elements and bytes at most."""
        return max(1, min(elements, size // max(self.element, 1)) // self.group)


def one_row_mapping(threads: int, vectors: int, cluster: int = 1, tuning: Rows = H200.rows) -> ThreadMapping:
    """Threads that share a row, in blocks of a row each, or of several short ones."""
    return ThreadMapping(threads, vectors, cluster, threads if threads > WARP else max(threads, tuning.short_block))


def filled(mapping: ThreadMapping, row_bytes: int, tuning: Rows = H200.rows) -> ThreadMapping:
    """With blocks that move enough bytes.  ``row_bytes``: that are read and written of a row."""
    block, threads = mapping.block, mapping.threads
    while threads <= WARP and block < tuning.filled_block and block // threads * row_bytes < tuning.block_bytes:
        block *= 2
    return replace(mapping, block=block)


def map_few_vectors(count: int, *, as_much: bool, tuning: Rows = H200.rows) -> ThreadMapping | None:
    """Who shares a row of ``count`` vectors; None for longer rows.  ``as_much``: whether as much is written as read."""
    if as_much and (pairs := threads_for_two_vectors(count)):
        return one_row_mapping(pairs, 2, tuning=tuning)
    few = threads_for_few_vectors(count, tuning.most_sharing_few)
    return None if few is None else ThreadMapping(*few, block=tuning.short_block)


def threads_for_few_vectors(count: int, most: int = H200.rows.most_sharing_few) -> tuple[int, int] | None:
    """Threads that share a row of ``count`` vectors, and vectors that each holds; None for longer rows.

    As few lanes without work as possible, and then two vectors each: neighbouring threads then read neighbouring
    memory (rows of 32 bfloat16: 1.00 of a copy with 2 threads, 0.66 with one; of 72: 0.73 with 8 threads of 2).
    """
    if count <= 2:
        return count, 1
    found = [(threads * v - count, v, threads) for v in (2, 3, 4) for threads in (2, 4, most)]
    _, vectors, threads = min((f for f in found if f[0] >= 0), default=(0, 0, 0))
    return (threads, vectors) if threads else None


def threads_for_two_vectors(count: int) -> int | None:
    """Threads that share a row of ``count`` vectors, two each, with few lanes without work; None where there are none.

    For kernels that write as much as they read: half as long in each, such rows come and go more evenly (256 bfloat16:
    1.03 of a copy, 1.01 with four vectors each).  Where less is written, several vectors are better (sum: 0.81, 1.06).
    """
    return next((n for n in (16, 32, 64, 128) if 14 * n <= 8 * count <= 16 * n), None)


def map_row(row: Demand) -> ThreadMapping:
    """Who shares a row: the fewest threads that can keep it; many that read it again where none can."""
    tuning = row.tuning
    if not row.along:
        return one_row_mapping(tuning.loop_threads, 0, tuning=tuning)
    for threads, cluster, vectors in _candidates(row):
        if cluster <= row.largest and row.count <= threads * cluster * vectors:
            return one_row_mapping(threads, -(-row.count // (threads * cluster)), cluster, tuning)
    is_cached = row.width <= tuning.longest_cached and row.group > 1
    return one_row_mapping(tuning.loop_threads * (1 if is_cached else 2), 0, tuning=tuning)


def _candidates(row: Demand) -> list[tuple[int, int, int]]:
    """Threads of a block, blocks of a cluster, and groups that a thread keeps at most; the smallest first."""
    tuning = row.tuning
    if row.as_much:
        each = row.vectors(tuning.elements, tuning.kept_bytes)
    else:
        each = row.vectors(max(tuning.read_elements, tuning.read_bytes // max(row.element, 1)), tuning.kept_bytes)
    most = row.vectors(row.width, tuning.most_kept_bytes)
    kept = row.vectors(row.width, tuning.kept_bytes)
    short = [(threads, 1, each) for threads in (1, 2, 4, 8, 16, WARP, 64, 128, 256) if threads >= row.least]
    alone = [(256, 1, most if row.as_much and row.element >= 4 else kept), (512, 1, kept)]
    together = [(256, 2, kept), (256, 4, kept), (256, 8, kept), (256, 8, most), (512, 8, kept)]
    if row.rounds == 1 and row.largest == 1:  # one exchange among many threads is better than reading again
        together = [(2 * tuning.loop_threads, 1, row.vectors(tuning.elements, tuning.kept_bytes))]
    return [*short, *alone, *together]
