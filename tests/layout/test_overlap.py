"""Overlap decisions, against brute force and against numpy.shares_memory."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kgen.layout.diophantine import solvable
from kgen.layout.overlap import Overlap, Region, overlap, self_overlap


def region(array: np.ndarray[Any, Any]) -> Region:
    steps = tuple(s // array.itemsize for s in array.strides)
    return Region(array.__array_interface__["data"][0], array.shape, steps, array.itemsize)


def offsets(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    return [sum(map(int.__mul__, index, strides)) for index in product(*map(range, shape))]


def bytes_of(r: Region) -> set[int]:
    return {r.pointer + o * r.itemsize + byte for o in offsets(r.shape, r.strides) for byte in range(r.itemsize)}


def ranks(rank: int) -> st.SearchStrategy[Region]:
    return st.builds(
        Region,
        st.integers(0, 80),
        st.tuples(*[st.integers(0, 4)] * rank),
        st.tuples(*[st.integers(-40, 40)] * rank),
        st.sampled_from((1, 2, 4, 8)),
    )


regions = st.integers(0, 4).flatmap(ranks)


@settings(deadline=None)
@given(regions, regions)
def test_overlap_is_exact(a: Region, b: Region) -> None:
    """Regions overlap exactly if their sets of bytes meet; the order of the two does not matter."""
    expected = bool(bytes_of(a) & bytes_of(b))
    assert (overlap(a, b) is not Overlap.NONE) == expected
    assert overlap(a, b) is overlap(b, a)


@settings(deadline=None)
@given(regions)
def test_self_overlap_is_exact(a: Region) -> None:
    """A layout overlaps itself exactly if it has fewer places than indices."""
    places = offsets(a.shape, a.strides)
    assert self_overlap(a.shape, a.strides) == (len(set(places)) < len(places))
    assert overlap(a, a) is (Overlap.SAME if places else Overlap.NONE)


slices = st.builds(slice, st.integers(0, 12), st.integers(12, 40), st.sampled_from((1, 1, 2, 3, 5)))


@settings(deadline=None)
@given(st.tuples(slices, slices, slices), st.tuples(slices, slices, slices), st.permutations((0, 1, 2)))
def test_views_of_one_array_agree_with_numpy(
    first: tuple[slice, ...], second: tuple[slice, ...], order: list[int]
) -> None:
    """Stepped, permuted and flipped views, also of another item size: numpy.shares_memory's exact answer."""
    base = np.empty((17, 33, 40), np.int16)
    a, b = base[first], base.transpose(order)[second][::-1]
    assert (overlap(region(a), region(b)) is not Overlap.NONE) == np.shares_memory(a, b)
    wide = base.view(np.int32)[second]
    assert (overlap(region(a), region(wide)) is not Overlap.NONE) == np.shares_memory(a, wide)


def test_the_same_view_is_the_same() -> None:
    """Axes of size 1 do not count, neither their number nor their strides."""
    x = np.empty((3, 1, 4), np.float32)
    assert overlap(region(x), region(x)) is Overlap.SAME
    assert overlap(region(x), region(x[:, 0])) is Overlap.SAME
    assert overlap(region(x), region(x[None])) is Overlap.SAME
    assert overlap(Region(8, (3, 1), (4, 99), 2), Region(8, (3,), (4,), 2)) is Overlap.SAME


def test_other_views_of_the_same_bytes_are_partial() -> None:
    """A transpose, a flip, another item size, a broadcast."""
    x = np.empty((4, 4), np.float32)
    others: list[np.ndarray[Any, Any]] = [
        x.T,
        x[::-1],
        x.view(np.int8),
        x.view(np.complex64),
        np.broadcast_to(x[0], (4, 4)),
    ]
    assert [overlap(region(x), region(other)) for other in others] == [Overlap.PARTIAL] * 5


def test_what_the_reference_lets_through() -> None:
    """PyTorch allows these racy calls; a row and a shifted slice it refuses as well (facts/pytorch.md, section 4)."""
    m = np.empty((8, 8), np.float32)
    for other in (m[:, 0:1], m[0], m.T):
        assert overlap(region(m), region(other)) is Overlap.PARTIAL
    assert overlap(region(m[:4, :4]), region(m[:4, :4].T)) is Overlap.PARTIAL
    assert self_overlap((2, 2), (1, 1))


def test_interleaved_views_do_not_overlap() -> None:
    """Even and odd columns, two halves of each row, real and imaginary parts: common ranges, no common byte."""
    x = np.empty((6, 8), np.complex64)
    pairs = [(x[:, ::2], x[:, 1::2]), (x[:, :4], x[:, 4:]), (x.real, x.imag), (x[::2], x[1::2, ::-1])]
    assert [overlap(region(a), region(b)) for a, b in pairs] == [Overlap.NONE] * 4


def test_neighbours_do_not_overlap() -> None:
    """One region ends where the next begins; one byte less and they meet."""
    a = Region(100, (4,), (1,), 4)
    assert overlap(a, Region(116, (4,), (1,), 4)) is Overlap.NONE
    assert overlap(a, Region(115, (4,), (1,), 4)) is Overlap.PARTIAL
    assert overlap(a, Region(99, (), (), 1)) is Overlap.NONE


def test_nothing_overlaps_an_empty_array() -> None:
    """Not even itself, whatever its strides."""
    empty = Region(100, (0, 4), (0, 0), 4)
    assert overlap(empty, empty) is Overlap.NONE
    assert overlap(empty, Region(100, (4,), (1,), 4)) is Overlap.NONE
    assert not self_overlap(empty.shape, empty.strides)


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        ((3, 4), (4, 1), False),
        ((3, 4), (-9, 2), False),  # gaps, flipped
        ((3, 4), (0, 1), True),  # broadcast
        ((1, 4), (0, 1), False),  # of one element
        ((3, 4), (1, 1), True),
        ((5, 3), (1, 3), True),  # a sliding window
        ((3, 2), (2, 3), False),  # strides that interleave and never meet
        ((4, 3), (2, 3), True),  # ... until they do, at 6
        ((2, 2, 2), (1, 2, 3), True),  # 1 + 2 == 3
    ],
)
def test_self_overlap_of_known_layouts(shape: tuple[int, ...], strides: tuple[int, ...], expected: bool) -> None:
    """Small layouts that can be checked by hand."""
    assert self_overlap(shape, strides) is expected


def test_large_arrays_are_decided_at_once() -> None:
    """The work is bounded by the axes, not by the elements: NONE for views of 2^60 means that the search ended."""
    a = Region(0, (1 << 30, 1 << 30), (1 << 33, 4), 2)
    b = Region(2, (1 << 30, 1 << 30), (1 << 33, 4), 2)
    assert overlap(a, b) is Overlap.NONE
    assert overlap(a, Region(1, b.shape, b.strides, 2)) is Overlap.PARTIAL
    assert not self_overlap(a.shape, a.strides)


def test_a_search_that_is_too_long_ends_in_the_safe_answer() -> None:
    """Subset-sum instances are hard: the solver says None and overlap PARTIAL."""
    coefficients = [2 * ((i * 0x9E3779B97F4A7C15) % (1 << 60)) for i in range(1, 50)]
    terms = [(c, 1) for c in coefficients]
    target = sum(coefficients) // 4 * 2
    assert solvable(terms, target + 1) is False  # odd: the gcd decides
    assert solvable(terms, target) is None
    a = Region(0, (2,) * 49, tuple(coefficients), 1)
    assert overlap(a, Region(target, (), (), 1)) is Overlap.PARTIAL
