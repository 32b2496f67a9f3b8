"""Rows that lie across memory: neighbouring threads have neighbouring rows, and exchange through shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen
from kgen.runtime.cuda.driver import probe
from tests.fuzz.test_reductions import assert_close, reference
from tests.reductions.odd_rows import across

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("poisoned"),
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

torch: Any = pytest.importorskip("torch", reason="these tests pass torch's CUDA tensors")

SOFTMAX = "let e = exp(x - max(x, axis=1, keepdims=true))\nout = e / sum(e, axis=1, keepdims=true)"


@pytest.mark.parametrize("shape", [(5, 7, 40), (40, 33, 50), (3, 300, 70), (2, 1500, 45)], ids=str)
def test_every_kind(shape: tuple[int, int, int]) -> None:
    with np.errstate(all="ignore"):
        for program in across(*shape):
            arrays: dict[str, Any] = dict(program.arrays())
            assert_close(program, kgen.jit(program.text, device="cuda")(**arrays), reference(program.text, arrays))


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize(
    "shape", [(16, 21, 128, 128), (64, 96, 56, 56), (8, 512, 31, 33), (5, 1024, 700), (3, 2048, 104)]
)
def test_softmax(shape: tuple[int, ...], dtype: str) -> None:
    """The same bits twice, dense and channels last."""
    x = torch.randn(shape, device="cuda", dtype=getattr(torch, dtype))
    rough = {"rtol": 1e-2, "atol": 1e-6} if dtype == "bfloat16" else {"rtol": 1e-5, "atol": 1e-7}
    kernel = kgen.jit(SOFTMAX)
    want = torch.softmax(x.double(), 1)
    assert torch.allclose(kernel(x).double(), want, **rough)
    assert torch.equal(kernel(x), kernel(x))
    assert [s.kernel.startswith("columns_regs") for s in kernel.explain(x).steps] == [True]
    if len(shape) == 4:
        last = x.to(memory_format=torch.channels_last)
        assert torch.allclose(kernel(last).double(), want, **rough)
