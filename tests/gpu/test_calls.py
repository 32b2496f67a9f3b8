"""``kgen.jit`` on a real GPU: every library's arrays, layouts, streams, ``out=``, in-place, errors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.arrays.numpy_ import TO_NUMPY
from kgen.dtypes import DTYPES, DType
from kgen.runtime.cuda.driver import probe

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

torch: Any = pytest.importorskip("torch", reason="these tests pass torch's CUDA tensors")


def _library(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed")


@pytest.fixture
def pair() -> tuple[Any, Any]:
    """Two float32 CUDA tensors of an awkward size."""
    generator = torch.Generator(device="cuda").manual_seed(7)
    x, y = (torch.randn(1003, 37, device="cuda", generator=generator) for _ in range(2))
    return x, y


def test_torch_in_torch_out(pair: tuple[Any, Any]) -> None:
    """torch tensors give a torch tensor on their device, with PyTorch's values."""
    x, y = pair
    out = kgen.jit("param a: float = 2.0\nout = a * x + y", fmad=False)(x, y, a=3.0)
    assert out.device == x.device
    assert torch.equal(out, 3.0 * x + y)


def test_cupy_in_cupy_out() -> None:
    """CuPy arrays give a CuPy array, on the stream of an enclosing ``with`` block."""
    cupy = _library("cupy")
    x = cupy.arange(1001, dtype=cupy.float32)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        out = kgen.jit("out = x * x")(x)
        stream.synchronize()
    assert isinstance(out, cupy.ndarray)
    assert (out == x * x).all()


def test_jax_in_jax_out() -> None:
    """JAX arrays give a JAX array, and are never written to."""
    jax = _library("jax")
    x = jax.numpy.arange(1001, dtype=jax.numpy.float32)
    out = kgen.jit("out = x * x + 1")(x)
    assert isinstance(out, jax.Array)
    assert np.array_equal(np.asarray(out), np.arange(1001, dtype=np.float32) ** 2 + 1)
    with pytest.raises(kgen.KgenError, match="read-only"):
        kgen.jit("inout x; x = x + 1")(x)


def test_numba_in_numba_out() -> None:
    """Numba device arrays give a Numba device array."""
    cuda = _library("numba.cuda")
    x = cuda.to_device(np.arange(257, dtype=np.float32))
    out = kgen.jit("out = x + 0.5")(x)
    assert np.array_equal(out.copy_to_host(), np.arange(257, dtype=np.float32) + 0.5)


def test_numpy_runs_on_the_gpu() -> None:
    """NumPy arrays run on the GPU when there is one, of any layout, and come back as NumPy arrays."""
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    kernel = kgen.jit("out = a - b")
    out = kernel(x[::2, ::-1], x.T[:6:3, :2].T[:2, :1])
    assert kernel.ran_on == "cuda:0"
    assert np.array_equal(out, x[::2, ::-1] - x.T[:6:3, :2].T[:2, :1])


def test_numpy_outputs_of_any_strides() -> None:
    """``out=`` NumPy arrays that are not dense are written where they are, and nowhere else."""
    base = np.zeros((4, 10), np.float32)
    kgen.jit("out = x + 1", device="cuda")(np.arange(20, dtype=np.float32).reshape(4, 5), out=base[:, ::2])
    expected = np.zeros((4, 10), np.float32)
    expected[:, ::2] = np.arange(20, dtype=np.float32).reshape(4, 5) + 1
    assert np.array_equal(base, expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.short)
def test_every_dtype_copies(dtype: DType) -> None:
    """Every dtype moves unchanged through a kernel, contiguous, odd-sized and strided."""
    generator = np.random.default_rng(3)
    raw = generator.integers(0, 256, (33, 7, dtype.size), dtype=np.uint8)
    if dtype.is_bool:
        raw &= 1
    x = raw.view(TO_NUMPY[dtype]).reshape(33, 7)
    kernel = kgen.jit("out = x", device="cuda")
    for view in (x, x[1:, :], x[::-2, ::3], x.T):
        assert np.ascontiguousarray(kernel(view)).tobytes() == np.ascontiguousarray(view).tobytes()


def test_layouts_agree_with_torch(pair: tuple[Any, Any]) -> None:
    """Broadcast, sliced, permuted and expanded operands give PyTorch's values and its output strides."""
    x, y = pair
    kernel = kgen.jit("out = a * b", fmad=False)
    views = [
        (x, y), (x[:, :5], y[:, 1:6]), (x.T, y.T), (x[:37, :], y.T[:, :37]), (x, y[0]), (x, y[:, :1]),
        (x[::3], y[:335]), (x[0].expand(4, 37), y[:4]), (x[:, 0], y[:, 3]),
    ]  # fmt: skip
    for a, b in views:
        out, expected = kernel(a, b), a * b
        assert torch.equal(out, expected)
        assert out.stride() == expected.stride()
    image = torch.randn(2, 3, 8, 9, device="cuda").contiguous(memory_format=torch.channels_last)
    assert kernel(image, image).is_contiguous(memory_format=torch.channels_last)


def test_misaligned_bases(pair: tuple[Any, Any]) -> None:
    """Views that start anywhere are read where they are."""
    x = pair[0].reshape(-1)
    kernel = kgen.jit("out = a + b", fmad=False)
    for first in range(1, 5):
        a, b = x[first : first + 1000], x[4:1004]
        assert torch.equal(kernel(a, b), a + b)


