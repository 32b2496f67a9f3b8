"""Numbers with their first bits only: predictions take numbers that agree in these for the same."""

from __future__ import annotations

_EXACT = 16  # up to here numbers are taken as they are


def leading_bits(number: int, bits: int) -> int:
    """The least number that has the same first bits; those up to 16 as they are."""
    step = last_bit(number, bits)
    return number // step * step


def last_bit(number: int, bits: int) -> int:
    """The last bit that counts: from one number that :func:`leading_bits` gives to the next."""
    return 1 << max(0, number.bit_length() - bits) if number > _EXACT else 1
