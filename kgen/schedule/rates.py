"""How fast a device is, as data, to predict the times of kernels.  Fitted on an H200."""

from __future__ import annotations

from math import inf

from kgen.records import dataclass


@dataclass(frozen=True)
class TrafficRates:
    """How fast memory and caches serve kernels, to compare ways to compute a program."""

    #: Bytes a second that a copy moves.
    memory: float = 4.2e12
    #: Requests to L2 a second, each for a part of a line (layernorm of 768, one operand permuted, 212 million 2800 us).
    requests: float = 8e10
    #: What bytes of sectors that a warp writes in part cost beside those of whole ones (layernorm of 49 x 2048 rows of
    #: 223 to an output across rows 346 us, to one along rows some 65).
    written_in_part: float = 2
    #: Seconds that a kernel takes beside that.
    launch: float = 2e-6
    #: Threads that run at the same time on the whole device.
    threads: int = 132 * 2048
    #: Other ways are looked for where a kernel takes so many times as long as its bytes need.
    slow: float = 1.3
    #: And taken where they take less than this fraction of its time.
    gain: float = 0.8
    #: Bytes that L2 holds for blocks that run at the same time, and of an operand that it holds for all.
    held_bytes: int = 32 << 20
    #: Bytes that memory moves at once.
    burst: int = 64
    kept_bytes: int = 8 << 20


@dataclass(frozen=True)
class RowRates:
    """How fast row kernels are.  The defaults compare short rows that are staged with rows that are read in place; they
    are fitted to 1,400 launches of 87 programs (*Staged or in place*).
    """

    memory: float = 5e12
    l2: float = 6.7e12
    lines: float = 2.2e11
    #: Instructions of warps a second.  Those of an operation, of a load or store, and of a thread beside its elements;
    #: of an exchange of a word with another thread.
    issue: float = 9.4e11
    arithmetic: float = 0.5
    load: float = 1.7
    thread: float = 120
    shuffle: float = 3.2
    #: Those that read a group out of shared memory; that copy an element, or 16 aligned bytes, to it; and that copy an
    #: element of rows with gaps.
    staged: float = 3.6
    copied: float = 10.5
    spaced: float = 30
    #: How much longer instructions take where shared memory leaves an SM fewer threads than it could have.
    idle: float = 0.34
    threads: int = 2048
    shared_bytes: int = 220_000
    launch: float = 1.4e-6
    #: The norm by which these add up, as in :class:`CostModel`.
    overlap: float = 2.5


@dataclass(frozen=True)
class CostModel:
    """The rates of a device, to predict the time of elementwise kernels.  Fitted to 212 programs by every family that
    applies, and to 47 by two (*Lines of L1, and flat kernels of two rows*).
    """

    #: Bytes a second from memory, and from L2.
    memory: float = 4.8e12
    l2: float = 8.4e12
    #: Bytes that memory moves at once (c of ``exp(-a) * b - c``, read by pieces of 28 bytes: 3.2 times its bytes).
    burst: int = 64
    #: Lines of L1, instructions, and accesses of shared memory of a warp a second.
    lines: float = 0.37e12
    issue: float = 0.93e12
    shared: float = 0.125e12
    #: Requests to L2 a second, each for a line or a part of one (*Requests of columns*); infinite: these do not count.
    requests: float = inf
    #: Blocks that a device starts a second (*Blocks of little work, odd sides of boxes*).
    starts: float = 8.1e8
    #: Seconds that a launch takes, and each time that a block waits for memory.
    launch: float = 0.53e-6
    wait: float = 0.2e-6
    #: Blocks that fill the device: with fewer, a part of it is idle.
    filling: float = 132
    #: Seconds until a load arrives, where bytes in flight bound memory; else 0.
    latency: float = 0
    #: Bytes that are still in L2 when neighbouring blocks need them.
    cache: float = 12e6
    #: Threads that run at the same time on the whole device.
    threads: int = 132 * 2048
    #: The norm by which the bounds add up: 1 where none overlaps another.
    overlap: float = 1.46


