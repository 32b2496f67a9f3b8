"""One operand read through several maps in one kernel, under every kind of layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen

Array = np.ndarray[Any, Any]


def laid_out(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> Array:
    """An array of that shape; ``strides`` in elements (default: C order)."""
    if strides is None:
        return np.random.default_rng(0).random(shape, np.float32)
    span = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    base = np.random.default_rng(0).random(span, np.float32)
    return np.lib.stride_tricks.as_strided(base, shape, [4 * s for s in strides])


@pytest.mark.parametrize("strides", [None, (1, 64), (128, 2), (1, 100), (200, 3)], ids=str)
@pytest.mark.parametrize(
    "text",
    [
        "out = x1 + expand(x1, axis=1)",
        "out = expand(x1, axis=2) * expand(x1, axis=1)",
        "out = expand(x1, axis=2) * expand(x1, axis=1) + x1 * x12",
    ],
)
def test_maps(text: str, strides: tuple[int, ...] | None) -> None:
    """Each map has names of its own, also where another operand is called what a number would make of the first."""
    x1 = laid_out((64, 64), strides)
    names = {"x1": x1, "x12": laid_out((64, 64), None)} if "x12" in text else {"x1": x1}

    def expand(x: Array, axis: int) -> Array:
        return np.expand_dims(x, axis)

    expected = eval(text.removeprefix("out = "), {"expand": expand, **names})
    np.testing.assert_array_equal(kgen.jit(text, device="cpu", fmad=False)(*names.values()), expected)
