"""Elementwise kernels on a GPU: floor division by one division, elements in no whole group, boxes with short sides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen
from kgen.runtime.cuda.driver import probe
from tests.cpu.test_floor_division import operands

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

torch: Any = pytest.importorskip("torch", reason="these tests pass torch's CUDA tensors")


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_floor_division(dtype: Any) -> None:
    """``a // b`` and ``a % b`` are NumPy's to the last bit."""
    a, b = operands(dtype)
    found = kgen.jit("out = a // b\nrest = a % b")(torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda())
    with np.errstate(all="ignore"):
        for got, want in zip(found, (np.floor_divide(a, b), np.remainder(a, b)), strict=True):
            bits = got.cpu().numpy()
            same = bits.view(f"V{bits.itemsize}") == want.view(f"V{bits.itemsize}")
            assert (same | (np.isnan(bits) & np.isnan(want))).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8], ids=str)
def test_ends(dtype: Any) -> None:
    """Of any length, beginning anywhere; nothing around the output is written."""
    kernel = kgen.jit("out = a + b")
    for n in (1, 7, 17, 100, 4099, 70001, 1 << 20):
        for first, second, start in ((0, 0, 0), (1, 0, 0), (3, 2, 0), (0, 0, 1)):
            a, b = torch.randint(0, 9, (2, n + 4), device="cuda").to(dtype)
            a, b, whole = a[first:][:n], b[second:][:n], torch.full((n + 16,), 77, device="cuda").to(dtype)
            kernel(a, b, out=whole[8 + start :][:n])
            expected = torch.full_like(whole, 77)
            expected[8 + start :][:n] = a + b
            assert torch.equal(whole, expected), (n, first, second, start)


@pytest.mark.parametrize("shape", [(100, 50, 70), (13, 461, 26), (66, 68, 2), (33, 335, 26)], ids=str)
def test_boxes_with_short_sides(shape: tuple[int, ...]) -> None:
    """Operands along three dimensions, one of them at a step."""
    a = torch.randint(0, 9, shape, device="cuda").half()
    b = torch.randint(0, 9, (*shape[:2], 2 * shape[2]), device="cuda").to(torch.int8)[..., ::2]
    c = torch.randint(0, 9, shape[::-1], device="cuda").to(torch.bfloat16).permute(2, 1, 0)
    assert torch.equal(kgen.jit("out: f32 = a * b + c")(a, b, c), a.float() * b.float() + c.float())


@pytest.mark.parametrize("shape", [(2639, 96, 49), (301, 50, 13), (500, 64, 7)], ids=str)
def test_boxes_with_short_odd_rows(shape: tuple[int, ...]) -> None:
    """The outputs go on from row to row where an operand does not."""
    rows, height, width = shape
    a = torch.randint(0, 9, (rows, 3 * height, width), device="cuda").float()[:, ::3]
    b = torch.randint(0, 9, (height, width, rows), device="cuda").double().permute(2, 0, 1)
    assert torch.equal(kgen.jit("out: f32 = a * b + a")(a, b), (a * b + a).float())
