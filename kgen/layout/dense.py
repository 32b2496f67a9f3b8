"""Dense layouts: arrays whose elements fill one range of memory without gaps or repeats.

PyTorch's predicates (c10/core/Contiguity.h), strides in elements.  Axes of size 1 may have any stride.
"""

from __future__ import annotations

from collections.abc import Sequence

Ints = Sequence[int]

#: The axes of a channels-last (NHWC in memory) array of shape NCHW, fastest first.
CHANNELS_LAST = (1, 3, 2, 0)


def channels_last_strides(shape: Ints) -> tuple[int, ...]:
    """Strides, in elements, of a dense NCHW shape whose memory order is NHWC."""
    _, channels, height, width = shape
    return (channels * width * height, 1, channels * width, channels)


def is_contiguous(shape: Ints, strides: Ints) -> bool:
    """Dense in C order.  An empty array is contiguous whatever its strides."""
    step = 1
    for n, s in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1:
            if s != step:
                return 0 in shape
            step *= n
    return True


def is_channels_last(shape: Ints, strides: Ints) -> bool:
    """Of rank 4 and dense in NHWC order."""
    if len(shape) != 4:
        return False
    step = 1
    for axis in CHANNELS_LAST:
        if shape[axis] != 1:
            if strides[axis] != step:
                return False
            step *= shape[axis]
    return True


def is_dense(shape: Ints, strides: Ints) -> bool:
    """Dense in some order of its axes, all strides positive (PyTorch: non-overlapping and dense)."""
    step = 1
    for s, n in sorted([(s, n) for s, n in zip(strides, shape, strict=True) if n != 1]):
        if s != step:
            return 0 in shape
        step *= n
    return True
