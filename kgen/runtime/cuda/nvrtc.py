"""NVRTC itself: a text in, a CUBIN or PTX out.  Needs no GPU and no driver.

Raw bindings, not ``cuda.core.Program``: that one asks the driver for its version before it hands out PTX, and so
fails where there is none.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal

from kgen.diagnostics import Diagnostic, KgenError, error

_INSTALL = 'pip install "cuda-toolkit[nvrtc,cudart]==13.*"'
_INCLUDES = re.compile(r"^\s*#\s*include\b", re.MULTILINE)


class CompilerBug(KgenError):
    """NVRTC refuses a text that kgen wrote: kgen's fault, never the user's."""

    def __init__(self, name: str, log: str, text: str) -> None:
        message = f"kgen wrote a kernel that does not compile\n{name}:\n{log}"
        super().__init__((Diagnostic("cuda-compile-failed", message, "please report this, with the program"),))
        self.name = name
        self.log = log
        self.text = text

    def __reduce__(self) -> tuple[type[KgenError], Any]:
        return CompilerBug, (self.name, self.log, self.text)


def _library() -> Any:
    """The bindings, with NVRTC loaded."""
    try:
        from cuda.bindings import nvrtc
    except ImportError as problem:
        raise error(
            "no-nvrtc", f"cuda.bindings cannot be imported: {problem}", "pip install cuda-bindings"
        ) from problem
    return nvrtc


@cache
def nvrtc_version() -> tuple[int, int]:
    """(13, 4); raises :class:`~kgen.KgenError` where there is no NVRTC."""
    nvrtc = _library()
    try:
        status, major, minor = nvrtc.nvrtcVersion()
    except Exception as problem:  # what is raised when the library is not found differs between versions
        reason = " ".join(str(problem).split())
        raise error("no-nvrtc", f"NVRTC, CUDA's runtime compiler, cannot be loaded: {reason}", _INSTALL) from problem
    if int(status) != 0:
        raise error("no-nvrtc", f"NVRTC does not work: {status.name}", _INSTALL)
    return major, minor


@cache
def supported_archs() -> tuple[str, ...]:
    """What this NVRTC compiles for: ``("sm_75", ...)``."""
    nvrtc_version()
    status, numbers = _library().nvrtcGetSupportedArchs()
    return tuple(f"sm_{n}" for n in numbers) if int(status) == 0 else ()


@cache
def header_directory() -> str | None:
    """Where ``cuda_fp16.h`` is: NVRTC looks nowhere by itself."""
    from cuda.pathfinder import find_nvidia_header_directory

    found = find_nvidia_header_directory("cudart")
    return str(found) if found else None


@cache
def header_digest() -> str:
    """Identifies the headers that a kernel may include; they can be of another version than NVRTC."""
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
    """The code and NVRTC's log.  Raises :class:`CompilerBug` with the log when the text is refused."""
    nvrtc_version()
    nvrtc = _library()
    arguments = [option.encode() for option in options]
    if uses_headers(text):
        folder = header_directory()
        if folder is None:
            raise error("no-cuda-headers", "CUDA's headers (cuda_fp16.h and its kin) are not installed", _INSTALL)
        arguments.append(b"-I" + folder.encode())
    with _program(nvrtc, text, name) as program:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(arguments), arguments)  # releases the GIL
        log = _read(nvrtc, program, "ProgramLog").rstrip(b"\0").decode("utf-8", "replace").strip()
        if int(status) != 0:
            raise CompilerBug(name, log or status.name, text)
        return _read(nvrtc, program, kind.upper()), log


@contextmanager
def _program(nvrtc: Any, text: str, name: str) -> Iterator[Any]:
    status, program = nvrtc.nvrtcCreateProgram(text.encode(), name.encode(), 0, [], [])
    if int(status) != 0:
        raise _failed("nvrtcCreateProgram", status)
    try:
        yield program
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _read(nvrtc: Any, program: Any, what: str) -> bytes:
    status, size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)
    if int(status) != 0:
        raise _failed(f"nvrtcGet{what}Size", status)
    buffer = bytearray(size)
    (status,) = getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    if int(status) != 0:
        raise _failed(f"nvrtcGet{what}", status)
    return bytes(buffer)


def _failed(call: str, status: Any) -> KgenError:
    """NVRTC itself fails, such as for want of memory."""
    return error("cuda-compile-failed", f"{call}: {status.name}")
