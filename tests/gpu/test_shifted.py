"""Halves and bytes that begin at any address, shifted out of aligned blocks: on a GPU, at the ends of allocations."""

from __future__ import annotations

from typing import Any

import pytest

import kgen
from kgen.runtime.cuda.driver import probe
from tests.forced import forced
from tests.reductions.bits.column_ways import tiles

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("poisoned"),
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

torch: Any = pytest.importorskip("torch", reason="these tests pass torch's CUDA tensors")


def numbers(count: int, dtype: Any) -> Any:
    """Few enough bits that sums of a column are exact.  They fill their allocation."""
    return torch.randint(0, 7, (count,), device="cuda", dtype=torch.int32).to(dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(301, 451), (17, 1201), (1201, 17), (113, 129), (257, 1025), (8193, 8193)], ids=str)
def test_transposes_of_odd_sizes(shape: tuple[int, int], dtype: str) -> None:
    """Tiles whose rows begin at sectors: every element is written, and none of the next allocation."""
    height, width = shape
    kernel = kgen.jit("out = a - b")
    for a_first, b_first in ((0, 0), (8, 3), (16, 1)):
        a = numbers(height * width + a_first, getattr(torch, dtype))[a_first:].view(height, width)
        b = numbers(height * width + b_first, getattr(torch, dtype))[b_first:].view(width, height).T
        with forced({"elementwise": {"shortest_skewed_side": 1}}, elementwise="skewed"):
            assert kernel.explain(a, b).steps[0].kernel == "skewed_2d"
            assert torch.equal(kernel(a, b), a - b)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "float16", "bfloat16"])
@pytest.mark.parametrize(("height", "width"), [(127, 300), (33, 301), (131, 2049)])
def test_columns_at_odd_addresses(height: int, width: int, dtype: str, *, split: bool) -> None:
    """Only the first and the last column lie where aligned blocks would reach beyond the operand."""
    kernel = kgen.jit("s = sum(cast<f32>(a) * cast<f32>(b), axis=0)")
    for first in (0, 1, 5, 10):
        a = numbers(height * width, getattr(torch, dtype)).view(height, width)
        b = numbers(height * width + first, getattr(torch, dtype))[first:].view(width, height).T
        with tiles(64, 4, split=split).taken():
            assert torch.equal(kernel(a, b), (a.double() * b.double()).sum(0).float())
            assert "load_shifted_run" in kernel.source(a, b)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
@pytest.mark.parametrize("height", [2, 3, 5, 8])
def test_short_columns(height: int, dtype: str) -> None:
    """All elements of a column at once, of operands in different orders."""
    kernel = kgen.jit("out = max(cast<f32>(a) - cast<f32>(b), axis=1)")
    a = numbers(70 * height * 3001, getattr(torch, dtype)).view(70, height, 3001)
    b = numbers(70 * height * 3001, getattr(torch, dtype)).view(70, 3001, height).swapaxes(1, 2)
    assert torch.equal(kernel(a, b), (a.float() - b.float()).amax(1))


@pytest.mark.parametrize("width", [128, 256, 512])
@pytest.mark.parametrize("count", [1, 33, 3000])
def test_exact_rows(count: int, width: int) -> None:
    """Rows of halves that fill the registers of their threads: nothing is checked but whether a thread has a row."""
    x = numbers(count * width, torch.float16).view(count, width)
    y = kgen.jit("y = x - max(x, axis=-1, keepdims=true)")(x)
    assert torch.equal(y, x - x.amax(-1, keepdim=True))
