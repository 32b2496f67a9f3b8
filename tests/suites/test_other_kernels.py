"""Kernels of image processing, physics, signals and statistics, as docs/from-cuda.md writes them, beside NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kgen import jit

Array = npt.NDArray[Any]
RANDOM = np.random.default_rng(5)
IMAGE = RANDOM.random((6, 7))
COLOURS = RANDOM.random((4, 5, 3))
POINTS, MASSES = RANDOM.random((6, 3)), RANDOM.random(6)
NEIGHBOURS = RANDOM.integers(0, 6, (6, 2))
SIGNAL = RANDOM.random(24)
LABELS = RANDOM.integers(0, 4, 24)
BYTES = RANDOM.integers(0, 256, (3, 4), dtype=np.uint8)
LUT = np.linspace(-1, 1, 16)


def bilinear(image: Array, y: Array, x: Array) -> Any:
    r, c = y.astype(int), x.astype(int)
    v, u = y - r, x - c
    above, below = (image[r + k, c] * (1 - u) + image[r + k, c + 1] * u for k in (0, 1))
    return above * (1 - v) + below * v


def forces(points: Array, masses: Array) -> Any:
    d = points[None] - points[:, None]
    return np.sum(d * masses[:, None] * (np.sum(d * d, axis=-1, keepdims=True) + 0.1) ** -1.5, axis=1)


def listed(points: Array, neighbours: Array) -> Any:
    d = points[:, None] - points[neighbours]
    return np.sum(d / (np.sum(d * d, axis=-1, keepdims=True) + 0.1), axis=1)


def hue(rgb: Array) -> Any:
    r, g, b = np.moveaxis(rgb, -1, 0)
    top, d = rgb.max(-1), rgb.max(-1) - rgb.min(-1)
    return 60 * np.where(top == r, (g - b) / d % 6, np.where(top == g, (b - r) / d + 2, (r - g) / d + 4))


CASES: dict[str, tuple[str, tuple[Array, ...], Callable[..., Any]]] = {
    "bilinear samples": (
        """
        input image, y, x
        let r = floor(y); let c = floor(x)
        let v = y - r; let u = x - c
        def at(image, r, c) = image[cast<int>(r), cast<int>(c)]
        let above = at(image, r, c) * (1 - u) + at(image, r, c + 1) * u
        let below = at(image, r + 1, c) * (1 - u) + at(image, r + 1, c + 1) * u
        out = above * (1 - v) + below * v
        """,
        (IMAGE, 5 * RANDOM.random((3, 4)), 6 * RANDOM.random((3, 4))),
        bilinear,
    ),
    "turn by 90 degrees": (
        "out = where(true, image[index(1), size(image, 0) - 1 - index(0)], image)",
        (IMAGE[:, :6],),
        np.rot90,
    ),
    "periodic stencil": (
        "out = x[(index(0) + 1) % size(x, 0), index(1)] + x[index(0) - 1, index(1)] - 2 * x",
        (IMAGE,),
        lambda x: np.roll(x, -1, 0) + np.roll(x, 1, 0) - 2 * x,
    ),
    "zeros before the first": (
        "out = x + (index(0) > 0 ? x[index(0) - 1] : 0)",
        (SIGNAL,),
        lambda x: x + np.concatenate([[0], x[:-1]]),
    ),
    "hue": (
        """
        let r = rgb[..., 0]; let g = rgb[..., 1]; let b = rgb[..., 2]
        let top = max(r, g, b); let d = top - min(r, g, b)
        out = 60 * (top == r ? (g - b) / d % 6 : (top == g ? (b - r) / d + 2 : (r - g) / d + 4))
        """,
        (COLOURS,),
        hue,
    ),
    "max-pooling": (
        "out = max(split(split(x, axis=-1, by=2), axis=-3, by=2), axis=(-3, -1))",
        (IMAGE[:, :6],),
        lambda x: x.reshape(3, 2, 3, 2).max((1, 3)),
    ),
    "forces of all pairs": (
        """
        input p, m
        let d = p[None, :, :] - p[:, None, :]
        let r2 = sum(d * d, axis=-1, keepdims=true) + 0.1
        out = sum(d * m[None, :, None] * r2 ** -1.5, axis=1)
        """,
        (POINTS, MASSES),
        forces,
    ),
    "forces of neighbours": (
        """
        let d = p[:, None, :] - p[neighbours]
        out = sum(d / (sum(d * d, axis=-1, keepdims=true) + 0.1), axis=1)
        """,
        (POINTS, NEIGHBOURS),
        listed,
    ),
    "windows": (
        "input x, start, t, window; out = x[start[:, None] + t] * window",
        (SIGNAL, np.array([0, 3, 9]), np.arange(8), np.hanning(8)),
        lambda x, start, t, window: x[start[:, None] + t] * window,
    ),
    "correlation at a lag": (
        "let lag = 5; out = sum(x * x[index(0) + lag])",
        (SIGNAL,),
        lambda x: np.sum(x[:-5] * x[5:]),
    ),
    "one-hot": (
        "out = cast<double>(label[:, None] == classes)",
        (LABELS, np.arange(4)),
        lambda label, classes: np.eye(4)[label],
    ),
    "covariance": (
        "let d = x - mean(x, axis=0, keepdims=true); out = sum(d[:, :, None] * d[:, None, :], axis=0) / 5",
        (POINTS,),
        lambda x: np.cov(x.T),
    ),
    "ranks": ("out = sum(x[None, :] < x[:, None], axis=1)", (SIGNAL,), lambda x: np.argsort(np.argsort(x))),
    "bits": (
        "input x, places; out = merge(expand(x, axis=-1) >> places & 1)",
        (BYTES, np.arange(7, -1, -1, dtype=np.uint8)),
        lambda x, places: np.unpackbits(x, axis=1),
    ),
    "codes of four bits": (
        "input x, table; out = merge(stack(table[x >> 4], table[x & 15], axis=-1))",
        (BYTES, LUT),
        lambda x, table: table[np.stack([x >> 4, x & 15], axis=-1).reshape(3, 8)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_beside_numpy(name: str) -> None:
    """One line or a few for what is a kernel elsewhere; the result is NumPy's."""
    text, arrays, wanted = CASES[name]
    np.testing.assert_allclose(jit(text, device="cpu", fmad=False)(*arrays), wanted(*arrays), rtol=1e-12, atol=1e-12)