def test_out_and_in_place(pair: tuple[Any, Any]) -> None:
    """``out=`` is returned and written; the same view as an input works; another overlap is refused."""
    x, y = pair
    kernel = kgen.jit("out = a + b", fmad=False)
    given, expected = torch.empty_like(x), x + y
    assert kernel(x, y, out=given) is given
    assert torch.equal(given, expected)
    half = torch.empty(x.shape, device="cuda", dtype=torch.float16)
    assert torch.equal(kernel(x, y, out=half), expected.half())
    z = x.clone()
    kernel(z, y, out=z)
    assert torch.equal(z, expected)
    with pytest.raises(kgen.KgenError, match="overlap"):
        kernel(z[1:], y[1:], out=z[:-1])


def test_inout_and_several_outputs(pair: tuple[Any, Any]) -> None:
    """``inout`` arguments are updated where they are; several outputs come as a tuple, of their own shapes."""
    x, y = pair
    p = x.clone()
    assert kgen.jit("inout p; p = p - 0.5 * g", fmad=False)(p, y) is None
    assert torch.equal(p, x - 0.5 * y)
    s, q = kgen.jit("s = a + b; q = b * 2", fmad=False)(x, y[0])
    assert torch.equal(s, x + y[0])
    assert torch.equal(q, y[0] * 2)


def test_streams(pair: tuple[Any, Any]) -> None:
    """A call runs on torch's current stream, or on the one that is given."""
    x, y = pair
    kernel = kgen.jit("out = a * b", fmad=False)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10_000_000)
        a = x + 1
        out = kernel(a, y)
    stream.synchronize()
    assert torch.equal(out, (x + 1) * y)
    for given in (stream, stream.cuda_stream):
        result = kernel(x, y, out=torch.empty_like(x), stream=given)
        stream.synchronize()
        assert torch.equal(result, x * y)


def test_capture(pair: tuple[Any, Any]) -> None:
    """A warmed-up call may be captured into a graph and replayed on new data."""
    x, y = pair
    kernel = kgen.jit("out = a * b", fmad=False)
    out = torch.empty_like(x)
    kernel(x, y, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(x, y, out=out)
    x.mul_(2)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, x * y)


def test_host_scalars_pass_by_value(pair: tuple[Any, Any]) -> None:
    """0-d arrays of the host meet CUDA arrays by value; larger ones are refused by name."""
    x, _ = pair
    kernel = kgen.jit("out = a * b", fmad=False)
    assert torch.equal(kernel(x, torch.tensor(2.5)), x * 2.5)
    assert torch.equal(kernel(x, 2.5), x * 2.5)
    with pytest.raises(kgen.KgenError, match=r"mixed-devices.*`a` is on cuda:0 and `b` is on cpu"):
        kernel(x, torch.ones(37))
    with pytest.raises(kgen.KgenError, match="mixed-devices"):
        kernel(x, np.ones(37, np.float32))


def test_empty_and_0d() -> None:
    """Arrays without elements and 0-d arrays give the same."""
    kernel = kgen.jit("out = a + b")
    assert kernel(torch.empty(0, 3, device="cuda"), torch.ones(3, device="cuda")).shape == (0, 3)
    assert kernel(torch.tensor(1.0, device="cuda"), torch.tensor(2.0, device="cuda")).item() == 3.0


def test_the_cpu_and_the_gpu_agree() -> None:
    """One text, two targets, the same bits where the contract promises them."""
    generator = np.random.default_rng(11)
    a, b = (generator.standard_normal((50, 33)).astype(np.float32) for _ in range(2))
    text = "out = cast<half>((a * b + a / b) * sqrt(abs(a)) - floor(b * 10) % 3)"
    results = [kgen.jit(text, device=device, fmad=False)(a, b) for device in ("cpu", "cuda")]
    assert results[0].tobytes() == results[1].tobytes()


def test_past_two_to_the_31() -> None:
    """Arrays of more than 2^31 elements, and offsets of more than 2^31 bytes, are walked whole."""
    n = 2**31 + 4097
    x = torch.zeros(n, device="cuda", dtype=torch.uint8)
    x[-1] = 7
    x[2**31 - 1] = 5
    out = kgen.jit("out = x + 1")(x)
    assert out[-1].item() == 8
    assert out[2**31 - 1].item() == 6
    assert int(out[: 2**20].sum()) == 2**20
    wide = torch.zeros(3, 2**30, device="cuda", dtype=torch.float32)[:, ::2]
    wide[2, -1] = 3
    assert kgen.jit("out = x * 2")(wide)[2, -1].item() == 6


def test_explain_names_the_reasons() -> None:
    """``explain`` says for every operand how it is read, and what limited it."""
    x, y = (torch.zeros(4096, 4096, device="cuda") for _ in range(2))
    text = str(kgen.jit("out = a * b").explain(x, y.T.contiguous().T))
    assert "tiled: `b` is consecutive along another dimension" in text
    assert re.search(r"transposed: transposed through shared memory;.* makes the kernel work by tiles of 64 x 64", text)
    assert re.search(r"on sm_\d+: \d+ registers a thread, 16,384 bytes of shared memory a block, no local memory", text)
