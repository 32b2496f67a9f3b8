"""Rows that threads walk by several groups, kernels that take the last elements first, and reads across staged rows."""

from __future__ import annotations

from typing import Any

import pytest

import kgen
from kgen.runtime.cuda.driver import probe

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("poisoned"),
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

torch: Any = pytest.importorskip("torch", reason="these tests pass torch's CUDA tensors")


@pytest.mark.parametrize("width", [40003, 70000, 1_000_003])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_quotients_of_long_rows(width: int, dtype: str) -> None:
    """Of powers of two, so that sums are exact in any order."""
    a = torch.randint(-4, 5, (5, width), device="cuda").to(getattr(torch, dtype))
    b = 2.0 ** torch.randint(-1, 2, (5, width), device="cuda").to(getattr(torch, dtype))
    q = a.double() / b.double()
    total, most = kgen.jit("total: f64 = sum(cast<f64>(a / b), axis=1)\nmost = max(a / b, axis=1)")(a, b)
    assert torch.equal(total, q.sum(1))
    assert torch.equal(most.double(), q.amax(1))


@pytest.mark.parametrize("count", [(1 << 22) + 5, (1 << 24) + 1])
@pytest.mark.parametrize("step", [1, 2])
def test_backward(count: int, step: int) -> None:
    """Every element is written, those in no whole group too."""
    x = torch.randn(count * step, device="cuda", dtype=torch.float64)[::step]
    kernel = kgen.jit("s = max(abs(x), axis=0, keepdims=true)\nout = x / s")
    _, out = kernel(x)
    assert [step.schedule.get("backward", False) for step in kernel.explain(x).steps] == [False, True]
    assert torch.equal(out, x / x.abs().max())


@pytest.mark.parametrize("width", [2, 3, 8, 16, 33, 100])
@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
def test_across_staged_rows(width: int, dtype: str) -> None:
    rows = (1 << 20) // width + 7
    a = torch.randint(1, 4, (rows, width), device="cuda").to(getattr(torch, dtype))
    b = torch.randint(1, 4, (width, rows), device="cuda").float().T
    found = kgen.jit("let z = cast<f32>(a) * b\nout = z / sum(z, axis=1, keepdims=true)")(a, b)
    z = a.float() * b
    assert torch.equal(found, z / z.sum(1, keepdim=True))
