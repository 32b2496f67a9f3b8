"""Row and tile kernels: which strides each operand needs, and the work items that threads or blocks divide.

The fastest dimension is walked by groups; what is left of an operand's strides says where rows (or tiles) begin.
Used alike for choosing a schedule and for filling a launch's layout struct, so that both agree.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.layout.iterator import IterationSpace
from kgen.schedule.schedule import AccessKind, Schedule, TouchSchedule

TILE_SIDE = 16  # groups along each side of a tile, so that 256 threads turn one micro-tile each
SHARED_BYTES = 48 * 1024  # static shared memory of a block, on every device


def outer_strides(kind: AccessKind, space: IterationSpace, touch: int) -> tuple[int, ...]:
    """The strides that say where rows begin.

    For a transposed operand, which is consecutive along the second dimension, the fastest takes its place.
    """
    strides = [s if n != 1 else 0 for n, s in zip(space.shape, space.strides[touch], strict=True)]
    if kind == "transposed":
        return (strides[0], *strides[2:])
    return tuple(strides[1:])


def patterns(kinds: Sequence[AccessKind], space: IterationSpace) -> tuple[list[tuple[int, ...]], list[int | None]]:
    """The distinct outer strides in order of first use, and which one each touch has (None: it begins where it is)."""
    found: dict[tuple[bool, tuple[int, ...]], int] = {}
    numbers: list[int | None] = []
    for touch, kind in enumerate(kinds):
        outer = outer_strides(kind, space, touch)
        if kind == "scalar" or not any(outer):
            numbers.append(None)
        else:
            numbers.append(found.setdefault((kind == "transposed", outer), len(found)))
    return [outer for _, outer in found], numbers


def tile_elements(group: int) -> int:
    """Elements along each side of a tile."""
    return TILE_SIDE * group


def work_shape(schedule: Schedule, shape: Sequence[int]) -> tuple[int, ...]:
    """The items that are handed out: groups of each row, or tiles, and whatever dimensions remain."""
    if schedule.template == "rows":
        # A row that begins within a group may take one more.
        longest = shape[0] + (0 if schedule.lead is None else schedule.group - 1)
        groups = -(-longest // schedule.group)
        return (shape[1], groups, *shape[2:]) if schedule.across else (groups, *shape[1:])
    side = tile_elements(schedule.group)
    return (-(-shape[0] // side), -(-shape[1] // side), *shape[2:])


def row_steps(touches: Sequence[TouchSchedule], space: IterationSpace) -> list[int]:
    """The strides of gathered operands along the fastest dimension, in the order of the touches."""
    return [space.strides[i][0] for i, t in enumerate(touches) if t.access == "gather"]


def spans(schedule: Schedule, space: IterationSpace) -> list[int]:
    """For each shifted operand of a row kernel, the first and last offset whose blocks lie within it."""
    found: list[int] = []
    for touch, planned in enumerate(schedule.touches):
        if planned.access == "shifted":
            ends = [(n - 1) * s for n, s in zip(space.shape, space.strides[touch], strict=True) if n > 1]
            lowest, highest = sum(e for e in ends if e < 0), sum(e for e in ends if e > 0)
            found += [lowest + schedule.group, highest + 1 - 2 * schedule.group]
    return found


def outer_patterns(schedule: Schedule, space: IterationSpace) -> list[tuple[int, ...]]:
    """The values of the layout struct's strides, pattern by pattern."""
    found, _ = patterns([t.access for t in schedule.touches], space)
    return found
