"""Places of extremes in rows of halves, which threads look for once they all know the extreme."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import kgen


@pytest.mark.parametrize("kind", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_first_of_several(kind: str, dtype: str) -> None:
    """Of equal extremes, zeros of either sign, infinities and NaNs, in rows of one warp and of several."""
    kernel = kgen.jit(f"out = {kind}(x, axis=-1)", device="cpu")
    for width in (64, 520, 1024, 7168):
        x = np.random.default_rng(width).integers(-40, 40, (12, width)).astype(getattr(ml_dtypes, dtype, dtype))
        x[0], x[1, 5], x[2], x[3, 7], x[3, 3], x[4, width - 1] = -np.inf, np.nan, np.nan, np.inf, np.nan, 1000
        x[5], x[5, 3], x[6], x[6, 9], x[7], x[8, width - 1] = 0, -0.0, -0.0, 0.0, np.inf, -np.inf
        wide = x.astype(np.float32)
        assert "FirstPlace" in kernel.source(x=x)
        assert np.array_equal(kernel(x), wide.argmax(-1) if kind == "argmax" else wide.argmin(-1)), width


def test_beside_other_rounds() -> None:
    """The place is one of several results of a chain."""
    kernel = kgen.jit("let m = max(x, axis=-1, keepdims=true)\np = argmax(x, axis=-1)\ny = x - m", device="cpu")
    x = np.random.default_rng(0).normal(size=(9, 2048)).astype(np.float16)
    p, y = kernel(x)
    assert np.array_equal(p, x.argmax(-1))
    wide = x.astype(np.float32)
    assert np.array_equal(y, (wide - wide.max(-1, keepdims=True)).astype(np.float16))
