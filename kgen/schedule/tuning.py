"""Tuned numbers as data: they decide how kernels are scheduled, and were measured on an H200.

One table per target (:class:`~kgen.schedule.target.Target`).  Figures in comments are fractions of the bandwidth of a
copy, unless they say otherwise: first with the value that was chosen, then with the alternative.
``docs/performance.md`` has the measurements.  Numbers that hold for every device (the size of a warp, the limits of
CUDA) are not here.
"""

from __future__ import annotations

from dataclasses import field

from kgen.records import dataclass
from kgen.schedule.column_tuning import (
    ColumnBoxes,
    Columns,
    ColumnTiles,
    NarrowColumns,
    ResidentBoxes,
    ResidentColumns,
)
from kgen.schedule.elementwise_tuning import Elementwise
from kgen.schedule.latency import Latency, RowLatency
from kgen.schedule.rates import (
    BOX_COSTS,
    CHUNK_COSTS,
    GATHERED_RATES,
    RESIDENT_RATES,
    CostModel,
    OccupancyRates,
    ResidentBoxRates,
    RowRates,
    TrafficRates,
)


@dataclass(frozen=True)
class Rows:
    """Kernels that reduce along rows."""

    #: Elements of a row that a thread keeps in registers: enough for several loads in flight, and for exchanges
    #: between threads to be a small part of the work.
    elements: int = 32
    #: The same where no rows are written: fewer lanes idle in rows of five or six times a power of two (sums of
    #: 640 bfloat16 1.11, 1.03 with 32; of 1152 1.13, 0.93).
    read_elements: int = 48
    #: Or this many bytes, where elements are so small that these are more (sums of 4096 int8 1.03, 0.96 with 32 bytes).
    read_bytes: int = 64
    #: Up to this many elements, a thread keeps values computed from them, one register each, instead of computing them
    #: twice.  With more, too few registers are left.
    kept_values: int = 36
    #: A kept half is stored ahead of the first exchange where a launch moves from so many to so many bytes, and so many
    #: threads or more share a row (`Sums that are stored early`).
    stored_first: tuple[int, int] = (3 << 20, 17 << 20)
    stored_first_threads: int = 128
    #: Rows of halves that fill registers exactly have no checks where so many threads or more share them (`Rows that
    #: fill registers exactly`).
    exact_threads: int = 8
    #: Like ``elements`` where several operands differ between rows, and as many bytes are written as read, up to 256
    #: threads a row (a sum of two and its rmsnorm, 16 rows of 2048 bfloat16 1.26 us, 1.58 with 32; 16384 rows 65.8 and
    #: 66.1).
    several_elements: int = 16
    #: Neighbouring rows in one operand that a block might take beside those in another one; fewer where these lie one
    #: behind the other (sums of 2, three orders, 331 us, 204 by 4).
    tile_places: tuple[int, ...] = (8, 16, 32, 64)
    fewest_places: int = 4
    #: The threads of such a block; twice as many where rows are written.
    tile_block: int = 256
    #: Bytes of neighbouring rows that are written at once, at least (rmsnorm of 7, one operand permuted, by 8, 16, 32
    #: and 64 float32 97, 83, 82 and 81 us; layernorm of 13 282, 234, 225 and 221).
    tile_written_bytes: int = 128
    #: Threads that might share a row whose elements are gathered, or a row that might not be staged.
    sharers: tuple[int, ...] = (1, 2, 4, 8, 16)
    #: Staged rows are read in place where that is predicted to take less than this fraction of the time, of so many
    #: elements in all where the number of rows must not decide it.
    gain_in_place: float = 0.95
    many_elements: int = 1 << 27
    #: Elements from which on operands that all rows share are loaded where they are used, beside rows at computed
    #: places (norms of 40 heads with rotary embedding: 4096 tokens 24.9 to 24.5 us, 16384 92.9 to 88.5; 1024 tokens
    #: 6.9 to 7.4, so not there).
    crowded_elements: int = 1 << 23
    #: Threads that an SM then has registers for, where each has several vectors of a row (4096 tokens, caches in fp8,
    #: 26.8 us, 27.3 with as many registers as the compiler takes).
    crowded_threads: int = 1024
    #: Blocks of an SM where segments are reduced in rows of so many threads, and few operands kept (`rms_norm` with fp8
    #: of groups of 128, 4096 rows of 4096 15.4 us, 16.0 with eight blocks, 16.3 with ten).
    segmented_block: int = 128
    segmented_blocks: int = 9
    few_accesses: int = 4
    #: Elements for each of ``few_threads`` up to which threads are free, so that more share a row (tanh(x) / y of 2000
    #: rows of 256, quantised, 4.7 us, 6.1 with as many threads as for more rows; 256 rows of 4096 bfloat16 to fp8 2.17,
    #: 2.88 with 8; with 32, 3 of 23 programs slower by 5 to 15%).
    few_elements: int = 16
    #: Threads that share a row then, at most.
    few_sharing: int = 512
    #: Threads in all from which on blocks of few rows have 256 threads, not 128, where a warp or less takes a row: half
    #: as many begin (265 to 1057 blocks 0.96 of the time, up to 66 1.02; `Threads that share few rows, again`).
    few_filled: int = 8449
    #: Threads that an SM has registers for where 16-bit values take the place of what they are computed from (a sum
    #: of three and its rmsnorm, 64 rows of 4096 1.62 us, 1.80 where the compiler decides; *Halves that are kept*).
    halves_resident_threads: int = 512
    #: Beside two operands that all rows share, threads have one group more where that leaves no lane idle, and at most
    #: so many (layernorm of 5120 bfloat16 by 160 threads with 4 groups; of 9216 by 192 with 6 1.08 of the time with few
    #: rows, and 1.01 with many).
    most_alone: int = 4
    #: Bytes of a row that a thread keeps in registers.  More bytes in flight per thread, and cheaper exchanges, are
    #: better than more threads (rows of 16384 bfloat16 0.99, 0.87 with more threads).
    kept_bytes: int = 128
    #: The same for blocks of 256 threads, before blocks of 512 are tried: with elements of 4 bytes or more, and in
    #: clusters (layernorm of 9216 float32 1.01, 0.87 with 512 threads; of 81920 0.96 and 0.73).
    most_kept_bytes: int = 224
    #: A thread's registers for other than elements, where blocks are so large that only two fit an SM (*Row operands
    #: ahead of stores*).
    other_registers: int = 16
    #: Bytes of row operands that a thread loads at once ahead of stores, where those of all its groups are not loaded
    #: ahead of the first round (*Row operands ahead of stores*).
    batch_bytes: int = 64
    #: Bytes of the shortest rows that get L2's evict-last hint beside several shared operands (`The hint from 64 MiB
    #: on`).
    long_bytes: int = 8192
    #: Threads per block where a warp or less takes a row (`Short rows: blocks of 128 threads`): small blocks balance
    #: the load better, smaller ones begin too slowly (8192 rows of 512 bfloat16 3.16 us, 3.81 with 64, 3.26 with 256).
    short_block: int = 128
    #: Blocks of so many threads let the next kernel start early only where there is at most one for each of an H200's
    #: 132 SMs (`Short rows: blocks of 128 threads`).
    small_block: int = 128
    few_blocks: int = 132
    #: Blocks of several rows get more threads until they move so many bytes, because a device starts blocks at a
    #: limited rate (sums of 128 bfloat16 0.82 with 2 KiB per block, 1.03 with 4 KiB; of 144 0.93 with 2.25 KiB).
    block_bytes: int = 3 << 10
    #: But no more threads than this; so many at once where there are ``many_threads``, because blocks of 128 threads
    #: begin at half the rate of blocks of 64 (rmsnorm of 2 elements 41 us, 29 with 256 threads; softmax 73 and 46).
    filled_block: int = 256
    many_threads: int = 1 << 19
    #: Threads that may share a row of a few vectors.  For longer rows, the loads in flight decide.
    most_sharing_few: int = 8
    #: Threads that share a row which is read again for each round; twice as many where a row does not stay in L1
    #: until the next round, or where every element is a separate load.
    loop_threads: int = 512
    #: In files for rows of any length: threads that share a row, and vectors that each keeps ("Rows of any length").
    open_mappings: tuple[tuple[int, int], ...] = ((4, 2), (8, 4), (32, 4), (128, 4), (256, 8), (512, 8))
    #: Of short rows there that are no multiple of a vector: elements of a group; the longest rows that are taken
    #: element by element; threads that share these, and elements that each keeps.
    open_vector: int = 4
    open_shortest: int = 16
    open_elements: tuple[int, int] = (2, 8)
    #: The same for rows that are read once: more blocks on an SM, of which some read while others merge (variances of
    #: 26650 elements 248 us, 275 with 512 threads, 272 with 128).
    walk_threads: int = 256
    #: Groups that a thread which walks a row loads at once where elements take divisions or functions; fewer where they
    #: would take more bytes of registers (norm of `a / 255 - b / c` 47.0 us by one, 39.3 by 4; with two operands of
    #: float64 240 by 4, 217 by 2).
    walked_at_once: int = 4
    walked_bytes: int = 168
    #: Elements that lie apart in the groups of a walk without a branch, at most (a maximum of 15.6 million bytes at a
    #: step beside float16 37 us with 32, which spilled; 24).
    walked_apart: int = 16
    #: Twice as many walk longer rows (sums of 264 rows of 40000 bfloat16 6.5 us, 7.6 with 256; of one row 2.0, 2.7).
    longest_walk: int = 1 << 15
    #: The same where several blocks share a row (sum of silu of 13.6 million int32 26 us, 34 with 1024 threads; norm of
    #: 57.6 million, three operands 250 and 269).
    split_threads: int = 256
    #: Threads on an SM then, so that loads in flight have registers (a maximum of 33 million bytes, float16 and float64
    #: 97 to 89 us, a sum of quotients of 33 million 88 to 76).
    split_resident_threads: int = 1024
    #: Elements of the longest row that stays in L1.
    longest_cached: int = 1 << 16
    #: Longer rows are shared by several blocks, where only one result of each is written.
    longest_of_one_block: int = 1 << 16
    #: Groups that a thread takes at least where everything is reduced to one result: as many as it reads at once.
    span_groups_alone: int = 8
    #: Half as many where that leaves no more blocks than this.
    few_spans: int = 264
    #: The same where there may be many rows, and threads of a block: the smaller the spans, the longer it takes to
    #: merge their results, but the sooner a single row is done (sums of 2048 rows of 1,000,000 float32 1813 us, of one
    #: 3.9; with twice the groups 1791 and 4.7; with twice the threads 1828 and 4.6).
    span_groups: int = 16
    span_threads: int = 512
    #: Blocks that share a row at most: with more, the last ones finish sooner (sum of 2^28 float32 1.08, 1.07 with half
    #: as many).
    split_blocks: int = 4096
    #: The same for rows of several dimensions, where a span takes longer to start (1.04, 1.03 with twice as many).
    split_blocks_pieces: int = 2048
    #: Shorter rows, in bytes, are read element by element instead of peeled, which would leave most threads idle.
    shortest_peeled: int = 449
    #: Bytes of the longest row that is read element by element where it has float64 beside narrower elements (var of
    #: 6272 float64 and bytes 193 to 143 us, norm of 4546 61 to 54; logsumexp of 3817 float64 and bfloat16 53 to 59).
    most_mixed_bytes: int = 1 << 16
    #: In rows of fewer elements, unaligned operands are read element by element: shifting takes registers, so fewer
    #: blocks fit an SM (layernorm of 301 bfloat16 0.87, 0.80 shifted; of 1001 0.72, 0.95 shifted).
    shortest_shifted: int = 400


