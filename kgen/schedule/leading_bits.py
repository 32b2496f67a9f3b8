"""Numbers with their first bits only: predictions take numbers that agree in these for the same.

Numbers with as many digits, which agree in less, have nearly the same predictions.
"""

from __future__ import annotations

_EXACT = 16  # up to here numbers are taken as they are


def leading_bits(number: int, bits: int) -> int:
    """The least number that has the same first bits; those up to 16 as they are."""
    step = last_bit(number, bits)
    return number // step * step


def digits(number: int, bits: int) -> int:
    """The number of digits of ``bits`` bits each: with two, numbers of as many differ by less than a factor of 4."""
    return -(-number.bit_length() // bits)


def last_bit(number: int, bits: int) -> int:
    """The last bit that counts: from one number that :func:`leading_bits` gives to the next."""
    return 1 << max(0, number.bit_length() - bits) if number > _EXACT else 1
