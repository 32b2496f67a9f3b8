"""Arrays in kgen's own memory: results for libraries without writable arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from kgen.arrays.base import Device, span
from kgen.arrays.dlpack import ManagedTensor
from kgen.arrays.numpy_ import TO_NUMPY, at_address
from kgen.dtypes import DType
from kgen.spec import Spec

_ALIGNMENT = 256  # XLA uses a host buffer without a copy if it is aligned to 64 bytes; CUDA's allocations have 256

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


class OwnedArray:
    """Memory with a spec, exported through DLPack and, on a GPU, ``__cuda_array_interface__``."""

    def __init__(self, shape: Sequence[int], strides: Sequence[int], dtype: DType, device: Device) -> None:
        self.spec = Spec(tuple(shape), dtype, tuple(strides))
        self.device = device
        self.stream = 0  # on which the kernel that writes it is queued
        low, high = span(shape, strides)
        size = (high - low + 1) * dtype.size
        self._memory: object
        if device.kind == "cuda":
            from kgen.runtime.cuda.memory import DeviceBuffer

            self._memory = buffer = DeviceBuffer(device.index, size)
            start = buffer.address
        else:
            self._memory = block = np.empty(size + _ALIGNMENT, np.uint8)
            start = -(-block.ctypes.data // _ALIGNMENT) * _ALIGNMENT
        self.pointer = start - low * dtype.size if start else 0

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape

    @property
    def dtype(self) -> DType:
        return self.spec.dtype

    def __repr__(self) -> str:
        return f"<kgen array {self.spec} on {self.device}>"

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.device.index) if self.device.kind == "cuda" else (1, 0)

    def __dlpack__(self, *, stream: int | None = None, **_: Any) -> Any:
        """A capsule whose consumer may read on ``stream`` (the protocol's number; -1: no ordering).

        NumPy creates the capsule from a view of the same bits as unsigned integers, and the dtype and device in its
        struct are then corrected.  A capsule from ctypes would need a deleter in Python, which crashes if a consumer
        frees it after the interpreter has ended.
        """
        if self.device.kind == "cuda" and stream != -1:
            from kgen.runtime.cuda.memory import order

            order(self.device.index, self.stream, 0 if stream in (None, 1) else int(stream or 0))
        dtype = self.spec.dtype
        bits = np.dtype(f"u{dtype.size}") if dtype.size <= 8 else TO_NUMPY[dtype]
        view = at_address(self.pointer, self.spec.shape, self.spec.strides, bits, self, False)
        capsule = view.__dlpack__()
        tensor = ManagedTensor.from_address(_pointer_of(capsule, b"dltensor") or 0).tensor
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = dtype.dlpack, dtype.bits, 1
        tensor.device.kind, tensor.device.index = self.__dlpack_device__()
        return capsule

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.device.kind != "cuda":
            raise AttributeError("__cuda_array_interface__")
        kind = TO_NUMPY[self.spec.dtype]
        return {
            "version": 3,
            "shape": self.spec.shape,
            "strides": tuple(s * kind.itemsize for s in self.spec.strides),
            # The protocol cannot name ml_dtypes; a reader that knows them reads `dtype`.
            "typestr": f"|V{kind.itemsize}" if self.spec.dtype.ml_dtypes else kind.str,
            "data": (self.pointer, False),
            "stream": self.stream or 1,
        }
