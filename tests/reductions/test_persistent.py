"""Persistent clusters: for which programs, and what they ask of a GPU.  ``tests/gpu/test_persistent.py`` runs them."""

from __future__ import annotations

import re
from typing import Any

import pytest

import kgen
from kgen.explain import KernelFact

LAYERNORM = (
    "let d = x - mean(x, axis=-1, keepdims=true)\nout = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b"
)
RMSNORM = "out = x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6) * w"
SOFTMAX = "let h = x + w\nlet e = exp(h - max(h, axis=-1, keepdims=true))\nout = e / sum(e, axis=-1, keepdims=true)"
SPREAD = "a = var(x, axis=-1)\nb = var(x * 2, axis=-1)\nc = var(x * x, axis=-1)\nd = var(x + 1, axis=-1)\n"


def step(text: str, **shapes: tuple[str, tuple[int, ...]]) -> KernelFact:
    """What is decided for these dtypes and shapes, with what the compiler says of it."""
    specs: dict[str, Any] = {name: kgen.spec(shape, dtype) for name, (dtype, shape) in shapes.items()}
    (found,) = kgen.jit(text).explain(**specs, arch="sm_90").steps
    assert found.usage is not None
    return found


def inputs(text: str, dtype: str, width: int, rows: int = 512) -> dict[str, tuple[str, tuple[int, ...]]]:
    names = sorted(set(re.findall(r"\b[xywb]\b", text)))
    return {name: (dtype, (rows, width) if name in "xy" else (width,)) for name in names}


WHICH = (
    (LAYERNORM, True),
    (RMSNORM, True),
    ("out = x * w / sqrt(sum(x * x, axis=-1, keepdims=true))", True),
    ("out = (x - mean(x, axis=-1, keepdims=true)) * w", True),
    ("out = x * w + sum(x * w, axis=-1, keepdims=true)", False),  # weights are needed twice
    (SOFTMAX, False),
    ("out = x * w - logsumexp(x, axis=-1, keepdims=true)", False),
    ("let s = sum(x, axis=-1, keepdims=true)\nout = x * w - max(x - s, axis=-1, keepdims=true)", False),
    ("out = x - mean(x, axis=-1, keepdims=true)", False),  # nothing is shared
)


@pytest.mark.parametrize(
    ("text", "persistent", "dtype"),
    [
        pytest.param(*case, dtype, marks=[] if dtype == "bf16" or (dtype == "f32" and row % 2) else [pytest.mark.whole])
        for row, case in enumerate(WHICH)
        for dtype in ("bf16", "f16", "f32")
    ],
)
def test_which(text: str, persistent: bool, dtype: str) -> None:
    """One round of reductions that weights take no part in; registers do for all that is asked of them."""
    for width in (40960, 131072) if dtype != "f32" else (40960, 65536):
        found = step(text, **inputs(text, dtype, width))
        assert found.kernel.endswith("_persistent") == persistent, found.kernel
        assert found.usage is not None
        assert not persistent or found.usage.spilled == 0, found.usage


NAMES = ("next_row", "next_row_smem", "next_row_counter", "iteration", "set", "rank", "row", "w_smem", "arrived")


@pytest.mark.parametrize(("out", "x"), list(zip(NAMES, (*NAMES[1:], NAMES[0]), strict=True)))
def test_names(out: str, x: str) -> None:
    """Operands may be called as something in the text."""
    text = f"{out} = ({x} - mean({x}, axis=-1, keepdims=true)) * w"
    assert step(text, **{x: ("bf16", (64, 131072)), "w": ("bf16", (131072,))}).kernel.endswith("_persistent")


@pytest.mark.parametrize(
    ("x", "w", "width"),
    [
        pytest.param(x, w, width, marks=[] if row % 3 == column else [pytest.mark.whole])
        for row, (x, w) in enumerate(
            [("f64", "bf16"), ("f32", "bf16"), ("f64", "f32"), ("f32", "f32"), ("bf16", "bf16")]
        )
        for column, width in enumerate([131072, 32768, 65536])
    ],
)
def test_shared_memory(x: str, w: str, width: int) -> None:
    """What blocks keep and what they exchange fit what a block may have."""
    text = SPREAD + "out = cast<float>(x) * cast<float>(w)"
    specs: dict[str, Any] = {"x": kgen.spec((64, width), x), "w": kgen.spec((width,), w)}
    kgen.jit(text).cubin(**specs, arch="sm_90")


def test_weights_of_some_rows() -> None:
    """What only some rows share is no weight of all."""
    found = step(RMSNORM, x=("bf16", (4, 16, 131072)), w=("bf16", (4, 1, 131072)))
    assert found.kernel.endswith("_cluster")
