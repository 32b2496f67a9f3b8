"""Groups of ``flat`` kernels that have elements of two rows at most: where the second row begins."""

from __future__ import annotations

from typing import Any

import numpy as np

import kgen
from tests.forced import forced

Array = np.ndarray[Any, Any]

SHAPES = ((5, 3, 7), (3, 2, 13), (2, 6, 9), (7, 5, 41))
IN_GROUPS = {"elementwise": {"few_threads": 1}}  # so that few elements are taken by groups, too


def numbers(*shape: int) -> Array:
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


def schedule(kernel: kgen.Kernel, *arrays: Array) -> dict[str, Any]:
    found: dict[str, Any] = kernel.explain(*arrays).to_dict()["kernels"][0]["schedule"]
    return found


def test_rows_of_a_group_and_more() -> None:
    """Operands that are sliced, broadcast and at a step: each has offsets of its own."""
    with forced(IN_GROUPS):
        kernel = kgen.jit("out = a + b * 2 - c * d", device="cpu")
        for count, height, width in SHAPES:
            a, b = numbers(count, height + 2, width)[:, 1:-1], numbers(count, 1, width)
            c, d = numbers(height, 2 * width)[:, ::2], numbers(count, height, width)
            found = schedule(kernel, a, b, c, d)
            assert (found["template"], found["two_rows"]) == ("flat", True)
            np.testing.assert_array_equal(kernel(a, b, c, d), a + b * 2 - c * d)


def test_what_a_row_shares_is_read_once_for_each_of_two_rows() -> None:
    """Also where the last group ends with the last row, behind which nothing may be read."""
    with forced(IN_GROUPS):
        kernel = kgen.jit("out = a * b - c", device="cpu")
        for count, height, width in SHAPES:
            a, b, c = numbers(count, height, width), numbers(count, height, 1), numbers(height, 1)
            kinds = [access["kind"] for access in schedule(kernel, a, b, c)["accesses"]]
            assert sorted(kinds) == ["row", "row", "vector", "vector"]
            np.testing.assert_array_equal(kernel(a, b, c), a * b - c)
    text = str(kernel.source(a, b, c))
    assert "b_ptr[left < 4 ? b_next : b_first]" in text
    assert "j < left ? b_in_row : b_in_next_row" in text


def test_rows_shorter_than_a_group() -> None:
    """A group may have elements of many rows: coordinates are stepped from one to the next."""
    with forced(IN_GROUPS):
        a, b = numbers(41, 3), numbers(3)
        kernel = kgen.jit("out = a + b", device="cpu")
        assert "two_rows" not in schedule(kernel, a, b)
        np.testing.assert_array_equal(kernel(a, b), a + b)
