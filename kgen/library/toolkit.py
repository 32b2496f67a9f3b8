"""Finds what builds a library: nvcc, or the host's compiler with CUDA's headers and static runtime."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from kgen.diagnostics import KgenError, error
from kgen.records import dataclass

Compiler = Literal["nvcc", "nvrtc"]

_ON_PATH = ("c++", "g++", "clang++")
_ROOTS = ("CUDA_HOME", "CUDA_PATH")
_INSTALLED = Path("/usr/local/cuda")
_HOST_HINT = "apt install g++, or set CXX to a C++ compiler"
_CUDA_HINT = 'pip install "cuda-toolkit[nvrtc,cudart,crt,cccl]==13.*", or set CUDA_HOME to a CUDA toolkit'


@dataclass(frozen=True, slots=True)
class Toolkit:
    """``nvcc``: its path, or None to compile kernels by NVRTC.  ``cxx``: the host's compiler, with its arguments.

    ``include`` and ``cudart``: the folder of CUDA's headers and ``libcudart_static.a``, where nvcc does not know them.
    """

    nvcc: str | None
    cxx: tuple[str, ...]
    include: Path | None = None
    cudart: Path | None = None

    @property
    def host_flags(self) -> tuple[str, ...]:
        """For nvcc: the host's compiler, where it was chosen."""
        return (f"-ccbin={self.cxx[0]}",) if "CXX" in os.environ else ()

    @property
    def compiler(self) -> Compiler:
        return "nvrtc" if self.nvcc is None else "nvcc"


def find(wanted: Compiler | None = None) -> Toolkit:
    """nvcc where there is one, else NVRTC; or the one that is ``wanted``.

    Raises :class:`~kgen.KgenError`: ``no-nvcc``, ``no-host-compiler``, ``no-cuda-headers``.
    """
    nvcc = None if wanted == "nvrtc" else find_nvcc()
    if wanted == "nvcc" and nvcc is None:
        looked = f"looked for it on PATH, in ${' and $'.join(_ROOTS)}, and in /usr/local/cuda"
        raise error("no-nvcc", f"there is no nvcc: {looked}", "leave --compiler out to use NVRTC")
    cxx = host_compiler()
    if nvcc is not None:
        return Toolkit(nvcc, cxx)
    include, cudart = _headers_and_runtime()
    return Toolkit(None, cxx, include, cudart)


def find_nvcc() -> str | None:
    chosen = os.environ.get("CUDACXX") or "nvcc"
    folders = [str(root / "bin") for root in (*_chosen_toolkits(), _INSTALLED)]
    return shutil.which(chosen) or shutil.which("nvcc", path=os.pathsep.join(folders))


def host_compiler() -> tuple[str, ...]:
    """``$CXX``, else a compiler on the PATH."""
    chosen = os.environ.get("CXX")
    if chosen:
        return _chosen(chosen)
    for name in _ON_PATH:
        path = shutil.which(name)
        if path is not None:
            return (path,)
    message = f"there is no C++ compiler: looked for $CXX, and for {', '.join(_ON_PATH)} on PATH"
    raise error("no-host-compiler", message, _HOST_HINT)


def archiver() -> str:
    """``ar``, which comes with every C++ compiler on Linux."""
    path = shutil.which(os.environ.get("AR") or "ar")
    if path is None:
        raise error("no-host-compiler", "there is no `ar`, which makes static libraries", "apt install binutils")
    return path


def _chosen(chosen: str) -> tuple[str, ...]:
    """``$CXX`` may carry arguments, as in ``ccache g++``."""
    try:
        words = shlex.split(chosen)
    except ValueError as problem:
        raise _bad_choice(chosen, str(problem)) from None
    path = shutil.which(words[0]) if words else None
    if path is None:
        raise _bad_choice(chosen, "no such program")
    return (path, *words[1:])


def _bad_choice(chosen: str, why: str) -> KgenError:
    return error("no-host-compiler", f"CXX={chosen!r}: {why}", "set CXX to a C++ compiler, such as g++, or unset it")


def _chosen_toolkits() -> Iterator[Path]:
    for name in _ROOTS:
        if os.environ.get(name):
            yield Path(os.environ[name])


def _wheels() -> Iterator[Path]:
    """Where pip puts CUDA, the newest first: of the same version as NVRTC."""
    spec = find_spec("nvidia")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        yield from sorted(Path(folder).glob("cu*"), reverse=True)


def _headers_and_runtime() -> tuple[Path, Path]:
    """Of one installation, so that their versions agree."""
    nvcc = find_nvcc()
    beside = [Path(nvcc).resolve().parents[1]] if nvcc is not None else []
    for root in (*_chosen_toolkits(), *_wheels(), *beside, _INSTALLED):
        libraries = [root / place / "libcudart_static.a" for place in ("lib64", "lib", "targets/x86_64-linux/lib")]
        library = next((path for path in libraries if path.is_file()), None)
        include = root / "include"
        has_headers = all((include / name).is_file() for name in ("cuda_runtime.h", "crt/host_defines.h", "nv/target"))
        if library is not None and has_headers:
            return include, library
    message = "CUDA's headers (cuda_runtime.h, crt/host_defines.h, nv/target) and libcudart_static.a are not installed"
    raise error("no-cuda-headers", message, _CUDA_HINT)
