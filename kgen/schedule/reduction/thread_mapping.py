"""Thread mapping: how many threads, and blocks of a cluster, share a row, and how many elements each thread keeps."""

from __future__ import annotations

from kgen.records import dataclass, replace
from kgen.schedule.target import WARP
from kgen.schedule.trace import reaches
from kgen.schedule.tuning import H200, Rows


@dataclass(frozen=True, slots=True)
class Order:
    """Floats of a row are added as so many ``threads`` add them, each of which has so many ``groups``."""

    threads: int
    groups: int


@dataclass(frozen=True, slots=True)
class ThreadMapping:
    """The fields are as in :class:`~kgen.schedule.reduction.schedule.RowSchedule`."""

    threads: int
    vectors: int
    cluster: int = 1
    block: int = H200.rows.short_block
    rows_per_thread: int = 1
    order: Order | None = None


@dataclass(frozen=True, slots=True)
class RowDemand:
    """What the thread mapping of a row of ``width`` elements, in groups of ``group``, depends on.

    ``element``: bytes per element of all operands that are kept.  ``rounds``: rounds of reductions.  ``least``: threads
    per row, at least.  ``largest``: blocks per cluster, at most.  ``along``: whether the width is known.  ``writes``:
    whether elements of rows are written; ``as_much``: whether at least as much as is read, by one operand; ``several``:
    the same, by all of them, where several are kept.  ``plain``: whether a kernel has one round, and writes one result
    for each row.  ``walks``: whether long rows are then walked, where they are not kept in few registers (norms
    of 12,495 elements in pieces of 49 132 us, 239 in registers).  ``pieces``: whether a row has several dimensions.
    ``shared``: operands that all rows share.  ``singles``: elements at its ends that are no part of a group.
    """

    width: int
    group: int
    element: int
    rounds: int
    least: int
    largest: int
    along: bool
    writes: bool
    as_much: bool
    several: bool = False
    plain: bool = False
    walks: bool = False
    pieces: bool = False
    shared: int = 0
    singles: int = 0
    tuning: Rows = H200.rows

    @property
    def count(self) -> int:
        """Groups of a row."""
        return max(1, -(-self.width // self.group))

    def vectors(self, elements: int, size: int) -> int:
        """Groups that a thread keeps, within these limits of elements and of bytes (``size``)."""
        return max(1, min(elements, size // max(self.element, 1)) // self.group)


def one_row_mapping(threads: int, vectors: int, cluster: int = 1, tuning: Rows = H200.rows) -> ThreadMapping:
    """The mapping for ``threads`` per row: a block takes one row, or several short ones."""
    return ThreadMapping(threads, vectors, cluster, threads if threads > WARP else max(threads, tuning.short_block))


def few_mapping(rows: int, threads: int, vectors: int, tuning: Rows) -> ThreadMapping:
    """The mapping of few ``rows``: a block takes one row, or several short ones."""
    return ThreadMapping(threads, vectors, block=few_block(rows, threads, tuning))


def few_block(rows: int, threads: int, tuning: Rows) -> int:
    """Threads of a block that takes one of few ``rows``, or several short ones."""
    if threads > WARP:
        return threads
    return tuning.filled_block if reaches(rows * threads, tuning.few_filled) else tuning.short_block


def filled(mapping: ThreadMapping, row_bytes: int, *, many: bool, tuning: Rows = H200.rows) -> ThreadMapping:
    """The mapping with blocks large enough to move ``block_bytes``, or twice that where there are ``many`` threads.
    ``row_bytes``: read and written per row.

    ``many``: whether there are so many threads that the rate at which blocks begin may bound them.
    """
    block, threads, least = mapping.block, mapping.threads, tuning.block_bytes * (2 if many else 1)
    while threads <= WARP and block < tuning.filled_block and block // threads * row_bytes < least:
        block = tuning.filled_block if many else 2 * block
    return replace(mapping, block=block)


def in_powers(mapping: ThreadMapping, count: int, segment: int, tuning: Rows = H200.rows) -> ThreadMapping:
    """The mapping of a row of ``count`` groups with a power of two of them a thread, so that it has whole segments of
    ``segment`` groups.  Where it has parts of several ones, only its last group may be outside: else as it was.
    """
    each = 1 << (mapping.vectors - 1).bit_length()
    threads = -(-count // each)
    threads = -(-threads // (2 * WARP)) * 2 * WARP if threads > WARP else mapping.threads
    if segment % each and (each - 1) * threads >= count:
        return mapping
    return one_row_mapping(threads, each, tuning=tuning)


def map_few_vectors(count: int, *, in_pairs: bool, tuning: Rows = H200.rows) -> ThreadMapping | None:
    """The mapping of a row of ``count`` vectors; None for longer rows.  ``in_pairs``: see below."""
    if in_pairs and (pairs := threads_for_two_vectors(count)):
        return one_row_mapping(pairs, 2, tuning=tuning)
    few = threads_for_few_vectors(count, tuning.most_sharing_few)
    return None if few is None else ThreadMapping(*few, block=tuning.short_block)


def threads_for_few_vectors(count: int, most: int = H200.rows.most_sharing_few) -> tuple[int, int] | None:
    """Threads that share a row of ``count`` vectors, and vectors per thread; None for longer rows.

    As few idle lanes as possible, then as few vectors per thread, at least two: neighbouring threads then read
    neighbouring memory (rows of 32 bfloat16: 1.00 of a copy with 2 threads, 0.66 with one; of 72: 0.73 with 8 threads
    of 2).
    """
    if count <= 2:
        return count, 1
    found = [(threads * v - count, v, threads) for v in (2, 3, 4) for threads in (2, 4, most)]
    _, vectors, threads = min((f for f in found if f[0] >= 0), default=(0, 0, 0))
    return (threads, vectors) if threads else None


def threads_for_two_vectors(count: int) -> int | None:
    """Threads that share a row of ``count`` vectors, two each, with few idle lanes; None where none fits.

    For kernels that write as much as they read: with less work per thread, the load is balanced better (256 bfloat16:
    1.03 of a copy, 1.01 with four vectors each).  Where less is written, four vectors are better (sum: 0.81, 1.06); but
    not where each of them takes another of a weight (rmsnorm of 2048 to fp8: one row 1.31 us, 1.51 with four).
    """
    return next((n for n in (16, 32, 64, 128) if 14 * n <= 8 * count <= 16 * n), None)


def map_row(row: RowDemand) -> ThreadMapping:
    """The mapping with the fewest threads that can keep a row; where none can, rows are read again for each round."""
    tuning = row.tuning
    if not row.along:
        return _of_any_length(row)
    for threads, cluster, vectors in _candidates(row):
        if cluster <= row.largest and row.count <= threads * cluster * vectors:
            if cluster == 1 and threads > WARP:
                threads = _without_idle_warps(row, threads, vectors)
            assert threads >= row.singles  # each is one thread's work
            return one_row_mapping(threads, -(-row.count // (threads * cluster)), cluster, tuning)
    longest = tuning.longest_walk if row.plain else tuning.longest_cached
    threads = tuning.walk_threads if row.plain else tuning.loop_threads
    is_short = row.width <= longest and (row.group > 1 or row.walks)
    return one_row_mapping(threads * (1 if is_short else 2), 0, tuning=tuning)


def _of_any_length(row: RowDemand) -> ThreadMapping:
    """One of a few mappings, for files whose rows have any length: threads keep a few groups, or walk the row."""
    tuning = row.tuning
    most = row.vectors(tuning.elements, tuning.kept_bytes)
    for threads, vectors in tuning.open_mappings if row.group > 1 else (tuning.open_elements,):
        each = min(vectors, most)
        if threads >= row.least and row.count <= threads * each:
            return one_row_mapping(threads, each, tuning=tuning)
    return one_row_mapping(tuning.loop_threads, 0, tuning=tuning)


def _without_idle_warps(row: RowDemand, threads: int, most: int) -> int:
    """As few warps, up to ``threads``, as keep a row with the same number of groups each, at most ``most``: an even
    number, or an odd one without idle lanes.

    Rows of 4608 bfloat16 take 192 threads with 3 vectors each; of 256, a quarter would be idle (layernorm 73 us, 85
    with these).  Odd numbers of warps and more vectors are slower than idle lanes where rows are few (of 5120, 160
    threads with 4 vectors take 3% to 11% longer than 256 with 3); but beside two operands that all rows share,
    which leave few registers, many rows take 10% less (*Odd numbers of warps*).
    """
    each = -(-row.count // threads)
    least, crowded = max(row.least, 2 * WARP), row.shared > 1 and each < row.tuning.most_alone
    for groups in (each, each + 1) if crowded else (each,):
        fewer = row.count // groups
        if row.count % (groups * WARP) == 0 and groups <= most and fewer >= least and not row.several:
            return fewer
    return max(least, -(-row.count // (each * 2 * WARP)) * 2 * WARP)


def _candidates(row: RowDemand) -> list[tuple[int, int, int]]:
    """Threads per row and block, blocks per cluster, and groups per thread at most; the smallest first."""
    tuning = row.tuning
    if row.several:
        each = row.vectors(tuning.several_elements, tuning.kept_bytes)
    elif row.writes:
        each = row.vectors(tuning.elements, tuning.kept_bytes)
    else:
        each = row.vectors(max(tuning.read_elements, tuning.read_bytes // max(row.element, 1)), tuning.kept_bytes)
    most = row.vectors(row.width, tuning.most_kept_bytes)
    kept = row.vectors(row.width, tuning.kept_bytes)
    short = [(threads, 1, each) for threads in (1, 2, 4, 8, 16, WARP, 64, 128, 256) if threads >= row.least]
    if row.walks:
        return [*short[:-1], (256, 1, min(each, tuning.several_elements))]
    alone = [(256, 1, most if row.as_much and row.element >= 4 else kept), (512, 1, kept)]
    if row.writes and not (row.as_much or row.several) and kept * row.group > tuning.several_elements:
        alone.insert(1, (128, 4, kept))  # a block of 512 threads with so many registers is alone on an SM
    return [*short, *alone, *_together(row, kept, most)]


def _together(row: RowDemand, kept: int, most: int) -> list[tuple[int, int, int]]:
    """The same of rows that are longer than 512 threads keep."""
    if row.plain and row.pieces:  # read once in any case (means of 29,100 elements, 960 threads 225 us, 256 192)
        return []
    if row.rounds == 1 and row.largest == 1:  # one exchange among many threads is faster than reading again
        tuning = row.tuning
        return [(2 * tuning.loop_threads, 1, row.vectors(tuning.elements, tuning.kept_bytes))]
    return [(256, 2, kept), (256, 4, kept), (256, 8, kept), (256, 8, most), (512, 8, kept)]
