"""Arguments of complex functions: extremes, cancellations, branch points, and everything between."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _components(dtype: str) -> list[float]:
    info = np.finfo(dtype)
    eps, wide = float(info.eps), info.bits == 64
    return [
        0.0, float(info.smallest_subnormal), float(info.tiny), eps / 3, 0.3, 1 - eps, 1.0, 1 + eps, 1.5707963267948966,
        3.0, 11.0, 30.0, 707.0 if wide else 87.0, 712.0 if wide else 92.0, 1e5, 1e150 if wide else 1e20,
        float(info.max),
    ]  # fmt: skip


def grid(dtype: str, more: int = 40) -> Array:
    """Numbers of ``dtype`` (complex64 or complex128) on both sides of the imaginary axis; ``more`` of each kind."""
    rng = np.random.default_rng(15)
    sides = np.array(_components("float64" if dtype == "complex128" else "float32"))
    x, y = (a.ravel() for a in np.meshgrid(sides, sides))
    turns = np.exp(2j * rng.uniform(0, np.pi, (2, more)))
    circle = turns[0] * (1 + 10.0 ** rng.uniform(-17, -1, more))
    branch = rng.choice([1, -1, 1j], more) + 10.0 ** rng.uniform(-16, -1, more) * turns[1]
    spread = 10.0 ** rng.uniform(-4, 4, (2, more))
    usual = rng.normal(0, 3, (2, more))
    with np.errstate(all="ignore"):
        z = np.concatenate([x + 1j * y, circle, branch, spread[0] + 1j * spread[1], usual[0] + 1j * usual[1]])
        z.real[::2] *= -1
        return z.astype(dtype)
