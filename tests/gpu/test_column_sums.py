"""Kernels that go along rows and sum over them, on the GPU: values, one answer always, streams."""

from __future__ import annotations

from typing import Any

import pytest

import kgen
from kgen.runtime.cuda.driver import probe
from tests.reductions.column_sums import ACTIVATION, LAYERNORM, RMSNORM, STATISTICS, TENSOR, Case, arrays, error

from .sanitizer import sized

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("poisoned"),
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

torch: Any = pytest.importorskip("torch", reason="these tests pass torch's CUDA tensors")

CASES = {"rmsnorm": RMSNORM, "layernorm": LAYERNORM, "activation": ACTIVATION, "statistics": STATISTICS}


def on_device(*given: Any, dtype: str = "bfloat16") -> list[Any]:
    return [torch.from_numpy(a).to("cuda", getattr(torch, dtype)) for a in given]


@pytest.mark.parametrize("shape", [(300, 512), (2, 1024), (700, 4096), (33, 5120), (40, 16384)])
@pytest.mark.parametrize("name", CASES)
def test_values(name: str, shape: tuple[int, int]) -> None:
    """What NumPy says in float64, of bfloat16 and float32."""
    exact = arrays(*shape)
    for dtype, bound in (("bfloat16", 8e-3), ("float32", 4e-6)):
        got = kgen.jit(CASES[name].text)(*on_device(*exact, dtype=dtype))
        for mine, true in zip(got, CASES[name].exact(*exact), strict=True):
            assert error(mine.double().cpu(), true) < bound


def test_several_kept_dimensions() -> None:
    exact = arrays(40, 33, 1024)
    got = kgen.jit(TENSOR.text)(*on_device(*exact, dtype="float32"))
    assert all(error(a.cpu(), b) < 4e-6 for a, b in zip(got, TENSOR.exact(*exact), strict=True))


@pytest.mark.parametrize("case", [RMSNORM, LAYERNORM], ids=["rmsnorm", "layernorm"])
def test_one_answer_always(case: Case) -> None:
    """Launches behind each other, in two streams, beside other work."""
    given = on_device(*arrays(sized(3000, 70), 2048))
    kernel = kgen.jit(case.text)
    want = kernel(*given)
    streams = [torch.cuda.Stream() for _ in range(2)]
    torch.cuda.synchronize()
    found: list[Any] = []
    for number in range(sized(1000, 6)):
        with torch.cuda.stream(streams[number % 2]):
            found = [*found[-8:], kernel(*given)]
            assert number % 100 or all(torch.equal(a, b) for got in found for a, b in zip(got, want, strict=True))
    torch.cuda.synchronize()
    assert all(torch.equal(a, b) for got in found for a, b in zip(got, want, strict=True))


def test_rows_have_the_same_bits_beside_others() -> None:
    x, g, w = on_device(*arrays(1000, 4096))
    kernel = kgen.jit(RMSNORM.text)
    whole = kernel(x, g, w)[0]
    for rows in (2, 64, 265):
        assert torch.equal(kernel(x[:rows], g[:rows], w)[0], whole[:rows])
