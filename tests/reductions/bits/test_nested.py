"""Rows and their segments in one kernel: the same bits as in kernels of their own, by every schedule."""

from __future__ import annotations

import numpy as np
import pytest

import kgen
from tests.fuzz.arrays import Array

from .test_schedules import assert_exact
from .values import special_rows
from .ways import run_every_way

#: The maximum of rows, then of their segments; and outputs of all three shapes.
OUTER_FIRST = """let m = max(abs(x), axis=(1, 2), keepdims=true)
let n = x / m
top = m
share = max(abs(n), axis=2, keepdims=true)
out = n / share
small = cast<float8_e4m3fn, sat>(n / share)
tiny = cast<int8, sat>(100 * (n / share))"""

#: The same the other way round, with an operand that has one element for each segment.
INNER_FIRST = """input x, s
let g = min(x, axis=2, keepdims=true)
least = g * s
low = max(g, axis=1)
also = max(x * s, axis=(1, 2))
equal = x == g"""

#: Sums of integers, and of those of segments; segments of one thread where they are short.
OF_INTEGERS = """part = sum(x, axis=2)
whole = sum(x, axis=(1, 2))
let odd = part % 2
several = sum(odd, axis=1)
product = prod(x, axis=-1)"""

PROGRAMS = (OUTER_FIRST, INNER_FIRST)


def programs_of(texts: tuple[str, ...], x: Array) -> list[tuple[str, dict[str, Array]]]:
    s = x[:, :, :1].copy()
    return [(text, {"x": x, "s": s} if "input x, s" in text else {"x": x}) for text in texts]


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("float32", (5, 6, 32)), ("float16", (3, 7, 128)),
        pytest.param("float32", (3, 40, 8), marks=pytest.mark.whole),
        pytest.param("float32", (2, 5, 4), marks=pytest.mark.whole),
        pytest.param("float32", (2, 3, 128), marks=pytest.mark.whole),
    ],
    ids=str,
)  # fmt: skip
def test_floats(dtype: str, shape: tuple[int, int, int]) -> None:
    x = special_rows(dtype, shape[0], shape[1] * shape[2]).reshape(shape)
    programs = programs_of(PROGRAMS, x)
    with np.errstate(all="ignore"):
        found = run_every_way(programs, only=("as ", "held", "cut"))
        for (text, arrays), runs in zip(programs, found, strict=True):
            assert_exact(text, arrays, runs)
            kernels = [str(run.kernel.explain(*arrays.values())).count("\nkernel ") for run in runs]
            assert 1 in kernels
            assert max(kernels) > 1


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_integers(dtype: str) -> None:
    x = special_rows(dtype, 4, 6 * 16).reshape(4, 6, 16)
    programs = programs_of((OF_INTEGERS,), x)
    (runs,) = run_every_way(programs, only=("as ", "held", "cut"))
    assert_exact(*programs[0], runs)


QUANTISED = """let y = x * rsqrt(mean(x * x, axis=(1, 2), keepdims=true) + 1e-6)
scale = sum(abs(y), axis=2, keepdims=true)
out = y / scale
spread = var(scale, axis=(1, 2))"""


@pytest.mark.parametrize("shape", [(5, 6, 32), (4, 24, 128)], ids=str)
def test_a_row_alone(shape: tuple[int, int, int]) -> None:
    """A row has the same bits alone and among others, and values that are near enough."""
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    kernel = kgen.jit(QUANTISED, device="cpu")
    among, alone = kernel(x), kernel(x[2:3].copy())
    for one, other in zip(among, alone, strict=True):
        assert np.array_equal(one[2:3].view(np.uint32), other.view(np.uint32))
    y = x / np.sqrt(np.square(x, dtype=np.float64).mean((1, 2), keepdims=True) + 1e-6)
    scale = np.abs(y).sum(2, keepdims=True)
    np.testing.assert_allclose(among[0], scale, 1e-6)
    np.testing.assert_allclose(among[1], y / scale, 1e-6, 1e-9)
    np.testing.assert_allclose(among[2], scale.var((1, 2)), 2e-5)
    assert str(kernel.explain(x)).count("\nkernel ") == 1
    assert str(kernel.explain(x[..., :24])).count("\nkernel ") > 1, "24 elements are no power of two of groups"
