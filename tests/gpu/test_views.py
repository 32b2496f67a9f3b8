"""Programs that index, on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen
from kgen.runtime.cuda.driver import probe

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("poisoned"),
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

torch: Any = pytest.importorskip("torch", reason="these tests pass torch's CUDA tensors")

PROGRAMS = {
    "let h = size(x, 1) // 2; out = x[:, :h] * 2 - x[:, h:]": lambda x: (
        x[:, : x.shape[1] // 2] * 2 - x[:, x.shape[1] // 2 :]
    ),
    "out = x[::-1, ::2] + 1": lambda x: x.flip(0)[:, ::2] + 1,
    "out = (x[1:] - x[:-1])[:, 1:-1]": lambda x: (x[1:] - x[:-1])[:, 1:-1],
    "out = max(x, axis=1)[1::3]": lambda x: x.amax(1)[1::3],
    "out = x[:, None, 3] * x[0, :4]": lambda x: x[:, None, 3] * x[0, :4],
    "out = max(x[:, ::2], axis=1) - max(x[:, 1::2], axis=1)": lambda x: x[:, ::2].amax(1) - x[:, 1::2].amax(1),
}


@pytest.mark.parametrize("text", PROGRAMS)
def test_torch(text: str) -> None:
    """As torch, bit for bit: on new layouts, on those of a class that is known, and again."""
    kernel = kgen.jit(text)
    for dtype in (torch.float32, torch.float64, torch.int16):
        for rows, columns in ((4, 8), (1001, 250), (64, 4096), (5, 100_002), (3000, 40)):
            whole = torch.arange(2 * rows * columns, device="cuda").reshape(2 * rows, columns) % 1009
            whole = whole.to(dtype)
            for x in (whole[:rows], whole[::2], whole[rows:], whole[:rows].T.contiguous().T):
                for _ in range(2):
                    assert torch.equal(kernel(x), PROGRAMS[text](x)), (x.shape, x.stride())


def test_numpy() -> None:
    """Views of arrays that are copied to the GPU."""
    x = np.arange(60, dtype=np.float32).reshape(6, 10)
    kernel = kgen.jit("out = x[1:, ::3] + x[0, :4]", device="cuda")
    for array in (x, x[:, ::-1], np.asfortranarray(x)):
        np.testing.assert_array_equal(kernel(array), array[1:, ::3] + array[0, :4])


def test_halves_in_a_graph() -> None:
    """A plan and a captured call read the views again."""
    x = torch.randn(512, 8192, device="cuda", dtype=torch.bfloat16)
    out = torch.empty(512, 4096, device="cuda", dtype=torch.bfloat16)
    kernel = kgen.jit("let h = size(x, 1) // 2; out = x[:, :h] + x[:, h:]")
    kernel(x, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(x, out=out)
    plan = kernel.plan(x, out=out)
    for run in (graph.replay, plan, plan.graph()):
        x += 1
        run()
        assert torch.equal(out, x[:, :4096] + x[:, 4096:])
