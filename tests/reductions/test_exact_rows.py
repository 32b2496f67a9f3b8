"""Rows that fill the registers of their threads exactly: nothing is checked but whether a thread has a row."""

from __future__ import annotations

import numpy as np
import pytest

import kgen

RMSNORM = "y = x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6) * w"


def wide_rmsnorm(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    scaled: np.ndarray = wide / np.sqrt((wide * wide).mean(axis=-1, keepdims=True) + 1e-6) * w
    return scaled


@pytest.mark.parametrize("width", [128, 256, 512])
def test_nothing_is_checked(width: int) -> None:
    """The last block has threads without a row, which write nothing."""
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype(np.float16) for shape in ((33, width), (width,)))
    kernel, y = kgen.jit(RMSNORM, device="cpu"), np.zeros((40, width), np.float16)
    source = kernel.source(x, w)
    assert f"// Rows of {width} elements, kept in registers" in source
    assert "< width" not in source
    assert "const int width" not in source
    assert "layout.width" in source  # of the mean: the length is passed, as for other rows
    kernel(x, w, out=y[:33])
    np.testing.assert_allclose(y[:33].astype(np.float64), wide_rmsnorm(x, w), rtol=2e-3, atol=1e-3)
    assert not y[33:].any()


def test_a_length_that_nothing_reads_is_not_passed() -> None:
    x = np.ones((33, 512), np.float16)
    assert "width" not in kgen.jit("y = x - max(x, axis=-1, keepdims=true)").source(x).split("Launch:")[0]


@pytest.mark.parametrize("reduction", ["mean", "var", "std"])
def test_a_length_that_a_reduction_divides_by_is_passed(reduction: str) -> None:
    x = np.random.default_rng(0).standard_normal((33, 512)).astype(np.float16)
    kernel = kgen.jit(f"y = x - {reduction}(x, axis=-1, keepdims=true)", device="cpu")
    assert "// Rows of 512 elements" in kernel.source(x)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(kernel(x), wide - getattr(wide, reduction)(axis=-1, keepdims=True), atol=4e-3)


def test_in_place() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((33, 512)).astype(np.float16)
    want = kgen.jit("y = x / max(abs(x), axis=-1, keepdims=true)", device="cpu")(x)
    kgen.jit("inout x\nx = x / max(abs(x), axis=-1, keepdims=true)", device="cpu")(x)
    np.testing.assert_array_equal(x, want)


@pytest.mark.parametrize(("width", "dtype"), [(504, np.float16), (64, np.float16), (256, np.float32)])
def test_other_rows_are_checked(width: int, dtype: type[np.generic]) -> None:
    """Shorter rows than threads keep; those that few threads share; floats, whose loads the compiler would move."""
    x = np.ones((33, width), dtype)
    assert "const int width" in kgen.jit(RMSNORM, device="cpu").source(x, x[0])


def test_files_for_any_length_check() -> None:
    """One kernel serves rows of many lengths."""
    source = kgen.jit(RMSNORM, device="cpu").source(kgen.spec(("?", "?"), "f16"), kgen.spec(("?",), "f16"))
    assert "Rows of 512 elements" not in source
