"""Staged rows: all are loaded before the first are moved, behind operands that run across them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import kgen
from tests.codegen.bare import bare

TEXT = "let z = a * b\nout = z / sum(z, axis=1, keepdims=true)"


@pytest.mark.parametrize("width", [3, 8, 32])
def test_reads_across_come_first(width: int) -> None:
    rows = 1 << 18
    across = kgen.spec((rows, width), "f32", strides=(1, rows))
    source = kgen.jit(TEXT).source(kgen.spec((rows, width), "bf16"), across, arch="sm_90")
    body = bare(source[source.index("__global__") : source.index("// --- Host code")])
    assert 0 < body.index("b_row[") < body.index("load_rows<") < body.index("__syncthreads();") < body.rindex("a_row")


def test_loads_of_rows_with_gaps_have_registers() -> None:
    """Without them, a thread waits for each, because what it has read across rows fills its registers."""
    a, b = (kgen.spec((1024, 26, 1024), "f32", strides=s) for s in ((26624, 1024, 1), (27, 1, 27648)))
    source = kgen.jit(TEXT).source(a, b, arch="sm_90")
    assert "// Rows with gaps, staged through shared memory: b." in source
    assert "__launch_bounds__(256, 2)" in source


@pytest.mark.parametrize("width", [7, 37])
def test_all_rows_are_loaded_ahead_of_the_first_store(width: int) -> None:
    """An operand's loads would wait for those of the one before, and with a test of each for its predicate."""
    a, b = kgen.spec((1 << 20, width), "f32"), kgen.spec((1 << 20, width), "u8")
    source = kgen.jit("out = sum(a * b, axis=-1)").source(a, b, arch="sm_90")
    body = bare(source[source.index("__global__") : source.index("__syncthreads();")])
    assert body.count(" load_rows<") == body.count(" stage_rows<") == 2
    assert body.rindex(" load_rows<") < body.index(" stage_rows<")
    found = re.findall(r"\[(\d)\]; load_rows<\d+, (\d)>", body)
    assert [int(most) - int(whole) <= 1 for most, whole in found] == [True, True]


@pytest.mark.parametrize("width", [2, 3, 8, 33])
def test_results(width: int) -> None:
    """Of small integers, so that sums are exact; the last block has fewer rows."""
    chosen = np.random.default_rng(width)
    rows = (1 << 17) // width + 77
    a = chosen.integers(1, 4, (rows, width)).astype(np.float32)
    b = chosen.integers(1, 4, (width, rows)).astype(np.float32).T
    assert np.array_equal(kgen.jit(TEXT)(a, b), a * b / (a * b).sum(axis=1, keepdims=True))


def test_a_thread_that_has_a_row_counts_its_elements_from_zero() -> None:
    """``c_row[j * step]``, not ``c_row[(0 + j) * step]``."""
    a, c = kgen.spec((256, 49, 613, 4), "f32"), kgen.spec((256, 49, 613, 4), "bf16", (120148, 613, 1, 30037))
    text = kgen.jit("out = a * c - sum(a * c, axis=3, keepdims=true)").source(a, c)
    assert "c_vec.at[j] = c_row[j * layout.c_step];" in text
