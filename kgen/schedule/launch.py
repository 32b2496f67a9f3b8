"""What a launch passes besides pointers: grid, element count, and the layout struct's bytes."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from kgen.layout.access import stride_patterns
from kgen.layout.iterator import IterationSpace
from kgen.schedule.groups import outer_patterns, row_steps, spans, work_shape
from kgen.schedule.plan import Schedule


@dataclass(frozen=True, slots=True)
class Launch:
    """Run-time facts of one launch of a kernel.

    ``n``: elements, or groups of elements (rows).  ``layout`` is empty when the kernel takes no layout struct.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    n: int
    layout: bytes


def launch_of(schedule: Schedule, space: IterationSpace) -> Launch:
    """One thread for each group of elements, or one block for each tile; no kernel loops over the grid."""
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
    if schedule.template in ("rows", "tiled"):
        return _group_layout(schedule, space, wide)
    parts: list[bytes] = []
    if schedule.rank > 1:
        parts += _divisors(space.shape[: schedule.rank - 1], wide)
    strided = [i for i, t in enumerate(schedule.touches) if t.access == "strided"]
    if strided:
        patterns, _ = stride_patterns(space, strided)
        parts.append(_pack("q" if wide else "i", [s for pattern in patterns for s in pattern]))
    return b"".join(parts)


def _group_layout(schedule: Schedule, space: IterationSpace, wide: bool) -> bytes:
    """The struct of a row or tile kernel: its sides, what work numbers are divided by, strides, steps, spans."""
    sides = 1 if schedule.template == "rows" else 2
    signed = "q" if wide else "i"
    parts = [_pack(signed, space.shape[:sides])]
    parts += _divisors(work_shape(schedule, space.shape)[:-1], wide)
    parts += [_pack(signed, pattern) for pattern in outer_patterns(schedule, space)]
    parts.append(_pack(signed, row_steps(schedule.touches, space)))
    if schedule.template == "rows":
        parts.append(_pack(signed, spans(schedule, space)))
    return b"".join(parts)


def _divisors(extents: Sequence[int], wide: bool) -> list[bytes]:
    """Extents, and for 32-bit division their magic numbers and shifts."""
    if wide:
        return [_pack("q", extents)]
    magic = [magic_number(d) for d in extents]
    return [_pack("I", extents), _pack("I", [m for m, _ in magic]), _pack("I", [s for _, s in magic])]


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
