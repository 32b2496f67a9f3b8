"""Shares of a sum of exponentials: quickly where they are rounded to halves, and exactly everywhere else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kgen

Array = np.ndarray[Any, Any]

EXPONENTIALS = "let e = exp(x - max(x, axis=-1, keepdims=true))\n"
SOFTMAX = EXPONENTIALS + "out = e / sum(e, axis=-1, keepdims=true)"


def source(text: str, width: int, dtype: str) -> str:
    """Only what the kernel's own functions and body say."""
    found = kgen.jit(text).source(kgen.spec((512, width), dtype))
    return found[found.index("one element") :]


@pytest.mark.parametrize("width", [7, 256, 1001, 8192, 50_000])
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_halves_are_raised(width: int, dtype: str) -> None:
    """In rows of every kind."""
    text = source(SOFTMAX, width, dtype)
    assert "exp_scaled_2_24(" in text
    assert "0x1p-24f / " in text
    assert "divide" not in text


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        (SOFTMAX, "f32"),
        (SOFTMAX.replace("out =", "out = cast<float>(1) *"), "bf16"),
        (SOFTMAX + " - 0.5", "bf16"),
        (SOFTMAX + "\nother = e", "bf16"),
        (EXPONENTIALS + "out = e / mean(e, axis=-1, keepdims=true)", "bf16"),
        ("let e = exp(x - min(x, axis=-1, keepdims=true))\nout = e / sum(e, axis=-1, keepdims=true)", "bf16"),
    ],
)
def test_others_are_exact(text: str, dtype: str) -> None:
    """Where bits of it may show: wider results, sums with it, itself, and what may be greater than 1."""
    assert "exp_scaled_2_24(" not in source(text, 1024, dtype)


SHARE = EXPONENTIALS + "let s = sum(e, axis=-1, keepdims=true)\nlet p = cast<half>(e / s)\n"


def again(p: Array) -> Array:
    f = np.exp(p - p.max(-1, keepdims=True))
    return np.asarray(f / f.sum(-1, keepdims=True))


@pytest.mark.parametrize("width", [30, 1000, 9000])
@pytest.mark.parametrize(
    ("last", "want"),
    [
        ("out = p / max(p, axis=-1, keepdims=true)", lambda p, s: p / p.max(-1, keepdims=True)),
        ("out = p / max(p * cast<half>(s), axis=-1, keepdims=true)", lambda p, s: p / (p * s).max(-1, keepdims=True)),
        ("out = cast<half>(argmax(p, axis=-1, keepdims=true)) + p", lambda p, s: p + p.argmax(-1)[:, None]),
        (
            "let f = exp(p - max(p, axis=-1, keepdims=true))\nout = cast<half>(f / sum(f, axis=-1, keepdims=true))",
            lambda p, s: again(p),
        ),
    ],
)
def test_reduced_shares_are_exact(last: str, want: Callable[[Array, Array], Array], width: int) -> None:
    """The greatest share is among the shares, so each of them is the same wherever it is computed."""
    x = spread_out(width).astype(np.float16)
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(-1, keepdims=True))
    s = e.sum(-1, keepdims=True)
    p = (e / s).astype(np.float16).astype(np.float64)
    got = kgen.jit(SHARE + last, device="cpu")(x).astype(np.float64)
    assert np.allclose(got, want(p, s), rtol=4e-3, atol=1e-6)


def test_a_sum_that_divides_something_else() -> None:
    """Two exponentials share two sums, in rows that are read once: one exact quotient makes all of them exact."""
    text = """let e1 = exp(x - max(x))
let e2 = exp(x - max(x, axis=0, keepdims=true))
let s1 = sum(e1)
let s2 = sum(e2, axis=0, keepdims=true)
a = cast<half>(e1 / s1)
b = cast<half>(e1 / s2)
c = cast<half>(e2 / s2)
d = cast<float>(x) / s1"""
    x = np.random.default_rng(7).normal(size=9000).astype(np.float16)
    e = np.exp(x.astype(np.float64) - x.max())
    for got, want in zip(kgen.jit(text, device="cpu")(x), [e / e.sum()] * 3 + [x / e.sum()], strict=True):
        assert np.allclose(got.astype(np.float64), want, rtol=2e-3, atol=1e-6)


