"""Reductions on the GPU: random programs, accuracy, one answer always, graphs and streams."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kgen
from kgen.runtime.cuda.driver import probe
from tests.fuzz.reductions import generate
from tests.fuzz.test_reductions import OUTS, assert_close, assert_given, is_refused, reference
from tests.reductions.odd_rows import programs
from tests.reductions.test_shares import assert_rounded_once, spread_out

from .sanitizer import sized

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("poisoned"),
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

torch: Any = pytest.importorskip("torch", reason="these tests pass torch's CUDA tensors")

SOFTMAX = "let m = max(x, axis=-1, keepdims=true)\nlet e = exp(x - m)\nout = e / sum(e, axis=-1, keepdims=true)"


@pytest.mark.parametrize("group", range(5))
def test_random_reductions(group: int) -> None:
    """What the oracle says, over any axes and layouts."""
    with np.errstate(all="ignore"):
        for seed in range(50_000 + 40 * group, 50_000 + 40 * group + sized(40, 6)):
            program = generate(seed)
            try:
                kernel = kgen.jit(program.text, device="cuda", fmad=False)
                want = reference(program.text, program.arguments())
                assert_given(program, kernel, OUTS[seed % len(OUTS)], want)
            except kgen.KgenError as problem:
                if not is_refused(problem):
                    raise


@pytest.mark.parametrize("axis", ["", ", axis=0", ", axis=1"])
def test_sums_are_accurate(axis: str) -> None:
    """A float32 sum is within (16 + log2 n) roundings of the sum of magnitudes."""
    x = torch.rand(4096, 3072, device="cuda") * 3 - 1
    got = kgen.jit(f"out = sum(x{axis})")(x).double()
    over = None if not axis else int(axis[-1])
    exact, size = (x.double().sum(), x.numel()) if over is None else (x.double().sum(over), x.shape[over])
    magnitude = x.double().abs().sum() if over is None else x.double().abs().sum(over)
    assert bool(((got - exact).abs() <= (16 + np.log2(size)) * 2.0**-24 * magnitude).all())


@pytest.mark.parametrize(
    "text",
    [
        "out = sum(x)",
        "out = sum(x, axis=0)",
        "out = var(x, axis=0)",
        "out = var(x)",
        "out = x / sum(x)",
        SOFTMAX,
        "out = argmax(x)",
    ],
)
def test_one_answer(text: str) -> None:
    """The same input again and again, one answer."""
    x = torch.randn(512, 4096, device="cuda")
    kernel = kgen.jit(text)
    first = kernel(x)
    for _ in range(sized(1000, 3)):
        assert torch.equal(kernel(x), first)


def test_captured() -> None:
    """A graph with reductions of several blocks gives the right answer while the same kernel runs beside it."""
    x, y = (torch.randn(512, 4096, device="cuda") for _ in range(2))
    kernel = kgen.jit("out = x / sum(abs(x))")
    expected_x, expected_y = kernel(x), kernel(y)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = kernel(x)
    beside = torch.cuda.Stream()
    for _ in range(sized(200, 3)):
        graph.replay()
        with torch.cuda.stream(beside):
            other = kernel(y)
    torch.cuda.synchronize()
    assert torch.equal(captured, expected_x)
    assert torch.equal(other, expected_y)


def test_streams() -> None:
    """Many streams at once share nothing."""
    arrays = [torch.randn(256, 4096, device="cuda") for _ in range(8)]
    kernel = kgen.jit("out = sum(x * x)")
    single = [kernel(a) for a in arrays]
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in arrays]
    for _ in range(sized(50, 2)):
        results = []
        for stream, a in zip(streams, arrays, strict=True):
            with torch.cuda.stream(stream):
                results.append(kernel(a))
    torch.cuda.synchronize()
    assert all(torch.equal(a, b) for a, b in zip(results, single, strict=True))


LAYERNORM = (
    "let d = x - mean(x, axis=-1, keepdims=true)\nout = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w"
)


@pytest.mark.parametrize(
    "width", sized([8192, 16384, 32768, 40960, 65536, 100_000, 131072, 262144], [8192, 40960, 262144])
)
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_long_rows(width: int, dtype: str) -> None:
    """Rows of one block's registers, of a cluster's, and longer ones."""
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("thread-block clusters need sm_90")
    x = torch.randn(77, width, device="cuda", dtype=getattr(torch, dtype)) * 3
    w = torch.randn(width, device="cuda", dtype=x.dtype)
    loose = {"rtol": 1e-2, "atol": 1e-6} if dtype == "bfloat16" else {"rtol": 3e-5, "atol": 1e-6}
    wide = x.double()
    softmax = kgen.jit(SOFTMAX)
    assert torch.allclose(softmax(x).double(), torch.softmax(wide, -1), **loose)
    norm = torch.nn.functional.layer_norm(wide, (width,), w.double(), None, 1e-5)
    assert torch.allclose(kgen.jit(LAYERNORM)(x, w).double(), norm, rtol=loose["rtol"], atol=2e-5)
    both = kgen.jit("m = max(x, axis=-1)\ny = x - max(x, axis=-1, keepdims=true)")(x)
    assert torch.equal(both[0], x.amax(-1))
    kernels = [s.kernel for s in softmax.explain(x).steps]
    in_registers = width <= (262144 if dtype == "bfloat16" else 131072)
    alone = width <= (32768 if dtype == "bfloat16" else 16384)
    assert kernels[0].endswith("_cluster") == (in_registers and not alone), kernels


@pytest.mark.parametrize("width", sized([40960, 131072], [131072]))
def test_clusters_exchange_several(width: int) -> None:
    """Several results of different sizes in one exchange, and one exchange after another, with rows to spare."""
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("thread-block clusters need sm_90")
    torch.manual_seed(4)
    x = torch.randint(-9, 10, (sized(1500, 77), width), device="cuda").to(torch.bfloat16)
    text = """let top = max(x, axis=-1, keepdims=true)
