"""How chains of rounds of reductions are best cut into kernels, where the extents and arrays are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kgen.schedule.across import across_share
from kgen.schedule.cut import RowStep
from kgen.schedule.reductions import is_plain, state_bytes, wide_touches

if TYPE_CHECKING:
    from kgen.schedule.bind import Array

#: Longer rows have rounds of reductions joined where that is possible: up to here an exchange costs little.
LONGEST_IN_ROUNDS = 4096

#: A chain of rounds is one block's work a row: at least so many rows, or rows so short that one block is done with them
#: before another kernel could start.
FEWEST_ROWS = 64
LONGEST_ALONE = 1 << 16


def better_apart(step: RowStep, extents: Mapping[str, int], arrays: Sequence[Array | None]) -> bool:
    """Whether a chain of rounds is better cut into kernels.

    That is so where it leaves most of a device idle, as one block a row, or where rows lie across memory and are too
    long for a block to keep several side by side.
    """
    if is_plain(step):
        return False
    sizes = [1 if dim == 1 else extents[dim] for dim in step.shape]
    rows, width = math.prod(sizes[: step.kept]), math.prod(sizes[step.kept :])
    if rows < FEWEST_ROWS and width > LONGEST_ALONE:
        return True
    wide = [(t, arrays[t.operand]) for t, w in zip(step.touches, wide_touches(step), strict=True) if w]
    known = [
        ({a: x.strides[axis] for a, axis in enumerate(t.axes) if axis is not None and sizes[a] > 1}, t, x.itemsize)
        for t, x in wide
        if x is not None
    ]
    whole = [(s, t, size) for s, t, size in known if len(s) == sum(n > 1 for n in sizes)]
    if width * rows <= LONGEST_ALONE or not whole:
        return False
    sides = [{a for a, v in s.items() if a < step.kept and abs(v) == 1} for s, _, _ in whole]
    if not all(sides):
        return False
    held = sum(size for _, t, size in whole if t.reads)
    kept = across_share(width, held, min(size for _, _, size in whole), state_bytes(step))
    return kept is None or not set.intersection(*sides)


def better_joined(step: RowStep, extents: Mapping[str, int]) -> bool:
    """Whether rows are so long that another exchange between threads, or another reading, costs more than rescaling."""
    return math.prod(1 if dim == 1 else extents[dim] for dim in step.shape[step.kept :]) > LONGEST_IN_ROUNDS
