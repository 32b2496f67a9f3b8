"""What a launch of a kernel with reductions passes: how rows are handed out to blocks, and the layout struct."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kgen.layout.access import stride_patterns
from kgen.layout.iterator import IterationSpace
from kgen.schedule.divisors import divisors, packed
from kgen.schedule.reduction.columns import COLUMN_BLOCKS, across_space
from kgen.schedule.reduction.schedule import IN_FLIGHT, RowSchedule

#: Blocks in all where several share a row: the more, the sooner the last is done (sum of 2^28 float32 1.08 of a copy,
#: 1.07 with half as many), but for rows in pieces, where a span takes longer to begin (1.03 and 1.04).
SPAN_BLOCKS, PIECE_BLOCKS = 4096, 2048


@dataclass(frozen=True, slots=True)
class Grid:
    """``tiles``: blocks that have rows of their own.  ``spans``: blocks that share each of these; ``length`` of a span.

    ``partials``: results of one reduction that blocks leave for the last one.
    """

    tiles: int
    spans: int
    length: int
    rows: int
    partials: int


def grid_of(schedule: RowSchedule, space: IterationSpace) -> Grid:
    """How rows and their elements are handed out."""
    reduced = schedule.reduced
    rows, width = math.prod(space.shape[reduced:]), math.prod(space.shape[:reduced])
    if schedule.template == "column_reduce":
        tiles = -(-space.shape[reduced] // schedule.rows) * math.prod(space.shape[reduced + 1 :])
        each = schedule.threads * schedule.vectors
    else:
        tiles = -(-rows // schedule.rows) * schedule.cluster
        each = schedule.threads * schedule.group * IN_FLIGHT
    if not schedule.split:
        return Grid(tiles, 1, width, rows, 0)
    whole = SPAN_BLOCKS if reduced == 1 else PIECE_BLOCKS
    blocks = COLUMN_BLOCKS if schedule.template == "column_reduce" else whole
    spans = max(1, min(-(-width // each), -(-blocks // max(tiles, 1))))
    length = -(-width // (spans * each)) * each
    spans = -(-width // length)
    return Grid(tiles, spans, length, rows, tiles * spans * schedule.rows)


def row_fields(schedule: RowSchedule, space: IterationSpace) -> list[bytes]:
    """The layout struct: the width, what places and rows are divided by, strides of rows, and steps along a row."""
    wide = schedule.index_bits == 64
    signed = "q" if wide else "i"
    reduced = schedule.reduced
    kept = IterationSpace(space.shape[reduced:], tuple(s[reduced:] for s in space.strides), space.axes[reduced:])
    counts, units = [], [*kept.shape]
    if schedule.by_columns:
        # What is counted off first: blocks of columns, or groups of those that blocks keep.
        unit = schedule.rows if schedule.template == "column_reduce" else schedule.group
        units[0] = -(-kept.shape[0] // unit)
        counts = [kept.shape[0] if schedule.template == "column_reduce" else math.prod(units)]
        kept = across_space(space, reduced)
    patterns, _ = stride_patterns(kept, [i for i, t in enumerate(schedule.touches) if t.access != "staged"])
    parts = [packed("q", pattern) for pattern in patterns]
    parts.append(packed(signed, [math.prod(space.shape[:reduced]), *counts]))
    if schedule.split:
        parts.append(packed(signed, [grid_of(schedule, space).length]))
    for number, strides in enumerate(space.strides):
        if steps := steps_of(schedule, number):
            parts.append(packed(signed, [strides[d] if space.shape[d] > 1 else 0 for d in steps]))
    parts += divisors(space.shape[: max(reduced - 1, 0)], wide)
    return parts + divisors(units[:-1], wide)


def steps_of(schedule: RowSchedule, number: int) -> tuple[int, ...]:
    """The dimensions along which the struct holds an operand's strides: of a row; down a column, then across."""
    access, along = schedule.touches[number].access, tuple(range(schedule.reduced))
    if schedule.by_columns:
        return (*(along if number in schedule.down else ()), *((schedule.reduced,) if access == "gather" else ()))
    return along if access == "gather" else along[1:] if access == "vector" else ()
