"""Arguments of complex functions: extremes, cancellations, branch points, and everything between."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _components(dtype: str) -> list[float]:
    info = np.finfo(dtype)
    eps, wide = float(info.eps), info.bits == 64
    return [
        0.0, float(info.smallest_subnormal), float(info.tiny), 1e-150 if wide else 1e-20, eps / 3, 1e-3, 0.3, 0.5,
        1 - eps, 1.0, 1 + eps, 1.5707963267948966, 2.0, 3.141592653589793, 11.0, 30.0, 707.0 if wide else 87.0,
        712.0 if wide else 92.0, 1e5, 1e150 if wide else 1e20, float(info.max),
    ]  # fmt: skip


def grid(dtype: str, more: int = 500) -> Array:
    """Numbers of ``dtype`` (complex64 or complex128), in the quadrants right of the imaginary axis and left of it."""
    part = "float64" if dtype == "complex128" else "float32"
    rng = np.random.default_rng(15)
    sides = np.array(_components(part))
    x, y = (a.ravel() for a in np.meshgrid(sides, sides))
    circle = np.exp(1j * rng.uniform(0, np.pi, more // 4)) * (1 + 10.0 ** rng.uniform(-17, -1, more // 4))
    spread = 10.0 ** rng.uniform(-4, 4, (2, more // 4))
    branch = rng.choice([1, -1, 1j], more // 4) + 10.0 ** rng.uniform(-16, -1, more // 4) * np.exp(2j * rng.uniform(0, np.pi, more // 4))
    usual = rng.normal(0, 3, more // 4) + 1j * rng.normal(0, 3, more // 4)
    z = np.concatenate([x + 1j * y, circle, spread[0] + 1j * spread[1], branch, usual])
    z.real[::2] = -z.real[::2]
    with np.errstate(all="ignore"):
        return z.astype(dtype)
