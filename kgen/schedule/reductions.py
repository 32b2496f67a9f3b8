"""Schedules of kernels with reductions: how many threads share a row, and whether they keep it in registers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kgen.ir.kernel import Access, Reduction
from kgen.layout.access import stride_patterns
from kgen.layout.iterator import IterationSpace, OperandLayout, iteration_space
from kgen.schedule.cut import RowStep, spread
from kgen.schedule.divide import divisors, packed
from kgen.schedule.plan import AccessKind, Schedule, TouchSchedule
from kgen.schedule.policy import Choice
from kgen.schedule.target import PORTABLE, Target

#: Threads of a block whose rows are shorter than a block's worth.
BLOCK = 256
WARP = 32

#: Bytes of a row that a thread keeps in registers at most: 32 registers for each operand that is read.
HELD_BYTES = 128

#: Threads that share a row which is read again for each round.
LOOP_THREADS = 512

_MOST = 2**31


@dataclass(frozen=True, slots=True)
class RowSchedule(Schedule):
    """``threads`` of a block share a row.  ``vectors``: groups of elements that each of them keeps in registers; 0 where
    the row is read again for each round of reductions.  ``reduced``: dimensions of the space, the first ones, that are
    reduced.  ``rank`` counts all dimensions.
    """

    threads: int = WARP
    vectors: int = 0
    reduced: int = 1

    @property
    def rows(self) -> int:
        """Rows of a block."""
        return self.block // self.threads

    @property
    def kept(self) -> int:
        """Dimensions that are kept."""
        return self.rank - self.reduced

    def suffix(self, itemsizes: Sequence[int]) -> str:
        wide = "_64bit" if self.index_bits == 64 else ""
        held = f"held{self.threads * self.vectors * self.group}" if self.vectors else "long"
        return f"rows_{held}{wide}"


# --- the space ------------------------------------------------------------------------------------------


def row_space(
    step: RowStep, shape: tuple[int, ...], layouts: Sequence[OperandLayout]
) -> tuple[IterationSpace, int]:
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
    space: IterationSpace,
    reduced: int,
    itemsizes: Sequence[int],
    alignments: Sequence[int],
    aliased: Sequence[bool],
    *,
    bounded: bool = True,
    target: Target = PORTABLE,
) -> Choice:
    """The schedule of a kernel with reductions.  ``bounded``: whether the extents are known."""
    wide = wide_touches(step)
    walks = [w and space.strides[i][0] == 1 and space.shape[0] > 1 for i, w in enumerate(wide)]
    moving = [itemsizes[i] for i, w in enumerate(wide) if w and _moves(space, i, reduced)]
    group = max(1, target.vector_bytes // max(moving, default=1)) if any(walks) else 1
    while space.shape[0] % group or not bounded and group > 1:
        group //= 2
    width = math.prod(space.shape[:reduced])
    threads, vectors = _shape(width, group, max(moving, default=4), bounded)
    block = threads if threads > WARP else max(threads, BLOCK)
    kept = IterationSpace(space.shape[reduced:], tuple(s[reduced:] for s in space.strides), space.axes[reduced:])
    numbers = list(range(len(step.touches)))
    _, found = stride_patterns(kept, numbers)
    touches: list[TouchSchedule] = []
    for i in numbers:
        kind: AccessKind = "row" if not wide[i] else "vector" if walks[i] else "gather"
        alignment = 0
        if kind == "vector":
            size = itemsizes[i]
            full = min(target.vector_bytes, group * size)
            outer = [s for n, s in zip(space.shape[1:], space.strides[i][1:], strict=True) if n > 1]
            alignment = full if alignments[i] >= full and all(s * size % full == 0 for s in outer) else size
        touches.append(TouchSchedule(kind, alignment, found[i], not aliased[i]))
    bits: Literal[32, 64] = 32 if _is_small(space, reduced, itemsizes, wide) else 64
    coordinates = tuple((axis, space.dim_of(axis)) for axis in sorted(coordinate_axes(step)))
    schedule = RowSchedule(
        "row_reduce", block, group, len(space.shape), bits, tuple(touches), coordinates, threads, vectors, reduced
    )
    return Choice(schedule, space, _reasons(schedule, width))


def _moves(space: IterationSpace, touch: int, reduced: int) -> bool:
    return any(s for n, s in zip(space.shape[:reduced], space.strides[touch][:reduced], strict=True) if n > 1)


def _shape(width: int, group: int, itemsize: int, bounded: bool) -> tuple[int, int]:
    """Threads that share a row, and groups that each holds."""
    if not bounded:
        return LOOP_THREADS, 0
    count = max(1, -(-width // group))  # groups of a row
    if count <= WARP:
        return _power(count), 1
    most = HELD_BYTES // (group * itemsize)
    for threads, vectors in ((WARP, 4), (128, 4), (256, 4), (512, 4), (512, 8), (1024, 8)):
        if count <= threads * vectors and vectors <= most:
            return threads, -(-count // threads)
    return LOOP_THREADS, 0


def _power(n: int) -> int:
    return 1 << (n - 1).bit_length()


def _is_small(space: IterationSpace, reduced: int, itemsizes: Sequence[int], wide: Sequence[bool]) -> bool:
    """Whether rows are numbered below 2^31, and places within a row, in bytes, too."""
    if math.prod(space.shape[reduced:]) >= _MOST or math.prod(space.shape[:reduced]) >= _MOST:
        return False
    for strides, size, is_wide in zip(space.strides, itemsizes, wide, strict=True):
        span = sum((n - 1) * abs(s) for n, s in zip(space.shape[:reduced], strides[:reduced], strict=True))
        if is_wide and (span + 1) * size >= _MOST:
            return False
    return True


def _reasons(schedule: RowSchedule, width: int) -> tuple[str, ...]:
    shared = f"{schedule.threads} threads share a row" if schedule.threads > 1 else "one thread a row"
    if schedule.vectors:
        held = schedule.vectors * schedule.group
        what = f"rows: {shared} of {width} elements and keep it in registers, {held} elements each: one pass over memory"
    else:
        what = f"rows: {shared}, which is too long for their registers and read again for each round of reductions"
    bits = "32-bit indices: every place within a row, in bytes, is below 2^31"
    if schedule.index_bits == 64:
        bits = "64-bit indices: a row, or their number, does not fit 32 bits"
    return (what, bits)


# --- the launch -----------------------------------------------------------------------------------------


def grid_of(schedule: RowSchedule, space: IterationSpace) -> tuple[int, int]:
    """Blocks, and rows."""
    rows = math.prod(space.shape[schedule.reduced :])
    return -(-rows // schedule.rows), rows


def row_fields(schedule: RowSchedule, space: IterationSpace) -> list[bytes]:
    """The layout struct: the width, what places and rows are divided by, strides of rows, and steps along a row."""
    wide = schedule.index_bits == 64
    signed = "q" if wide else "i"
    reduced = schedule.reduced
    kept = IterationSpace(space.shape[reduced:], tuple(s[reduced:] for s in space.strides), space.axes[reduced:])
    patterns, _ = stride_patterns(kept, list(range(len(space.strides))))
    parts = [packed("q", pattern) for pattern in patterns]
    parts.append(packed(signed, [math.prod(space.shape[:reduced])]))
    for strides, touch in zip(space.strides, schedule.touches, strict=True):
        if has_steps(schedule, touch):
            parts.append(packed(signed, [s if n > 1 else 0 for s, n in zip(strides, space.shape[:reduced], strict=False)]))
    parts += divisors(space.shape[: reduced - 1], wide)
    parts += divisors(space.shape[reduced:-1], wide)
    return parts


def has_steps(schedule: RowSchedule, touch: TouchSchedule) -> bool:
    """Whether the struct holds an operand's strides along the row."""
    return touch.access == "gather" or (touch.access == "vector" and schedule.reduced > 1)

