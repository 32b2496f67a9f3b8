"""Calls of programs that join several features in a line; each case was once wrong, or no kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kgen import jit

Array = np.ndarray[Any, Any]


def some(*shape: int, dtype: str = "float32") -> Array:
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(dtype)


ROWS, INDEX = some(6, 8), np.array([1, 0, 5, 2, -1, 0, 4, 3])

#: Programs and what they give.
PROGRAMS: dict[str, tuple[str, Callable[..., Array], tuple[Array, ...]]] = {
    "a reduction of a concatenation, at computed places along it": (
        "let t = concat(x, y, axis=0); out = (t - min(t, axis=1, keepdims=true))[i]",
        lambda x, y, i: (t := np.concatenate([x, y]))[i] - t.min(1, keepdims=True)[i],
        (ROWS, ROWS[:3] * 2, INDEX),
    ),
    "a reduction of merged rows, at computed places": (
        "out = sum(merge(x, axis=(0, 1)), axis=1)[i]",
        lambda x, i: x.reshape(-1, x.shape[2]).sum(1)[i],
        (some(3, 2, 8), INDEX),
    ),
    "a reduction of a stack, at computed places across it": (
        "out = max(stack(x, 2 * x, axis=1), axis=2)[:, i % 2]",
        lambda x, i: np.stack([x, 2 * x], 1).max(2)[:, i % 2],
        (ROWS, INDEX),
    ),
    "a column at one computed place, with another axis in front": (
        "out = expand(x[:, i], axis=0)",
        lambda x, i: x[None, :, i],
        (ROWS, np.array([3])),
    ),
}


@pytest.mark.filterwarnings("ignore::kgen.LintWarning")
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results(name: str, deterministic: bool) -> None:
    """They are NumPy's, at calls that repeat, too."""
    text, reference, arrays = PROGRAMS[name]
    kernel: Any = jit(text, device="cpu", deterministic=deterministic)
    for _ in range(3):
        given = [np.array(array) for array in arrays]
        want = reference(*given)
        out = kernel(*given)
        np.testing.assert_array_equal(given[0] if out is None else out, want)
