"""NVRTC: compiles a text to a CUBIN or PTX.  Needs no GPU and no driver.

By ctypes: ``cuda.bindings`` is slow to import, and ``cuda.core.Program`` asks the driver for its version before it
returns PTX, and so fails without a driver.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from kgen.diagnostics import Diagnostic, KgenError, error

_INSTALL = 'pip install "cuda-toolkit[nvrtc,cudart,crt,cccl]==13.*"'
_INCLUDES = re.compile(r"^\s*#\s*include\b", re.MULTILINE)


class CompilerBug(KgenError):
    """NVRTC rejects a text that kgen wrote, which is a bug in kgen."""

    def __init__(self, name: str, log: str, text: str) -> None:
        message = f"kgen wrote a kernel that does not compile\n{name}:\n{log}"
        super().__init__((Diagnostic("cuda-compile-failed", message, "please report this, with the program"),))
        self.name = name
        self.log = log
        self.text = text

    def __reduce__(self) -> tuple[type[KgenError], Any]:
        return CompilerBug, (self.name, self.log, self.text)


@cache
def _file() -> str | None:
    """The library in NVIDIA's wheel."""
    files = _of_wheels("lib/libnvrtc.so.*")
    return str(files[0]) if len(files) == 1 else None


@cache
def _library() -> ctypes.CDLL:
    """Raises what the loader raises where there is no NVRTC."""
    file = _file()
    if file is None:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        return ctypes.CDLL(str(load_nvidia_dynamic_lib("nvrtc").abs_path))
    # The wheels of CUDA 13.0, which torch pins, do not find the second library that lies beside the first.
    for builtins in _of_wheels("lib/libnvrtc-builtins.so.*"):
        ctypes.CDLL(str(builtins))
    return ctypes.CDLL(file)


@cache
def load_ahead() -> None:
    """Load NVRTC in a thread, while a program is lowered: :func:`_library` then finds it loaded.

    Calling ``dlopen`` lets other threads run, which ``ctypes.CDLL`` does not.
    """
    file = _file()
    if file is not None:
        threading.Thread(target=ctypes.CDLL(None).dlopen, args=(os.fsencode(file), os.RTLD_NOW)).start()


@cache
def nvrtc_version() -> tuple[int, int]:
    """(13, 4); raises :class:`~kgen.KgenError` where there is no NVRTC."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    try:
        status = _library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    except Exception as problem:  # the exception for a missing library depends on the version of what looks for it
        reason = " ".join(str(problem).split())
        raise error("no-nvrtc", f"NVRTC, CUDA's runtime compiler, cannot be loaded: {reason}", _INSTALL) from problem
    if status != 0:
        raise error("no-nvrtc", f"NVRTC does not work: {_name_of(status)}", _INSTALL)
    return major.value, minor.value


def _of_wheels(pattern: str) -> list[Path]:
    """Files of NVIDIA's wheels, without the 17 ms to import what finds them elsewhere as well."""
    spec = find_spec("nvidia")
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    return sorted({file.resolve() for folder in folders for file in Path(folder).glob(f"*/{pattern}")})


@cache
def identity() -> str:
    """Tells one NVRTC from another.  The file in its wheel does, and need not be loaded."""
    files = _of_wheels("lib/libnvrtc.so.*")
    known = [(str(file), status.st_size, status.st_mtime_ns) for file in files if (status := file.stat())]
    return repr(known or nvrtc_version())


@cache
def supported_archs() -> tuple[str, ...]:
    """The architectures that this NVRTC supports: ``("sm_75", ...)``."""
    nvrtc_version()
    count = ctypes.c_int()
    _library().nvrtcGetNumSupportedArchs(ctypes.byref(count))
    numbers = (ctypes.c_int * count.value)()
    status = _library().nvrtcGetSupportedArchs(numbers)
    return tuple(f"sm_{n}" for n in numbers) if status == 0 else ()


@cache
def header_directory() -> str | None:
    """The folder of ``cuda_fp16.h``: NVRTC has no default path."""
    files = _of_wheels("include/cuda_fp16.h")
    if len(files) == 1:
        return str(files[0].parent)
    from cuda.pathfinder import find_nvidia_header_directory

    found = find_nvidia_header_directory("cudart")
    return str(found) if found else None


@cache
def header_digest() -> str:
    """A digest of the headers that a kernel may include; their version may differ from NVRTC's."""
    folder = header_directory()
    digest = hashlib.sha256()
    if folder is not None:
        for file in (*sorted(Path(folder).glob("cuda_[bf]*")), Path(folder, "cuda_runtime_api.h")):
            if file.is_file():
                digest.update(file.name.encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


def uses_headers(text: str) -> bool:
    return _INCLUDES.search(text) is not None


def build(text: str, kind: Literal["cubin", "ptx"], *, name: str, options: Sequence[str]) -> tuple[bytes, str]:
    """The code and NVRTC's log.  Raises :class:`CompilerBug` with the log if it rejects the text."""
    nvrtc_version()
    nvrtc = _library()
    arguments = [option.encode() for option in options]
    if uses_headers(text):
        folder = header_directory()
        if folder is None:
            raise error("no-cuda-headers", "CUDA's headers (cuda_fp16.h and others) are not installed", _INSTALL)
        arguments.append(b"-I" + folder.encode())
    with _program(nvrtc, text, name) as program:
        status = nvrtc.nvrtcCompileProgram(program, len(arguments), (ctypes.c_char_p * len(arguments))(*arguments))
        log = _read(nvrtc, program, "ProgramLog").rstrip(b"\0").decode("utf-8", "replace").strip()
        if status != 0:
            raise CompilerBug(name, log or _name_of(status), text)
        return _read(nvrtc, program, kind.upper()), log


@contextmanager
def _program(nvrtc: ctypes.CDLL, text: str, name: str) -> Iterator[ctypes.c_void_p]:
    program = ctypes.c_void_p()
    status = nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
    if status != 0:
        raise _failed("nvrtcCreateProgram", status)
    try:
        yield program
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _read(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    status = nvrtc[f"nvrtcGet{what}Size"](program, ctypes.byref(size))
    if status != 0:
        raise _failed(f"nvrtcGet{what}Size", status)
    buffer = ctypes.create_string_buffer(size.value)
    status = nvrtc[f"nvrtcGet{what}"](program, buffer)
    if status != 0:
        raise _failed(f"nvrtcGet{what}", status)
    return buffer.raw


def _name_of(status: int) -> str:
    """``NVRTC_ERROR_OUT_OF_MEMORY`` for 1."""
    name = _library().nvrtcGetErrorString
    name.restype = ctypes.c_char_p
    found: bytes = name(status)
    return found.decode()


def _failed(call: str, status: int) -> KgenError:
    """The error for a failure of NVRTC itself, such as too little memory."""
    return error("cuda-compile-failed", f"{call}: {_name_of(status)}")
