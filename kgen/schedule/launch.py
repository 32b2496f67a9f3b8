"""What a launch passes besides pointers: grid, element count, and the layout struct's bytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from kgen.layout.access import stride_patterns
from kgen.layout.iterator import IterationSpace
from kgen.schedule.plan import Schedule


@dataclass(frozen=True, slots=True)
class Launch:
    """Run-time facts of one launch of a kernel.  ``layout`` is empty when the kernel takes no layout struct."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    n: int
    layout: bytes


def launch_of(schedule: Schedule, space: IterationSpace) -> Launch:
    """One thread for each group of elements; no kernel loops over the grid."""
    n = space.numel
    blocks = -(-n // (schedule.block * schedule.group))
    return Launch((blocks, 1, 1), (schedule.block, 1, 1), n, layout_bytes(schedule, space))


def layout_bytes(schedule: Schedule, space: IterationSpace) -> bytes:
    """The struct that ``codegen/kernels.py`` declares: extents (with their magic numbers), then strides."""
    wide = schedule.index_bits == 64
    parts: list[bytes] = []
    if schedule.rank > 1:
        divided = space.shape[: schedule.rank - 1]
        parts.append(_pack("q" if wide else "I", divided))
        if not wide:
            magic = [magic_number(d) for d in divided]
            parts.append(_pack("I", [m for m, _ in magic]))
            parts.append(_pack("I", [s for _, s in magic]))
    strided = [i for i, t in enumerate(schedule.touches) if t.access == "strided"]
    if strided:
        patterns, _ = stride_patterns(space, strided)
        parts.append(_pack("q" if wide else "i", [s for pattern in patterns for s in pattern]))
    return b"".join(parts)


def _pack(code: str, values: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(values)}{code}", *values)


def magic_number(divisor: int) -> tuple[int, int]:
    """``(m, s)`` such that ``x // divisor == (umulhi(x, m) + x) >> s`` for 0 <= x < 2^31.

    From T. Granlund and P. Montgomery, "Division by Invariant Integers using Multiplication" (1994), as PyTorch's
    IntDivider uses it.  An extent of 0 is never divided by: such a launch does not happen.
    """
    divisor = max(divisor, 1)
    shift = (divisor - 1).bit_length()
    return ((1 << 32) * ((1 << shift) - divisor) // divisor + 1) & 0xFFFFFFFF, shift