@dataclass(frozen=True)
class Staging:
    """Short rows that are staged through shared memory."""

    #: Fewer elements are read in place (a norm of 21 rows of 16 1.2 us, 2.0 staged).
    fewest_elements: int = 1 << 17
    #: Rows of more bytes are faster without staging.
    longest: int = 448
    #: The same where other operands run across rows; and shorter rows as well.
    longest_across: int = 1024
    shortest_across: int = 16
    #: Rows of whole vectors are staged only up to so many bytes, where each thread would read a row of its own.
    longest_even: int = 48
    #: The same for an odd number of vectors, where every other row begins within a sector of memory (40 bfloat16:
    #: rmsnorm 0.995, 0.68 without staging, layernorm 0.94, 0.79; 72: 1.00, 0.79).
    longest_odd: int = 176
    #: Elements of the longest row that one thread takes alone.
    elements: int = 32
    #: Elements of a thread from which on it has the registers of so many threads on an SM, where it reads operands
    #: across rows ahead of rows with gaps: else the compiler waits for each load of these (quantised rows of 26 140 us,
    #: 69; of 3 61, 68).
    crowded_elements: int = 16
    crowded_threads: int = 512
    #: Elements per thread where several share a row.  Not 32: rows are often slightly longer than a power of two.
    shared_elements: int = 36
    #: Threads that share a row at most where operands run across rows: a warp should read a sector or more of these.
    most_across: int = 4
    #: Elements of the shortest row of which a thread takes only one where operands run across rows: it reads these
    #: ahead (layernorm of 8, two operands across, 99 to 81 us; sums of 2 22 to 27).
    shortest_alone: int = 3
    #: Rows that a thread takes at most; it takes as many as fit ``elements``, so that enough loads are in flight.
    most_rows: int = 8
    #: Threads per block.
    block: int = 256
    #: Threads take several rows only where that leaves so many blocks.
    enough_blocks: int = 256
    #: Bytes of shared memory per block, so that several blocks fit an SM.
    shared_bytes: int = 36 << 10


