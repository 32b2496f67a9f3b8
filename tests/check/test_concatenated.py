"""Reductions of what is computed from concatenations are those of the parts, joined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kgen.diagnostics import KgenError
from kgen.load import load
from tests.gradients.oracle import run

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((3, 4)), RNG.standard_normal((2, 4))
XY = np.concatenate([X, Y])

CASES: dict[str, Callable[[], Any]] = {
    "sum(concat(x, y, axis=0), axis=0)": lambda: XY.sum(0),
    "max(2 * concat(x, y, axis=0), axis=0, keepdims=true)": lambda: 2 * XY.max(0, keepdims=True),
    "sum(exp(concat(concat(x, y, axis=0), x, axis=0)))": lambda: np.exp(XY).sum() + np.exp(X).sum(),
    "sum(concat(x, y, axis=0), axis=1)": lambda: XY.sum(1),
    "sum(concat(concat(x, x, axis=1), concat(y, y, axis=1), axis=0))": lambda: 2 * XY.sum(),
    "count_nonzero(concat(x, y, axis=0) > 0, axis=0)": lambda: np.count_nonzero(XY > 0, axis=0),
    "any(concat(x, y, axis=0) > 2)": lambda: np.any(XY > 2),
    "prod(concat(x, y, axis=0), axis=0)": lambda: XY.prod(0),
    "sum(concat(x, y, axis=0) * sum(concat(x, y, axis=0), axis=1, keepdims=true))": lambda: (
        XY * XY.sum(1, keepdims=True)
    ).sum(),
}


@pytest.mark.parametrize("expression", CASES)
def test_of_parts(expression: str) -> None:
    found = run(load(f"out = {expression}"), {"x": X, "y": Y})["out"]
    np.testing.assert_allclose(found, CASES[expression](), rtol=1e-12)


@pytest.mark.parametrize(
    "expression",
    [
        "var(concat(x, y, axis=0))",
        "sum(merge(stack(x, x, axis=0)))",
        "sum(concat(x, y, axis=0) * concat(y, x, axis=0), axis=0)",
    ],
)
def test_others_are_refused(expression: str) -> None:
    with pytest.raises(KgenError, match="this reduces an axis"):
        run(load(f"out = {expression}"), {"x": X, "y": Y})
