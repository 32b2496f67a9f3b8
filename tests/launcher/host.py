"""A file's launcher, compiled by the host's compiler against a CUDA runtime that runs kernels on the CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kgen import pipeline
from kgen.aot import aot_module
from kgen.codegen.kernels import Module
from kgen.compile_spec import CompileSpec
from kgen.dtypes import DType
from kgen.options import Options
from kgen.runtime.cpu import build
from kgen.runtime.cpu.module import _load_scheduler
from kgen.spec import as_dtype

INCLUDE = Path(__file__).parent / "include"

SUCCESS, NULL_ARRAY, BAD_RANK, BAD_DTYPE, BAD_SHAPE = range(5)
TOO_LARGE, MISALIGNED, OVERLAP, NOT_COVERED, SMALL_WORKSPACE = range(5, 10)


class Array(ctypes.Structure):
    """``kgen_array``; keeps its extents and strides alive."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def array(data: int, shape: Sequence[int], strides: Sequence[int] | None, dtype: DType) -> Array:
    """``strides`` in elements; None: C order, passed as a null pointer."""
    made = Array(data, (ctypes.c_int32 * 2)(2, 0), len(shape), dtype.dlpack, dtype.bits, 1)
    made.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    if strides is not None:
        made.strides = (ctypes.c_int64 * max(len(shape), 1))(*strides)
    return made


def of_numpy(x: np.ndarray[Any, Any], dtype: str | None = None) -> Array:
    of = as_dtype(dtype or x.dtype.name)
    return array(x.ctypes.data, x.shape, [s // of.size for s in x.strides], of)


@dataclass(frozen=True)
class Host:
    """A loaded launcher.  ``functions``: the library with its C functions."""

    base: str
    module: Module
    functions: ctypes.CDLL
    scheduler: ctypes.CDLL

    def launch(
        self, arrays: Sequence[Array | None], scalars: Sequence[Any] = (), workspace: int = 0, workspace_bytes: int = 0
    ) -> int:
        """The status.  ``scalars``: floats, or integers as they are."""
        given = [None if a is None else ctypes.byref(a) for a in arrays]
        values = [ctypes.c_double(s) if isinstance(s, float) else ctypes.c_int64(s) for s in scalars]
        function = getattr(self.functions, f"{self.base}_launch")
        status: int = function(
            *given, *values, ctypes.c_void_p(workspace), ctypes.c_size_t(workspace_bytes), ctypes.c_void_p(0)
        )
        return status

    def workspace_size(self, arrays: Sequence[Array]) -> int:
        found = ctypes.c_size_t()
        status = getattr(self.functions, f"{self.base}_workspace_size")(*map(ctypes.byref, arrays), ctypes.byref(found))
        assert status == SUCCESS
        return found.value

    def message(self, status: int) -> str:
        function = getattr(self.functions, f"{self.base}_error_string")
        function.restype = ctypes.c_char_p
        text: bytes = function(status)
        return text.decode()

    def decided(self, arrays: Sequence[Array], scalars: Sequence[Any] = ()) -> tuple[int, list[tuple[str, int]]]:
        """The status, and the program's kernels that would be launched with their numbers of blocks, without running
        them."""
        records = ctypes.c_int.in_dll(self.functions, "only_records")
        count = ctypes.c_int.in_dll(self.functions, "launches")
        records.value, count.value = 1, 0
        status = self.launch(arrays, scalars, workspace=1 << 20, workspace_bytes=1 << 50)
        records.value = 0
        rows = (ctypes.c_uint64 * 48).in_dll(self.functions, "launched")
        kernels = {
            ctypes.cast(getattr(self.functions, f"kgen_kernel_{e.name}"), ctypes.c_void_p).value: e.name
            for e in self.module.entries
        }
        zero = getattr(self.functions, f"{self.base}_zero", None)
        kernels[ctypes.cast(zero, ctypes.c_void_p).value if zero else None] = ""
        launched = [(kernels[rows[3 * i]], rows[3 * i + 1] & 0xFFFFFFFF) for i in range(count.value)]
        return status, [(name, blocks) for name, blocks in launched if name]


def host(text: str, spec: CompileSpec, folder: Path, base: str = "program", sanitize: str | None = None) -> Host:
    """The launcher of the file that ``kgen compile`` writes."""
    return loaded(aot_module(pipeline.load(text), base, Options(fmad=False), spec), folder, base, sanitize)


def loaded(module: Module, folder: Path, base: str, sanitize: str | None = None) -> Host:
    """A file's text, compiled and loaded."""
    names = [entry.name for entry in module.entries]
    recipe = build.recipe(module.text, names, name=f"{base}.cu", sanitize=sanitize)
    flags = (*recipe.flags, "-O0", "-D__CUDACC__", f"-I{INCLUDE}", "-fvisibility=default")
    assert recipe.needs is not None
    scheduler = _load_scheduler(recipe.needs)
    path = folder / f"{base}.so"
    path.write_bytes(replace(recipe, flags=flags)._compile())
    return Host(base, module, ctypes.CDLL(str(path)), scheduler)
