"""Maxima that cancel in the result have no gradient, and all others do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .oracle import check_gradients, derived

X = np.random.default_rng(3).uniform(-2, 2, (3, 5))
SOFTMAX = """
let m = max(x, axis=-1, keepdims=true)
let e = exp(x - m)
out = e / sum(e, axis=-1, keepdims=true)
"""
CANCELS = {
    "divided": "let m = max(x, axis=1, keepdims=true)\nout = (x + m) / 4 - m * 0.25",
    "softmax": SOFTMAX,
    "log-softmax": "let m = max(x, axis=1, keepdims=true)\nout = x - m - log(sum(exp(x - m), axis=1, keepdims=true))",
    "logsumexp": "let m = max(x, axis=1)\nout = log(sum(exp(x - expand(m, axis=1)), axis=1)) + m",
    "of all": "out = exp(x - max(x)) / sum(exp(x - max(x)))",
    "scaled": "let m = min(x, axis=0) * 2\nlet e = exp((x * 2 - m) / 4)\nout = log(e) - log(mean(e, axis=0))",
    "chosen": "let m = max(x, axis=1, keepdims=true)\nlet e = x > 0 ? exp(x - m) : 2 * exp(-(m - x))\n"
    "out = e / sum(e, axis=1, keepdims=true)",
}
STAYS = {
    "subtracted": "out = x - max(x, axis=1, keepdims=true)",
    "of other rows": SOFTMAX.replace("max(x, axis=-1", "max(x, axis=0"),
    "another weight": SOFTMAX.replace("sum(e", "sum(e * e"),
    "not linear": "let m = max(x, axis=1, keepdims=true)\nout = sigmoid(x - m) + m",
    "one of two outputs": SOFTMAX + "big = m * 2",
    "a product": "let m = max(x, axis=1, keepdims=true)\nout = m * (x / m)",
    "a quotient": "let m = max(x, axis=1, keepdims=true)\nout = (m - x) / 4 - m * 4",
    "sums of products": "let e = exp(x - max(x, axis=1, keepdims=true))\nout = (e + e * e) / e",
    "another choice": "let m = max(x, axis=1, keepdims=true)\nlet e = x > 0 ? exp(x - m) : exp(2 * (x - m))\n"
    "out = e / exp(x - m)",
}


@pytest.mark.parametrize("name", CANCELS)
def test_a_maximum_that_cancels(name: str) -> None:
    check_gradients(CANCELS[name], {"x": X}, ["x"])
    assert "count_nonzero" not in derived(CANCELS[name], {"x": X}, ["x"])


@pytest.mark.parametrize("name", STAYS)
def test_a_maximum_that_counts(name: str) -> None:
    check_gradients(STAYS[name], {"x": X}, ["x"])
    assert "count_nonzero" in derived(STAYS[name], {"x": X}, ["x"])


def test_the_text_of_softmax() -> None:
    given: dict[str, Any] = {"x": X}
    assert derived(SOFTMAX, given, ["x"]) == (
        "input x, out_grad\n"
        "let m = max(x, axis=-1, keepdims=true)\n"
        "let e = exp(x - m)\n"
        "let v1 = sum(e, axis=-1, keepdims=true)\n"
        "# gradients through `e = exp(x - m)`\n"
        "let e_grad = sum(-out_grad * e, axis=1, keepdims=true) / v1 / v1 + out_grad / v1\n"
        "x_grad = e_grad * e\n"
    )
