"""What a launch passes besides pointers: grid, element count, and the layout struct's bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kgen.layout.access import stride_patterns
from kgen.layout.iterator import IterationSpace
from kgen.schedule.divisors import divisors, packed
from kgen.schedule.elementwise.groups import outer_patterns, row_steps, spans, work_shape
from kgen.schedule.reduction.launch import grid_of, row_fields
from kgen.schedule.reduction.schedule import RowSchedule
from kgen.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Launch:
    """Run-time facts of one launch of a kernel.

    ``n``: elements, or groups of elements (rows).  ``layout`` is empty when the kernel takes no layout struct.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    n: int
    layout: bytes
    tiles: int = 0  # groups of blocks that wait for each other
    partials: int = 0  # results that blocks leave for the last of their group, of each reduction
    stays: int = 0  # blocks of a cluster, where as many clusters as fit a device take row after row


def launch_of(schedule: Schedule, space: IterationSpace) -> Launch:
    """One thread for each group of elements, or one block for each tile; no kernel loops over the grid."""
    if isinstance(schedule, RowSchedule):
        grid = grid_of(schedule, space)
        fields = layout_bytes(schedule, space)
        block = (schedule.block, 1, 1)
        stays = schedule.cluster if schedule.near is not None else 0
        return Launch((grid.tiles, grid.spans, 1), block, grid.rows, fields, grid.tiles, grid.partials, stays)
    if schedule.template == "tiled":
        n = blocks = math.prod(work_shape(schedule, space.shape))
    elif schedule.template == "rows":
        n = math.prod(work_shape(schedule, space.shape))
        blocks = -(-n // schedule.block)
    else:
        n = space.numel
        reached = n + (0 if schedule.lead is None else schedule.group - 1)
        blocks = -(-reached // (schedule.block * schedule.group))
    return Launch((blocks, 1, 1), (schedule.block, 1, 1), n, layout_bytes(schedule, space))


def layout_bytes(schedule: Schedule, space: IterationSpace) -> bytes:
    """The struct that ``codegen/kernels.py`` declares: extents (with their magic numbers), then strides."""
    wide = schedule.index_bits == 64
    if isinstance(schedule, RowSchedule):
        return b"".join(row_fields(schedule, space))
    if schedule.template in ("rows", "tiled"):
        return _group_layout(schedule, space, wide)
    parts: list[bytes] = []
    if schedule.rank > 1:
        parts += divisors(space.shape[: schedule.rank - 1], wide)
    strided = [i for i, t in enumerate(schedule.touches) if t.access == "strided"]
    if strided:
        patterns, _ = stride_patterns(space, strided)
        parts.append(packed("q" if wide else "i", [s for pattern in patterns for s in pattern]))
    return b"".join(parts)


def _group_layout(schedule: Schedule, space: IterationSpace, wide: bool) -> bytes:
    """The struct of a row or tile kernel: its sides, what work numbers are divided by, strides, steps, spans."""
    sides = 1 if schedule.template == "rows" else 2
    signed = "q" if wide else "i"
    parts = [packed(signed, space.shape[:sides])]
    parts += divisors(work_shape(schedule, space.shape)[:-1], wide)
    parts += [packed(signed, pattern) for pattern in outer_patterns(schedule, space)]
    parts.append(packed(signed, row_steps(schedule.touches, space)))
    if schedule.template == "rows":
        parts.append(packed(signed, spans(schedule, space)))
    return b"".join(parts)
