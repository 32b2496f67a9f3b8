"""Programs that sum over rows beside work along them, and what NumPy says of each in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Case:
    """``exact``: the outputs, of float64 ``x``, ``g`` (rows) and ``w`` (one row)."""

    text: str
    exact: Callable[[Any, Any, Any], tuple[Any, ...]]


def _mean(a: Any) -> Any:
    return a.mean(axis=-1, keepdims=True)


def _rmsnorm(x: Any, g: Any, w: Any) -> tuple[Any, ...]:
    r = 1 / np.sqrt(_mean(x * x) + 1e-6)
    return g * w * r - x * r**3 * _mean(g * w * x), (g * x * r).sum(axis=0)


def _layernorm(x: Any, g: Any, w: Any) -> tuple[Any, ...]:
    d = x - _mean(x)
    r = 1 / np.sqrt(_mean(d * d) + 1e-5)
    q = g * w * r - d * r**3 * _mean(g * w * d)
    return q - _mean(q), (g * d * r).sum(axis=0), g.sum(axis=0)


def _activation(x: Any, g: Any, w: Any) -> tuple[Any, ...]:
    v = g * np.where(x + w > 0, 1, 0.25)
    return v, v.sum(axis=0)


RMSNORM = Case(
    "input x, g, w\nlet r = rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6)\nlet h = g * w\n"
    "dx = h * r - x * (r * r * r * mean(h * x, axis=-1, keepdims=true))\ndw = sum(g * x * r, axis=0)",
    _rmsnorm,
)
LAYERNORM = Case(
    "input x, g, w\nlet d = x - mean(x, axis=-1, keepdims=true)\n"
    "let r = rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5)\nlet h = g * w\n"
    "let q = h * r - d * (r * r * r * mean(h * d, axis=-1, keepdims=true))\n"
    "dx = q - mean(q, axis=-1, keepdims=true)\ndw = sum(g * d * r, axis=0)\ndb = sum(g, axis=0)",
    _layernorm,
)
ACTIVATION = Case("input x, g, w\nlet v = g * (x + w > 0 ? 1 : 0.25)\ndx = v\ndb = sum(v, axis=0)", _activation)
STATISTICS = Case(
    "input x, g, w\nm = mean(x * g * w, axis=-1)\ntotal = sum(x, axis=0)",
    lambda x, g, w: ((x * g * w).mean(axis=-1), x.sum(axis=0)),
)
TENSOR = Case(
    "input x, g, w\ny = x * w\ntotal = sum(x * g, axis=(0, 1))",
    lambda x, g, w: (x * w, (x * g).sum(axis=(0, 1))),
)


def arrays(*shape: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """``x``, ``g`` and ``w`` in float64, of values that float32 and bfloat16 have."""
    rng = np.random.default_rng(seed)
    x, g, w = (rng.integers(-64, 65, s) / 32 for s in (shape, shape, shape[-1:]))
    return x, g, w


def error(got: Any, exact: Any) -> float:
    """The largest error, beside the largest magnitude."""
    return float(np.abs(np.asarray(got, "f8") - exact).max() / np.abs(exact).max())
