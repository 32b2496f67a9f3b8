"""Kernels, packed parameters and arrays of every library, for the tests of the runtime and of the adapters."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import pytest

from kgen.arrays import adapter_of
from kgen.arrays.base import Adapter
from kgen.runtime.cuda.compiler import compile_cubin, flags
from kgen.runtime.cuda.device import device_info
from kgen.runtime.cuda.module import CudaModule

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


_ALIVE: list[object] = []


class Params:
    """A prepacked ``void*[]``; floats are float32, integers 8 bytes."""

    def __init__(self, *values: int | float) -> None:
        self.slots = [ctypes.c_float(v) if isinstance(v, float) else ctypes.c_uint64(v) for v in values]
        self.table = (ctypes.c_void_p * len(values))(*(ctypes.addressof(s) for s in self.slots))
        self.address = ctypes.addressof(self.table)
        _ALIVE.append(self)  # so that a test may pass `Params(...).address`


@cache
def load(device: int) -> CudaModule:
    """The kernels above, on a device."""
    arch = device_info(device).arch
    return CudaModule.load(compile_cubin(TEXT, name="runtime.cu", arch=arch, options=flags(arch)), device)


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
