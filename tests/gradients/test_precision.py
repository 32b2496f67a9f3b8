"""Gradients in float32 and float16 are those of float64 but for rounding: halves compute in float32, and round once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.load import load

from .oracle import gradients

ROWS, HALVES = (12, 40), (12, 20)
PLACES = np.arange(12) * 5 % 11
#: Layers and losses, with the shape of the result.  ``x`` has rows, and ``w`` and ``b`` have one.
PROGRAMS: dict[str, tuple[int, ...]] = {
    "let d = x - mean(x, axis=-1, keepdims=true)\n"
    "out = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b": ROWS,
    "let r = rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6)\nout = x * r * (1 + w)": ROWS,
    "let e = exp(x - max(x, axis=-1, keepdims=true))\nout = e / sum(e, axis=-1, keepdims=true)": ROWS,
    "out = logsumexp(x, axis=-1) - x[index(0), i]": (12,),
    "let p = x - logsumexp(x, axis=-1, keepdims=true)\nout = p[i, i + 1]": (12,),
    "let h = size(x, -1) // 2\nout = gelu(x[..., :h]) * x[..., h:]": HALVES,
    "out = silu(x[..., ::2]) * x[..., 1::2]": HALVES,
    "out = x / max(norm(x, axis=-1, keepdims=true), 1e-12) * count_nonzero(i)": ROWS,
}
#: Of the largest gradient: some roundings of float32, then one to the dtype.
BOUNDS = {"float32": 2e-6, "float16": 2.0**-11 + 2e-6}


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("text", PROGRAMS)
def test_gradients_are_those_of_float64(text: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    narrow: dict[str, Any] = {
        argument.name: rng.uniform(-2, 2, ROWS if argument.name == "x" else ROWS[1:]).astype(dtype)
        for argument in load(text).arguments
    }
    wrt = [name for name in narrow if name != "i"]
    wide = {name: narrow[name].astype(np.float64) for name in wrt}
    places = {"i": PLACES} if "i" in narrow else {}
    cotangent = rng.uniform(-1, 1, PROGRAMS[text]).astype(dtype)
    want = gradients(text, {**wide, **places}, wrt, {"out": cotangent.astype(np.float64)})
    for name, found in gradients(text, {**narrow, **places}, wrt, {"out": cotangent}).items():
        assert found.dtype == dtype
        bound = BOUNDS[dtype] * np.abs(want[name]).max()
        np.testing.assert_allclose(found.astype(np.float64), want[name], rtol=0, atol=bound)
