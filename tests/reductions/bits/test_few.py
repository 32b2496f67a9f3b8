"""Few rows and columns are shared by more threads, and read in other ways.  The bits of rows are those of rows among
many; those of columns where no order of additions decides them.
"""

from __future__ import annotations

import numpy as np
import pytest

import kgen
from tests.forced import forced

from .test_schedules import laid
from .ways import run_every_way

SUMS = "m = mean(x, axis={0})\nn = norm(tanh(x), axis={0})\nv = var(x, axis={0})"
CHAIN = "let e = exp(x - max(x, axis={0}, keepdims=true))\nout = e / sum(e, axis={0}, keepdims=true)"
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
