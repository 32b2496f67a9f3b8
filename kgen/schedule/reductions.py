"""Schedules of kernels with reductions: how many threads share a row, and whether they keep it in registers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kgen.ir.kernel import Access, Reduction
from kgen.layout.access import stride_patterns
from kgen.layout.iterator import IterationSpace, OperandLayout, iteration_space
from kgen.schedule.cut import RowStep, spread
from kgen.schedule.evict_last import evicted_last, exceeds_l2
from kgen.schedule.few import few_vectors, two_vectors
from kgen.schedule.peel import NEAR_BLOCK, SHORTEST, SHORTEST_SHIFTED, leader, margins, most_singles
from kgen.schedule.plan import AccessKind, Schedule, TouchSchedule
from kgen.schedule.policy import Choice, is_shifted
from kgen.schedule.row_reasons import row_reasons
from kgen.schedule.stage import stage
from kgen.schedule.stay import kept_near
from kgen.schedule.target import PORTABLE, Target

if TYPE_CHECKING:
    from kgen.schedule.bind import Array

#: Threads of a block whose rows are a warp's work or less: small blocks come and go evenly (1024 bfloat16: 1.02 of a
#: copy, 1.00 with 256).
SHORT_BLOCK = 64
WARP = 32

#: Elements of a row that a thread keeps in registers: enough for several loads in flight, and for rounds of reductions
#: to be a small part of the work.
ELEMENTS = 32

#: Bytes of a row that a thread keeps in registers where a block's worth of threads has less to do otherwise: more
#: bytes in flight, and the exchange a smaller part, beat more threads (16384 bfloat16: 0.99 of a copy and 0.87).
HELD_BYTES = 128

#: Threads that share a row which is read again for each round; twice as many where rows do not stay in the caches near
#: an SM until then, or where every element is a load of its own.
LOOP_THREADS = 512
LONGEST_NEAR = 1 << 16

#: Longer rows have rounds of reductions joined where that is possible: up to here an exchange costs little.
LONGEST_IN_ROUNDS = 4096

#: A chain of rounds is one block's work a row: at least so many rows, or rows so short that one block is done with them
#: before another kernel could start.
FEWEST_ROWS = 64
LONGEST_ALONE = 1 << 16

#: Blocks that keep a device busy: several for each of about 130 SMs, in several waves.
ENOUGH_BLOCKS = 1024

#: Groups of a row that a thread reads at once where several blocks share the row.
IN_FLIGHT = 8

_MOST = 2**31


@dataclass(frozen=True, slots=True)
class RowSchedule(Schedule):
    """``threads`` of a block share a row.  ``vectors``: groups of elements that each of them keeps in registers; 0
    where the row is read again for each round of reductions.  ``reduced``: dimensions of the space, the first ones,
    that are reduced.  ``rank`` counts all dimensions.  ``split``: whether several blocks share a row, each a span of
    it; the last to arrive merges their results.  ``cluster``: how many blocks share a row that they keep in registers,
    and exchange through each other's shared memory.  ``repeat``: how many rows a thread takes one after the other.
    ``near``: a touch of which a block keeps in shared memory what all rows share, while clusters take row after row.
    ``evict_last``: touches of which L2 is told to evict last what is read.

    In a column kernel a group is ``group`` rows that are consecutive in memory, ``threads`` of the block share it, and
    each of them reads ``vectors`` of its elements before it uses them.  ``tall``: whether a thread may have twice as
    many, or more.
    """

    threads: int = WARP
    vectors: int = 0
    reduced: int = 1
    split: bool = False
    cluster: int = 1
    repeat: int = 1
    tall: bool = False
    near: int | None = None
    evict_last: tuple[int, ...] = ()

    @property
    def sharers(self) -> int:
        """Threads that share a row, of all blocks."""
        return self.threads * self.cluster

    @property
    def rows(self) -> int:
        """Rows of a block."""
        rows = self.block // self.threads * self.repeat
        return rows * self.group if self.template == "column_reduce" else rows

    @property
    def held(self) -> int:
        """Elements of a row that there are registers for."""
        return self.sharers * self.vectors * self.group

    @property
    def fills(self) -> bool:
        """Whether rows are so long that no thread's groups but its last one lie outside, and that is made use of.

        Fewer questions let the compiler read further ahead, which takes registers: none are left in longer rows.
        """
        few = self.rows == 1 and self.lead is None and self.vectors * self.group <= ELEMENTS
        return self.vectors > 1 and (self.stages or few or self.near is not None)

    @property
    def stages(self) -> bool:
        """Whether rows go by way of shared memory."""
        return any(t.access == "staged" for t in self.touches)

    @property
    def shifts(self) -> bool:
        """Whether groups of some operand are shifted out of aligned blocks."""
        return any(t.access == "shifted" for t in self.touches)

    @property
    def kept(self) -> int:
        """Dimensions that are kept."""
        return self.rank - self.reduced

    def suffix(self, itemsizes: Sequence[int]) -> str:
        wide = "_64bit" if self.index_bits == 64 else ""
        held = f"held{self.held}" if self.vectors else "long"
        shape = "columns" if self.template == "column_reduce" else f"rows_{held}"
        ends = "_staged" if self.stages else "_peeled" if self.lead is not None else ""
        cluster = "" if self.cluster == 1 else "_cluster" if self.near is None else "_staying"
        shared = "_split" if self.split else cluster
        return f"{shape}{ends}{shared}{wide}"


# --- the space ------------------------------------------------------------------------------------------


def row_space(step: RowStep, shape: tuple[int, ...], layouts: Sequence[OperandLayout]) -> tuple[IterationSpace, int]:
    """The reduced dimensions, fastest first, then the kept ones; and how many are reduced.

    Both are ordered after the operands that walk the most axes.  Where a reduction gives a place in its row, the
    reduced axes keep the order of the program.
    """
    order = sorted(range(len(layouts)), key=lambda i: -sum(a is not None for a in step.touches[i].axes))
    linear = any(isinstance(op.attr, Reduction) and op.attr.kind in ("argmin", "argmax") for op in step.kernel.ops)
    parts: list[IterationSpace] = []
    for first, last in ((step.kept, len(shape)), (0, step.kept)):
        keep = frozenset(a - first for a in coordinate_axes(step) if first <= a < last)
        seen = [OperandLayout(layouts[i].shape[first:last], layouts[i].strides[first:last]) for i in order]
        part = iteration_space(shape[first:last], seen, keep=keep, linear=linear and first == step.kept)
        axes = tuple(tuple(a + first for a in merged) for merged in part.axes)
        strides = tuple(part.strides[order.index(i)] for i in range(len(layouts)))
        parts.append(IterationSpace(part.shape, strides, axes))
    reduced, kept = parts
    space = IterationSpace(
        reduced.shape + kept.shape,
        tuple(a + b for a, b in zip(reduced.strides, kept.strides, strict=True)),
        reduced.axes + kept.axes,
    )
    return space, len(reduced.shape)


def coordinate_axes(step: RowStep) -> frozenset[int]:
    """The axes of the space that ``index()`` reads."""
    found: set[int] = set()
    for number, op in enumerate(step.kernel.ops):
        if op.name == "index" and isinstance(op.attr, int):
            place = step.places[number][op.attr]
            if place is not None:
                found.add(place)
    return frozenset(found)


def wide_touches(step: RowStep) -> tuple[bool, ...]:
    """For each touch, whether it moves along a row."""
    rank = len(step.shape)
    wide = {
        (op.attr.operand, spread(op, step.places[n], rank))
        for n, op in enumerate(step.kernel.ops)
        if isinstance(op.attr, Access) and step.is_wide(n)
    }
    return tuple((t.operand, t.axes) in wide for t in step.touches)


# --- the choice -----------------------------------------------------------------------------------------


def choose_rows(
    step: RowStep,
    reduced: int,
    space: IterationSpace,
    itemsizes: Sequence[int],
    addresses: Sequence[int],
    aliased: Sequence[bool],
    *,
    bounded: bool = True,
    target: Target = PORTABLE,
) -> Choice:
    """The schedule of a kernel with reductions.

    ``addresses``: of the operands, modulo the widest access.  ``bounded``: whether the extents are known.
    """
    wide = wide_touches(step)
    walks = [w and space.strides[i][0] == 1 and space.shape[0] > 1 for i, w in enumerate(wide)]
    moving = [itemsizes[i] for i, w in enumerate(wide) if w and _moves(space, i, reduced)]
    group = max(1, target.vector_bytes // max(moving, default=1)) if any(walks) else 1
    width = math.prod(space.shape[:reduced])
    walking = [i for i, w in enumerate(walks) if w]
    written = {i for i, w in enumerate(wide) if w and step.touches[i].writes}
    flat = stage(space, walking, written, itemsizes, addresses, group) if bounded and reduced == 1 else None
    lead: int | None = None
    alike: Set[int] = frozenset()
    if flat is not None:
        group, lead = flat.group, flat.lead
    elif group > 1 and reduced == 1 and (width * max(moving) >= SHORTEST or not bounded):
        lead, alike = leader(space, walking, itemsizes, addresses, group, bounded=bounded)
    whole = group > 1 and width % group == 0 and reduced == 1
    while lead is None and (space.shape[0] % group or (not bounded and group > 1)):
        group //= 2
    may_shift = lead is not None and flat is None and (width >= SHORTEST_SHIFTED or not bounded)
    shifted = [
        i for i in walking if may_shift and i not in alike and i not in written and is_shifted(itemsizes[i], group)
    ]
    staged: Set[int] = flat.operands if flat is not None else frozenset()
    kept = IterationSpace(space.shape[reduced:], tuple(s[reduced:] for s in space.strides), space.axes[reduced:])
    numbers = list(range(len(step.touches)))
    strided = [i for i in numbers if i not in staged]
    patterns, places = stride_patterns(kept, strided)
    found = dict(zip(strided, places, strict=True))
    # What all rows share is read where it is needed.
    reads = [i for i in numbers if wide[i] and step.touches[i].reads]
    own = [i for i in reads if i in staged or found.get(i) is not None or not patterns]
    held = sum(itemsizes[i] for i in own)
    as_much = max((itemsizes[i] for i in written), default=0) >= held
    rows = math.prod(space.shape[reduced:])
    weights = len(reads) - len(own)  # operands that all rows share
    sizes = rows * width * held, rows * width * sum(itemsizes[i] for i in written)
    large = bounded and exceeds_l2(target, *sizes) and (lead is None or weights < 2)
    starts = [addresses[i] == 0 and bool(patterns) and found.get(i) is None for i in numbers]  # where vectors do
    if flat is not None:
        threads, vectors, cluster, block, repeat = flat.threads, flat.vectors, 1, flat.block, flat.repeat
    elif bounded and whole and lead is None and as_much and (pairs := two_vectors(width // group)):
        threads, vectors, cluster, block, repeat = pairs, 2, 1, max(pairs, SHORT_BLOCK), 1
    elif bounded and whole and lead is None and (few := few_vectors(width // group)):
        (threads, vectors), cluster, block, repeat = few, 1, SHORT_BLOCK, 1
    else:
        largest = 1 if is_plain(step) else target.cluster
        near = [(NEAR_BLOCK // itemsizes[i], True) if starts[i] else (group, False) for i in shifted]
        least = 1 if lead is None else most_singles(group, margins(group, near))  # one for each
        grouped = width if lead is None else width // group * group
        threads, vectors, cluster = _shape(grouped, group, held, max(step.phase()), least, largest, bounded=bounded)
        block, repeat = threads if threads > WARP else max(threads, SHORT_BLOCK), 1
    # More in flight for each exchange: layernorm of 2048 bfloat16 1.03 of a copy and not 1.00, of 8192 1.02 and 0.95.
    if large and weights > 1 and threads > WARP and cluster == 1 and 0 < 2 * vectors * group * held <= HELD_BYTES:
        threads //= 2
        vectors, block = -(-width // (group * threads)), max(threads, SHORT_BLOCK)
    split = bounded and not vectors and is_plain(step) and -(-rows // (block // threads)) < ENOUGH_BLOCKS
    touches: list[TouchSchedule] = []
    for i in numbers:
        kind: AccessKind = "row" if not wide[i] else "vector" if walks[i] else "gather"
        alignment = 0
        if i in staged:
            kind, alignment = "staged", target.vector_bytes if addresses[i] == 0 else itemsizes[i]
        if kind == "vector":
            size = itemsizes[i]
            aligned = _is_aligned(space, i, group * size, size, addresses[i]) if lead is None else i in alike
            alignment = group * size if aligned else size
            if i in shifted:
                kind, alignment = "shifted", target.vector_bytes if starts[i] else size
        touches.append(TouchSchedule(kind, alignment, found.get(i), not aliased[i]))
    bits: Literal[32, 64] = 32 if is_small(space, reduced, itemsizes, wide) else 64
    coordinates = tuple((axis, space.dim_of(axis)) for axis in sorted(coordinate_axes(step)))
    stays = cluster > 1 and lead is None and bits == 32 and reduced == 1
    each = vectors * group
    keeps = kept_near(step, touches, itemsizes, threads, cluster, each) if stays else None
    lasts = large and vectors > 0 and keeps is None
    schedule = RowSchedule(
        "row_reduce",
        block,
        group,
        len(space.shape),
        bits,
        tuple(touches),
        coordinates,
        lead,
        threads=threads,
        vectors=vectors,
        reduced=reduced,
        split=split,
        cluster=cluster,
        repeat=repeat,
        near=keeps,
        evict_last=evicted_last(step, touches, itemsizes, own, group, target.vector_bytes) if lasts else (),
    )
    return Choice(schedule, space, row_reasons(schedule, step, width, plain=is_plain(step)))


def _is_aligned(space: IterationSpace, touch: int, full: int, size: int, address: int) -> bool:
    """Whether every row of an operand begins at a multiple of ``full`` bytes."""
    outer = [s for n, s in zip(space.shape[1:], space.strides[touch][1:], strict=True) if n > 1]
    return address % full == 0 and all(s * size % full == 0 for s in outer)


def _moves(space: IterationSpace, touch: int, reduced: int) -> bool:
    return any(s for n, s in zip(space.shape[:reduced], space.strides[touch][:reduced], strict=True) if n > 1)


def _shape(
    width: int, group: int, element: int, rounds: int, least: int, largest: int, *, bounded: bool
) -> tuple[int, int, int]:
    """Threads of a block that share a row, groups that each holds, and blocks that share a row.

    ``element``: bytes of an element of all that is held.  ``least``: threads that a row has to have.  ``largest``:
    blocks that may form a cluster.
    """
    if not bounded:
        return LOOP_THREADS, 0, 1
    count = max(1, -(-width // group))  # groups of a row
    vectors = max(1, ELEMENTS // group)
    for threads in (1, 2, 4, 8, 16, WARP, 64, 128, 256):
        if threads >= least and count <= threads * vectors:
            return threads, -(-count // threads), 1
    more = max(vectors, HELD_BYTES // (group * max(element, 1)))
    for threads in (256, 512):
        if count <= threads * more:
            return threads, -(-count // threads), 1
    if rounds == 1 and count <= 2 * LOOP_THREADS * vectors:
        return 2 * LOOP_THREADS, -(-count // (2 * LOOP_THREADS)), 1
    for threads, cluster in ((256, 2), (256, 4), (256, 8), (512, 8)):
        if cluster <= largest and count <= threads * cluster * more:
            return threads, -(-count // (threads * cluster)), cluster
    return (LOOP_THREADS if width <= LONGEST_NEAR and group > 1 else 2 * LOOP_THREADS), 0, 1


def is_small(space: IterationSpace, reduced: int, itemsizes: Sequence[int], wide: Sequence[bool]) -> bool:
    """Whether rows are numbered below 2^31, and places within a row, in bytes, too."""
    if math.prod(space.shape[reduced:]) >= _MOST or math.prod(space.shape[:reduced]) >= _MOST:
        return False
    for strides, size, is_wide in zip(space.strides, itemsizes, wide, strict=True):
        span = sum((n - 1) * abs(s) for n, s in zip(space.shape[:reduced], strides[:reduced], strict=True))
        if is_wide and (span + 1) * size >= _MOST:
            return False
    return True


def is_plain(step: RowStep) -> bool:
    """Whether a kernel has one round of reductions, and then writes one element a row."""
    return max(step.phase()) == 1 and not any(
        op.name == "store" and step.is_wide(n) for n, op in enumerate(step.kernel.ops)
    )


def better_apart(step: RowStep, extents: Mapping[str, int], arrays: Sequence[Array | None]) -> bool:
    """Whether a chain of rounds is better cut into kernels.

    That is so where it leaves most of a device idle, as one block a row, or where rows lie across memory.
    """
    if is_plain(step):
        return False
    sizes = [1 if dim == 1 else extents[dim] for dim in step.shape]
    rows, width = math.prod(sizes[: step.kept]), math.prod(sizes[step.kept :])
    if rows < FEWEST_ROWS and width > LONGEST_ALONE:
        return True
    wide = [(t, arrays[t.operand]) for t, w in zip(step.touches, wide_touches(step), strict=True) if w]
    strides = [
        {a: x.strides[axis] for a, axis in enumerate(t.axes) if axis is not None and sizes[a] > 1}
        for t, x in wide
        if x is not None
    ]
    whole = [s for s in strides if len(s) == sum(n > 1 for n in sizes)]
    across = [any(a < step.kept and abs(v) == 1 for a, v in s.items()) for s in whole]
    return bool(whole) and all(across) and width * rows > LONGEST_ALONE


def better_joined(step: RowStep, extents: Mapping[str, int]) -> bool:
    """Whether rows are so long that another exchange between threads, or another reading, costs more than rescaling."""
    return math.prod(1 if dim == 1 else extents[dim] for dim in step.shape[step.kept :]) > LONGEST_IN_ROUNDS
