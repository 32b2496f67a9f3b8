"""Few rows and columns are shared by more threads, and read in other ways.  The bits of rows are those of rows among
many; those of columns where no order of additions decides them.
"""

from __future__ import annotations

import numpy as np
import pytest

import kgen
from kgen.arrays.numpy_ import TO_NUMPY
from kgen.dtypes import BY_NAME
from tests.forced import forced

from .test_schedules import laid
from .ways import as_tuple, run_every_way

SUMS = "m = mean(x, axis={0})\nn = norm(tanh(x), axis={0})\nv = var(x, axis={0})"
CHAIN = "let e = exp(x - max(x, axis={0}, keepdims=true))\nout = e / sum(e, axis={0}, keepdims=true)"
NORM = "out = x * rsqrt(mean(x * x, axis=1, keepdims=true) + 1e-6)"
FUNCTIONS = "let z = tanh(x) + 1\nv = var(z, axis=1)\nl = logsumexp(z, axis=1)\nm = max(z, axis=1)"
ORDER_FREE = "s = max(abs(x), axis={0}, keepdims=true) / 127\nq = cast<i8, sat, rne>(x / s)\np = argmin(x, axis={0})"
PROGRAMS = (SUMS, CHAIN, ORDER_FREE)
ROUNDINGS = 16  # of the largest value: what the order of additions changes


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("layout", ["dense", "misaligned", "columns"])
def test_few_rows(layout: str, dtype: str) -> None:
    """By the schedule for few, and by that for many; of some programs at some widths they are the same."""
    programs = []
    for width in (7, 16, 40, 130):
        view, axis = laid(np.random.default_rng(width).standard_normal((24, width)).astype(dtype), layout)
        programs += [(text.format(axis), {"x": view}) for text in PROGRAMS]
    ways = run_every_way(programs, only=("as chosen", "as many"))
    for (text, _), runs in zip(programs, ways, strict=True):
        for name, *results in zip(runs[0].kernel.outputs, *(run.results for run in runs), strict=True):
            if layout == "columns" and "argmin" not in text:
                one, other = (result.astype(np.float64) for result in results)
                unit = np.finfo(results[0].dtype).eps * np.abs(one).max()
                assert np.abs(one - other).max() <= ROUNDINGS * unit, f"{text}: {name}"
                continue
            bits = {result.tobytes() for result in results}
            assert len(bits) == 1, f"{text}: {name}"
    assert sum(len(runs) == 2 for runs in ways) >= 4


def test_few_rows_of_operands_with_gaps() -> None:
    """Rows of many are staged, though operands with longer elements have gaps: few are added in their order."""
    kernel = kgen.jit("out = logsumexp(a + b * c, axis=1)", device="cpu")
    rng = np.random.default_rng(0)
    a = rng.standard_normal((6000, 206)).astype(np.float16)
    b, c = (rng.standard_normal((6000, 207)).astype(np.float32)[:, :206] for _ in range(2))
    many = kernel(a, b, c)
    assert kernel.explain(a, b, c).steps[0].kernel.endswith("_staged")
    with forced():
        few = kgen.jit("out = logsumexp(a + b * c, axis=1)", device="cpu", name="few")(a[:40], b[:40], c[:40])
    assert few.tobytes() == many[:40].tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("text", [*(text.format(1) for text in (SUMS, CHAIN)), NORM, FUNCTIONS])
def test_more_threads_add_in_the_order_of_many(text: str, dtype: str) -> None:
    """A few rows are shared by more threads, which add as the threads of many rows do."""
    few, many = (kgen.jit(text, device="cpu", name=name) for name in ("few", "many"))
    found = 0
    for width in (5, 17, 24, 72, 130):
        x = np.random.default_rng(width).standard_normal((24, width)).astype(TO_NUMPY[BY_NAME[dtype]])
        with forced():
            results = as_tuple(few(x))
            found += "order" in few.explain(x).steps[0].schedule
        assert [a.tobytes() for a in results] == [b.tobytes() for b in as_tuple(many(x))], width
    assert found >= 2