let s = sum(x, axis=-1, keepdims=true)
let at = argmax(x, axis=-1, keepdims=true)
let far = max(abs(cast<float>(x) - cast<float>(s)), axis=-1, keepdims=true)
let many = count_nonzero(cast<float>(x) * 2 > far, axis=-1, keepdims=true)
y = cast<float>(x - top) + cast<float>(at) + cast<float>(many) + far"""
    kernel = kgen.jit(text)
    wide = x.float()
    far = (wide - wide.sum(-1, keepdim=True)).abs().amax(-1, keepdim=True)  # a let is not rounded to halves
    many = (wide * 2 > far).sum(-1, keepdim=True)
    want = (x - x.amax(-1, keepdim=True)).float() + x.argmax(-1, keepdim=True).float() + many.float() + far
    assert kernel.explain(x).steps[0].kernel.endswith("_cluster")
    for _ in range(sized(20, 1)):
        assert torch.equal(kernel(x), want)


@pytest.mark.parametrize("width", [40, 1000, 9000, 131072])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_shares_are_rounded_once(width: int, dtype: str) -> None:
    """What is computed quickly for halves shows no more than what is computed exactly."""
    x = torch.from_numpy(spread_out(width)).to(getattr(torch, dtype))
    got = kgen.jit(SOFTMAX)(x.cuda()).cpu()
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float16
    assert_rounded_once(got.view(torch.int16).numpy().view(kind), x.double().numpy())


@pytest.mark.parametrize(("rows", "width"), [(5000, 3), (3001, 7), (999, 28), (70, 100), (50, 1001)])
def test_odd_rows(rows: int, width: int) -> None:
    """Rows that are no multiple of what threads read at once."""
    with np.errstate(all="ignore"):
        for program in programs(rows, width, turn=sized(None, width)):
            arrays: dict[str, Any] = dict(program.arrays())
            assert_close(program, kgen.jit(program.text, device="cuda")(**arrays), reference(program.text, arrays))


@pytest.mark.parametrize(
    ("rows", "width", "step"), [(sized(600_001, 6001), 7, 7), (999, 100, 100), (999, 1001, 1001), (99, 1024, 1027)]
)
def test_misaligned_rows(rows: int, width: int, step: int) -> None:
    """Rows that begin where nothing is aligned, and in place; what lies around them stays as it is."""
    softmax, place = kgen.jit(SOFTMAX), kgen.jit("out = argmax(x, axis=-1)")
    for dtype in (torch.bfloat16, torch.float32):
        for off in (0, 1, 3):
            whole = torch.randn(rows * step + 64, device="cuda").to(dtype)
            x = whole.as_strided((rows, width), (step, 1), off)
            assert torch.allclose(softmax(x).float(), x.float().softmax(-1), rtol=1e-2, atol=1e-6)
            assert torch.equal(place(x), x.float().argmax(-1))
            before, want = whole.clone(), softmax(x.clone())
            softmax(x, out=x)
            assert torch.allclose(x, want, rtol=1e-2, atol=1e-6)  # groups may have begun elsewhere
            x.copy_(before.as_strided(x.shape, x.stride(), off))
            assert torch.equal(whole, before)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool", "int16"])
@pytest.mark.parametrize("shape", [(3000, 4096), (4001, 64), (999, 1001), (5001, 7), (3, 200_000)], ids=str)
def test_sums_of_narrow_integers(dtype: str, shape: tuple[int, int]) -> None:
    """Exact, over rows, columns and all, from aligned and other addresses."""
    whole = torch.randint(-128, 128, (shape[0], shape[1] + 3), device="cuda")
    whole = (whole > 60) if dtype == "bool" else whole.to(getattr(torch, dtype))
    for x in (whole[:, : shape[1]].contiguous(), whole[:, 3:], whole[:, 1 : shape[1] - 1]):
        assert torch.equal(kgen.jit("out = sum(x, axis=1)")(x), x.sum(1))
        assert torch.equal(kgen.jit("out = sum(x, axis=0)")(x), x.sum(0))
        assert torch.equal(kgen.jit("out = sum(x)")(x), x.sum())
