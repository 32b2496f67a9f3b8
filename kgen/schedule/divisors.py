"""Division by extents that are known only at launch."""

from __future__ import annotations


def magic_number(divisor: int, bits: int = 32) -> tuple[int, int]:
    """``(m, s)`` such that ``x // divisor == (umulhi(x, m) + x) >> s`` for 0 <= x < 2^(bits - 1).

    From T. Granlund and P. Montgomery, "Division by Invariant Integers using Multiplication" (1994), as PyTorch's
    IntDivider uses it.  An extent of 0 is never divided by: such a launch does not happen.
    """
    divisor = max(divisor, 1)
    shift = (divisor - 1).bit_length()
    return ((1 << bits) * ((1 << shift) - divisor) // divisor + 1) & ((1 << bits) - 1), shift


def signed_magic(divisor: int) -> int:
    """The magic number of 64-bit division, as the ``long long`` that has its bits."""
    return (magic_number(divisor, 64)[0] ^ 1 << 63) - (1 << 63)
