"""Rows of odd lengths and alignments give what the oracle says."""

from __future__ import annotations

import numpy as np
import pytest

import kgen
from tests.forced import AS_MANY, both, forced
from tests.fuzz.test_reductions import run
from tests.reductions.odd_rows import in_turn, programs

ROWS = [
    (5000, 3, 0, 0), (300, 7, 1, 0), (300, 28, 0, 0), (70, 100, 0, 0), (300, 33, 0, 0), (140, 65, 0, 0),
    (70, 129, 1, 0), (33, 251, 1, 0), (50, 7, 0, 2), (5, 1001, 0, 0), (6, 451, 1, 0), (9, 1000, 1, 0),
    (5, 1024, 3, 5), (3, 257, 0, 8), (2, 20_001, 2, 0),
]  # fmt: skip


#: Beside each of them, another has the same kernels.
ALIKE = [(300, 33, 0, 0), (70, 129, 1, 0), (6, 451, 1, 0), (300, 28, 0, 0), (300, 7, 1, 0)]


@pytest.mark.parametrize(("rows", "turn"), in_turn(ROWS, ALIKE))
def test_values(rows: tuple[int, int, int, int], turn: int | None) -> None:
    """Programs of all kinds; by default over one dtype each, in turn."""
    count, width, off, gap = rows
    run(programs(count, width, off=off, gap=gap, turn=turn))


@pytest.mark.parametrize(("shape", "turn"), in_turn([(4100, 3), (1030, 7), (600, 16)]))
def test_many_rows(shape: tuple[int, int], turn: int | None) -> None:
    """A thread takes several short rows where there are many."""
    with forced(both(AS_MANY, {"staging": {"enough_blocks": 1}})):
        found = kgen.jit("out = x / sum(x, axis=-1, keepdims=true)").explain(kgen.spec(shape, "bf16"))
        assert "one thread takes" in found.steps[0].reasons[0]
        run(programs(*shape, turn=turn))


@pytest.mark.parametrize(
    ("shape", "strides", "kernel"),
    [
        ((4096, 1001), (1001, 1), "reduce_regs1024_peeled"),
        ((4096, 257), (257, 1), "reduce_regs256_peeled"),
        ((4096, 1024), (1025, 1), "reduce_regs1024_peeled"),
        ((4096, 1024), (1032, 1), "reduce_regs1024"),
        ((4096, 7), (7, 1), "reduce_regs7_staged"),
        ((4096, 100), (100, 1), "reduce_regs112_staged"),
        ((4096, 129), (129, 1), "reduce_regs136_staged"),
        ((4096, 104), (104, 1), "reduce_regs128"),
        ((4096, 16), (16, 1), "reduce_regs16_staged"),
        ((4096, 32), (32, 1), "reduce_regs32"),
        ((4096, 7), (8, 1), "reduce_regs7"),
        ((4096, 200_001), (200_001, 1), "reduce_long_peeled_split"),
    ],
)
def test_kernels(shape: tuple[int, ...], strides: tuple[int, ...], kernel: str) -> None:
    """Rows that lie askew have kernels of their own."""
    found = kgen.jit("out = sum(x, axis=-1)").explain(
        kgen.spec(shape, "bf16", strides) if strides else kgen.spec(shape, "bf16")
    )
    assert [s.kernel for s in found.steps] == [kernel]


def test_across() -> None:
    """An output that lies across the rows is written by the threads that have a row, and by no others."""
    x = (np.arange(8 * 47, dtype=np.uint8) % 5).reshape(8, 47).T
    out = np.empty(x.shape, np.float32)
    kgen.jit("out = (x - cast<i32>(any(x, axis=0))) * 0.5", device="cpu")(x, out=out)
    assert np.array_equal(out, (x - x.any(0).astype(np.int32)) * 0.5)


@pytest.mark.parametrize("kind", ["argmin", "argmax"])
def test_first_place(kind: str) -> None:
    """Of equals, the first wins, wherever groups begin; and so does the first NaN."""
    kernel = kgen.jit(f"out = {kind}(x, axis=-1)", device="cpu")
    for off in range(4):
        x = np.zeros(8 * 301, np.float32)[off : off + 301 * 7].reshape(7, 301)
        assert not kernel(x).any()
        for places in ((0, 300), (2, 150), (299, 300), (150, 151)):
            x[...] = 0
            x[:, places] = -1 if kind == "argmin" else 1
            assert np.array_equal(kernel(x), [places[0]] * 7)
            x[:, places] = np.nan
            assert np.array_equal(kernel(x), [places[0]] * 7)


def test_strided_results() -> None:
    """Results that do not lie as the rows do: rows that a block has too many write nothing."""
    x = np.arange(7 * 9, dtype=np.float32).reshape(9, 7)
    out = np.zeros((7, 9), np.float32)
    kgen.jit("out = x - sum(x, axis=-1, keepdims=true)", device="cpu")(x, out=out.T)
    assert np.array_equal(out.T, x - x.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("width", [65, 97])
def test_rows_with_and_without_gaps(width: int) -> None:
    """Rows that a block stages are shared by a warp at most, whatever lies beside them."""
    rng = np.random.default_rng(width)
    a, b, c = (
        rng.random((300, width + 8))[:, :width],
        rng.random((300, width), np.float32),
        rng.random((600, width))[::2],
    )
    kernel = kgen.jit("let d = a - b - c; out = cast<float>(d - max(d, axis=1, keepdims=true))", device="cpu")
    d = a - b - c
    np.testing.assert_array_equal(kernel(a, b, c), (d - d.max(1, keepdims=True)).astype(np.float32))
    assert "staged" in str(kernel.explain(a, b, c))


@pytest.mark.parametrize(
    ("dtypes", "width", "peeled"),
    [
        (("f64", "i8"), 1001, False),  # groups of two float64 would have two bytes
        (("f64", "f64"), 1001, True),
        (("f32", "i8"), 1001, True),
        (("f64", "i8"), 40001, True),  # walked
    ],
)
def test_wide_elements_beside_narrow_ones(dtypes: tuple[str, str], width: int, peeled: bool) -> None:
    a, b = (kgen.spec((3000, width), dtype) for dtype in dtypes)
    (step,) = kgen.jit("out = sum(a * b, axis=1)").explain(a, b, arch="sm_90").steps
    assert (step.schedule["anchor"] is not None) == peeled