@dataclass(frozen=True)
class Persistent:
    """Persistent clusters, which take row after row and keep one operand that all rows share in shared memory."""

    #: Threads per block: few enough for ``most_elements`` and ``blocks_per_sm``.
    threads: int = 256
    #: Elements of a row per thread, at most.
    most_elements: int = 64
    #: Blocks per SM: few enough to leave room for the kept operand, and for other shared operands in the cache
    #: (layernorm of 131072 bfloat16 0.96, 0.92 with four).
    blocks_per_sm: int = 3
    #: Bytes of shared memory that a kernel may use without opting in to more.
    shared_bytes: int = 48 << 10


@dataclass(frozen=True)
class RowColumns:
    """Kernels that go along rows and sum over them."""

    #: Elements of the shortest and of the longest rows.
    shortest: int = 512
    longest: int = 1 << 14
    #: Fewer rows than this are summed by a kernel of their own, where no result of rows could have other bits then
    #: (the gradients of gelu(x + bias), 64 x 4096 bfloat16 2.1 us, 4.2 in one kernel; 256 x 4096 5.8, 6.3).
    fewest_rows: int = 512
    #: Elements of a row that a thread has, at least: fewer threads exchange states, and compute what all need.  Up to
    #: so many, the next row is loaded ahead, and elements are converted once.
    elements: int = 16
    #: Rows of so many bytes, or more, are asked for ahead where they are reduced.  Gradients of layernorm of bfloat16,
    #: 16384 rows of 4096, take 103.1 us two rows ahead, one row 107.0, three 105.3, without 109.3; 4096 rows of 16384,
    #: which are not loaded ahead, 123.5 one row ahead, two 138.1, without 146.0; 65536 of 1024 103.6, without 102.9.
    #: Those of gelu(x + bias) 102.3 two rows ahead, without 101.
    prefetched_bytes: int = 1 << 12
    #: Threads per block at most.
    most_threads: int = 512
    #: Threads of an SM that registers are shared among, at most.
    resident_threads: int = 512


