"""Clusters that take row after row, with weights that all rows share in the memory of their blocks."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import kgen
from kgen.runtime.cuda.driver import probe

from .sanitizer import sized

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("poisoned"),
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

torch: Any = pytest.importorskip("torch", reason="these tests pass torch's CUDA tensors")

if probe().available and torch.cuda.get_device_capability() < (9, 0):
    pytest.skip("thread-block clusters need sm_90", allow_module_level=True)

LAYERNORM = (
    "let d = x - mean(x, axis=-1, keepdims=true)\nout = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b"
)


def inputs(rows: int, width: int, dtype: str = "bfloat16") -> list[Any]:
    torch.manual_seed(rows + width)
    shapes = ((rows, width), (width,), (width,))
    return [torch.randn(*shape, device="cuda", dtype=getattr(torch, dtype)) for shape in shapes]


def expected(x: Any, w: Any, b: Any) -> Any:
    return torch.nn.functional.layer_norm(x.double(), (x.shape[-1],), w.double(), b.double(), 1e-5)


def is_close(got: Any, want: Any) -> bool:
    rough = got.dtype is not torch.float32
    return bool(torch.allclose(got.double(), want, rtol=1e-2 if rough else 3e-5, atol=1e-2 if rough else 3e-5))


def test_a_graph_outlives_its_kernel() -> None:
    """The counter that its blocks take rows from does, too."""
    x, w, b = inputs(200, 131072)

    def captured() -> tuple[Any, Any]:
        kernel = kgen.jit(LAYERNORM)
        kernel(x, w, b)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = kernel(x, w, b)
        return graph, found

    graph, found = captured()
    gc.collect()
    full = [torch.full((1 << 20,), 7, dtype=torch.int32, device="cuda") for _ in range(8)]
    for _ in range(5):
        found.zero_()
        graph.replay()
        torch.cuda.synchronize()
        assert is_close(found, expected(x, w, b))
    assert all(bool((one == 7).all()) for one in full)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("width", sized([40960, 65536, 100_000, 131072], [40960, 131072]))
def test_any_number_of_rows(width: int, dtype: str) -> None:
    """Fewer rows than clusters, as many, and several for each; one kernel, again and again."""
    kernel = kgen.jit(LAYERNORM)
    for rows in sized((1, 2, 45, 46, 47, 200, 3, 131), (1, 47, 131)):
        x, w, b = inputs(rows, width, dtype)
        assert is_close(kernel(x, w, b), expected(x, w, b)), rows
    persistent = kernel.explain(x, w, b).steps[0].kernel.endswith("_persistent")
    assert persistent == (width <= 131072 if dtype != "float32" else width <= 65536)


def test_one_answer() -> None:
    """However rows are handed out."""
    kernel = kgen.jit(LAYERNORM)
    x, w, b = inputs(300, 131072)
    first = kernel(x, w, b)
    assert all(torch.equal(kernel(x, w, b), first) for _ in range(sized(300, 3)))


def test_in_place() -> None:
    """Rows may be overwritten; weights that are overwritten are not kept."""
    kernel = kgen.jit(LAYERNORM)
    x, w, b = inputs(99, 131072)
    want = kernel(x, w, b)
    kernel(x, w, b, out=x)
    assert torch.equal(x, want)
    y = torch.randn(1, 131072, device="cuda", dtype=torch.bfloat16)
    want = kernel(y, w, b)
    kernel(y, w, b, out=w.view(1, -1))
    assert torch.equal(w.view(1, -1), want)


def test_beside_each_other() -> None:
    """A graph and several streams do not take each other's rows."""
    kernel = kgen.jit(LAYERNORM)
    sets = [inputs(rows, 131072) for rows in (70, 90, 110)]
    want = [kernel(*each) for each in sets]
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = kernel(*sets[0])
    streams = [torch.cuda.Stream() for _ in sets]
    for _ in range(sized(50, 2)):
        captured.zero_()
        torch.cuda.synchronize()
        graph.replay()
        got = []
        for stream, each in zip(streams, sets, strict=True):
            with torch.cuda.stream(stream):
                got.append(kernel(*each))
        torch.cuda.synchronize()
        assert torch.equal(captured, want[0])
        assert all(torch.equal(a, b) for a, b in zip(got, want, strict=True))
