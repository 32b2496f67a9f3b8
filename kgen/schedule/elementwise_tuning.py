"""Tuned numbers of kernels without reductions: see :mod:`kgen.schedule.tuning`."""

from __future__ import annotations

from kgen.records import dataclass


@dataclass(frozen=True)
class Elementwise:
    """Kernels without reductions."""

    #: Threads per block: 8 blocks fit an SM if kernels take few registers, which is enough to hide latency.
    block: int = 256
    #: Twice as many threads a block where each of this many blocks moves fewer bytes: a device begins 820 blocks a
    #: microsecond (int64 of 25,830,042 coordinates, 4 KiB a block, 45 us, 62 with 256 threads).
    many_blocks: int = 1024
    block_bytes: int = 6 << 10
    #: Bytes of a group, at most, of which a thread has two; bytes of operands from and up to which it has (*Blocks that
    #: move little*).
    batched_group_bytes: int = 32
    batched_bytes: tuple[int, int] = (3 << 20, 14 << 20)
    #: Threads that the elements of a small array are spread over, where they take long (silu(g) * u of 14336 bfloat16
    #: 0.85 us with one element a thread, 1.21 with eight; of 16 x 14336 1.22 with four, 1.37 with eight, 1.41 with
    #: two).
    few_threads: int = 1 << 16
    #: Bytes of operands that stay in L2 while others are read.  Rows that share larger ones follow each other, in parts
    #: of at least and at most so many elements (16 float16 scores + a float32 mask of 16 MiB 0.73, so 0.95; 32 of 2 MiB
    #: each 0.99 and 0.97).
    kept_in_l2: int = 8 << 20
    shortest_part: int = 512
    longest_part: int = 4096
    #: Threads that take groups of two rows each, at least: with fewer, each has one.
    pair_threads: int = 1 << 17
    #: Bytes of operands that stay in L1, so that reading them for each row costs little (x * b + c, b and c of 8192
    #: bfloat16, 1.01 by rows, 1.00 by two; rotary embeddings of 1024 tokens 0.91 by rows, 1.09 by two).
    pair_bytes: int = 128 << 10
    #: Rows that share an operand so that it comes from caches (float16 and a broadcast float64, rows of 28: 14 us,
    #: and 28 with groups of two).
    shared: int = 16
    #: Bytes of a group of these, at most; half as many of 16-byte elements: neighbouring threads read so far apart
    #: (bools of 64 x 13 rows, and uint64 that these share, 58 us, 61 with 32 bytes, 107 with 128; of complex128 that
    #: fit L1 73, 56 and 129).
    shared_group_bytes: int = 64
    #: Bytes of an element of a ``flat`` kernel's other operands at most that decide its groups: neighbouring threads
    #: then read what is next to each other (bfloat16 of uint8, float32 and int32 4.8 us, 7.3 with twice the group).
    flat_itemsize: int = 4
    #: Rows of inputs of 8 bytes are taken by groups of 32 bytes, where their last group is incomplete, from this length
    #: on.
    shortest_row_of_long: int = 128
    #: Rows of bytes that are divided by what they share have two groups a thread from this length on.
    shortest_divided_row: int = 1024
    #: Bytes that a kernel reads again from which on it takes the last elements first (quantised row of 13.2 million).
    backward_bytes: int = 16 << 20
    #: Threads per block of ``strided``, where each thread computes one element and its offsets.
    strided_block: int = 128
    #: Unaligned rows of a narrow operand are read shifted from this length on.  Shorter ones are read element by
    #: element, because incomplete groups at both ends cost more than shifting saves.
    shortest_shifted_row: int = 256
    #: The same for operands that all rows share: every row meets the ends of these.
    shortest_shifted_shared_row: int = 2048
    #: Groups of so many elements belong to one row where all that is not dense is the same along rows of
    #: ``shortest_shifted_row`` elements and more (131,712 rows of 659 bytes 77 to 50 us, 19,600 of 2,562 22 to 17; but
    #: 41,236 of 668, by units of four, 8.8 to 11; groups of four as fast).
    selecting_group: int = 8
    #: Rows shorter than this waste most of their last group, and are walked element by element.
    shortest_row: int = 16
    #: Both sides of the transposed dimensions are at least this long: nearly empty tiles cost more than they save.
    shortest_side: int = 16
    #: Groups along each side of a tile: each of 256 threads transposes one square of group x group elements.
    tile_side: int = 16
    #: Fewer tiles leave a device idle (a + b.T of 1024 x 1024 float32 by 256 tiles 3.2 us, by 512 boxes 2.5).
    few_tiles: int = 264
    #: Bytes of static shared memory that tiles may take: the limit on every device.
    tile_bytes: int = 48 << 10
    #: Group width where a kernel also reads operands that are not transposed: with 8 x 8 elements of each, registers
    #: spill, and 4 x 4 are as fast.
    max_transposed_width: int = 4
    #: Groups of a box for each thread, of the side with the shortest groups.
    box_groups: tuple[int, ...] = (16, 8, 4, 2)
    #: Elements of a box for each thread, at most (``gelu(a) + b * c`` of float16, float32 and bfloat16 206 us, 257 with
    #: 16; ``a + b`` of float64 and bfloat16 242 and 255).
    box_elements: int = 8
    #: The same where all that is read has 2 bytes or fewer, and there are ``many_boxes`` (three operands of halves
    #: along three dimensions 32 us, 39 with 8).
    narrow_box_elements: int = 16
    many_boxes: int = 2048
    #: The same where there would be fewer boxes than ``few_boxes`` (307,008 elements 2.1 us, 2.6 with 8, 3.3 with 2).
    few_box_elements: int = 4
    few_boxes: int = 264
    #: What it costs to begin a box, in elements.
    block_cost: int = 256
    #: What a line of memory that a box touches costs, in sectors: of an operand along the outputs' side, and of others
    #: (105 programs by 1,373 boxes: *Long runs of what is written*).
    line_sectors: float = 2.5
    line_sectors_apart: float = 0.4
    #: A side of a box is as long as the space, or a part of it, where boxes would have so many times as many lanes as
    #: elements (`Boxes of other lengths`: 13 across 469 to 386 us, 21 170 to 140, 49 86 to 74, 65 94 to 91).
    idle_box: float = 1.07
    #: The outputs' side of a box takes dimensions that not all operands continue until it has this many elements.
    shortest_width: int = 64
    #: A side of a box takes no more dimensions from this many elements on.
    longest_side: int = 256
    #: From this length of both sides on, halves in two orders take tiles whose rows begin at sectors: those at the ends
    #: move element by element (*Transposes of an odd number of halves: what bounds them*).
    shortest_skewed_side: int = 12288
    #: Registers (4 bytes each) into which a tiled kernel may load other operands before it waits for the tile.
    prefetch_registers: int = 32
