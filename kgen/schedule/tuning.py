"""Tuned numbers as data: what was measured on an H200 and decides how kernels are scheduled.

One table a target (:class:`~kgen.schedule.target.Target`).  Each entry has the figure that gave it, as a fraction of
the bandwidth of a copy unless it says otherwise; ``docs/performance.md`` has the measurements.  Numbers that hold for
every device (the size of a warp, the limits of CUDA) are not here.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Elementwise:
    """Kernels without reductions."""

    #: Threads a block: enough blocks for each SM to hide latency, and few enough registers each for 8 of them.
    block: int = 256
    #: Threads a block that each compute one element at an offset of its own.
    strided_block: int = 128
    #: Rows of a narrow operand are shifted out of aligned blocks from this length on, not read element by element: in
    #: shorter ones, parts of groups at both ends cost more.
    shortest_shifted_row: int = 256
    #: Shorter rows than this waste most of their last group, and are walked element by element.
    shortest_row: int = 16
    #: Tiles of which less than a quarter is filled cost more than they save.
    shortest_side: int = 16
    #: Groups along each side of a tile, so that each of 256 threads transposes one micro-tile.
    tile_side: int = 16
    #: Bytes of static shared memory that tiles may take: what every device has.
    tile_bytes: int = 48 << 10
    #: Elements of a tile that a thread holds along each side when it also reads operands that are not transposed:
    #: squares of 8 of both spill registers, and 4 are as fast.
    max_transposed_width: int = 4
    #: Registers (4 bytes each) that a tile kernel may fill with other operands before it waits for the tile.
    prefetch_registers: int = 32


@dataclass(frozen=True)
class Rows:
    """Kernels that reduce along rows."""

    #: Elements of a row that a thread keeps in registers: enough for several loads in flight, and for rounds of
    #: reductions to be a small part of the work.
    elements: int = 32
    #: The same where less is written than read: fewer lanes without work in rows of five or six times a power of two
    #: (sums of 640 bfloat16 1.11, 1.03 with 32; of 1152 1.13, 0.93).
    read_elements: int = 48
    #: And bytes of it, where elements are small (sums of 4096 int8 1.03, 0.96 with 32 bytes).
    read_bytes: int = 64
    #: Elements of a row that a thread has at most where it keeps values that are computed of them, one register each,
    #: instead of computing them twice: with more, too few registers are left.
    kept_values: int = 36
    #: Bytes of a row that a thread keeps in registers where a block's worth of threads has less to do otherwise: more
    #: bytes in flight, and the exchange a smaller part, beat more threads (16384 bfloat16 0.99, 0.87 otherwise).
    kept_bytes: int = 128
    #: The same before there are 512 threads, where registers hold an element each, and before clusters have 512
    #: (layernorm of 9216 float32 1.01, 0.87 with 512 threads; of 81920 0.96 and 0.73).
    most_kept_bytes: int = 224
    #: Threads of a block whose rows are a warp's work or less: small blocks come and go evenly (1024 bfloat16 1.02,
    #: 1.00 with 256).
    short_block: int = 64
    #: Blocks of several rows that would move fewer bytes have more threads: blocks begin at a limited rate (sums of
    #: 128 bfloat16 0.82 with 2 KiB a block, 1.03 with 4 KiB; of 144 0.93 with 2.25 KiB).
    block_bytes: int = 3 << 10
    #: And so many threads at most.
    filled_block: int = 256
    #: Threads that may share a row of a few vectors; longer rows are a matter of loads in flight.
    most_sharing_few: int = 8
    #: Threads that share a row which is read again for each round; twice as many where rows do not stay in the caches
    #: in L1 until then, or where every element is a load of its own.
    loop_threads: int = 512
    #: Elements of a row that stay in those caches.
    longest_cached: int = 1 << 16
    #: Blocks that keep a device busy: several for each of about 130 SMs, in several waves.
    enough_blocks: int = 1024
    #: Groups of a row that a thread reads at once where several blocks share the row.
    in_flight: int = 8
    #: Blocks in all where several share a row: the more, the sooner the last is done (sum of 2^28 float32 1.08, 1.07
    #: with half as many).
    split_blocks: int = 4096
    #: The same for rows in pieces, where a span takes longer to begin (1.03 and 1.04).
    split_blocks_pieces: int = 2048
    #: Rows of fewer bytes are better read element by element than by threads that are mostly idle.
    shortest_peeled: int = 449
    #: In rows of fewer elements, operands that begin elsewhere are read element by element: shifting takes registers,
    #: which leaves fewer blocks (layernorm of 301 bfloat16 0.87, 0.80 shifted; of 1001 0.72 and 0.95).
    shortest_shifted: int = 400


@dataclass(frozen=True)
class Staging:
    """Short rows that go through shared memory."""

    #: Rows of more bytes are better read where they are.
    longest: int = 448
    #: Rows of whole vectors are better read where they are, but for those that one thread would read at a stride.
    longest_even: int = 48
    #: And but for short ones of an odd number of vectors, of which every other begins amid a sector of memory (40
    #: bfloat16: rmsnorm 0.995 and 0.68, layernorm 0.94 and 0.79; of 72 1.00 and 0.79).
    longest_odd: int = 176
    #: Elements of a row that a thread takes alone.
    elements: int = 32
    #: Elements that each takes of those that share a row: rows are often a power of two and a bit.
    shared_elements: int = 36
    #: Rows that a thread takes at most, as many as make ``elements``, so that enough loads are in flight.
    most_rows: int = 8
    #: Threads of a block.
    block: int = 256
    #: Threads take several rows where that leaves so many blocks.
    enough_blocks: int = 256
    #: Bytes of shared memory of a block: several blocks fit an SM.
    shared_bytes: int = 36 << 10


@dataclass(frozen=True)
class Persistent:
    """Clusters that take row after row, and keep weights in shared memory."""

    #: Threads of a block: few enough for what follows.
    threads: int = 256
    #: Elements of a row that each has at most.
    most_elements: int = 64
    #: Blocks an SM that leave room for what they keep, and for the rest in the cache (layernorm of 131072 bfloat16
    #: 0.96, 0.92 with four).
    blocks_per_sm: int = 3
    #: Bytes of shared memory that need no permission.
    shared_bytes: int = 48 << 10


@dataclass(frozen=True)
class Columns:
    """Kernels that reduce a slow dimension: threads go across columns."""

    #: Threads of a block.
    block: int = 256
    #: Columns that are worth going across.
    fewest: int = 16
    #: Bytes that a block reads of what lies side by side.
    across_bytes: int = 256
    #: Where it is no longer than this, all of it.
    all_across_bytes: int = 512
    #: Fewer where few blocks would have to share many columns, so that more of them have columns of their own and less
    #: is left to the last one.
    narrow_bytes: int = 128
    #: So few blocks.
    fewest_tiles: int = 10
    #: Bytes that a thread reads before it uses them; twice as many of narrow elements, which take longer to be used.
    in_flight_bytes: int = 64
    #: Bytes of a narrow element.
    narrow_element: int = 2
    #: Reads in flight at most.
    most_in_flight: int = 16
    #: Blocks of a launch where several share columns: those that an H200 holds at once, as more leave more to merge.
    split_blocks: int = 512
    #: Batches of reads that a thread should have before others share its columns: an exchange between threads costs
    #: about as much as one.
    batches: int = 4
    #: The same before other blocks do.
    batches_of_blocks: int = 2
    #: The fraction of threads that may be left without columns.
    most_idle: float = 0.06
    #: Results of other blocks that the last block reads before it merges them, so that reads do not wait for merges.
    results_ahead: int = 8
    #: Bytes of these at most, 32 registers; else it reads one after the other.
    ahead_bytes: int = 128
    #: Bytes of the states of one thread's columns, in registers and then in shared memory: 32 KiB a block.
    state_bytes: int = 128


@dataclass(frozen=True)
class ResidentColumns:
    """Kernels that keep columns in registers."""

    #: How columns are kept, the first way that fits: bytes that a thread keeps, and that a block reads side by side at
    #: least.  More kept leave room for fewer blocks.
    ways: tuple[tuple[int, int], ...] = ((128, 64), (256, 64))
    #: Come first where rows begin between sectors of memory: a smaller part of what is read belongs to other blocks.
    ragged: tuple[tuple[int, int], ...] = ((128, 256), (256, 256))
    #: The last ones for halves and bytes, for which two kernels are slow as well.
    thin: tuple[tuple[int, int], ...] = ((256, 32),)
    #: Elements of a column that a thread keeps at most.
    most_each: int = 16
    #: More where it then has the column for itself, in so many bytes.
    alone_bytes: int = 48
    #: Half as many threads share columns where that leaves fewer of their elements unused by that part of all.
    waste: float = 0.08
    #: And each keeps no more bytes than these.
    waste_bytes: int = 192
    #: Threads of a block, at least and at most.
    smallest_block: int = 64
    largest_block: int = 512
    #: Bytes of shared memory of a block, for what its threads leave for each other.
    shared_bytes: int = 48 << 10
    #: Threads that go across, by the bytes that each reads at once: 256 bytes side by side, but for small elements.
    lanes: tuple[tuple[int, int], ...] = ((8, 16), (4, 64), (1, 32))


@dataclass(frozen=True)
class Chains:
    """How chains of rounds of reductions are cut into kernels."""

    #: Longer rows have rounds of reductions merged online where that is possible: up to here an exchange costs little.
    max_separate_rounds_row: int = 4096
    #: A chain of rounds is one block's work a row: at least so many rows.
    min_fused_rows: int = 64
    #: Or rows so short that one block is done with them before another kernel could start.
    max_one_block_row: int = 1 << 16


@dataclass(frozen=True, eq=False)  # by identity: tables are few, and keys of what is compiled
class Tuning:
    """All of it."""

    elementwise: Elementwise = field(default_factory=Elementwise)
    rows: Rows = field(default_factory=Rows)
    staging: Staging = field(default_factory=Staging)
    persistent: Persistent = field(default_factory=Persistent)
    columns: Columns = field(default_factory=Columns)
    resident_columns: ResidentColumns = field(default_factory=ResidentColumns)
    chains: Chains = field(default_factory=Chains)


#: What was measured on an H200, which is used everywhere until another device is measured.
H200 = Tuning()
