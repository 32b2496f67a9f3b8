"""Sums over rows in the kernel that goes along them: which programs, their values, and what rows they leave alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import kgen
from kgen import pipeline
from kgen.call.cached_lowering import CachedLowering
from kgen.compile_spec import CompileSpec
from kgen.ir.views import evaluate
from kgen.partition.column_sums import BLOCKS, MOST_ROWS, block_count
from tests.reductions.column_sums import ACTIVATION, LAYERNORM, RMSNORM, STATISTICS, TENSOR, Case, arrays, error


def kernels(text: str, **given: Any) -> list[str]:
    """The kernels for these arrays or specs."""
    return [step.kernel for step in kgen.jit(text, device="cpu").explain(**given).steps]


@pytest.mark.parametrize(("case", "shape", "dtype"), [
    (RMSNORM, (70, 1024), "f4"), (LAYERNORM, (40, 1536), "f4"), (ACTIVATION, (600, 512), "f4"),
    pytest.param(RMSNORM, (3, 4608), "f4", marks=pytest.mark.whole), (RMSNORM, (6, 512), "f8"),
    pytest.param(STATISTICS, (9, 8192), "f4", marks=pytest.mark.whole),
])  # fmt: skip
def test_values(case: Case, shape: tuple[int, ...], dtype: str) -> None:
    """One kernel goes along rows and sums over them, another one adds up the sums: what NumPy's float64 says."""
    exact = arrays(*shape)
    x, g, w = (a.astype(dtype) for a in exact)
    first, second = kernels(case.text, x=x, g=g, w=w)
    assert first.startswith("rows_columns"), first
    assert second.startswith("columns"), second
    kernel = kgen.jit(case.text, device="cpu")
    got = kernel(x, g, w)
    bound = 2e-6 if dtype == "f4" else 2e-15
    assert all(error(a, b) < bound for a, b in zip(got, case.exact(*exact), strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(got, kernel(x, g, w), strict=True))


@pytest.mark.parametrize("case", [RMSNORM, LAYERNORM], ids=["rmsnorm", "layernorm"])
def test_rows_have_the_same_bits_beside_others(case: Case) -> None:
    """Two rows, and the same two among 40."""
    x, g, w = (a.astype("f4") for a in arrays(40, 512))
    kernel = kgen.jit(case.text, device="cpu")
    assert np.array_equal(kernel(x[:2], g[:2], w)[0], kernel(x, g, w)[0][:2])


def test_views_and_updates() -> None:
    """Rows with gaps between them, in two kept dimensions; an argument that is updated while its rows are summed."""
    x, g, w = (a.astype("f4") for a in arrays(66, 20, 512))
    apart = x[::2]
    assert not apart.flags.c_contiguous
    assert kernels(TENSOR.text, x=apart, g=g[::2], w=w)[0].startswith("rows_columns")
    y, total = kgen.jit(TENSOR.text, device="cpu")(apart, g[::2], w)
    assert np.array_equal(y, apart * w)
    assert error(total, (apart * g[::2]).sum(axis=(0, 1), dtype="f8")) < 2e-6

    text = "inout x\ninput g\nx = x - 0.5 * g\ntotal = sum(x * g, axis=0)"
    flat, other = x.reshape(1320, 512).copy(), g.reshape(1320, 512)
    assert kernels(text, x=flat, g=other)[0].startswith("rows_columns")
    after = flat - np.float32(0.5) * other
    total = kgen.jit(text, device="cpu")(flat, other)
    assert np.array_equal(flat, after)
    assert error(total, (after * other).sum(axis=0, dtype="f8")) < 2e-6


@pytest.mark.parametrize(("text", "width"), [
    ("total = sum(x, axis=0)", 1024),  # nothing is done along rows
    ("y = x + 1\ntotal = max(x, axis=0)", 1024),  # no sum
    ("y = x * sum(x, axis=0)", 1024),  # rows need the sums
    ("y = x + 1\ntotal = sum(x, axis=0)", 1001),  # rows that are not aligned
    ("y = x + 1\ntotal = sum(x, axis=0)", 64),  # short rows
    ("y = x + 1\ntotal = sum(x, axis=0)", 32768),  # sums that are too many for a block
    ("y = x + 1\ntotal = sum(x, axis=0)", 1000),  # few rows, which nothing else is reduced of
])  # fmt: skip
def test_where_not(text: str, width: int) -> None:
    """Kernels of their own sum over rows."""
    assert not any(
        "rows_columns" in name for name in kernels(text, x=kgen.spec((256 if width == 1000 else 2048, width), "f32"))
    )


def test_no_rows() -> None:
    """Sums of no rows are 0."""
    y, total = kgen.jit("y = x + 1\ntotal = sum(x, axis=0)", device="cpu")(np.ones((0, 1024), "f4"))
    assert y.shape == (0, 1024)
    assert not np.any(total)


def test_unaligned_rows() -> None:
    """An address that vectors cannot be read at changes how rows move, nothing else."""
    x, g, w = (a.astype("f4") for a in arrays(20, 1024))
    moved = np.empty(20 * 1024 + 1, "f4")[1:].reshape(20, 1024)
    moved[:] = x
    kernel = kgen.jit(RMSNORM.text, device="cpu")
    for a, b in zip(kernel(moved, g, w), kernel(x, g, w), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("width", [512, 1000, 4096, 16384])
def test_blocks(width: int) -> None:
    """Launches have as many blocks as partial sums have rows; each block has at most ``MOST_ROWS`` rows, and all about
    as many.
    """
    lowering = CachedLowering(pipeline.load("y = x + mean(x, axis=1, keepdims=true)\ntotal = sum(x, axis=0)"))
    for rows in (2, 128, 129, 512, 515, 4096, 16384, 20000, 1_000_000):
        lowered = lowering(CompileSpec("f32", {"x": (rows, width)}).operands(lowering.program))
        blocks = evaluate(block_count("rows", "width"), {"rows": rows, "width": width})
        assert lowered.steps[0].launch.grid == (blocks, 1, 1)
        assert lowered.sizes.extents[BLOCKS] == blocks
        each = -(-rows // blocks)
        assert each <= MOST_ROWS
        assert (blocks - 1) * each < rows <= blocks * each


@pytest.mark.parametrize(("total", "helper"), [("f16", "gelu_derivative_fast"), ("f32", "gelu_derivative")])
def test_functions_in_sums_of_16_bits(total: str, helper: str) -> None:
    """What only goes into results of 16 bits, also through sums over rows, is within 2^-16 of its value."""
    text = (
        "let v = cast<f32>(g) * gelu_derivative(cast<f32>(x) + cast<f32>(b))\n"
        f"dx: f16 = v\ndb: {total} = sum(v, axis=0)"
    )
    exact = arrays(600, 512)
    x, g, b = (a.astype("f2") for a in exact)
    source = kgen.jit(text).source(x=x, g=g, b=b)
    assert f"* {helper}(" in source
    dx, db = kgen.jit(text, device="cpu")(x=x, g=g, b=b)
    z = exact[0] + exact[2]
    v = exact[1] * (ndtr(z) + z * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi))
    assert error(dx, v) < 2**-11
    assert error(db, v.sum(axis=0)) < (2**-10 if total == "f16" else 1e-6)
