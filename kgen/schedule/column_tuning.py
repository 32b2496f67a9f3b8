"""Tuned numbers of kernels that reduce columns: see :mod:`kgen.schedule.tuning`."""

from __future__ import annotations

from kgen.records import dataclass


@dataclass(frozen=True)
class Columns:
    """Kernels that reduce a slow dimension: neighbouring threads take neighbouring columns."""

    #: Threads per block.
    block: int = 256
    #: Blocks of so many threads let the next kernel start only by their end: the call would take a fifth of their speed
    #: (*Kernels that overlap*).
    small_block: int = 64
    #: Threads across columns at least, where there are few elements (*Thread mappings of few elements*).
    fewest_lanes: int = 4
    #: With fewer columns than this, another family is faster.
    fewest: int = 16
    #: Bytes of neighbouring columns that a block reads at once.
    across_bytes: int = 256
    #: Where all columns together have no more bytes than this, a block takes all of them.
    all_across_bytes: int = 512
    #: The same as ``across_bytes`` where there would be fewer than ``fewest_tiles`` tiles: with narrower tiles, fewer
    #: blocks share each, and the last one has less to merge.
    narrow_bytes: int = 128
    #: Tiles (blocks with different columns) below which they are made narrower.
    fewest_tiles: int = 10
    #: Bytes in flight per thread (*Bytes in flight down columns*); more of narrow elements, which take longer.
    in_flight_bytes: int = 80
    in_flight_narrow: int = 128
    #: An element of at most so many bytes is narrow.
    narrow_element: int = 2
    #: Reads in flight at most.
    most_in_flight: int = 16
    #: The same where no other block shares its columns (means of 512 rows of bfloat16 38 us, 42 with 8).
    most_alone: int = 4
    #: And where threads take single columns, so that each read is a part of 16 bytes (*Single columns in flight*).
    most_alone_single: int = 8
    #: Bytes of all operands that a thread reads at once where these are whole columns.
    whole_bytes: int = 160
    #: Blocks of a launch where several share columns: as many as fit an H200 at once, with up to 80 registers a thread
    #: (variances of 384 columns 1.02, 0.85 with 512).  More would leave more to merge.
    split_blocks: int = 396
    #: Threads on an SM that the compiler leaves registers for, also where blocks walk rows: else it loads late, and
    #: takes 32 (norm of 1029 columns of bfloat16 396 us, 191; variances of 254 rows 18.3, 13.2).
    resident_threads: int = 768
    #: Elements of a column that each thread should have left when more threads share it: they exchange states, and each
    #: starts with the arithmetic of indices (21 rows of int8 and float32 154 us with one thread, 191 with 8; 255 rows
    #: 36 and 25).
    fewest_each: int = 20
    #: Threads of a block where none shares its columns, and each has so many bytes (variances of 3 rows 30 us, 36 with
    #: 256; rows of one float32 525 us, 310 with 256).
    lone_block: int = 128
    lone_bytes: int = 64
    #: Bytes that a thread moves at least: where one column, or two side by side, have fewer, it takes up to so many
    #: columns apart (*Columns apart*).
    moved_bytes: int = 18
    most_apart: int = 8
    widest_beside_apart: int = 2
    #: Threads that keep a device busy; more share columns where there would be fewer (maxima of 127 x 177 columns of
    #: 255 rows 9.0 us, 15 with a quarter).
    enough_threads: int = 132 * 512
    #: Half as many are enough where each has so many elements at most (variances of 3200 columns of 256 7.9 us where
    #: blocks share them, 4.1; means of 12,700 columns of 108 7.4, 5.1).
    few_each: int = 16
    #: But then each has so many elements at least, and they go across so many bytes (sums of int8 77 us, 99 with half).
    fewest_of_few: int = 4
    narrowest_bytes: int = 128
    #: Other mappings are looked at where columns have fewer threads than fit the device so many times, and taken where
    #: they are predicted to take less than this fraction of the time (*Predicted times of columns*).
    enough_waves: int = 2
    gain: float = 0.9
    #: Few columns are taken along rows where these are predicted to take less than this fraction.
    gain_of_few: float = 0.92
    #: Registers that loads in flight take in a thread, at most (norm of 438 x 128 columns of unaligned bytes and
    #: bfloat16 283 us with 72, which spilled, 168 with 36).
    flying_registers: int = 40
    #: The same where blocks share columns, whose merges are not predicted, or operands run along different dimensions.
    gain_of_others: float = 0.8
    #: The same of columns beside rows (argmax of (255, 100, 478) bools at a step down columns 9 us, 34 along rows).
    gain_over_rows: float = 0.9
    #: Columns in pieces, and elements of each, from which on these are never taken for rows, whatever is predicted (8
    #: columns of 4,000,000 89 to 68 us, 100,000 of 800 118 to 82; but 5 of 8,000,000 64 to 80, 1,000,000 of 64 bytes 17
    #: to 21): *Columns in pieces*.
    fewest_in_pieces: int = 8
    shortest_in_pieces: int = 128
    #: How much longer kernels take than predicted where operands run along different dimensions (23 programs: 0.8 to 3
    #: times, 1.35 in the middle).
    slower_apart: float = 1.4
    #: Bytes in flight per thread in these, at most.
    most_flying_bytes: int = 128
    #: Threads across at most, where columns are not short (255 rows of 2-byte elements 25 us, 30 with twice as many).
    most_across: int = 64
    #: Groups of columns from which on blocks take chunks of them; fewer leave most of a device idle.
    fewest_chunked: int = 1 << 12
    #: Groups of columns below which 4 threads share each in chunks, not 2 (14,025 groups 173 us, 300; 52,577 194, 155).
    few_chunked: int = 1 << 15
    #: Elements of each column that a thread reads at once in chunks (295 rows of float32 215 us, 225 with 2).
    chunks_in_flight: int = 4
    #: Bytes of shared memory for the states of a block whose threads share columns.
    shared_bytes: int = 48 << 10
    #: Batches of reads that each thread should have left when several blocks share columns.
    batches_of_blocks: int = 2
    #: The fraction of threads that may be idle because there are no columns left for them.
    most_idle: float = 0.06
    #: Partials of other blocks that the last block reads ahead, so that reads do not wait for merges.
    results_ahead: int = 8
    #: Bytes of these at most (32 registers); larger ones are read one by one.
    ahead_bytes: int = 128
    #: Bytes of states of one thread's columns, in registers and later in shared memory (32 KiB per block).
    state_bytes: int = 128
    #: Blocks among which the columns of partial sums are divided, about.
    partial_tiles: int = 128


