"""Whether two arrays share memory, and whether one overlaps itself: exact, from addresses and strides.

PyTorch reports "too hard" for arrays that are not dense and accepts them (MemoryOverlap.cpp), although such calls may
race.  NumPy decides exactly (``numpy.shares_memory``), and so does this, with cheap tests first.
"""

from __future__ import annotations

from enum import Enum

from kgen.layout.dense import Ints
from kgen.layout.diophantine import solvable
from kgen.records import dataclass


class Overlap(Enum):
    """NONE: no byte in common.  SAME: the same elements with the same indices.  PARTIAL: any other overlap."""

    NONE = "none"
    SAME = "same"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class Region:
    """The bytes of an array: ``pointer`` is the address of its element (0, ..., 0), ``strides`` are in elements."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int


def self_overlap(shape: Ints, strides: Ints) -> bool:
    """Whether two different indices reach one element.

    Exact, but True also if the search exceeded ``diophantine.WORK_LIMIT``.
    """
    if 0 in shape:
        return False
    axes = sorted([(abs(s), n - 1) for n, s in zip(shape, strides, strict=True) if n > 1])
    # Take two indices of one element, and k the last axis (by stride) in which they differ.  Their difference has
    # x[k] * s[k] == sum of x[j] * s[j] over j < k, with x[k] >= 1 and |x[j]| <= m[j], the largest index.  Put
    # y[j] = m[j] - x[j] and z = x[k] - 1, none negative: sum of y[j] * s[j], plus z * s[k], is reach - s[k].
    reach = 0  # of the axes before k: the sum of m[j] * s[j]
    terms: list[tuple[int, int]] = []
    for step, last in axes:
        if step == 0:
            return True
        # Slices and permutations of a dense array have nested axes, which always fail the first test.
        if step <= reach and solvable([*terms, (step, last - 1)], reach - step) is not False:
            return True
        reach += step * last
        terms.append((step, 2 * last))
    return False


def overlap(a: Region, b: Region) -> Overlap:
    """How two regions share memory, in bytes.

    Exact, but PARTIAL also if the search exceeded ``diophantine.WORK_LIMIT``.
    """
    if 0 in a.shape or 0 in b.shape:
        return Overlap.NONE
    start_a, end_a, terms_a = byte_range(a)
    start_b, end_b, terms_b = byte_range(b)
    if end_a <= start_b or end_b <= start_a:
        return Overlap.NONE
    if a.pointer == b.pointer and a.itemsize == b.itemsize and _walked(a) == _walked(b):
        return Overlap.SAME
    # One has no gaps and contains the other's first or last byte.
    if _is_solid(a.itemsize, terms_a) and (start_a <= start_b or end_b <= end_a):
        return Overlap.PARTIAL
    if _is_solid(b.itemsize, terms_b) and (start_b <= start_a or end_a <= end_b):
        return Overlap.PARTIAL
    # start_a + sum x * s + u == start_b + sum y * t + v, with u and v bytes within the items.  Counting y and v down
    # from b's last byte makes every coefficient positive: sum x * s + sum y' * t + (u + v') == end_b - 1 - start_a.
    within = (1, a.itemsize + b.itemsize - 2)
    met = solvable([*terms_a, *terms_b, within], end_b - 1 - start_a)
    return Overlap.NONE if met is False else Overlap.PARTIAL


def _walked(region: Region) -> list[tuple[int, int]]:
    return [(n, s) for n, s in zip(region.shape, region.strides, strict=True) if n != 1]


def byte_range(region: Region) -> tuple[int, int, list[tuple[int, int]]]:
    """The first byte, one past the last, and the axes as (byte step > 0, largest index), none of them empty."""
    start = region.pointer
    end = start + region.itemsize
    terms: list[tuple[int, int]] = []
    for n, s in zip(region.shape, region.strides, strict=True):
        if n > 1 and s:
            span = (n - 1) * s * region.itemsize
            if s > 0:
                end += span
            else:
                start += span
            terms.append((abs(s) * region.itemsize, n - 1))
    return start, end, terms


def _is_solid(itemsize: int, terms: list[tuple[int, int]]) -> bool:
    """Whether the region has no gaps: no axis has a larger step than the bytes that the faster axes fill."""
    filled = itemsize
    for step, last in sorted(terms):
        if step > filled:
            return False
        filled += step * last
    return True
