"""Packs arguments as cuLaunchKernel wants them, and runs kernels that map arrays element by element."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from kgen.runtime.cpu.module import CpuModule

Array = npt.NDArray[Any]
Argument = Union[Array, "ctypes._SimpleCData[Any]", ctypes.Structure]


def launch(
    module: CpuModule,
    kernel: str,
    *arguments: Argument,
    grid: int | tuple[int, int, int] = 1,
    block: int | tuple[int, int, int] = 1,
    **options: Any,
) -> None:
    """Arrays go by address, ctypes values by value."""
    values = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else a for a in arguments]
    params = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
    module.launch(kernel, _three(grid), _three(block), ctypes.addressof(params), **options)


def _three(size: int | tuple[int, int, int]) -> tuple[int, int, int]:
    return (size, 1, 1) if isinstance(size, int) else size


class Maps:
    """Kernels of the form ``out[i] = expression of a[i], b[i], ...``, all in one text, compiled once."""

    def __init__(self, expressions: Mapping[str, tuple[str, str, str]], includes: str = "") -> None:
        """``expressions``: name -> (C type of the result, C types of the operands, expression in a, b, c, d)."""
        self._module = CpuModule.load(
            includes + "".join(_map_kernel(name, *row) for name, row in expressions.items()), list(expressions)
        )

    def __call__(self, name: str, result: npt.DTypeLike, *operands: Array) -> Array:
        out: Array = np.empty(operands[0].shape, result)
        held = [np.ascontiguousarray(x) for x in operands]
        launch(self._module, name, out, *held, ctypes.c_longlong(out.size), grid=64, block=128)
        return out


def _map_kernel(name: str, result: str, operands: str, expression: str) -> str:
    types = operands.split(", ")
    parameters = ", ".join(f"const {t}* p{k}" for k, t in enumerate(types))
    values = " ".join(f"const {t} {'abcd'[k]} = p{k}[i];" for k, t in enumerate(types))
    return f"""
extern "C" __global__ void {name}({result}* out, {parameters}, long long n) {{
  for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {{
    {values}
    out[i] = {expression};
  }}
}}
"""


def bits_equal(a: Array, b: Array) -> bool:
    """Same bytes; NaN is not special."""
    return a.dtype.itemsize == b.dtype.itemsize and a.tobytes() == b.tobytes()
