"""Row kernels that tell L2 to evict last what they read, made to do so from the first byte on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import kgen
from kgen.runtime.cuda.driver import probe
from kgen.schedule import target

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("poisoned"),
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

torch: Any = pytest.importorskip("torch", reason="these tests pass torch's CUDA tensors")

if probe().available and torch.cuda.get_device_capability() < (9, 0):
    pytest.skip("only sm_90 and later are told so", allow_module_level=True)

SOFTMAX = "let e = exp(x - max(x, axis=-1, keepdims=true))\nout = e / sum(e, axis=-1, keepdims=true)"
LAYERNORM = (
    "let d = x - mean(x, axis=-1, keepdims=true)\nout = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b"
)


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "TARGETS", ((90, replace(target.HOPPER, evict_last=0, streaming=0)),))


def is_told(kernel: Any, *args: Any) -> bool:
    return "evict_last" in kernel.source(*args, arch="sm_90")


def is_close(got: Any, want: Any) -> bool:
    rough = 2e-5 if got.dtype is torch.float32 else 1e-2
    return bool(torch.allclose(got.double(), want, rtol=rough, atol=rough))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("width", [3, 8, 100, 129, 256, 1000, 1001, 2048, 4096, 8192, 16384, 50257, 65536])
@pytest.mark.parametrize("rows", [64, 67])
def test_softmax(rows: int, width: int, dtype: str) -> None:
    torch.manual_seed(width)
    rows += (1 << 20) // width  # of few elements, L2 is told nothing
    x = torch.randn(rows, width, device="cuda", dtype=getattr(torch, dtype))
    kernel = kgen.jit(SOFTMAX)
    assert is_close(kernel(x), torch.softmax(x.double(), -1))
    assert is_told(kernel, x)


@pytest.mark.parametrize("width", [256, 1000, 1024, 2048, 4096, 8192, 16384, 32768])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_layernorm(width: int, dtype: str) -> None:
    """With half the threads a row, where two operands are shared by all rows."""
    torch.manual_seed(width)
    x = torch.randn(131, width, device="cuda", dtype=getattr(torch, dtype))
    w, b = (torch.randn(width, device="cuda", dtype=x.dtype) for _ in range(2))
    kernel = kgen.jit(LAYERNORM)
    want = torch.nn.functional.layer_norm(x.double(), (width,), w.double(), b.double(), 1e-5)
    assert is_close(kernel(x, w, b), want)
    is_long = width * x.element_size() >= 8192
    if dtype == "bfloat16" or width <= 16384:
        assert is_told(kernel, x, w, b) == is_long


def test_not_what_is_written_as_well() -> None:
    """In place and through a view that overlaps: read by plain accesses, and the same result."""
    x = torch.randn(512, 4096, device="cuda")
    want = torch.softmax(x.double(), -1)
    kernel = kgen.jit(SOFTMAX)
    kernel(x, out=x)
    assert is_close(x, want)


def test_what_was_just_written() -> None:
    """Reads on their way past the read-write path see what the kernel before has written."""
    x = torch.zeros(4096, 4096, device="cuda")
    kernel = kgen.jit("out = x + 1 + 0 * max(x, axis=-1, keepdims=true)")
    for _ in range(5):
        x = kernel(x)
    assert bool((x == 5).all())
    assert is_told(kernel, x)


def test_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it comes: rows of 64 MiB and more."""
    monkeypatch.undo()  # what :func:`always` did
    x = torch.randn((1 << 26) // 8192, 4096, device="cuda", dtype=torch.bfloat16)
    kernel = kgen.jit(SOFTMAX)
    assert is_close(kernel(x)[-100:], torch.softmax(x[-100:].double(), -1))
    assert is_told(kernel, x)
    assert not is_told(kernel, x[1:])


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64", "int8"])
@pytest.mark.parametrize(
    "shape", [(40001, 64), (10003, 128), (517, 1024), (300, 4096), (77, 8192), (3, 300_000)], ids=str
)
def test_read_once(dtype: str, shape: tuple[int, int]) -> None:
    """Kernels that only read ask caches to drop that first."""
    x = (torch.randn(shape, device="cuda") * 9).to(getattr(torch, dtype))
    wide = x.double()
    told = 0
    for text, want in (
        ("out = sum(x, axis=-1)", wide.sum(-1)),
        ("out = max(x, axis=-1)", wide.amax(-1)),
        ("out = argmax(x, axis=-1)", x.double().argmax(-1)),
        ("out = sum(x, axis=0)", wide.sum(0)),
        ("out = sum(x)", wide.sum()),
    ):
        kernel = kgen.jit(text)
        assert torch.allclose(kernel(x).double(), want.double(), rtol=1e-2, atol=0.5), text
        told += "load_streaming" in kernel.source(x, arch="sm_90")
    assert told >= (dtype.startswith("float") or shape[1] <= 1024)