@dataclass(frozen=True)
class Chains:
    """How chains of rounds of reductions are cut into kernels."""

    #: In longer rows, rounds of reductions are merged online if possible.  In shorter ones, an exchange costs little.
    max_separate_rounds_row: int = 4096
    #: A kernel for a whole chain has one block (or cluster) per row.  It finishes rows of at most so many elements
    #: before another kernel could start; longer ones have to fit its registers.
    max_one_block_row: int = 1 << 16
    #: Elements of the only row of a program from which on several blocks share it, where threads cannot keep it
    #: (softmax of 45827, one operand float64, 38.5 to 4.7 us).
    fewest_split: int = 1 << 14
    #: Rows that keep a device busy with a block each: two for each of an H200's 132 SMs.
    rows: int = 264


@dataclass(frozen=True)
class Bins:
    """Kernels that update few elements often."""

    #: Threads per block, and blocks, which fit the device at once.
    block: int = 512
    blocks: int = 264
    #: Elements in shared memory, for arrays of up to so many; bytes of all arrays of a kernel.
    rooms: tuple[int, ...] = (256, 1024, 4096)
    shared_bytes: int = 32 << 10
    #: Updates in all, and for each element of this room, at least.
    fewest_updates: int = 1 << 16
    updates_each: int = 64
    #: Updates of a block for each element of its room, at least: it updates that many elements in memory at its end.
    updates_of_block: int = 4


