"""Elements that are in no whole group of a kernel over all elements: threads of the first block take them, one each."""

from __future__ import annotations

import numpy as np
import pytest

import kgen
from tests.forced import forced

LENGTHS = (*range(1, 66, 4), 127, 1000, 1025, 4099)
KEPT = 99  # around the output


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_any_length_and_alignment(dtype: str) -> None:
    """The output and an input begin anywhere; nothing around the output is written."""
    rng = np.random.default_rng(0)
    with forced({"elementwise": {"few_threads": 1}}):  # so that few elements are taken by groups, too
        kernel = kgen.jit("out = a + b", device="cpu")
        for n in LENGTHS:
            for first, second, start in ((0, 0, 0), (1, 0, 0), (3, 2, 0), (0, 0, 1), (2, 1, 3)):
                a, b = rng.integers(0, 20, (2, n + 4)).astype(dtype)
                a, b, whole = a[first:][:n], b[second:][:n], np.full(n + 16, KEPT, dtype)
                kernel(a, b, out=whole[8 + start :][:n])
                expected = np.full(n + 16, KEPT, dtype)
                expected[8 + start :][:n] = a + b
                np.testing.assert_array_equal(whole, expected, err_msg=f"{n}, {first}, {second}, {start}")
