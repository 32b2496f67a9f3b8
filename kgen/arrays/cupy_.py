"""CuPy arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from math import prod
from typing import Any

from kgen.arrays.base import Allocator, AttributeGuard, Defaults, Device, Guards, as_python, cuda, is_c_order, span
from kgen.arrays.numpy_ import TO_NUMPY, dtype_of
from kgen.diagnostics import error
from kgen.dtypes import DType
from kgen.spec import Spec, known_strides


class _Handle:
    """A raw handle in CUDA's stream protocol."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


class CupyAdapter(Defaults):
    """Created at the first array.  CuPy's dtypes are NumPy's; its bfloat16 is that of ml_dtypes."""

    name = "cupy"

    def __init__(self) -> None:
        self._cupy = sys.modules["cupy"]

    def spec(self, x: Any) -> Spec:
        size = x.itemsize
        return Spec(x.shape, dtype_of(x.dtype), known_strides(x.shape, [s // size for s in x.strides]))

    def pointer(self, x: Any) -> int:
        return int(x.data.ptr)

    def device(self, x: Any) -> Device:
        return cuda(x.device.id)

    def empty(self, shape: Sequence[int], strides: Sequence[int], dtype: DType, like: Any) -> Any:
        kind = TO_NUMPY[dtype]
        with like.device, self._has(dtype):  # allocation is on the current device
            if is_c_order(shape, strides):
                return self._cupy.empty(tuple(shape), kind)
            low, high = span(shape, strides)
            memory = self._cupy.cuda.alloc((high - low + 1) * kind.itemsize)
            steps = tuple(s * kind.itemsize for s in strides)
            return self._cupy.ndarray(tuple(shape), kind, memory - low * kind.itemsize if low else memory, steps)

    @staticmethod
    @contextmanager
    def _has(dtype: DType) -> Iterator[None]:
        """A diagnostic for dtypes of ml_dtypes that this version of CuPy lacks."""
        try:
            yield
        except (TypeError, ValueError) as problem:
            raise error("unsupported-dtype", f"this CuPy has no {dtype} arrays: {problem}") from problem

    def stream(self, device: Device) -> int:
        return int(self._cupy.cuda.get_current_stream(device.index).ptr)

    def guards(self, arrays: Sequence[tuple[str, Any, bool]]) -> Guards | None:
        attributes: list[AttributeGuard] = []
        for name, x, _ in arrays:
            # Reading numbers and flags takes a third of the time of tuples of extents and strides.
            if x.ndim == 1 and getattr(x, "_c_contiguous", False):
                attributes += [
                    AttributeGuard(name, ("_c_contiguous",), True),
                    AttributeGuard(name, ("ndim",), 1),
                    AttributeGuard(name, ("size",), x.size),
                ]
            else:
                attributes += [AttributeGuard(name, ("shape",), x.shape), AttributeGuard(name, ("strides",), x.strides)]
        return self._guards(arrays, attributes)

    def class_guards(self, arrays: Sequence[tuple[str, Any, bool]]) -> Guards | None:
        return self._guards(arrays, [AttributeGuard(name, ("ndim",), x.ndim) for name, x, _ in arrays])

    def _guards(self, arrays: Sequence[tuple[str, Any, bool]], attributes: Sequence[AttributeGuard]) -> Guards:
        dtypes = [AttributeGuard(name, ("dtype",), x.dtype) for name, x, _ in arrays]
        several = self._cupy.cuda.runtime.getDeviceCount() > 1
        devices = [AttributeGuard(name, ("data", "device_id"), x.data.device_id) for name, x, _ in arrays if several]
        stream = self.current_stream(cuda(arrays[0][1].data.device_id))
        sizes = {name: x.itemsize for name, x, _ in arrays}
        return Guards((*dtypes, *devices, *attributes), ("data", "ptr"), False, stream, stride_bytes=sizes)

    def allocating_on(self, stream: int, device: Device) -> AbstractContextManager[Any]:
        streams = self._cupy.cuda
        if hasattr(streams.Stream, "from_external"):  # CuPy 14; before it, ExternalStream
            found: AbstractContextManager[Any] = streams.Stream.from_external(_Handle(stream))
        else:
            found = streams.ExternalStream(stream, device.index)
        return found

    def current_stream(self, device: Device) -> Callable[[], int]:
        current, index = self._cupy.cuda.get_current_stream, device.index
        return lambda: current(index).ptr

    def class_allocator(self, dtype: DType, like: Any) -> Allocator:
        array, kind, some = self._cupy.ndarray, TO_NUMPY[dtype], self._some(like)
        is_only = self._cupy.cuda.runtime.getDeviceCount() == 1

        def make(shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
            is_plain = is_only and is_c_order(shape, strides)
            return array(shape, kind) if is_plain else self.empty(shape, strides, dtype, some)

        return make

    def _some(self, like: Any) -> Any:
        """An array on the same device, which keeps no array of the caller alive."""
        with like.device:
            return self._cupy.empty((), like.dtype)

    def allocator(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, like: Any) -> Callable[[], Any]:
        if is_c_order(shape, strides) and self._cupy.cuda.runtime.getDeviceCount() == 1:
            # The same as ndarray(shape, kind), but 0.2 us faster.
            array, allocate, kind = self._cupy.ndarray, self._cupy.cuda.alloc, TO_NUMPY[dtype]
            size = prod(shape) * kind.itemsize
            return lambda: array(shape, kind, allocate(size))
        return partial(self.empty, shape, strides, dtype, self._some(like))

    def item(self, x: Any) -> bool | int | float | complex:
        return as_python(x.item(), dtype_of(x.dtype))
