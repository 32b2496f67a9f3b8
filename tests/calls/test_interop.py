"""Every cell of the table in docs/interop.md, for the libraries and devices that are here."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.runtime.cuda.driver import probe

DOCUMENT = Path(__file__).parents[2] / "docs" / "interop.md"
DATA = np.arange(24, dtype=np.float32).reshape(4, 6)


def shown(name: str) -> property:
    """The attribute of the array inside."""
    return property(lambda self: getattr(self.array, name))


class Foreign:
    """An array that shows one protocol only."""

    def __init__(self, array: Any, *names: str) -> None:
        self.array = array
        for name in names:
            setattr(type(self), name, shown(name))


class CudaInterface(Foreign):
    pass


class DLPack(Foreign):
    pass


def make(library: str, device: str, values: np.ndarray[Any, Any]) -> Any:
    """The values as an array of the library; skips where it is not installed."""
    values = values.copy()
    if library == "NumPy":
        return values
    if library == "DLPack":
        return DLPack(values, "__dlpack__", "__dlpack_device__")
    if library == "torch":
        return pytest.importorskip("torch", reason="torch is not installed").from_numpy(values).to(device)
    if library == "JAX":
        jax = pytest.importorskip("jax", reason="jax is not installed")
        return jax.device_put(values, jax.devices("gpu" if device == "cuda" else "cpu")[0])
    if library == "Numba":
        return pytest.importorskip("numba.cuda", reason="numba is not installed").to_device(values)
    array = pytest.importorskip("cupy", reason="cupy is not installed").asarray(values)
    return array if library == "CuPy" else CudaInterface(array, "__cuda_array_interface__")


def host(x: Any) -> Any:
    for name in ("copy_to_host", "get"):
        if hasattr(x, name):
            return getattr(x, name)()
    if hasattr(x, "cpu"):
        return x.cpu().numpy()
    if hasattr(x, "array"):
        return host(x.array)
    if hasattr(x, "__cuda_array_interface__"):
        return host(pytest.importorskip("cupy").asarray(x))
    return np.asarray(x) if not hasattr(x, "__dlpack__") or hasattr(x, "__array__") else np.from_dlpack(x)


def jit(text: str, device: str) -> Any:
    return kgen.jit(text, device=device, fmad=False)


def given(library: str, device: str) -> bool:
    found = jit("out = a * 2 + 1", device)(make(library, device, DATA))
    return bool(np.array_equal(host(found), DATA * 2 + 1))


def out(library: str, device: str) -> bool:
    target = make(library, device, DATA * 0)
    found = jit("out = a * 2", device)(make(library, device, DATA), out=target)
    return found is target and bool(np.array_equal(host(target), DATA * 2))


def inout(library: str, device: str) -> bool:
    target = make(library, device, DATA)
    jit("inout p; p = p - 1", device)(target)
    return bool(np.array_equal(host(target), DATA - 1))


def by_value(library: str, device: str) -> bool:
    found = jit("out = a * s", device)(make(library, device, DATA), np.float32(3))
    return bool(np.array_equal(host(found), DATA * 3))


def stream(library: str, device: str) -> bool:
    found = jit("out = a * 2", device)(make(library, device, DATA), stream=2)  # the per-thread default stream
    if device == "cuda":
        from kgen.runtime.cuda.memory import synchronise

        synchronise(0, 2)
    return bool(np.array_equal(host(found), DATA * 2))


def plan(library: str, device: str) -> bool:
    made = jit("out = a * 2", device).plan(make(library, device, DATA))
    made()
    return bool(np.array_equal(host(made()), DATA * 2))


def graph(library: str, device: str) -> bool:
    made = jit("out = a * 2", device).plan(make(library, device, DATA))
    made.graph()()
    return bool(np.array_equal(host(made.out), DATA * 2))


COLUMNS: dict[str, Callable[[str, str], bool]] = {
    "input": given, "`out=`": out, "`inout`": inout, "0-d by value": by_value, "`stream=`": stream, "`plan`": plan,
    "`plan.graph`": graph,
}  # fmt: skip


def cells() -> list[Any]:
    """(library, device, column, what the table says), rows of GPUs marked."""
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in DOCUMENT.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    assert rows[0][2:] == list(COLUMNS)
    on_gpu = [pytest.mark.gpu, pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU")]
    return [
        pytest.param(row[0].strip("`"), row[1], column, cell, marks=on_gpu if row[1] == "cuda" else [])
        for row in rows[2:]
        for column, cell in zip(COLUMNS, row[2:], strict=True)
    ]


@pytest.mark.parametrize(("library", "device", "column", "cell"), cells())
def test_cell(library: str, device: str, column: str, cell: str) -> None:
    """What the table says is so."""
    library = "CudaInterface" if library == "__cuda_array_interface__" else library
    if cell == "yes":
        assert COLUMNS[column](library, device)
    else:
        with pytest.raises(kgen.KgenError, match=re.escape(f"error[{cell}]")):
            COLUMNS[column](library, device)
