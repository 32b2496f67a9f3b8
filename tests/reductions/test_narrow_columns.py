"""Reductions along a slow axis with few columns: vectors that go across rows, and the elements after the last one."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kgen
from tests.forced import AS_MANY, both, forced

Array = np.ndarray[Any, Any]

TEXT = "s = sum(x, axis=0)\nm = mean(x, axis=0)\nv = var(x, axis=0)\np = argmax(x, axis=0)"


def data(shape: tuple[int, ...], dtype: str) -> Array:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = np.random.default_rng(sum(shape)).integers(0, 17, shape)
    return (x if kind.kind == "u" else (x - 8) / 8).astype(kind)


def kernels(kernel: kgen.Kernel, *arrays: Array) -> list[str]:
    return [step.kernel for step in kernel.explain(*arrays).steps]


def check(kernel: kgen.Kernel, x: Array) -> None:
    s, m, v, p = kernel(x)
    wide, rough = x.astype(np.float64), 1e-2 if x.dtype.itemsize == 2 else 3e-6
    assert np.array_equal(s.astype(np.float64), wide.sum(0).astype(s.dtype).astype(np.float64))
    np.testing.assert_allclose(m.astype(float), wide.mean(0), rtol=rough, atol=rough)
    np.testing.assert_allclose(v.astype(float), wide.var(0), rtol=rough)
    assert np.array_equal(p, x.argmax(0))


@pytest.mark.parametrize(
    ("columns", "dtype"),
    [(2, "float32"), (3, "float32"), (3, "uint8"), (5, "bfloat16"), (8, "float16"), (13, "float32"), (15, "float64")],
)
def test_any_height(columns: int, dtype: str) -> None:
    """No element is left out, none comes twice: of one block's columns and of those that several share."""
    kernel = kgen.jit(TEXT, device="cpu")
    for height in (600, 767, 769, 5000, 5001, 40_003):
        x = data((height, columns), dtype)
        assert kernels(kernel, x)[0].startswith(f"columns_{columns}"), height
        check(kernel, x)


def test_addresses_decide_the_width_of_vectors() -> None:
    """Arrays that begin at any element, of any number of elements."""
    kernel = kgen.jit(TEXT, device="cpu")
    memory = data((9000,), "float32")
    for first in range(1, 4):
        for height in (1200, 1201):
            check(kernel, memory[first : first + 3 * height].reshape(height, 3))


def test_each_image_has_columns_of_its_own() -> None:
    """Kept dimensions beside the columns, dense or with gaps between them."""
    kernel = kgen.jit("s = sum(x, axis=1)\nw = argmin(x, axis=1)", device="cpu")
    whole = data((5, 1201, 3), "float32")
    for x in (whole, whole[::2], whole[:, :1200]):
        assert kernels(kernel, x) == ["columns_3"]
        s, w = kernel(x)
        assert np.array_equal(s, x.sum(axis=1))
        assert np.array_equal(w, x.argmin(axis=1))


def test_operands_of_rows_and_of_columns() -> None:
    """What differs from row to row, or from column to column, only; and the numbers of rows and columns."""
    kernel = kgen.jit("let t = (x - mu) * w + index(0) % 3 + index(1)\ns = sum(t, axis=0)\nr = max(t, axis=0) + mu",
                      device="cpu")  # fmt: skip
    x, mu, w = data((3001, 6), "float32"), data((6,), "float32"), data((3001, 1), "float32")
    i, j = np.indices(x.shape)
    t = (x - mu) * w + i % 3 + j
    assert kernels(kernel, x, mu, w)[0].startswith("columns_6")
    s, r = kernel(x, mu, w)
    np.testing.assert_allclose(s, t.sum(0), rtol=1e-6)
    assert np.array_equal(r, (t.max(0) + mu).astype(np.float32))


def test_other_layouts_are_left_to_other_kernels() -> None:
    """Rows with gaps between them, transposed arrays, columns shorter than a block's rows."""
    kernel = kgen.jit("s = sum(x, axis=0)", device="cpu")
    whole = data((4000, 4), "float32")
    for x in (whole[:, :3], np.ascontiguousarray(whole.T).T, whole[:100]):
        assert not any(name.startswith("columns_") for name in kernels(kernel, x))
        assert np.array_equal(kernel(x), x.sum(axis=0))


def test_64_bit_indices() -> None:
    """The same results where rows and columns are numbered with 64 bits."""
    kernel = kgen.jit(TEXT, device="cpu")
    with pytest.MonkeyPatch.context() as patch, forced(both(AS_MANY, {"narrow_columns": {"batches_of_blocks": 0}})):
        patch.setattr("kgen.schedule.reduction.facts.is_small", lambda *_: False)
        x = data((5003, 7), "float32")
        assert kernels(kernel, x) == ["columns_7_split_64bit"]
        check(kernel, x)
