"""Arrays of every library that is installed, read where they are on a real GPU; streams and captures."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.arrays.base import cuda, is_c_order
from kgen.arrays.owned import OwnedArray
from kgen.diagnostics import KgenError
from kgen.dtypes import DTYPES, FLOAT32, DType
from kgen.runtime.cuda.driver import probe
from kgen.runtime.cuda.memory import DeviceBuffer, Staging, own_stream, synchronise
from kgen.runtime.cuda.module import CudaModule
from kgen.spec import Spec

from .kernels import N, Params, blocks, found, host, load, make

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]


@pytest.fixture
def module() -> CudaModule:
    return load(0)


LIBRARIES = ("torch", "cupy", "jax", "numba")


@pytest.mark.parametrize("library", LIBRARIES)
def test_axpy(library: str, module: CudaModule) -> None:
    """Each library's arrays are read where they are, and the result is an array of that library."""
    a = np.linspace(0, 1, N, dtype=np.float32)
    x, y = make(library, a), make(library, a[::-1].copy())
    adapter = found(x)
    assert adapter.name == library
    assert adapter.device(x) == cuda(0)
    assert adapter.spec(x) == Spec((N,), FLOAT32, (1,))
    stream = adapter.stream(cuda(0))
    out = adapter.empty((N,), (1,), FLOAT32, x)
    inputs = [adapter.normalise(v) for v in (x, y)]
    for v in inputs:
        adapter.ready(v, stream)
    params = Params(*(adapter.pointer(v) for v in (*inputs, out)), 2.5, N)
    module.launch("axpy", blocks(N), (256, 1, 1), params.address, stream=stream)
    if adapter.waits:
        synchronise(0, stream)
    result = adapter.finish(out, stream)
    assert type(result) is type(x)
    np.testing.assert_allclose(host(result), 2.5 * a + a[::-1], rtol=1e-6)
    assert found(result[3]).item(result[3]) == pytest.approx(2.5 * a[3] + a[-4])


@pytest.mark.parametrize("strides", [(12, 4, 1), (1, 2, 6), (4, 8, 1)], ids=["c", "f", "permuted"])
@pytest.mark.parametrize("library", ["torch", "cupy", "numba"])
def test_empty_has_the_strides_asked_for(library: str, strides: tuple[int, ...]) -> None:
    """New arrays have exactly the strides that the layout rules decided, in the libraries that have strides."""
    like = make(library, np.zeros(3, np.float32))
    made = found(like).empty((2, 3, 4), strides, FLOAT32, like)
    assert found(made).spec(made) == Spec((2, 3, 4), FLOAT32, strides)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_dtype_round_trips(library: str, dtype: DType) -> None:
    """A result of any dtype is read back as that dtype, or its library is said not to have it."""
    like = make(library, np.zeros(3, np.float32))
    adapter = found(like)
    problem = None
    try:
        made = adapter.empty((4,), (1,), dtype, like)
    except KgenError as raised:
        problem = raised
    if problem is not None:
        assert problem.code == "unsupported-dtype"
        assert library != "torch"
        assert dtype is not FLOAT32
        return
    result = adapter.finish(made, 0)
    assert adapter.spec(result).dtype is dtype
    assert adapter.device(result) == cuda(0)


def test_torch_current_stream(module: CudaModule) -> None:
    """A launch goes to torch's current stream, in order with torch's own work there."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = make("torch", np.zeros(N, np.float32))
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        handle = found(x).stream(cuda(0))
        assert handle == stream.cuda_stream
        params = Params(x.data_ptr(), 3.0, N, 20_000_000)
        module.launch("wait_then_fill", (1, 1, 1), (256, 1, 1), params.address, stream=handle)
        doubled = x * 2
    stream.synchronize()
    assert (doubled == 6).all()
    assert found(x).stream(cuda(0)) == torch.cuda.current_stream().cuda_stream


def test_cupy_current_stream() -> None:
    """A launch goes to CuPy's current stream."""
    cupy = pytest.importorskip("cupy", reason="cupy is not installed")
    x = cupy.zeros(3)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        assert found(x).stream(cuda(0)) == stream.ptr
    assert found(x).stream(cuda(0)) == cupy.cuda.get_current_stream().ptr


def test_interface_stream_is_waited_for(module: CudaModule) -> None:
    """What an array's ``__cuda_array_interface__`` names as its stream is finished before the next stream reads."""
    buffer = DeviceBuffer(0, 4 * N)
    slow = int(own_stream(0))
    fields = {"version": 3, "shape": (N,), "typestr": "<f4", "data": (buffer.address, False), "stream": slow}
    x = type("Foreign", (), {"__cuda_array_interface__": fields})()
    params = Params(buffer.address, 4.0, N, 50_000_000)
    module.launch("wait_then_fill", (1, 1, 1), (256, 1, 1), params.address, stream=slow)
    adapter = found(x)
    assert adapter.device(x) == cuda(0)
    out = adapter.empty((N,), (1,), FLOAT32, x)
    adapter.ready(adapter.normalise(x), 0)
    again = Params(buffer.address, buffer.address, out.pointer, 1.0, N)
    module.launch("axpy", blocks(N), (256, 1, 1), again.address)
    result = np.empty(N, np.float32)
    synchronise(0, 0)
    with Staging(0) as staging:
        staging.download(out.pointer, result.ctypes.data, result.nbytes)
    assert (result == 8).all()


def test_results_for_foreign_arrays_are_shared(module: CudaModule) -> None:
    """An array that kgen makes for a library it does not know is read by torch in place."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    make("torch", np.zeros(1, np.float32))  # skips where torch has no CUDA
    made = OwnedArray((5,), (1,), FLOAT32, cuda(0))
    module.launch("fill", (1, 1, 1), (32, 1, 1), Params(made.pointer, 7.0, 5).address)
    shared = torch.from_dlpack(made)
    assert shared.data_ptr() == made.pointer
    assert (shared == 7).all()


def test_torch_capture(module: CudaModule) -> None:
    """A prepared kernel may be captured into a graph and replayed."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = make("torch", np.zeros(N, np.float32))
    module.load_kernel("fill")
    params = Params(x.data_ptr(), 5.0, N)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        module.launch("fill", blocks(N), (256, 1, 1), params.address, stream=found(x).stream(cuda(0)))
    torch.cuda.synchronize()
    assert (x == 0).all()
    graph.replay()
    torch.cuda.synchronize()
    assert (x == 5).all()


@pytest.mark.skipif(probe().device_count < 2, reason="there is one GPU")
def test_another_device_than_the_current_one() -> None:
    """A launch on device 1 works while device 0 is current, and device 0 stays current."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    second = load(1)
    x = torch.zeros(N, device="cuda:1")
    adapter = found(x)
    assert adapter.device(x) == cuda(1)
    params = Params(x.data_ptr(), 9.0, N)
    second.launch("fill", blocks(N), (256, 1, 1), params.address, stream=adapter.stream(cuda(1)))
    assert torch.cuda.current_device() == 0
    assert (x == 9).all()


def test_gpu_arrays_and_flags() -> None:
    """JAX arrays are immutable and waited for; the others are not."""
    for library in LIBRARIES:
        try:
            x = make(library, np.zeros(3, np.float32))
        except pytest.skip.Exception:
            continue
        adapter = found(x)
        assert (adapter.immutable, adapter.waits) == ((library == "jax"),) * 2
        assert adapter.writable(x) is (library != "jax")
        assert is_c_order(adapter.spec(x).shape, adapter.spec(x).strides)
