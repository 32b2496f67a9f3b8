"""Rows of a few vectors: how many threads share one that is read where it is."""

from __future__ import annotations

#: Threads that may share such a row; longer ones are a matter of loads in flight.
MOST_THREADS = 8


def few_vectors(count: int) -> tuple[int, int] | None:
    """Threads that share a row of ``count`` vectors, and vectors that each holds; None for longer rows.

    As few lanes without work as possible, and then two vectors each: neighbouring threads then read neighbouring
    memory (rows of 32 bfloat16: 1.00 of a copy with 2 threads, 0.66 with one; of 72: 0.73 with 8 threads of 2).
    """
    if count <= 2:
        return count, 1
    found = [(threads * v - count, v, threads) for v in (2, 3, 4) for threads in (2, 4, MOST_THREADS)]
    _, vectors, threads = min((f for f in found if f[0] >= 0), default=(0, 0, 0))
    return (threads, vectors) if threads else None


def two_vectors(count: int) -> int | None:
    """Threads that share a row of ``count`` vectors, two each, with few lanes without work; None where there are none.

    For kernels that write as much as they read: half as long in each, such rows come and go more evenly (256 bfloat16:
    1.03 of a copy, 1.01 with four vectors each).  Where less is written, several vectors are better (sum: 0.81, 1.06).
    """
    return next((n for n in (16, 32, 64, 128) if 14 * n <= 8 * count <= 16 * n), None)
