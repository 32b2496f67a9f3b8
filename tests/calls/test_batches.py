"""Kernels in which a thread has two groups, a block of threads apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen
from tests.forced import forced

Array = np.ndarray[Any, Any]

#: So that arrays of any size take it.
ALWAYS = {"elementwise": {"batched_bytes": (0, 1 << 40)}}


def template(text: str, **arrays: Any) -> str:
    return str(kgen.jit(text).explain(**arrays).to_dict()["kernels"][0]["schedule"]["template"])


def call(device: str, text: str, **arrays: Array) -> Any:
    k: Any = kgen.jit(text, device=device, fmad=False)
    with forced(ALWAYS):
        assert k.explain(**arrays).to_dict()["kernels"][0]["schedule"]["template"] == "batches"
        return k(**arrays)


@pytest.mark.parametrize("groups", [1, 3, 256, 257, 512, 513, 700, 1024 + 255])
def test_dense(device: str, rng: np.random.Generator, groups: int) -> None:
    """Blocks that are full and that are not: the second group of a thread may be missing, or both."""
    x = rng.integers(0, 256, 4 * groups).astype("uint8")
    np.testing.assert_array_equal(call(device, "out: float = x - 3.5", x=x), x - np.float32(3.5))


def test_in_place(device: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal(4 * 700).astype("float32")
    want = x * np.float32(2)
    call(device, "inout x\nx = x * 2", x=x)
    np.testing.assert_array_equal(x, want)


@pytest.mark.parametrize("shape", [(3, 8), (40, 64), (65, 128), (7, 1024)])
def test_rows(device: str, rng: np.random.Generator, shape: tuple[int, int]) -> None:
    """A column, what all rows share, and rows with gaps."""
    rows, width = shape
    x = rng.standard_normal((rows, width + 8)).astype("float32")[:, :width]
    m, w = rng.standard_normal((rows, 1)).astype("float32"), rng.standard_normal(width).astype("float32")
    np.testing.assert_array_equal(call(device, "out = (x - m) * w", x=x, m=m, w=w), (x - m) * w)


def test_narrow_results(device: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal((33, 64)).astype("float16")
    np.testing.assert_array_equal(call(device, "out = x > 0", x=x), x > 0)


@pytest.mark.parametrize(
    ("elements", "expected"),
    [(1 << 19, "contiguous"), (1 << 20, "batches"), (3 << 20, "batches"), (1 << 22, "contiguous")],
)
def test_from_and_up_to_some_bytes(elements: int, expected: str) -> None:
    """What fits L2 whole, and is more than a few blocks."""
    assert template("out = x * 2", x=np.empty(elements, "float16")) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("out = x + y", 1 << 20),  # a group of three float32 moves 48 bytes
        ("out = exp(x)", 1 << 20),  # takes long
        ("out = x * 2", (1 << 20) + 1),  # an incomplete group
        ("out = x + index(0)", 1 << 20),  # counts
    ],
)
def test_not(text: str, count: int) -> None:
    given = {name: np.empty(count, "float32") for name in "xy" if name in text.split("=")[1]}
    assert template(text, **given) == "contiguous"
