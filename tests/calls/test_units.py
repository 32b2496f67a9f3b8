"""Units of ``flat`` kernels: elements of a group that lie in one row of an even number of elements."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import kgen
from tests.forced import forced

Array = np.ndarray[Any, Any]

IN_GROUPS = {"elementwise": {"few_threads": 1}}  # so that few elements are taken by groups, too
SHAPES = ((5, 3, 2), (4, 5, 6), (3, 7, 10), (2, 9, 12), (3, 5, 20), (7, 11, 4))


def numbers(*shape: int, dtype: str = "float32") -> Array:
    return (np.arange(np.prod(shape)) % 251).astype(dtype).reshape(shape)


def schedule(kernel: kgen.Kernel, *arrays: Array) -> dict[str, Any]:
    found: dict[str, Any] = kernel.explain(*arrays).to_dict()["kernels"][0]["schedule"]
    return found


def placed(count: int, height: int, width: int, dtype: str) -> dict[str, Array]:
    """An array of each layout: rows with gaps, in another order, at any address, at a step, the same along rows."""
    memory = numbers(1 + count * height * width, dtype=dtype)
    return {
        "sliced": numbers(count, height + 1, width, dtype=dtype)[:, 1:],
        "apart": numbers(count, height, width + 2, dtype=dtype)[:, :, :-2],
        "swapped": numbers(height, count, width, dtype=dtype).transpose(1, 0, 2),
        "offset": memory[1:].reshape(count, height, width)[:, ::-1],
        "step": numbers(count, height, 2 * width, dtype=dtype)[:, :, ::2],
        "column": numbers(count, height, 1, dtype=dtype),
        "row": numbers(width, dtype=dtype),
    }


@pytest.mark.parametrize(("shape", "dtype"), list(product(SHAPES, ["float32", "float16", "int8"])))
def test_every_layout(shape: tuple[int, int, int], dtype: str) -> None:
    """One kernel for each layout, and one for all, beside a dense array."""
    dense = numbers(*shape, dtype=dtype)
    with forced(IN_GROUPS):
        kernel = kgen.jit("out = a + b", device="cpu")
        arrays = placed(*shape, dtype)
        for name, array in arrays.items():
            np.testing.assert_array_equal(kernel(dense, array), dense + array, err_msg=name)
        names = "abcdpqr"
        several = kgen.jit(f"out = z + {' + '.join(names)}", device="cpu")
        found = several(dense, *arrays.values())
        np.testing.assert_array_equal(found, sum(arrays.values(), dense))


def test_units() -> None:
    """Pairs and fours move at once where they are aligned in every row; others have one offset a unit."""
    with forced(IN_GROUPS):
        kernel = kgen.jit("out = a + b", device="cpu")
        for width, unit, alignment in ((2, 2, 4), (6, 2, 4), (12, 4, 8)):
            dense, sliced = numbers(5, 3, width, dtype="float16"), numbers(5, 3, width + 4, dtype="float16")
            for first, bytes_ in ((0, alignment), (4, alignment), (2, 4), (1, 2)):
                b = sliced[:, :, first : first + width]
                if b.shape == dense.shape:
                    found = schedule(kernel, dense, b)
                    assert (found["template"], found["unit"], found["group"]) == ("flat", unit, 8)
                    assert found["accesses"][-1]["alignment"] == bytes_
                    np.testing.assert_array_equal(kernel(dense, b), dense + b)


def test_same_kernel_for_odd_addresses() -> None:
    """A repeated call tells the alignment of units from that of the call before."""
    with forced(IN_GROUPS):
        kernel = kgen.jit("out = a + b", device="cpu")
        memory, dense = numbers(3 + 40 * 6), numbers(40, 4)
        for first in (0, 0, 1, 2, 1, 0, 3):
            b = memory[first : first + 240].reshape(40, 6)[:, :4]
            np.testing.assert_array_equal(kernel(dense, b), dense + b)


def test_rows_of_an_odd_length_have_no_units() -> None:
    with forced(IN_GROUPS):
        kernel = kgen.jit("out = a + b", device="cpu")
        a, b = numbers(41, 3, 7), numbers(41, 4, 7)[:, :3]
        assert "unit" not in schedule(kernel, a, b)


def test_coordinates_are_those_of_elements() -> None:
    """``index()`` has no unit."""
    with forced(IN_GROUPS):
        kernel = kgen.jit("out = a + b + index(-1)", device="cpu")
        a, b = numbers(9, 5, 6), numbers(9, 6, 6)[:, :5]
        np.testing.assert_array_equal(kernel(a, b), a + b + np.arange(6))
