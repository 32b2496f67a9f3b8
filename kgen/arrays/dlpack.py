"""Reads DLPack capsules, also of dtypes that NumPy's reader does not support (bfloat16, fp8)."""

from __future__ import annotations

import ctypes
from typing import Any

from kgen.arrays.base import CPU, MAX_DIMENSIONS, Device, check_memory, cuda
from kgen.diagnostics import error
from kgen.dtypes import DTYPES, DType
from kgen.spec import Spec, c_strides


class _Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("index", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("rank", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


class ManagedTensor(ctypes.Structure):
    """``DLManagedTensor``, the struct of a capsule named "dltensor"."""

    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _Versioned(ctypes.Structure):
    """``DLManagedTensorVersioned``, the struct of a capsule named "dltensor_versioned"."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_READ_ONLY = 1
_ON_HOST = (1, 3)  # kDLCPU, kDLCUDAHost
_ON_CUDA = (2, 13)  # kDLCUDA, kDLCUDAManaged

_FROM_CODE: dict[tuple[int, int], DType] = {(t.dlpack, t.bits): t for t in DTYPES}

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype = ctypes.c_int
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]


def read_capsule(capsule: Any) -> tuple[Spec, int, Device, bool]:
    """Spec, address, device and whether it is read-only.  Valid while the capsule is alive and not consumed."""
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned") or 0)
        if versioned.major != 1:
            raise error("not-an-array", f"the array uses DLPack {versioned.major}, and kgen supports version 1")
        tensor, readonly = versioned.tensor, bool(versioned.flags & _READ_ONLY)
    elif _is_valid(capsule, b"dltensor"):
        tensor, readonly = ManagedTensor.from_address(_pointer(capsule, b"dltensor") or 0).tensor, False
    else:
        raise error("not-an-array", "__dlpack__ did not return a DLPack capsule")
    code, bits, lanes = tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes
    dtype = _FROM_CODE.get((code, bits)) if lanes == 1 else None
    if dtype is None:
        raise error("unsupported-dtype", f"kgen has no dtype for DLPack's (code {code}, {bits} bits, {lanes} lanes)")
    if not 0 <= tensor.rank <= MAX_DIMENSIONS or (tensor.rank and not tensor.shape):
        raise error("bad-array", f"the DLPack tensor claims {tensor.rank} dimensions")
    shape = tuple(tensor.shape[i] for i in range(tensor.rank))
    strides = tuple(tensor.strides[i] for i in range(tensor.rank)) if tensor.strides else c_strides(shape)
    spec, address = Spec(shape, dtype, strides), (tensor.data or 0) + tensor.offset
    check_memory(spec, address)
    return spec, address, device_of(tensor.device.kind, tensor.device.index), readonly


def device_of(kind: int, index: int) -> Device:
    """DLPack's device as kgen's; raises :class:`~kgen.KgenError` for other kinds of device."""
    if not isinstance(index, int) or not 0 <= index < 1 << 31:
        raise error("bad-array", f"the array claims to be on device number {index!r:.40}")
    if kind in _ON_CUDA:
        return cuda(index)
    if kind in _ON_HOST:
        return CPU
    raise error("unsupported-device", f"the array is on DLPack device {kind}", "kgen runs on CUDA devices and the CPU")
