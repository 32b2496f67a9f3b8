"""How blocks of a thread-block cluster exchange what they have found, and take row after row where they stay.

Each warp writes its results into the shared memory of every block, which counts the bytes that arrive: no block waits
for others to read, or for its own writes to be seen.  Blocks that stay have two sets of slots.  A warp writes into one
of them for the next row but one after it has seen all results of the next row, which every warp sends once it has read
those of this row: no slot is written before it was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgen.codegen import names
from kgen.codegen.context import RoundContext, Staging
from kgen.codegen.reduction.access import RowAccess
from kgen.schedule.reduction.persistent import STAYING_BLOCKS
from kgen.schedule.reduction.schedule import RowSchedule

_WAIT = "__cluster_barrier_wait();  // every block has begun"


def launch(schedule: RowSchedule) -> tuple[str, ...]:
    """How such a kernel is launched, for its comment."""
    blocks = f"{schedule.cluster} blocks of {schedule.block} threads"
    if schedule.near is None:
        return (f"Launch: {blocks} for each row.",)
    return (
        f"Launch: {blocks} for each cluster; `taken` is 0.",
        f"Bound: {STAYING_BLOCKS} blocks an SM, so that what they keep leaves some cache for the rest.",
        "Clusters: as many as fit the device (cudaOccupancyMaxActiveClusters), but no more than n, of rows.",
    )


def place(schedule: RowSchedule) -> tuple[str, ...]:
    """Which part of a row a thread has."""
    return (
        f"const unsigned int rank = blockIdx.x % {schedule.cluster};  // of this block in its cluster",
        f"const int lane = rank * {schedule.threads} + threadIdx.x;",
    )


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
    return [
        replace(r, shared=(), before=(_WAIT,) if i == first else (), awaited=(f"wait_for({r.arrived}, 0);",))
        for i, r in enumerate(rounds)
    ]


def staying(access: RowAccess, found: RoundContext, loop: tuple[Sequence[str], Sequence[str]]) -> Staging:
    """Lines around the work on one row, where clusters stay.  ``loop``: that over a thread's groups."""
    schedule = access.schedule
    touch = schedule.near
    assert touch is not None
    near = names.near(access.labels[touch])
    rows = f"row = blockIdx.x / {schedule.cluster}, next = 0, turn = 0"
    return Staging(
        before=(
            *place(schedule),
            *found.shared,
            f"__shared__ unsigned long long {found.arrived}[2];",
            "__shared__ unsigned int upcoming[2];",
            "if (threadIdx.x == 0) {",
            *(f"    expect({found.arrived}[{number}], {_expected(found)});" for number in (0, 1)),
            "}",
            "__cluster_barrier_arrive_relaxed();",
            "// What all rows share stays here.  Each thread reads what it has put here itself.",
            f"__shared__ {access.pack(touch)} {near}[{schedule.vectors}][{schedule.threads}];",
            *loop[0],
            f"        {near}[v][threadIdx.x] = {access.from_memory(touch)};",
            *loop[1],
            _WAIT,
        ),
        loop=f"for (unsigned int {rows}; row < n; row = next, ++turn) {{",
    )


def turn(schedule: RowSchedule) -> tuple[str, ...]:
    """Lines with which the work on one row begins, where clusters stay."""
    return (
        "const unsigned int set = turn % 2;  // of slots that blocks write to",
        "if (rank == 0 && threadIdx.x == 0) {",
        f"    next = gridDim.x / {schedule.cluster} + atomicInc(taken, n - 1);  // 0 again after the last row",
        "}",
    )


def stayed(found: RoundContext) -> RoundContext:
    """The round of a kernel whose clusters stay: its exchange also says which row is next."""
    arrived = f"{found.arrived}[set]"
    return replace(
        found,
        shared=(),
        before=("next = __shfl_sync(0xffffffffu, next, 0);",),
        publish=(
            *found.publish,
            "if (rank == 0 && threadIdx.x < 32) {",
            f"    tell(upcoming[set], next, {arrived}, threadIdx.x);",
            "}",
        ),
        awaited=(
            f"wait_for({arrived}, turn / 2 % 2);",
            "if (threadIdx.x == 0) {",
            f"    expect_more({arrived}, {_expected(found)});",
            "}",
            "next = upcoming[set];",
        ),
    )


def _expected(found: RoundContext) -> str:
    return f"{found.expected} + sizeof(upcoming[0])"
