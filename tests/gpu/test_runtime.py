"""Compile, load and launch on a real GPU, on arrays of every library that is installed."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

from kgen.arrays import adapter_of
from kgen.arrays.base import Adapter, cuda, is_c_order
from kgen.diagnostics import KgenError
from kgen.dtypes import DTYPES, FLOAT32, DType
from kgen.runtime.cuda.compiler import compile_cubin, flags
from kgen.runtime.cuda.driver import probe
from kgen.spec import Spec

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

N = 10_000
TEXT = """\
extern "C" __global__ void axpy(const float* x, const float* y, float* out, float alpha, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = alpha * x[i] + y[i];
}
extern "C" __global__ void fill(float* out, float value, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = value;
}
extern "C" __global__ void wait_then_fill(float* out, float value, long long n, long long cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) { }
  for (long long i = threadIdx.x; i < n; i += blockDim.x) out[i] = value;
}
extern "C" __global__ void reverse(float* out, int n) {
  extern __shared__ float tile[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = out[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = tile[n - 1 - i];
}
extern "C" __global__ void cluster_size(int* out) {
#if __CUDA_ARCH__ >= 900
  unsigned n;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
  if (blockIdx.x == 0 && threadIdx.x == 0) out[0] = (int)n;
#endif
}
extern "C" __global__ void crash(float* out) { *(volatile float*)(size_t)(16 + (size_t)out * 0) = 1.0f; }
"""


class Params:
    """A prepacked ``void*[]``; floats are float32, integers 8 bytes."""

    def __init__(self, *values: int | float) -> None:
        self.slots = [ctypes.c_float(v) if isinstance(v, float) else ctypes.c_uint64(v) for v in values]
        self.table = (ctypes.c_void_p * len(values))(*(ctypes.addressof(s) for s in self.slots))
        self.address = ctypes.addressof(self.table)


@pytest.fixture(scope="module")
def module() -> Any:
    from kgen.runtime.cuda.device import device_info
    from kgen.runtime.cuda.module import CudaModule

    arch = device_info(0).arch
    return CudaModule.load(compile_cubin(TEXT, name="runtime.cu", arch=arch, options=flags(arch)), 0)


def blocks(n: int) -> tuple[int, int, int]:
    return -(-n // 256), 1, 1


def make(library: str, values: np.ndarray[Any, Any]) -> Any:
    """The values as an array of a library on the GPU, or a skip where it is not installed or has no GPU."""
    if library == "torch":
        torch = pytest.importorskip("torch", reason="torch is not installed")
        if not torch.cuda.is_available():
            pytest.skip("this torch has no CUDA")
        return torch.from_numpy(values.copy()).cuda()
    if library == "cupy":
        return pytest.importorskip("cupy", reason="cupy is not installed").asarray(values)
    if library == "jax":
        jax = pytest.importorskip("jax", reason="jax is not installed")
        if jax.default_backend() != "gpu":
            pytest.skip("this JAX has no GPU")
        return jax.numpy.asarray(values)
    numba = pytest.importorskip("numba.cuda", reason="numba-cuda is not installed")
    return numba.to_device(values)


def host(x: Any) -> np.ndarray[Any, Any]:
    """The values of any library's array."""
    for method in ("cpu", "get", "copy_to_host"):
        if hasattr(x, method):
            return np.asarray(getattr(x, method)())
    return np.asarray(x)


def found(x: Any) -> Adapter:
    adapter = adapter_of(x)
    assert adapter is not None
    return adapter


LIBRARIES = ("torch", "cupy", "jax", "numba")


@pytest.mark.parametrize("library", LIBRARIES)
def test_axpy(library: str, module: Any) -> None:
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
        from kgen.runtime.cuda.memory import synchronise

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


def test_torch_current_stream(module: Any) -> None:
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


def test_interface_stream_is_waited_for(module: Any) -> None:
    """What an array's ``__cuda_array_interface__`` names as its stream is finished before the next stream reads."""
    from kgen.runtime.cuda.memory import DeviceBuffer, Staging, own_stream

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
    from kgen.runtime.cuda.memory import synchronise

    synchronise(0, 0)
    with Staging(0) as staging:
        staging.download(out.pointer, result.ctypes.data, result.nbytes)
    assert (result == 8).all()


def test_results_for_foreign_arrays_are_shared(module: Any) -> None:
    """An array that kgen makes for a library it does not know is read by torch in place."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from kgen.arrays.owned import OwnedArray

    made = OwnedArray((5,), (1,), FLOAT32, cuda(0))
    module.launch("fill", (1, 1, 1), (32, 1, 1), Params(made.pointer, 7.0, 5).address)
    shared = torch.from_dlpack(made)
    assert shared.data_ptr() == made.pointer
    assert (shared == 7).all()


def test_torch_capture(module: Any) -> None:
    """A prepared kernel may be captured into a graph and replayed."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = make("torch", np.zeros(N, np.float32))
    module.prepare("fill")
    params = Params(x.data_ptr(), 5.0, N)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        module.launch("fill", blocks(N), (256, 1, 1), params.address, stream=found(x).stream(cuda(0)))
    torch.cuda.synchronize()
    assert (x == 0).all()
    graph.replay()
    torch.cuda.synchronize()
    assert (x == 5).all()


def test_numpy_through_staging(module: Any) -> None:
    """Host arrays are copied to the device and back on kgen's own stream, and are there when the block is left."""
    from kgen.runtime.cuda.memory import Staging

    x = np.arange(N, dtype=np.float32)
    out = np.empty_like(x)
    with Staging(0) as staging:
        a = staging.upload(x.ctypes.data, x.nbytes)
        b = staging.allocate(x.nbytes)
        params = Params(a, a, b, 2.0, N)
        module.launch("axpy", blocks(N), (256, 1, 1), params.address, stream=staging.stream)
        staging.download(b, out.ctypes.data, out.nbytes)
    np.testing.assert_array_equal(out, x * 3)


def test_out_of_memory_leaves_everything_usable(module: Any) -> None:
    """Asking for more than there is, is an error of its own; the next call works."""
    from kgen.runtime.cuda.memory import DeviceBuffer, Staging

    with pytest.raises(KgenError, match="bytes are free") as raised:
        DeviceBuffer(0, 2**44)
    assert raised.value.code == "out-of-memory"
    with Staging(0) as staging:
        staging.allocate(1024)
        with pytest.raises(KgenError, match="bytes are free"):
            staging.allocate(2**44)
    test_numpy_through_staging(module)


def test_large_shared_memory(module: Any) -> None:
    """More than 48 kB of dynamic shared memory is asked for by itself; more than there is, is an error."""
    from kgen.runtime.cuda.device import device_info
    from kgen.runtime.cuda.memory import Staging

    size = device_info(0).shared_per_block
    n = size // 4
    x = np.arange(n, dtype=np.float32)
    with Staging(0) as staging:
        a = staging.upload(x.ctypes.data, x.nbytes)
        module.launch("reverse", (1, 1, 1), (256, 1, 1), Params(a, n).address, shared=size, stream=staging.stream)
        staging.download(a, x.ctypes.data, x.nbytes)
    np.testing.assert_array_equal(x, np.arange(n, dtype=np.float32)[::-1])
    with pytest.raises(KgenError, match="reverse") as raised:
        module.launch("reverse", (1, 1, 1), (256, 1, 1), Params(0, 0).address, shared=size * 2)
    assert raised.value.code == "launch-failed"


@pytest.mark.parametrize("size", [2, 8, 16])
def test_clusters(module: Any, size: int) -> None:
    """A launch may ask for clusters, above the portable 8 as well."""
    from kgen.runtime.cuda.device import device_info
    from kgen.runtime.cuda.memory import Staging

    if device_info(0).capability < (9, 0):
        pytest.skip("clusters came with sm_90")
    out = np.zeros(1, np.int32)
    with Staging(0) as staging:
        a = staging.allocate(4)
        launch = {"stream": staging.stream, "cluster": (size, 1, 1)}
        module.launch("cluster_size", (size * 2, 1, 1), (32, 1, 1), Params(a).address, **launch)
        staging.download(a, out.ctypes.data, 4)
    assert out[0] == size


def test_cooperative_launch(module: Any) -> None:
    """A cooperative launch works, and one that cannot be resident at once is refused."""
    from kgen.runtime.cuda.memory import Staging

    with Staging(0) as staging:
        params = Params(staging.allocate(4 * 256), 1.0, 256)
        module.launch("fill", (1, 1, 1), (256, 1, 1), params.address, stream=staging.stream, cooperative=True)
        with pytest.raises(KgenError, match="COOPERATIVE"):
            module.launch("fill", (10**6, 1, 1), (256, 1, 1), params.address, stream=staging.stream, cooperative=True)


def test_attributes(module: Any) -> None:
    """What the compiler made of a kernel can be asked."""
    attributes = module.prepare("axpy")
    assert 0 < attributes.registers <= 255
    assert attributes.local_bytes == 0
    assert attributes.max_threads == 1024


def test_launch_errors_name_the_kernel(module: Any) -> None:
    """An impossible launch is an error that names kernel and cause, and breaks nothing."""
    with pytest.raises(KgenError, match="fill: CUDA_ERROR_INVALID_VALUE") as raised:
        module.launch("fill", (1, 1, 1), (2048, 1, 1), Params(0, 0.0, 0).address)
    assert raised.value.code == "launch-failed"
    test_numpy_through_staging(module)


def test_a_damaged_cubin_is_an_error() -> None:
    """Bytes that are no CUBIN do not load."""
    from kgen.runtime.cuda.module import CudaModule

    with pytest.raises(KgenError) as raised:
        CudaModule.load(b"\x7fELF" + bytes(4096), 0)
    assert raised.value.code == "launch-failed"


def test_a_new_thread_has_no_context(module: Any) -> None:
    """A launch from a thread that never touched CUDA finds the device's context, and leaves none behind."""
    from cuda.bindings import driver

    problems: list[BaseException] = []

    def work() -> None:
        try:
            test_numpy_through_staging(module)
            module.launch("fill", (1, 1, 1), (32, 1, 1), Params(0, 0.0, 0).address)
            assert int(driver.cuCtxGetCurrent()[1]) == 0
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert problems == []


@pytest.mark.skipif(probe().device_count < 2, reason="there is one GPU")
def test_another_device_than_the_current_one() -> None:
    """A launch on device 1 works while device 0 is current, and device 0 stays current."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from kgen.runtime.cuda.device import device_info
    from kgen.runtime.cuda.module import CudaModule

    arch = device_info(1).arch
    second = CudaModule.load(compile_cubin(TEXT, name="runtime.cu", arch=arch, options=flags(arch)), 1)
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


CRASH = """
from kgen.diagnostics import KgenError
from kgen.runtime.cuda.compiler import compile_cubin, flags
from kgen.runtime.cuda.device import device_info
from kgen.runtime.cuda.memory import Staging
from kgen.runtime.cuda.module import CudaModule
from tests.gpu.test_runtime import TEXT, Params
arch = device_info(0).arch
module = CudaModule.load(compile_cubin(TEXT, name="runtime.cu", arch=arch, options=flags(arch)), 0)
for attempt in range(2):
    try:
        with Staging(0) as staging:
            module.launch("crash", (1, 1, 1), (1, 1, 1), Params(0).address, stream=staging.stream)
    except KgenError as problem:
        print(problem)
"""


def test_a_broken_context_is_reported_as_such() -> None:
    """After a kernel wrote where it must not, each error says that the context is broken and what to do."""
    ran = subprocess.run([sys.executable, "-c", CRASH], capture_output=True, text=True, check=False, timeout=300)
    assert ran.stdout.count("broke the CUDA context") == 2, ran.stdout + ran.stderr
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in ran.stdout


FORK = """
import multiprocessing
from kgen.diagnostics import KgenError
from kgen.runtime.cuda.memory import DeviceBuffer
buffer = DeviceBuffer(0, 1024)
def child():
    try:
        DeviceBuffer(0, 1024)
    except KgenError as problem:
        print(problem.code, flush=True)
process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
"""


def test_use_after_fork() -> None:
    """A forked child of a process that used CUDA is told so."""
    ran = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True, timeout=300)
    assert ran.stdout.strip() == "forked-process"