def test_explain_says_so() -> None:
    """What is not float32's last bit is said, and only where it is so."""
    kernel = kgen.jit(SOFTMAX)
    assert "quotients by a sum " in str(kernel.explain(kgen.spec((512, 1024), "bf16")))
    assert "quotients by a sum " not in str(kernel.explain(kgen.spec((512, 1024), "f32")))


def test_sums_alone() -> None:
    """Log-softmax needs no exponential but in its sum."""
    text = source(
        "let d = x - max(x, axis=-1, keepdims=true)\nout = d - log(sum(exp(d), axis=-1, keepdims=true))", 1024, "f32"
    )
    assert "exp_approx(" in text
    assert "expf(" not in text


def test_shares_of_both_kinds() -> None:
    """One sum that divides a raised exponential and an exact one divides both exactly."""
    x = np.random.default_rng(5).normal(size=(64, 64)).astype(np.float16)
    text = (
        "let e = exp(x - max(x, axis=0))\nlet f = exp(x - max(x, axis=0, keepdims=true))\n"
        "near = f / sum(f, axis=0, keepdims=true)\nwide = cast<float>(e) / sum(cast<float>(e), axis=0)"
    )
    near, wide = kgen.jit(text, device="cpu")(x)
    assert np.allclose(near.astype(np.float32), wide, atol=1e-3)
    assert np.allclose(wide.sum(0), 1, rtol=1e-3)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("width", [40, 1000, 9000])
@pytest.mark.parametrize("inner", ["x", "gelu(x)"])
def test_values(dtype: Any, width: int, inner: str) -> None:
    """Rounded once, down to the smallest numbers; also of what is too dear to be computed twice."""
    text = f"let g = {inner}\n" + SOFTMAX.replace("x - max(x", "g - max(g")
    x = spread_out(width).astype(dtype)
    wide = x.astype(np.float64)
    if inner != "x":
        wide *= 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
    assert_rounded_once(kgen.jit(text, device="cpu")(x), wide)


def spread_out(width: int) -> Array:
    """Rows of numbers from close together to so far apart that most shares underflow."""
    x = np.random.default_rng(6).uniform(0, 1, size=(8, width))
    return np.asarray(x * np.linspace(1, 120, 8)[:, None])


def assert_rounded_once(got: Array, x: Array) -> None:
    """Whether shares of ``exp(x)`` are within little more than half a unit in the last place."""
    e = np.exp(x - x.max(-1, keepdims=True))
    exact = e / e.sum(-1, keepdims=True)
    info = ml_dtypes.finfo(got.dtype)  # type: ignore[no-untyped-call]
    bound = 0.51 * (exact * float(info.eps) + float(info.smallest_subnormal))
    assert (np.abs(got.astype(np.float64) - exact) <= bound).all()


GRADIENT = "let e = exp(x - max(x, axis=-1, keepdims=true))\nlet s = sum(e, axis=-1, keepdims=true)\n"


@pytest.mark.parametrize(
    ("out", "dtype", "divides"),
    [
        ("out = (g / s - x) * e", "f16", False),
        ("out = (g / s - x) * e", "f32", True),
        ("out = g / s\nmost = max(g / s, axis=-1)", "f16", True),
    ],
)
def test_quotients_by_sums_of_exponentials(out: str, dtype: str, divides: bool) -> None:
    """What only goes into results of 16 bits, through products and sums, is a product with the reciprocal."""
    given = kgen.spec((512, 1024), dtype)
    assert ("divide<" in kgen.jit(GRADIENT + out).source(x=given, g=given)) == divides


@pytest.mark.parametrize(("width", "is_kept"), [(7, True), (512, True), (4096, True), (16_384, False)])
def test_exponentials_are_kept(width: int, *, is_kept: bool) -> None:
    """They are computed once where a thread has registers for them."""
    text = source(SOFTMAX, width, "bf16")
    assert ("e_kept" in text) == is_kept
    assert text.count("exp_scaled_2_24(") == 1
    assert "exp_approx(" not in text