@dataclass(frozen=True)
class ColumnTiles:
    """Column kernels whose threads transpose tiles in registers."""

    #: Shorter columns are left to row kernels.
    shortest: int = 16
    #: Bytes of neighbouring columns that a block reads at once, as in :class:`Columns`: with fewer, its threads go
    #: further down each column (dot products of float32 1.04, 0.96 with 256; of float64 1.06, 0.79).
    across_bytes: int = 128
    #: Threads of a block, at least: of short columns more go across (maxima of 16 float64 beside bytes in another
    #: order, 496,186 blocks of 16 threads, 636 us; a device begins 820 blocks a microsecond).
    fewest_threads: int = 64
    #: Bytes of a column that a thread reads at once: of the widest transposed operand, one sector of memory.
    run_bytes: int = 32
    #: Other tiles are taken where they are predicted to take less than this fraction of the time.
    gain: float = 0.946
    #: How much longer they take than predicted where neighbouring columns are few, beside rows of at most so many
    #: elements (sums of 26 146 us, 64 along rows; 27 programs 0.93 of the time): *Rows beside tiles*.
    slower_than_rows: float = 1.5
    longest_of_rows: int = 512
    #: Elements of a column that a thread might read at once, where elements are few; 0: without tiles.
    few_runs: tuple[int, ...] = (0, 2, 4, 8, 16)
    #: Bytes of a thread's tile, of all operands.
    kept_bytes: int = 256
    #: Threads on an SM that the compiler leaves registers for.  It would leave them for more, and then waits for a part
    #: of a tile before it loads the rest.
    resident_threads: int = 512


