"""The kernels that cover a class of layouts, for files made ahead of time, when no array is at hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from kgen.partition.step import Step, Touch
from kgen.schedule.elementwise.groups import is_shifted
from kgen.schedule.facts import group_size
from kgen.schedule.schedule import Schedule, TouchSchedule
from kgen.schedule.target import PORTABLE

LayoutClass = Literal["any", "contiguous", "strided"]
LAYOUTS: tuple[LayoutClass, ...] = ("any", "contiguous", "strided")


def cover_contiguous(step: Step, layout: LayoutClass, rank: int) -> Iterator[Schedule]:
    """16-byte aligned operands, any alignment, and aligned with 64-bit indices."""
    if layout in ("any", "contiguous"):
        yield _contiguous(step, aligned=True)
    if layout == "any" and _contiguous(step, aligned=False) != _contiguous(step, aligned=True):
        yield _contiguous(step, aligned=False)
    if layout in ("any", "contiguous"):
        yield _contiguous(step, aligned=True, bits=64)


def cover_strided(step: Step, layout: LayoutClass, rank: int) -> Iterator[Schedule]:
    """A kernel for each rank up to ``rank`` with 32-bit offsets, and one with 64-bit offsets that covers every rank:
    missing dimensions have extent 1.
    """
    if layout in ("any", "strided"):
        for r in range(1, rank + 1):
            yield _strided(step, r, 32)
        yield _strided(step, rank, 64)


def _itemsize(step: Step, touch: Touch) -> int:
    return step.kernel.operands[touch.operand].dtype.size


def _is_single(step: Step, touch: Touch) -> bool:
    """An operand that is known to have one element where the space has more."""
    return all(dim == 1 for dim in step.kernel.operands[touch.operand].shape) and any(dim != 1 for dim in step.shape)


def _contiguous(step: Step, *, aligned: bool, bits: Literal[32, 64] = 32) -> Schedule:
    group = group_size([_itemsize(step, t) for t in step.touches if not _is_single(step, t)])
    lead = None if aligned or group == 1 else next(i for i, t in enumerate(step.touches) if t.writes)
    touches: list[TouchSchedule] = []
    for i, touch in enumerate(step.touches):
        size = _itemsize(step, touch)
        if _is_single(step, touch):
            touches.append(TouchSchedule("scalar"))
        elif aligned or i == lead:
            touches.append(TouchSchedule("vector", group * size))
        else:
            shifted = not touch.writes and is_shifted(size, group)
            touches.append(TouchSchedule("shifted" if shifted else "vector", size))
    return Schedule("contiguous", PORTABLE.tuning.elementwise.block, group, 1, bits, tuple(touches), lead=lead)


def _strided(step: Step, rank: int, bits: Literal[32, 64]) -> Schedule:
    """Each operand with strides of its own: the calculator's arity is the number of operands."""
    touches: list[TouchSchedule] = []
    pattern = 0
    for touch in step.touches:
        if _is_single(step, touch):
            touches.append(TouchSchedule("scalar"))
        else:
            touches.append(TouchSchedule("strided", pattern=pattern))
            pattern += 1
    return Schedule("strided", PORTABLE.tuning.elementwise.strided_block, 1, rank, bits, tuple(touches))
