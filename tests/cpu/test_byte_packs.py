"""Bytes that become floats, taken out of words: every byte, at every place of a group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen

SHAPES = {"contiguous": [()], "columns": [(1000, 1)], "rows and columns": [(4096,), (1000, 1)]}


def bytes_and_scales(dtype: Any, shapes: list[tuple[int, ...]]) -> tuple[Any, list[Any], Any]:
    """Rows that begin at each byte, what they are multiplied by, and the products."""
    x = (np.arange(4096) + np.arange(1000)[:, None]).astype(np.uint8).view(dtype)
    scales = [np.full(shape, 2, np.float32) for shape in shapes]
    return x, scales, np.prod([2.0] * len(scales), dtype=np.float32) * x


def program(scales: list[Any]) -> kgen.Kernel:
    return kgen.jit(f"out: f16 = x * {' * '.join('ab'[: len(scales)])}")


ROWS = "out = x * a - max(x * a, axis=-1, keepdims=true)"


def rows(dtype: Any) -> tuple[Any, Any, Any]:
    """Bytes and their factors for :data:`ROWS`, and its results."""
    x, _, _ = bytes_and_scales(dtype, [])
    a = np.full(x.shape, 2, np.float32)
    return x, a, 2 * x.astype(np.float32) - 2 * float(np.iinfo(dtype).max)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_all_bytes_of_rows(dtype: Any) -> None:
    """The same in kernels that reduce rows."""
    x, a, want = rows(dtype)
    kernel = kgen.jit(ROWS)
    assert "extract_byte(" in kernel.source(x, a)
    assert np.array_equal(kernel(x, a), want)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
def test_all_bytes(dtype: Any, shapes: list[tuple[int, ...]]) -> None:
    """Each is the float that it is."""
    x, scales, want = bytes_and_scales(dtype, shapes)
    kernel = program(scales)
    assert "BytePack<" in kernel.source(x, *scales)
    assert np.array_equal(kernel(x, *scales), want.astype(np.float16))