@dataclass(frozen=True)
class ColumnBoxes:
    """Column kernels that read some operands through shared memory (*Boxes of columns*)."""

    #: What is tried: threads across groups of columns, places of a second dimension, threads down columns, and elements
    #: of each column that a thread takes at a time.
    lanes: tuple[int, ...] = (8, 16, 32, 64, 128)
    places: tuple[int, ...] = (2, 4, 8, 16, 32)
    threads: tuple[int, ...] = (1, 2, 4, 8)
    vectors: tuple[int, ...] = (2, 4, 8, 16)
    #: So many places, or fewer, may be all of one block.
    few_places: int = 31
    #: Threads of a block.
    fewest_threads: int = 192
    most_threads: int = 384
    #: Registers of a thread for what is in flight, and elements of several columns.
    registers: int = 40
    most_elements: int = 16
    #: Bytes of shared memory of a block, so that four or more fit an SM.
    shared_bytes: int = 36 << 10
    #: Instructions that move an element through shared memory, and those of a thread beside its elements.
    boxed: float = 9
    start: float = 80
    #: Those of a thread for each of its batches of elements.
    batch: float = 40
    #: How much longer instructions take between barriers.
    barriers: float = 1.4
    #: Requests to L2 a second, each for a part of a line or a whole one.
    requests: float = 1.6e11
    #: How much longer chunks of columns take than predicted, beside boxes (ten programs 0.89 of the time; norm of 768
    #: 425 us, 323): *Boxes sooner than chunks, and chains in one kernel behind copies*.
    slower_chunks: float = 1.17
    #: Boxes take the place of chunks of columns, some operand of which has single bytes that these read one by one,
    #: where they are predicted to take less than so many times as long, if what follows down a column is so many bytes
    #: away (*Boxes beside chunks*).
    slower_bytes: float = 1.54
    page_bytes: int = 4096
    #: Elements of the shortest columns that go through boxes (of 2 and 3 elements 1.3 to 1.6 times the time).
    shortest: int = 16


@dataclass(frozen=True)
class ResidentBoxes:
    """Chains of reductions whose blocks keep whole columns in registers, some of which come through shared memory."""

    #: What is tried beside what :class:`ColumnBoxes` says: threads down columns.
    threads: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    #: Threads of a block.
    fewest_threads: int = 128
    most_threads: int = 512
    #: Registers of a thread for what it loads at once and keeps.
    registers: int = 80
    #: Bytes of an operand that lie side by side at the places of a block, at least (2 places of bfloat16 1.4 times the
    #: time of copies).
    fewest_bytes: int = 8
    #: Bytes of shared memory of a block.
    shared_bytes: int = 48 << 10
    #: Boxes are taken where they are predicted to take less than this fraction of the time of rows.
    gain: float = 0.92
    #: And of few elements, by so many seconds at least.
    gain_of_few: float = 2e-6


@dataclass(frozen=True)
class NarrowColumns:
    """Kernels that reduce a slow dimension with few columns: vectors go across rows."""

    #: With more columns, another family takes them.
    most: int = 15
    #: Threads per block, about: they have to cover whole rows.
    block: int = 256
    #: Bytes in flight per thread (sums of three float32 columns 0.96, 0.94 with 128, 0.92 with 256); twice as many of
    #: bytes, which take longer to process (their variances 0.96, 0.91 with 64).
    in_flight_bytes: int = 64
    #: Reads in flight at most.
    most_in_flight: int = 16
    #: Threads of an SM: the blocks of a launch start at once (0.94; 0.66 with half as many, 0.91 with twice as many).
    resident_threads: int = 1024
    #: The same where a thread's states have more bytes than ``light_state_bytes``, so that it takes more registers.
    resident_threads_heavy: int = 768
    light_state_bytes: int = 64
    #: SMs of an H200.
    multiprocessors: int = 132
    #: Batches of reads that each thread should have left when several blocks share columns.
    batches_of_blocks: int = 2
    #: With so many tiles (blocks with different columns), blocks do not share columns.
    enough_tiles: int = 256
    #: Bytes of states of a thread's elements, in registers.
    state_bytes: int = 128
    #: Bytes of a block's states, which it exchanges through shared memory.
    shared_bytes: int = 48 << 10


