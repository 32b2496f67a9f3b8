"""Softmax whose rounds are online: one exchange, or one reading fewer, and the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen

SOFTMAX = "let m = max(x, axis=-1, keepdims=true)\nlet e = exp(x - m)\nout = e / sum(e, axis=-1, keepdims=true)"

Array = np.ndarray[Any, Any]


def expected(x: Array) -> Array:
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        e = np.exp(wide - wide.max(-1, keepdims=True))
        return np.asarray(e / e.sum(-1, keepdims=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("shape", [(3, 5000), (3, 8192), (2, 20000), (70, 8192), (2, 40000), (1, 300_000)])
def test_values(shape: tuple[int, int], dtype: Any) -> None:
    """In registers, looped and in two kernels, within a few roundings of what is stored."""
    x = (np.random.default_rng(1).normal(size=shape) * 20).astype(dtype)
    got = kgen.jit(SOFTMAX, device="cpu")(x)
    assert got.dtype == dtype
    # x - m is rounded before exp, which counts as often as it is large: up to 200 times here.
    computed = np.finfo(np.float64 if dtype is np.float64 else np.float32).eps
    tolerance = 2 * float(np.finfo(dtype).eps) + 100 * float(computed)
    assert np.allclose(got, expected(x), rtol=tolerance, atol=float(np.finfo(dtype).tiny))


@pytest.mark.parametrize("shape", [(6, 8192), (6, 50000), (1, 200_000)])
def test_special_values(shape: tuple[int, int]) -> None:
    """NaN, infinities and rows of nothing but -inf give what the two rounds give."""
    kernel = kgen.jit(SOFTMAX, device="cpu")
    x = np.random.default_rng(2).normal(size=(6, shape[1])).astype(np.float32)
    x[0, 77] = np.nan
    x[1, 4099] = np.inf
    x[2, :] = -np.inf
    x[3, 5:] = -np.inf
    x[4, :] = 3e38
    for rows in [x] if shape[0] > 1 else x[:, None]:
        assert np.allclose(kernel(rows), expected(rows), rtol=1e-5, atol=1e-9, equal_nan=True)


def test_ascending_rows_are_as_good() -> None:
    """Rows that grow rescale the sum at every group of elements, and lose nothing by it."""
    x = np.linspace(-80, 5, 50000, dtype=np.float32)[None].repeat(2, 0)
    got = kgen.jit(SOFTMAX, device="cpu")(x)
    assert np.allclose(got, expected(x), rtol=2e-5)


def test_explain_says_one_round() -> None:
    """A long row is read for its reductions once: max and sum come from one pass."""
    text = kgen.jit(SOFTMAX).source(kgen.spec((128, 100_000), "f32"))
    assert "_pass2" not in text
    assert "LogSum<float>" in text
    assert "_pass2" in kgen.jit(SOFTMAX).source(kgen.spec((128, 1024), "f32"))


def test_columns() -> None:
    """Softmax over a slow axis."""
    x = (np.random.default_rng(3).normal(size=(6000, 40)) * 9).astype(np.float32)
    kernel = kgen.jit(SOFTMAX.replace("-1", "0"), device="cpu")
    assert np.allclose(kernel(x), expected(x.T).T, rtol=2e-5)
