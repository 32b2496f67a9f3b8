"""CUDA's compilers, as far as they are here: both work without a GPU."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

from cuda.bindings import nvrtc
from cuda.pathfinder import find_nvidia_header_directory


def nvrtc_log(text: str, arch: str) -> str:
    """Empty when NVRTC compiles the text down to machine code without a word, else what it says."""
    include = find_nvidia_header_directory("cudart")
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", 0, [], [])
    # 1444: CUDA 13's own fp8 header uses types that it calls deprecated.
    options = [f"-arch={arch}", f"-I{include}", "-std=c++17", "-minimal", "-diag-suppress=1444", "-diag-suppress=177"]
    (result,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = bytearray(size)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(program)
    said = log.decode().strip(" \0\n")
    return said if result == nvrtc.nvrtcResult.NVRTC_SUCCESS else said or str(result)


@cache
def nvcc() -> str | None:
    return shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


def nvcc_log(text: str, arch: str, folder: Path) -> str:
    """Empty when nvcc compiles the text, else what it says."""
    source = folder / "kernel.cu"
    source.write_text(text, encoding="utf-8")
    command = [
        str(nvcc()),
        "-std=c++17",
        f"-arch={arch}",
        "-ptx",
        "-diag-suppress=1444,177",
        "-o",
        "/dev/null",
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode or done.stderr else ""