@dataclass(frozen=True)
class ResidentColumns:
    """Kernels that keep columns in registers."""

    #: Ways to keep columns; the first that fits is used.  Each is the most bytes that a thread keeps, and the fewest
    #: bytes of neighbouring columns that a block reads at once.  The more bytes are kept, the fewer blocks fit an SM.
    ways: tuple[tuple[int, int], ...] = ((128, 64), (256, 64))
    #: What registers count as, where several operands are kept as words and their values as well (softmax over 128 with
    #: two int8 operands 455 us with 128 registers, 214 with half as many).
    share_of_registers: float = 128 / 240
    #: Tried first where columns do not begin at sectors of memory: wider reads waste a smaller part of the sectors.
    ragged: tuple[tuple[int, int], ...] = ((128, 256), (256, 256))
    #: Tried last, for elements narrower than 4 bytes: with these, two kernels are slow as well.
    thin: tuple[tuple[int, int], ...] = ((256, 32),)
    #: Elements of a column that a thread keeps at most.
    most_each: int = 16
    #: It may keep more where it then takes the whole column alone, and the column has at most so many bytes.
    alone_bytes: int = 48
    #: Half as many threads share columns where that lowers the fraction of unused register slots by more than this.
    waste: float = 0.08
    #: But only if each thread then keeps no more than so many bytes.
    waste_bytes: int = 192
    #: Threads per block, at least and at most.
    smallest_block: int = 64
    largest_block: int = 512
    #: Blocks from which on they are made larger if they move few bytes (rmsnorm over an axis of two, 446,000 blocks of
    #: 64 threads, 341 us; with blocks of 256 223).
    many_blocks: int = 1 << 14
    #: Registers of a thread beside those of elements, those with which two of the largest blocks fit, and bytes of
    #: columns that lie side by side in such blocks at least (rmsnorm over 512 of float64, float32 and float16 640 us,
    #: 456; over 255 150 us, 110).
    other_registers: int = 20
    registers_of_two: int = 66
    narrowest_of_two: int = 16
    #: Bytes of shared memory per block, for partials that its threads exchange.
    shared_bytes: int = 48 << 10
    #: Other mappings are taken where they are predicted to take less than this fraction of the time.
    gain: float = 0.87
    #: Registers of a thread in these, at most.
    most_registers: int = 128
    #: Threads across columns, by the least bytes that each reads at once: (bytes, threads), the first that fits.
    lanes: tuple[tuple[int, int], ...] = ((8, 16), (4, 64), (1, 32))
    #: The same for columns of at most so many elements, where threads share them and read less than a word of each row
    #: (softmax over 21 461 us, 365; rmsnorm over 32 318, 257).
    short: int = 32
    lanes_of_short: int = 128
    #: And of longer ones where several operands are read (softmax and norms over 64 to 128 of two and three operands,
    #: seven programs 0.98 of the time with 64, 0.91 to 1.06).
    lanes_of_several: int = 64
    #: Threads that share columns of which few lie side by side, in the smallest blocks (softmax over 16 of 2 columns
    #: 236 us, with 8 threads 128, with 4 114).
    sharers_of_few: int = 4
    #: Columns side by side, at most, whose next elements follow right behind them, that a block takes whole where they
    #: are not short (*Columns in registers of which few lie side by side*).
    most_of_piece: int = 15
    #: The elements from one row of such a piece to the next are so many times its columns, at most: of a wider array (8
    #: of 16 columns of bytes beside dense operands, rmsnorm 177 us in two passes, 103).
    gaps_of_piece: int = 2
    #: The same, at most, of short ones, where neighbouring threads go along them and then down them
    #: (*Threads along the few columns that lie side by side*).
    most_in_turn: int = 15
    #: And threads across, at least.
    fewest_in_turn: int = 16
