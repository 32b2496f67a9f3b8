"""Division by extents that are known only at launch, and the packing of numbers into a layout struct."""

from __future__ import annotations

import struct
from collections.abc import Sequence


def divisors(extents: Sequence[int], is_64bit: bool) -> list[bytes]:
    """The packed extents and, for 32-bit division, their magic numbers and shifts."""
    if is_64bit:
        return [packed("q", extents)]
    magic = [magic_number(d) for d in extents]
    return [packed("I", extents), packed("I", [m for m, _ in magic]), packed("I", [s for _, s in magic])]


def packed(code: str, values: Sequence[int]) -> bytes:
    """The values as little-endian bytes; ``code``: a format character of ``struct``."""
    return struct.pack(f"<{len(values)}{code}", *values)


def magic_number(divisor: int) -> tuple[int, int]:
    """``(m, s)`` such that ``x // divisor == (umulhi(x, m) + x) >> s`` for 0 <= x < 2^31.

    From T. Granlund and P. Montgomery, "Division by Invariant Integers using Multiplication" (1994), as PyTorch's
    IntDivider uses it.  An extent of 0 is never divided by: such a launch does not happen.
    """
    divisor = max(divisor, 1)
    shift = (divisor - 1).bit_length()
    return ((1 << 32) * ((1 << shift) - divisor) // divisor + 1) & 0xFFFFFFFF, shift