@dataclass(frozen=True, eq=False)  # compared by identity: there are few tables, and they are cache keys
class Tuning:
    """All tuned numbers of one target.

    ``doubt``: searches multiply or divide each predicted time by up to 1.35; the factors follow from this number.  0:
    they take it as it is.
    """

    elementwise: Elementwise = field(default_factory=Elementwise)
    bins: Bins = field(default_factory=Bins)
    rows: Rows = field(default_factory=Rows)
    staging: Staging = field(default_factory=Staging)
    persistent: Persistent = field(default_factory=Persistent)
    columns: Columns = field(default_factory=Columns)
    column_tiles: ColumnTiles = field(default_factory=ColumnTiles)
    column_boxes: ColumnBoxes = field(default_factory=ColumnBoxes)
    resident_boxes: ResidentBoxes = field(default_factory=ResidentBoxes)
    narrow_columns: NarrowColumns = field(default_factory=NarrowColumns)
    resident_columns: ResidentColumns = field(default_factory=ResidentColumns)
    row_columns: RowColumns = field(default_factory=RowColumns)
    chains: Chains = field(default_factory=Chains)
    traffic: TrafficRates = field(default_factory=TrafficRates)
    staged_rates: RowRates = field(default_factory=RowRates)
    gathered_rates: RowRates = field(default_factory=lambda: GATHERED_RATES)
    costs: CostModel = field(default_factory=CostModel)
    chunk_costs: CostModel = field(default_factory=lambda: CHUNK_COSTS)
    box_costs: CostModel = field(default_factory=lambda: BOX_COSTS)
    tile_rates: OccupancyRates = field(default_factory=OccupancyRates)
    resident_box_rates: ResidentBoxRates = field(default_factory=ResidentBoxRates)
    resident_rates: OccupancyRates = field(default_factory=lambda: RESIDENT_RATES)
    latency: Latency = field(default_factory=Latency)
    row_latency: RowLatency = field(default_factory=RowLatency)
    doubt: int = 0


#: Measured on an H200, and used for every device until others are measured.
H200 = Tuning()
