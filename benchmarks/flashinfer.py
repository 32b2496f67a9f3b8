"""FlashInfer's CUDA kernels, from the headers of its wheel: built with nvcc, called by ctypes.

The wheel is found where it is installed, or a path names its ``data/include`` folder or a library built before:

    python -m benchmarks.flashinfer INCLUDE LIBRARY.so [SOURCE.cu]
"""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_suffix(".cu")
#: Kernels that go by positions.
POSITIONS = Path(__file__).with_name("flashinfer_positions.cu")
#: Headers that its own headers include and these kernels do not need.
UNUSED = ("cublasLt.h", "cublas_v2.h", "curand_kernel.h")


class Unavailable(Exception):
    """Why there is no library."""


def headers() -> Path:
    """The headers of the installed wheel.  Raises :class:`Unavailable`."""
    found = importlib.util.find_spec("flashinfer")
    if found is None or found.origin is None:
        raise Unavailable("flashinfer is not installed")
    return Path(found.origin).parent / "data" / "include"


def build(include: Path, target: Path, source: Path = SOURCE, arch: str = "sm_90") -> None:
    """Compiles ``flashinfer.cu``, or another source.  Raises :class:`Unavailable`."""
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        raise Unavailable("there is no nvcc")
    with tempfile.TemporaryDirectory() as stubs:
        for name in UNUSED:
            Path(stubs, name).touch()
        flags = [
            "-O3",
            "-std=c++17",
            f"-arch={arch}",
            "-DENABLE_BF16",
            "-DENABLE_FP8",
            "-shared",
            "-Xcompiler",
            "-fPIC",
        ]
        command = [nvcc, *flags, f"-I{stubs}", f"-I{include}", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"nvcc failed: {done.stderr.strip()[-2000:]}")


@cache
def library(path: Path | None, source: Path = SOURCE) -> ctypes.CDLL:
    """The library at a path, or built of a source from headers.  Raises :class:`Unavailable`."""
    if path is not None and path.suffix == ".so":
        return ctypes.CDLL(str(path))
    made = Path(tempfile.mkdtemp(prefix="kgen-flashinfer-"), "flashinfer.so")
    build(headers() if path is None else path, made, source)
    return ctypes.CDLL(str(made))


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one kernel on torch's current stream."""

    function: Callable[..., int]
    arrays: tuple[Any, ...]
    rows: int
    width: int
    out: tuple[Any, ...]

    def __call__(self) -> tuple[Any, ...]:
        import torch

        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        status = self.function(*(ctypes.c_void_p(a.data_ptr()) for a in self.arrays), self.rows, self.width, stream)
        if status != 0:
            raise RuntimeError(f"FlashInfer: CUDA error {status}")
        return self.out


def call_of(library: ctypes.CDLL, name: str, args: Mapping[str, Any], out: tuple[Any, ...]) -> Call | None:
    """The call for a workload of ``serving.py``; None for one that FlashInfer lacks."""
    arrays: tuple[Any, ...]
    match name:
        case "rmsnorm":
            arrays = (args["x"], args["w"], out[0])
        case "add_rmsnorm":  # in place: the sum replaces r, its norm x
            arrays = (args["x"].clone(), args["r"].clone(), args["w"])
            out = (arrays[1], arrays[0])
        case "rmsnorm_fp8":
            arrays = (args["x"], args["w"], out[0], args["s"])
        case "layernorm":
            arrays = (args["x"], args["w"].float(), args["b"].float(), out[0])
        case "silu_mul":  # gate and up are halves of one array, which begins where the gate does
            arrays = (out[0], args["g"])
        case _:
            return None
    rows, width = out[0].shape
    return Call(getattr(library, name), arrays, rows, width, out)


if __name__ == "__main__":
    build(*[Path(argument) for argument in sys.argv[1:4]])
