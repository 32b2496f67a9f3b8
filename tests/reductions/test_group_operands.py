"""Operands of rows of several dimensions that are the same along the fastest one: one load for a group."""

from __future__ import annotations

import numpy as np
import pytest

import kgen

GROUPNORM = """let m = mean(x, axis=(2, 3), keepdims=true)
let v = var(x, axis=(2, 3), keepdims=true)
out = (x - m) * rsqrt(v + 1e-5) * w + b"""


@pytest.mark.parametrize("images", [2, 3000])
def test_group_normalisation(images: int) -> None:
    """Of few rows, whose shared operands are loaded ahead of the reductions, and of many."""
    rng = np.random.default_rng(images)
    x = rng.standard_normal((images, 2, 4, 64)).astype(np.float16)
    w, b = (rng.standard_normal((2, 4, 1)).astype(np.float16) for _ in range(2))
    kernel = kgen.jit(GROUPNORM, device="cpu")
    wide = x.astype(np.float64)
    centred = wide - wide.mean((2, 3), keepdims=True)
    want = centred / np.sqrt(wide.var((2, 3), keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(kernel(x, w, b).astype(np.float64), want, rtol=2e-3, atol=2e-3)
    assert "const __half w_in = w_row[r1 * layout.w_step];" in kernel.source(x=x, w=w, b=b)
