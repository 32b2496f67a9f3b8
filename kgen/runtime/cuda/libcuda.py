"""The CUDA driver's functions: those of every call by ctypes, others from ``cuda.bindings``, which is slow to import.

A function takes what the bindings' takes and returns its status and its results, as a tuple; handles are integers.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from ctypes import c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from typing import Any

CLUSTER_DIMENSION = 4
COOPERATIVE = 2
PROGRAMMATIC_STREAM_SERIALIZATION = 6

#: ``CUdevice_attribute`` and ``CUfunction_attribute``.
DEVICE_ATTRIBUTES = {
    "COMPUTE_CAPABILITY_MAJOR": 75, "COMPUTE_CAPABILITY_MINOR": 76, "MULTIPROCESSOR_COUNT": 16, "L2_CACHE_SIZE": 38,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 97, "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 81,
    "MAX_THREADS_PER_MULTIPROCESSOR": 39, "MEMORY_POOLS_SUPPORTED": 115,
}  # fmt: skip
FUNCTION_ATTRIBUTES = {
    "MAX_THREADS_PER_BLOCK": 0, "SHARED_SIZE_BYTES": 1, "LOCAL_SIZE_BYTES": 3, "NUM_REGS": 4,
    "MAX_DYNAMIC_SHARED_SIZE_BYTES": 8, "NON_PORTABLE_CLUSTER_SIZE_ALLOWED": 14,
}  # fmt: skip


class LaunchValue(ctypes.Union):
    """``CUlaunchAttributeValue``, as far as it is used."""

    _fields_ = (("cluster", c_uint * 3), ("flag", c_int), ("room", ctypes.c_char * 64))


class LaunchAttribute(ctypes.Structure):
    """``CUlaunchAttribute``."""

    _fields_ = (("id", c_uint), ("pad", ctypes.c_char * 4), ("value", LaunchValue))


class LaunchConfig(ctypes.Structure):
    """``CUlaunchConfig``."""

    _fields_ = (
        *((name, c_uint) for name in ("gridDimX", "gridDimY", "gridDimZ", "blockDimX", "blockDimY", "blockDimZ")),
        ("sharedMemBytes", c_uint),
        ("hStream", c_void_p),
        ("attrs", ctypes.POINTER(LaunchAttribute)),
        ("numAttrs", c_uint),
    )


_CONFIG = ctypes.POINTER(LaunchConfig)
#: The symbol, the type of the result if there is one, and the types of the arguments behind it.
_CALLS: dict[str, tuple[str, Any, tuple[Any, ...]]] = {
    "cuDriverGetVersion": ("cuDriverGetVersion", c_int, ()),
    "cuInit": ("cuInit", None, (c_uint,)),
    "cuDeviceGetCount": ("cuDeviceGetCount", c_int, ()),
    "cuDeviceGet": ("cuDeviceGet", c_int, (c_int,)),
    "cuDeviceGetAttribute": ("cuDeviceGetAttribute", c_int, (c_int, c_int)),
    "cuDeviceTotalMem": ("cuDeviceTotalMem_v2", c_size_t, (c_int,)),
    "cuDevicePrimaryCtxRetain": ("cuDevicePrimaryCtxRetain", c_size_t, (c_int,)),
    "cuCtxGetCurrent": ("cuCtxGetCurrent", c_size_t, ()),
    "cuCtxSetCurrent": ("cuCtxSetCurrent", None, (c_void_p,)),
    "cuModuleLoadData": ("cuModuleLoadData", c_size_t, (c_char_p,)),
    "cuModuleGetFunction": ("cuModuleGetFunction", c_size_t, (c_void_p, c_char_p)),
    "cuFuncGetAttribute": ("cuFuncGetAttribute", c_int, (c_int, c_void_p)),
    "cuFuncSetAttribute": ("cuFuncSetAttribute", None, (c_void_p, c_int, c_int)),
    "cuOccupancyMaxActiveClusters": ("cuOccupancyMaxActiveClusters", c_int, (c_void_p, _CONFIG)),
}


@cache
def library() -> ctypes.CDLL:
    """Raises ``OSError`` where there is no driver."""
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def address(name: str) -> int:
    """Of a function, for C."""
    return ctypes.cast(library()[name], c_void_p).value or 0


def _called(name: str) -> Callable[..., tuple[Any, ...]]:
    symbol, result, arguments = _CALLS[name]
    function = library()[symbol]
    function.argtypes = arguments if result is None else (ctypes.POINTER(result), *arguments)

    def call(*values: Any) -> tuple[Any, ...]:
        if result is None:
            return (function(*values),)
        found = result()
        return function(found, *values), found.value

    return call


def cuDeviceGetName(length: int, device: int) -> tuple[int, bytes]:
    name = ctypes.create_string_buffer(length)
    return library().cuDeviceGetName(name, length, device), name.raw


def cuStreamIsCapturing(stream: int) -> tuple[int, int]:
    found = c_int()
    return library().cuStreamIsCapturing(c_void_p(stream), ctypes.byref(found)), found.value


def error_name(code: int) -> str:
    """``CUDA_ERROR_ILLEGAL_ADDRESS`` for 700."""
    found = c_char_p()
    library().cuGetErrorName(code, ctypes.byref(found))
    return found.value.decode() if found.value else f"CUDA error {code}"


@cache
def launch() -> Any:
    """``cuLaunchKernelEx`` of a :class:`LaunchConfig`, a kernel, its parameters and 0; gives its status."""
    function = library()["cuLaunchKernelEx"]
    function.argtypes = (_CONFIG, c_void_p, c_void_p, c_void_p)
    return function


def __getattr__(name: str) -> Any:
    """A function at its first use, or what else the bindings have."""
    if name in _CALLS:
        found = _called(name)
    elif name.startswith(("cu", "CU")):
        from cuda.bindings import driver

        found = getattr(driver, name)
    else:
        raise AttributeError(name)
    return globals().setdefault(name, found)
