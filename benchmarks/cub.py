"""Compiles ``cub.cu`` with nvcc, once a process.  It has a function for some of the workloads."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("cub.cu")


class Unavailable(Exception):
    """Why there is no library."""


@cache
def library() -> ctypes.CDLL:
    """Raises :class:`Unavailable`."""
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        raise Unavailable("there is no nvcc")
    made = Path(tempfile.mkdtemp(prefix="kgen-cub-"), "cub.so")
    flags = ["-O3", "-std=c++17", "-arch=native", "--extended-lambda", "-shared", "-Xcompiler", "-fPIC"]
    done = subprocess.run([nvcc, *flags, str(SOURCE), "-o", str(made)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"nvcc failed: {done.stderr.strip()[-2000:]}")
    return ctypes.CDLL(str(made))


def function(name: str, inputs: list[Any], outputs: list[Any]) -> Any:
    """Runs a workload on torch's current stream; None where ``cub.cu`` does not have it."""
    import torch

    found = getattr(library(), name, None)
    if found is None:
        return None
    ins = (ctypes.c_void_p * len(inputs))(*(a.data_ptr() for a in inputs))
    outs = (ctypes.c_void_p * len(outputs))(*(a.data_ptr() for a in outputs))
    count = ctypes.c_int(outputs[0].numel())

    def run() -> tuple[Any, ...]:
        status = found(ins, outs, count, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        if status != 0:
            raise RuntimeError(f"cub::DeviceTransform, {name}: CUDA error {status}")
        return tuple(outputs)

    return run
