"""Kernels whose blocks combine updates of few elements before these reach memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen
from tests.codegen.bare import bare
from tests.forced import forced

Array = np.ndarray[Any, Any]

#: So that few updates take them.
ALWAYS = {"bins": {"fewest_updates": 1, "updates_each": 0, "updates_of_block": 1}}
COMBINED = {"+=": np.add, "min=": np.minimum, "max=": np.maximum}


def templates(k: Any, **arrays: Array) -> list[str]:
    return [s["schedule"]["template"] for s in k.explain(**arrays).to_dict()["kernels"]]


def call(device: str, text: str, *, deterministic: bool = False, **arrays: Array) -> None:
    k: Any = kgen.jit(text, device=device, deterministic=deterministic)
    with forced(ALWAYS):
        assert "bins" in templates(k, **arrays)
        k(**arrays)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int16", "int64", "float32", "float64", "float16"])
@pytest.mark.parametrize("update", ["+=", "min=", "max="])
def test_updates(device: str, rng: np.random.Generator, dtype: str, update: str) -> None:
    """Sums of small numbers are exact; integers wrap.  Places from the end, and outside; a last group that is short."""
    w = rng.integers(0, 4, 5003).astype(dtype) - np.asarray(0 if dtype[0] == "u" else 2, dtype)
    i, j = rng.integers(-9, 9, w.size), rng.integers(-32, 32, w.size).astype("int32")
    bins = rng.integers(0, 100, (7, 30)).astype(dtype)
    expected, inside = bins.copy(), (abs(i + 0.5) < 7) & (abs(j + 0.5) < 30)
    with np.errstate(over="ignore"):
        COMBINED[update].at(expected, (i[inside], j[inside]), w[inside])
    call(device, f"input w, i, j\ninout bins\nbins[i, j] {update} w", w=w, i=i, j=j, bins=bins)
    np.testing.assert_array_equal(bins, expected)


def test_nan_and_signed_zeros(device: str) -> None:
    """`min=` and `max=` are as `min` and `max`, whichever element comes first."""
    w = np.tile(np.array([0.0, -0.0, np.nan, 1.0, -np.inf, np.inf], "f4"), 50)
    i = np.tile(np.array([0, 0, 1, 1, 2, 3]), 50)
    low, high = np.full(5, np.inf, "f4"), np.full(5, -np.inf, "f4")
    call(device, "input w, i\ninout low, high\nlow[i] min= w\nhigh[i] max= w", w=w, i=i, low=low, high=high)
    np.testing.assert_array_equal(low, np.array([-0.0, np.nan, -np.inf, np.inf, np.inf], "f4"))
    np.testing.assert_array_equal(high, np.array([0.0, np.nan, -np.inf, np.inf, -np.inf], "f4"))
    assert np.signbit(low[0])
    assert not np.signbit(high[0])


def test_values_that_all_rows_share(device: str, rng: np.random.Generator) -> None:
    """What is broadcast, under a condition; the sums are repeatable with ``deterministic=True``."""
    text = "input x, w\ninout bins\nbins[cast<int>(x)] += w if w > 0"
    x, w = rng.integers(0, 256, (41, 300)).astype("uint8"), rng.standard_normal(300).astype("float32")
    expected = np.zeros(256)
    np.add.at(expected, x, np.broadcast_to(np.where(w > 0, w, 0), x.shape))
    for deterministic in (False, True):
        bins = np.zeros(256, "f4")
        call(device, text, deterministic=deterministic, x=x, w=w, bins=bins)
        np.testing.assert_allclose(bins, expected, rtol=1e-5)


def test_halves_are_rounded_once_a_block(device: str) -> None:
    """One by one, 4096 halves of 0.25 would stay at 512."""
    bins, w = np.zeros(3, "float16"), np.full(4096, 0.25, "float16")
    call(device, "input w, i\ninout bins\nbins[i] += w", w=w, i=np.ones(4096, "int32"), bins=bins)
    np.testing.assert_array_equal(bins, np.array([0, 1024, 0], "float16"))


def test_what_has_no_bins(rng: np.random.Generator) -> None:
    """Arrays that are large for so few updates, or have gaps; and ``=``."""
    x = rng.integers(0, 200, 1 << 16)
    bins, many, gaps = np.zeros(256, "i4"), np.zeros(100_000, "i4"), np.zeros(512, "i4")[::2]
    add: Any = kgen.jit("input x\ninout bins\nbins[x] += 1", device="cpu")
    assert templates(add, x=x, bins=bins) == ["bins"]
    for one, to in ((x[:1000], bins), (x, many), (x, gaps)):
        assert templates(add, x=one, bins=to) == ["contiguous"]
    assert templates(kgen.jit("input x\ninout bins\nbins[x] = 1", device="cpu"), x=x, bins=bins) == ["contiguous"]


def test_a_class_of_layouts_has_room_for_all(rng: np.random.Generator) -> None:
    """A kernel for 256 elements is not taken for more."""
    k: Any = kgen.jit("input x\ninout bins\nbins[x] += 1", device="cpu")
    for size in (100, 256, 257, 1000, 1024, 1025, 200):
        x, bins = rng.integers(0, size, 70_000), np.zeros(size, "i4")
        k(x, bins)
        np.testing.assert_array_equal(bins, np.bincount(x, minlength=size))


def test_as_many_bins_as_threads_take_no_loop() -> None:
    """Each thread has one at most; more bins take a loop, which nvcc would unroll."""
    k: Any = kgen.jit("input x\ninout bins\nbins[cast<int>(x)] += 1", name="k")
    few, many = (bare(k.source(kgen.spec((1 << 22,), "u16"), kgen.spec((n,), "i32"))) for n in (256, 1000))
    assert few.count("if (const int b = threadIdx.x; b < bins_count)") == 2
    assert many.count("#pragma unroll 1 for (int b = threadIdx.x; b < bins_count;") == 2
