"""Rows that an odd number of warps share, where no lane is idle then."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kgen

LAYERNORM = """let d = x - mean(x, axis=-1, keepdims=true)
out = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b"""
OTHERS = """s = sum(x, axis=-1)
v = var(x, axis=-1)
m = argmax(x, axis=-1)
out = x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6)"""
ADDED = "s = x + r\nout = s * rsqrt(mean(s * s, axis=-1, keepdims=true) + 1e-6)"


def halves(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(ml_dtypes.bfloat16)


def threads(kernel: kgen.Kernel, *args: Any) -> int:
    found = re.search(r"(\d+) threads share a row", str(kernel.explain(*args)))
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize(("width", "expected"), [(5120, 160), (7168, 224)])
def test_layernorm(width: int, expected: int) -> None:
    """Close to NumPy's, and a row has the same bits alone."""
    given, kernel = [halves(3, width), halves(width), halves(width)[::-1].copy()], kgen.jit(LAYERNORM, device="cpu")
    assert threads(kernel, *given) == expected
    x, w, b = (one.astype(np.float64) for one in given)
    d = x - x.mean(-1, keepdims=True)
    want = d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * w + b
    out = kernel(*given)
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=2**-8, atol=2**-8)
    assert kernel(given[0][1:2], *given[1:]).tobytes() == out[1:2].tobytes()


def test_other_reductions() -> None:
    given, kernel = halves(3, 7168), kgen.jit(OTHERS, device="cpu")
    assert threads(kernel, given) == 224
    x = given.astype(np.float64)
    s, v, m, out = kernel(given)
    np.testing.assert_allclose(s.astype(np.float64), x.sum(-1), rtol=2**-8)
    np.testing.assert_allclose(v.astype(np.float64), x.var(-1), rtol=2**-8)
    assert (m == x.argmax(-1)).all()
    want = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=2**-8, atol=2**-10)


@pytest.mark.parametrize("width", [513, 520, 527, 1537, 1551])
@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_rows_have_a_thread_for_each_single_element(kind: str, width: int) -> None:
    """Two operands that all rows share, of elements of which a row has up to 62 outside of whole groups."""
    kernel = kgen.jit("input x, w, b\nout = sum(cast<float>(x) * w + b, axis=-1)", device="cpu")
    rng = np.random.default_rng(width)
    x, w, b = (rng.integers(0, 9, shape).astype(kind) for shape in ((5, width), width, width))
    np.testing.assert_array_equal(kernel(x, w, b), (x.astype(np.float32) * w + b).sum(-1))


def test_rows_of_several_operands_have_even_numbers() -> None:
    given = halves(3, 7168)
    assert threads(kgen.jit(ADDED, device="cpu"), given, given[::-1].copy()) == 256
