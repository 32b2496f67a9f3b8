"""Reductions that rows in registers take in two steps: the same values as in one."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kgen

Array = np.ndarray[Any, Any]

SOFTMAX = "let m = max(t, axis=-1, keepdims=true)\nlet e = exp(t - m)\nout = e / sum(e, axis=-1, keepdims=true)"


def rows(*shape: int) -> Array:
    return np.random.default_rng(5).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("width", [256, 2048, 16384])
@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16])
def test_layer_normalisation_with_half_weights(width: int, half: Any) -> None:
    """Rows of floats beside weights of 16 bits, which are read behind the last exchange."""
    x, w, b = rows(3, width), rows(width).astype(half), rows(width).astype(half)
    d = "let d = x - mean(x, axis=-1, keepdims=true)"
    got = kgen.jit(f"{d}\nout = d * rsqrt(var(x, axis=-1, keepdims=true) + 1e-5) * w + b", device="cpu")(x=x, w=w, b=b)
    chain = f"{d}\nout = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b"
    wide, scale, shift = (a.astype(np.float64) for a in (x, w, b))
    want = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5) * scale + shift
    assert np.allclose(got, want, rtol=1e-4, atol=1e-5)
    assert np.allclose(kgen.jit(chain, device="cpu")(x=x, w=w, b=b), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("width", [3, 100, 8192])
@pytest.mark.parametrize("text", ["where(x > 0.25, x, -0.5)", "x > 0.25 ? x : -0.5"])
def test_variance_of_a_choice(text: str, width: int) -> None:
    """What is subtracted from a choice is subtracted from both its sides."""
    x = rows(4, width)
    chosen = np.where(x > 0.25, x, -0.5).astype(np.float64)
    for kind in ("var", "std"):
        got = kgen.jit(f"out = {kind}({text}, axis=1)", device="cpu")(x)
        assert np.allclose(got, getattr(np, kind)(chosen, axis=1), rtol=1e-5)


@pytest.mark.parametrize("width", [1024, 8192, 40000])
def test_softmax_of_what_is_masked(width: int) -> None:
    """Elements that a mask takes away are 0."""
    x = rows(3, width)
    masked = np.where(x > 0.25, x.astype(np.float64), -np.inf)
    e = np.exp(masked - masked.max(-1, keepdims=True))
    got = kgen.jit(f"let t = where(x > 0.25, x, -inf)\n{SOFTMAX}", device="cpu")(x)
    assert np.allclose(got, e / e.sum(-1, keepdims=True), rtol=2e-5, atol=1e-9)
    assert np.all(got[x <= 0.25] == 0)


@pytest.mark.parametrize("width", [1024, 8192])
def test_layer_normalisation_of_a_choice(width: int) -> None:
    """Long rows take their mean and variance in one round."""
    x = rows(3, width)
    text = "let t = x > 0.25 ? x : -0.5\nlet d = t - mean(t, axis=-1, keepdims=true)\n"
    got = kgen.jit(text + "out = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5)", device="cpu")(x)
    t = np.where(x > 0.25, x, -0.5).astype(np.float64)
    d = t - t.mean(-1, keepdims=True)
    assert np.allclose(got, d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("width", [3, 1000, 8192, 40000])
def test_logsumexp(width: int, dtype: Any) -> None:
    """Beside numbers, rows that infinities, NaN or nothing but -inf decide."""
    x = (rows(7, width) * 20).astype(dtype)
    x[0], x[1, 1], x[2, 2], x[3, 1:], x[4] = -np.inf, np.inf, np.nan, -np.inf, 3e4
    got = kgen.jit("out = logsumexp(x, axis=1)", device="cpu")(x)
    wide = x.astype(np.longdouble)
    with np.errstate(all="ignore"):
        peak = wide.max(-1)
        origin = np.where(np.isfinite(peak), peak, 0)
        expected = np.log(np.exp(wide - origin[:, None]).sum(-1)) + origin
    assert np.allclose(got, expected.astype(dtype), rtol=4 * float(np.finfo(dtype).eps), equal_nan=True)


@pytest.mark.parametrize("kind", ["var", "logsumexp"])
def test_what_is_dear_is_computed_once(kind: str) -> None:
    """Two steps compute each element twice, or keep it where that takes long, but for threads with many elements."""
    x, long = kgen.spec((64, 8192), "f32"), kgen.spec((64, 200_000), "bf16")
    word = {"var": "total", "logsumexp": "peak"}[kind]
    plain = kgen.jit(f"out = {kind}(x * 2, axis=1)").source(x)
    assert f"_{word}(" in plain
    assert "_kept" not in plain
    dear = kgen.jit(f"out = {kind}(tanh(x), axis=1)")
    assert dear.source(x).count("tanhf(") == 1
    assert f"_{word}(" in dear.source(x)
    assert f"_{word}(" not in dear.source(long)


@pytest.mark.parametrize("width", [13, 65, 1001, 4096, 9001])
@pytest.mark.parametrize("text", ["var(tanh(x) * 2, axis=1)", "logsumexp(exp(-x) + x, axis=1)"])
def test_of_dear_elements(text: str, width: int) -> None:
    """Beside another reduction of the same elements, and where these are written as well."""
    x = rows(7, width)
    value = text[text.index("(") + 1 : text.index(",")]
    kernel = kgen.jit(
        f"out = {text}\ntotal = sum({value}, axis=1)\ny = {value} - {text[:-1]}, keepdims=true)", device="cpu"
    )
    out, total, y = kernel(x)
    z = {"v": np.tanh(x) * 2, "l": np.exp(-x) + x}[text[0]].astype(np.float64)
    wanted = z.var(1) if text[0] == "v" else np.log(np.exp(z - z.max(1, keepdims=True)).sum(1)) + z.max(1)
    assert np.allclose(out, wanted, rtol=1e-5)
    assert np.allclose(total, z.sum(1), rtol=1e-4, atol=1e-4)
    assert np.allclose(y, z - wanted[:, None], rtol=1e-4, atol=1e-5)


def test_a_chain_over_the_results_of_another() -> None:
    """No operand of the last kernel exists before the call: neither what it reads nor what it writes."""
    x = rows(1 << 17, 2)
    y, out = kgen.jit("y = sum(x, axis=-1)\nout = y - mean(y, axis=0)", device="cpu")(x)
    assert np.allclose(y, x.sum(-1), rtol=1e-6, atol=1e-6)
    assert np.allclose(out, y - y.mean(dtype=np.float64), rtol=1e-5, atol=1e-6)