#: The rates for rows whose elements are gathered, fitted to 720 launches of 61 programs (*Tiles of rows*).
GATHERED_RATES = RowRates(
    memory=5e12, l2=8.3e12, lines=3.8e11, issue=1.23e12, arithmetic=0.4, load=1.4, thread=111, shuffle=2.6, launch=2e-6,
    overlap=1.52,
)  # fmt: skip

#: The rates for chunks of columns, whose loads in flight bound them.
CHUNK_COSTS = CostModel(
    memory=4.6e12, l2=10e12, lines=0.79e12, issue=0.74e12, shared=0.22e12, launch=0.1e-6, wait=1.1e-6, filling=0,
    latency=0.7e-6, cache=10e6, overlap=1.91, burst=32, requests=4e11,
)  # fmt: skip


#: The rates to compare columns with boxes of columns, fitted to 36 launches of 18 programs (*Boxes of columns*): blocks
#: need the other part of what memory moves at once much later, or never.
BOX_COSTS = CostModel(
    memory=4.6e12, l2=10e12, lines=2.6e12, issue=1.06e12, shared=0.22e12, launch=0.1e-6, wait=1.1e-6, filling=0,
    latency=0.7e-6, cache=10e6, overlap=1.65, burst=64,
)  # fmt: skip


@dataclass(frozen=True)
class ResidentBoxRates:
    """The rates of chains whose blocks load whole columns, wait, and write: fitted to 170 launches of 27 programs on an
    H100, with the memory of an H200 (*Boxes under chains*), and to 947 of 80 others (*Blocks that are alone*).
    """

    memory: float = 6e12
    l2: float = 6.2e12
    #: Bytes a second of the lines that blocks write, a part of each or all.
    written: float = 4.6e12
    issue: float = 1.96e12
    shared: float = 0.39e12
    #: Warps of an SM with which memory and instructions take twice as long as with many; and the fraction by which a
    #: launch takes longer with one block an SM: with two by half as much.
    hiding_warps: float = 10.2
    alone: float = 0.098
    launch: float = 1.7e-6
    overlap: float = 1.54
    #: Registers of a thread beside those for elements; and of an SM, its warps, its blocks and its shared memory.
    own_registers: int = 15
    registers: int = 65536
    warps: int = 64
    blocks: int = 32
    shared_bytes: int = 227 << 10
    multiprocessors: int = 132


@dataclass(frozen=True)
class OccupancyRates:
    """The rates of column kernels whose threads transpose tiles, fitted to 769 launches of 31 programs with and without
    tiles (*Thread mappings of columns in registers, and of tiles*).
    """

    #: Bytes a second from memory, and from L2; lines, and instructions of warps a second.
    memory: float = 4.6e12
    l2: float = 10e12
    lines: float = 0.7e12
    issue: float = 0.74e12
    #: Requests to L2 a second, each for a line that the warps of a block share, or a part of one.
    requests: float = 4e11
    #: Warps of an SM with which instructions take twice as long as with many; registers of loads in flight in all of
    #: them with which memory does; and of a thread those that count, at most.
    hiding_warps: float = 5.2
    hiding_registers: float = 40
    most_flying: int = 32
    #: Seconds until a load arrives.
    latency: float = 0.4e-6
    #: How much longer instructions take for each register that spills.
    spilled: float = 0.03
    launch: float = 0.2e-6
    #: The norm by which these add up.
    overlap: float = 1.21
    #: Registers of a thread beside those for elements and states.
    own_registers: int = 24
    #: Warps, blocks and registers of an SM, and SMs.
    warps: int = 64
    blocks: int = 32
    registers: int = 65536
    multiprocessors: int = 132


#: The rates for columns that are kept in registers, fitted to 288 launches of 17 programs.
RESIDENT_RATES = OccupancyRates(
    lines=0.135e12, requests=inf, hiding_warps=26, hiding_registers=0, latency=0, spilled=0, launch=0.5e-6, overlap=1.4,
    own_registers=22,
)  # fmt: skip
