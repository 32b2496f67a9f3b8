"""CuPy arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kgen.arrays.base import Defaults, Device, as_python, cuda, is_c_order, span
from kgen.arrays.numpy_ import TO_NUMPY, dtype_of
from kgen.diagnostics import error
from kgen.dtypes import DType
from kgen.spec import Spec


class CupyAdapter(Defaults):
    """Made when the first array is seen.  CuPy's dtypes are NumPy's, bfloat16 being ml_dtypes'."""

    name = "cupy"

    def __init__(self) -> None:
        self._cupy = sys.modules["cupy"]

    def spec(self, x: Any) -> Spec:
        size = x.itemsize
        return Spec(x.shape, dtype_of(x.dtype), tuple(s // size for s in x.strides))

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
        """Which of ml_dtypes' dtypes CuPy has depends on its version."""
        try:
            yield
        except (TypeError, ValueError) as problem:
            raise error("unsupported-dtype", f"this CuPy has no {dtype} arrays: {problem}") from problem

    def stream(self, device: Device) -> int:
        return int(self._cupy.cuda.get_current_stream(device.index).ptr)

    def item(self, x: Any) -> bool | int | float | complex:
        return as_python(x.item(), dtype_of(x.dtype))
