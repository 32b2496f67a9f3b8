"""Runs every kernel of clean.cu against NumPy; the orders and sanitizers of the tests share it."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from kgen.runtime.cpu.module import CpuModule

from .harness import Array, launch

TEXT = (Path(__file__).parent / "kernels" / "clean.cu").read_text()
KERNELS = ("strided", "vector_add", "transpose", "sum", "softmax", "sum_in_one")


class Layout(ctypes.Structure):
    _fields_ = (("extent", ctypes.c_longlong * 3), ("stride", (ctypes.c_longlong * 3) * 2))


def aligned(values: Array) -> Array:
    """A copy at a 16-byte boundary, in an allocation of exactly its size."""
    room = np.empty(values.size + 3, np.float32)
    skip = -room.ctypes.data // 4 % 4
    out: Array = room[skip : skip + values.size]
    out[:] = values
    return out


def run_all(module: CpuModule) -> None:
    random = np.random.default_rng(0)
    x: Array
    out: Array

    x = random.random((5, 7, 6), np.float32)
    out = np.zeros((6, 5, 7), np.float32)
    layout = Layout(x.shape, ((42, 6, 1), (7, 1, 35)))
    launch(module, "strided", x, out, layout, grid=2, block=64)
    np.testing.assert_array_equal(out, x.transpose(2, 0, 1))

    for n in (1, 1003, 4096):
        a, b, total = (aligned(random.random(n, np.float32)) for _ in range(3))
        launch(module, "vector_add", a, b, total, ctypes.c_uint(n), grid=-(-n // 1024) + 1, block=256)
        np.testing.assert_array_equal(total, a + b)

    x = random.random((50, 37), np.float32)
    out = np.zeros((37, 50), np.float32)
    launch(module, "transpose", x, out, ctypes.c_int(50), ctypes.c_int(37), grid=(2, 2, 1), block=(32, 8, 1))
    np.testing.assert_array_equal(out, x.T)

    x = random.integers(0, 100, 5000).astype(np.float32)  # sums of whole numbers are the same in every order
    out = np.zeros(1, np.float32)
    launch(module, "sum", x, out, ctypes.c_int(x.size), grid=5, block=128)
    assert out[0] == x.sum()

    x = random.random((6, 77), np.float32)
    out = np.zeros_like(x)
    launch(module, "softmax", x, out, ctypes.c_int(77), grid=6, block=64, shared=77 * 4)
    expected = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, expected / expected.sum(1, keepdims=True), rtol=1e-6)

    ticket, out = np.zeros(1, np.uint32), np.zeros(1, np.float32)
    x = random.integers(0, 100, 3000).astype(np.float32)
    for _ in range(2):  # the ticket wraps to zero by itself
        arguments = (x, np.zeros(7, np.float32), ticket, out, ctypes.c_int(x.size))
        launch(module, "sum_in_one", *arguments, grid=7, block=64)
        assert out[0] == x.sum()
        assert ticket[0] == 0
