"""How blocks of a thread-block cluster exchange what they have found.

Each warp writes its results into the shared memory of every block, which counts the bytes that arrive: no block waits
for others to read, or for its own writes to be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgen.codegen.context import RoundContext


def meeting(rounds: Sequence[RoundContext]) -> tuple[str, ...]:
    """Lines with which each block of a cluster begins."""
    told = [r for r in rounds if r.publish]
    return (
        *(line for r in told for line in r.shared),
        f"__shared__ unsigned long long {', '.join(r.arrived for r in told)};",
        "if (threadIdx.x == 0) {",
        *(f"    expect({r.arrived}, {r.expected});" for r in told),
        "}",
        "__cluster_barrier_arrive_relaxed();",
    )


def met(rounds: Sequence[RoundContext]) -> list[RoundContext]:
    """The rounds of a kernel that begins so.  The first that tells other blocks anything waits until all have begun."""
    first = next(i for i, found in enumerate(rounds) if found.publish)
    begun = ("__cluster_barrier_wait();  // every block has begun",)
    return [replace(r, shared=(), await_cluster=begun if i == first else ()) for i, r in enumerate(rounds)]
