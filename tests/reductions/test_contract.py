"""Sentences of the contract that the oracle cannot check, since it shares the typing of programs: against NumPy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import KgenError

X = np.arange(24, dtype=np.float32).reshape(4, 6)
ROW, COLUMN = np.arange(4)[:, None], np.arange(6)
SQUARE = np.ascontiguousarray(X[:, :4])
LABEL = np.array([[1], [2], [3], [4]])


def log_sum_exp(x: Any) -> Any:
    peak = x.max(-1, keepdims=True)
    return np.log(np.exp(x - peak).sum(-1, keepdims=True)) + peak


PLACES = {
    "a let read in a reduction": ("let i = index(0)\nout = sum(i * x, axis=0)", (ROW * X).sum(0)),
    "its axis": ("let i = index(1)\nout = sum(i * x, axis=1)", (COLUMN * X).sum(1)),
    "size": ("let n = size(0)\nout = sum(x / n, axis=0)", (X / 4).sum(0)),
    "picked": (
        "let hit = index(1) == label\nout = sum(hit ? x : 0, axis=1, keepdims=true)",
        X[np.arange(4), LABEL[:, 0]][:, None],
    ),
    "a mask": (
        "let m = index(0) >= index(1) ? square : -inf\nout = logsumexp(m, axis=-1, keepdims=true)",
        log_sum_exp(np.where(np.tri(4, dtype=bool), SQUARE, -np.inf)),
    ),
    "both places": (
        "let i = index(1)\nlet s = sum(i * x, axis=1, keepdims=true)\nout = x + s + i",
        X + (COLUMN * X).sum(1, keepdims=True) + COLUMN,
    ),
    "a chain": (
        "let i = index(1)\nlet j = i + 1\nlet k = j * 2\nout = sum(k * x, axis=1)",
        ((COLUMN + 1) * 2 * X).sum(1),
    ),
    "passed to a def": ("def r(v) = sum(v, axis=1)\nout = r(index(1) * x)", (COLUMN * X).sum(1)),
    "passed on": (
        "def g(v) = sum(v * 2, axis=1)\ndef f(v) = g(v + index(1))\nout = f(x)",
        ((X + COLUMN) * 2).sum(1),
    ),
    "in a def": (
        "def f(v) = v * index(1)\nout = f(x) + sum(f(x), axis=1, keepdims=true)",
        X * COLUMN + (X * COLUMN).sum(1, keepdims=True),
    ),
    "within another": (
        "let i = index(0)\nout = sum(i * sum(i * x, axis=1, keepdims=true), axis=0)",
        (ROW * (ROW * X).sum(1, keepdims=True)).sum(0),
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_places(name: str) -> None:
    """``index`` and ``size`` mean the innermost reduction's argument, also in a ``let`` or what a ``def`` is given."""
    text, want = PLACES[name]
    arrays = {"x": X, "square": SQUARE, "label": LABEL}
    given: dict[str, Any] = {n: a for n, a in arrays.items() if re.search(rf"\b{n}\b", text)}
    got = kgen.jit(text)(**given)
    assert got.shape == want.shape
    assert np.allclose(got, want)


def test_nested_places_take_no_time() -> None:
    """What a reduction gives does not depend on where it stands, so it is typed once."""
    text = "x"
    for _ in range(25):
        text = f"sum(index(0) * {text}, axis=0, keepdims=true)"
    assert str(kgen.jit(f"out = {text}").meta(X)) == "f32[1, 6]"
    text = "x"
    for _ in range(25):
        text = f"r(index(0) * {text})"
    assert str(kgen.jit(f"def r(v) = sum(v, axis=0, keepdims=true) + v\nout = {text}").meta(X)) == "f32[4, 6]"


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("spread", ["var", "std"])
@pytest.mark.parametrize("n", [0, 1, 100, 1000, 4000, 5000, 70_000])
def test_mean_beside_var(n: int, spread: str, axis: int) -> None:
    """The same as alone: of nothing, and of infinities.  Where a sum overflows the mean need not."""
    x = np.ones((n, 3) if axis == 0 else (3, n), np.float32)
    rows = x.T if axis == 0 else x
    if n:
        rows[0, 0] = np.inf
    both = kgen.jit(f"m = mean(x, axis={axis})\nv = {spread}(x, axis={axis})")(x)[0]
    alone = kgen.jit(f"m = mean(x, axis={axis})")(x)
    assert np.array_equal(both, alone, equal_nan=True)
    big = kgen.jit(f"m = mean(x, axis={axis})\nv = {spread}(x, axis={axis})")(np.full_like(x, 3e38))[0]
    assert n == 0 or not np.isnan(big).any()
    if n > 1:
        opposite = x.copy()
        (opposite.T if axis == 0 else opposite)[0, -1] = -np.inf
        assert np.isnan(kgen.jit(f"m = mean(x, axis={axis})\nv = {spread}(x, axis={axis})")(opposite)[0][0])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("out = mean(x, dtype=i32)", "bad-keyword"),
        ("out = mean(x, dtype=bool)", "bad-keyword"),
        ("out = var(x, correction=2147483648)", "bad-keyword"),
        ("out = var(x, correction=18446744073709551616)", "bad-keyword"),
        ("out = sum(x, axis=(0, 0))", "bad-axis"),
        ("out = argmax(y, axis=(0, 1))", "bad-axis"),
        ("one = sum(x)\nout = max(empty, axis=1)", "nothing-to-reduce"),
    ],
)
def test_mistakes(text: str, code: str) -> None:
    """Each has its place and a hint."""
    arrays = {"x": X, "y": np.ones((2, 3, 4), np.float32), "empty": np.ones((3, 0), np.float32)}
    given: dict[str, Any] = {n: a for n, a in arrays.items() if re.search(rf"\b{n}\b", text)}
    with pytest.raises(KgenError) as caught:
        kgen.jit(text)(**given)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert found.hint
    assert found.at is not None
    line = text.count("\n") + 1
    assert f"{line}:" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "lints"),
    [
        ("x - mean(x, axis=-1)", 1),
        ("x * rsqrt(mean(x * x, axis=-1) + 1e-6)", 1),
        ("x / max(norm(x, axis=-1), 1e-8)", 1),
        ("exp(x - log(sum(exp(x), axis=-1)))", 1),
        ("x / cast<f64>(sum(x, axis=-1))", 1),
        ("x - 2 * mean(x, axis=0)", 0),
        ("x - 2 * mean(x, axis=-1, keepdims=true)", 0),
        ("x - 2 * y", 0),
    ],
)
def test_lost_axes(text: str, lints: int) -> None:
    """A square array meets what it was reduced to along the wrong axis, and is told so."""
    specs: dict[str, Any] = {n: kgen.spec((8, 8) if n == "x" else (8,), "f32") for n in "xy" if n in text}
    found = kgen.jit(f"out = {text}").explain(**specs).lints
    assert ["lint[reduced-axis]" in lint for lint in found] == [True] * lints


@pytest.mark.parametrize("order", [("a", "b", "c"), ("a", "c", "b"), ("b", "c", "a"), ("c", "a", "b")])
def test_one_kernel_in_any_order(order: tuple[str, ...]) -> None:
    """Sums that have arrays in common pairwise are one reading of both."""
    sums = {"a": "sum(x * x, axis=-1)", "b": "sum(y * y, axis=-1)", "c": "sum(x * y, axis=-1)"}
    kernel = kgen.jit("\n".join(f"{name} = {sums[name]}" for name in order))
    specs: dict[str, Any] = {n: kgen.spec((64, 512), "f32") for n in "xy"}
    assert len(kernel.explain(**specs).steps) == 1
