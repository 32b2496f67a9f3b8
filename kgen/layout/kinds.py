"""The access class of each operand in an iteration space, and the width of indices, for choosing a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Literal

from kgen.layout.iterator import IterationSpace

_INT32_MAX = 2**31 - 1


class LayoutKind(Enum):
    """CONTIGUOUS: element i of the space is element i in memory.  SCALAR: one element throughout.  STRIDED: all others.

    A space of one element, or of none, is CONTIGUOUS for every operand.
    """

    CONTIGUOUS = "contiguous"
    SCALAR = "scalar"
    STRIDED = "strided"


def classify(space: IterationSpace, operand: int) -> LayoutKind:
    """The class of one operand.  Dimensions of size 1 do not count: their strides are never used."""
    strides = space.strides[operand]
    if 0 in space.shape or _is_dense(space.shape, strides):
        return LayoutKind.CONTIGUOUS
    if not any(s for n, s in zip(space.shape, strides, strict=True) if n > 1):
        return LayoutKind.SCALAR
    return LayoutKind.STRIDED


def index_bits(space: IterationSpace, itemsizes: Sequence[int]) -> Literal[32, 64]:
    """32 when indices and byte offsets fit in a signed 32-bit integer: each flat index, and for every operand (of
    ``itemsizes`` bytes) the offset of every byte from its pointer, negative ones included.
    """
    shape = space.shape
    if 0 in shape:
        return 32
    if space.numel > _INT32_MAX:
        return 64
    for strides, itemsize in zip(space.strides, itemsizes, strict=True):
        lowest = highest = 0
        for n, s in zip(shape, strides, strict=True):
            span = (n - 1) * s
            if span < 0:
                lowest += span
            else:
                highest += span
        if lowest * itemsize < -_INT32_MAX - 1 or (highest + 1) * itemsize - 1 > _INT32_MAX:
            return 64
    return 32


def stride_patterns(
    space: IterationSpace, operands: Sequence[int]
) -> tuple[tuple[tuple[int, ...], ...], tuple[int | None, ...]]:
    """The distinct strides of some operands, in order of first use, and for each operand the number of its pattern.

    Operands with the same pattern share one offset computation.  Operands with all strides 0 have None and no pattern.
    A dimension of size 1 counts as stride 0, so that unused strides neither split a pattern nor overflow 32 bits.
    """
    patterns: list[tuple[int, ...]] = []  # no dict: strides may be traced, and hashing takes their value
    found: list[int | None] = []
    for operand in operands:
        pattern = tuple([s if n != 1 else 0 for n, s in zip(space.shape, space.strides[operand], strict=True)])
        if any(pattern) and pattern not in patterns:
            patterns.append(pattern)
        found.append(patterns.index(pattern) if any(pattern) else None)
    return tuple(patterns), tuple(found)


def _is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    step = 1
    for n, s in zip(shape, strides, strict=True):
        if n > 1:
            if s != step:
                return False
            step *= n
    return True
