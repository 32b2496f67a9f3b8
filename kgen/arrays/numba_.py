"""Numba's device arrays."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from kgen.arrays.base import Device, as_python
from kgen.arrays.generic import GenericAdapter
from kgen.arrays.numpy_ import TO_NUMPY
from kgen.diagnostics import error
from kgen.dtypes import DType


class NumbaAdapter(GenericAdapter):
    """Reads ``__cuda_array_interface__``, which includes the stream; results are device arrays."""

    name = "numba"
    waits = False  # it frees memory with cuMemFree, which waits

    def empty(self, shape: Sequence[int], strides: Sequence[int], dtype: DType, like: Any) -> Any:
        from kgen.runtime.cuda.context import on

        kind = TO_NUMPY[dtype]
        if dtype.ml_dtypes:
            raise error("unsupported-dtype", f"Numba has no {dtype} arrays", "pass an array of another library as out=")
        device = self.device(like)
        with on(device.index if device is not None else 0):
            steps = tuple(s * kind.itemsize for s in strides)
            return sys.modules["numba.cuda"].device_array(tuple(shape), kind, steps)

    def finish(self, x: Any, stream: int = 0) -> Any:
        return x

    def stream(self, device: Device) -> int:
        # Numba has no current stream; its default is the legacy one unless the environment selects per-thread.
        config = getattr(sys.modules.get("numba.core.config"), "CUDA_PER_THREAD_DEFAULT_STREAM", 0)
        return 2 if config else 0

    def item(self, x: Any) -> bool | int | float | complex:
        return as_python(x.copy_to_host().item(), self.spec(x).dtype) if hasattr(x, "copy_to_host") else super().item(x)
