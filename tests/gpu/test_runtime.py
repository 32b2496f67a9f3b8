"""Compile, load and launch on a real GPU: memory, limits, errors, threads."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from kgen.diagnostics import KgenError
from kgen.runtime.cuda.device import device_info
from kgen.runtime.cuda.driver import probe
from kgen.runtime.cuda.memory import DeviceBuffer, Staging
from kgen.runtime.cuda.module import CudaModule

from .kernels import N, Params, blocks, load
from .sanitizer import without_sanitizer

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def module() -> CudaModule:
    return load(0)


def test_numpy_through_staging(module: CudaModule) -> None:
    """Host arrays are copied to the device and back on kgen's own stream, and are there when the block is left."""
    x = np.arange(N, dtype=np.float32)
    out = np.empty_like(x)
    with Staging(0) as staging:
        a = staging.upload(x.ctypes.data, x.nbytes)
        b = staging.allocate(x.nbytes)
        params = Params(a, a, b, 2.0, N)
        module.launch("axpy", blocks(N), (256, 1, 1), params.address, stream=staging.stream)
        staging.download(b, out.ctypes.data, out.nbytes)
    np.testing.assert_array_equal(out, x * 3)


def test_out_of_memory_leaves_everything_usable(module: CudaModule) -> None:
    """Asking for more than there is, is an error of its own; the next call works."""
    with pytest.raises(KgenError, match="bytes are free") as raised:
        DeviceBuffer(0, 2**44)
    assert raised.value.code == "out-of-memory"
    with Staging(0) as staging:
        staging.allocate(1024)
        with pytest.raises(KgenError, match="bytes are free"):
            staging.allocate(2**44)
    test_numpy_through_staging(module)


def test_large_shared_memory(module: CudaModule) -> None:
    """More than 48 kB of dynamic shared memory is asked for by itself; more than there is, is an error."""
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
def test_clusters(module: CudaModule, size: int) -> None:
    """A launch may ask for clusters, above the portable 8 as well."""
    if device_info(0).capability < (9, 0):
        pytest.skip("clusters came with sm_90")
    out = np.zeros(1, np.int32)
    with Staging(0) as staging:
        a = staging.allocate(4)
        grid, params = (size * 2, 1, 1), Params(a)
        module.launch("cluster_size", grid, (32, 1, 1), params.address, stream=staging.stream, cluster=(size, 1, 1))
        staging.download(a, out.ctypes.data, 4)
    assert out[0] == size


def test_cooperative_launch(module: CudaModule) -> None:
    """A cooperative launch works, and one that cannot be resident at once is refused."""
    with Staging(0) as staging:
        params = Params(staging.allocate(4 * 256), 1.0, 256)
        module.launch("fill", (1, 1, 1), (256, 1, 1), params.address, stream=staging.stream, cooperative=True)
        with pytest.raises(KgenError, match="COOPERATIVE"):
            module.launch("fill", (10**6, 1, 1), (256, 1, 1), params.address, stream=staging.stream, cooperative=True)


def test_attributes(module: CudaModule) -> None:
    """What the compiler made of a kernel can be asked."""
    attributes = module.load_kernel("axpy")
    assert 0 < attributes.registers <= 255
    assert attributes.local_bytes == 0
    assert attributes.max_threads == 1024


def test_launch_errors_name_the_kernel(module: CudaModule) -> None:
    """An impossible launch is an error that names kernel and cause, and breaks nothing."""
    with pytest.raises(KgenError, match="fill: CUDA_ERROR_INVALID_VALUE") as raised:
        module.launch("fill", (1, 1, 1), (2048, 1, 1), Params(0, 0.0, 0).address)
    assert raised.value.code == "launch-failed"
    test_numpy_through_staging(module)


def test_a_damaged_cubin_is_an_error() -> None:
    """Bytes that are no CUBIN do not load."""
    with pytest.raises(KgenError) as raised:
        CudaModule.load(b"\x7fELF" + bytes(4096), 0)
    assert raised.value.code == "launch-failed"


def test_a_new_thread_has_no_context(module: CudaModule) -> None:
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


def run(code: str) -> subprocess.CompletedProcess[str]:
    """A process of its own: what these tests do to CUDA lasts."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT)


CRASH = """
from kgen.diagnostics import KgenError
from kgen.runtime.cuda.memory import Staging
from tests.gpu.kernels import Params, load
for attempt in range(2):
    try:
        with Staging(0) as staging:
            load(0).launch("crash", (1, 1, 1), (1, 1, 1), Params(0).address, stream=staging.stream)
    except KgenError as problem:
        print(problem)
"""


@without_sanitizer
def test_a_broken_context_is_reported_as_such() -> None:
    """After a kernel wrote where it must not, each error says that the context is broken and what to do."""
    ran = subprocess.run(
        [sys.executable, "-c", CRASH], capture_output=True, text=True, check=False, timeout=300, cwd=ROOT
    )
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
    ran = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, check=True, timeout=300, cwd=ROOT
    )
    assert ran.stdout.strip() == "forked-process"
