"""Finds the host's C++ compiler."""

from __future__ import annotations

import functools
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from kgen.diagnostics import KgenError, error
from kgen.records import dataclass

_ON_PATH = ("g++", "clang++", "c++")

#: Two memory mappings for each library instead of five: the limit of a process is 65,530.
_FEW_MAPPINGS = ("-Wl,-z,noseparate-code", "-Wl,-z,norelro")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler: its command line, where it was found, and what identifies its version."""

    command: tuple[str, ...]
    origin: str
    identity: str  # part of the cache key; asking the compiler would take every process 5 to 100 ms
    linker: tuple[str, ...] = _FEW_MAPPINGS

    @property
    def version(self) -> str:
        """The first line of ``--version``; runs the compiler."""
        return _version(self.command)

    def describe(self) -> dict[str, str]:
        """What ``kgen doctor`` shows."""
        return {"compiler": shlex.join(self.command), "found": self.origin, "version": self.version}


def find() -> Toolchain:
    """``$KGEN_CXX``, then a compiler on the PATH, then the ``ziglang`` package."""
    chosen = os.environ.get("KGEN_CXX")
    if chosen:
        return _named(chosen)
    for name in _ON_PATH:
        path = shutil.which(name)
        if path is not None:
            return Toolchain((path,), f"{name} on PATH", _identity(path))
    zig = importlib.util.find_spec("ziglang")
    if zig is not None and zig.origin is not None:
        # -nostdlib++: zig would build libc++ for a minute, which is not used.
        # -mcpu=baseline: zig's default is this machine's CPU, but machines may share the cache.
        command = (sys.executable, "-m", "ziglang", "cc", "-x", "c++", "-nostdlib++", "-mcpu=baseline")
        return Toolchain(command, "the ziglang package", _identity(zig.origin), linker=())
    raise error(
        "no-host-compiler",
        "no C++ compiler for the CPU target: looked for $KGEN_CXX, "
        + ", ".join(_ON_PATH)
        + " on PATH and the ziglang package",
        'install one with "apt install g++" or "pip install \'kgen-cuda[cpu]\'"',
    )


def _named(chosen: str) -> Toolchain:
    """``$KGEN_CXX`` may carry arguments, as in ``ccache g++``."""
    try:
        words = shlex.split(chosen)
    except ValueError as problem:
        raise _bad_choice(chosen, str(problem)) from None
    path = shutil.which(words[0]) if words else None
    if path is None:
        raise _bad_choice(chosen, "no such program")
    identity = " ".join([_identity(path), *(_identity(found) for w in words[1:] if (found := shutil.which(w)))])
    linker = () if "zig" in f"{path} {chosen}" else _FEW_MAPPINGS  # zig supports few linker options
    return Toolchain((path, *words[1:]), "$KGEN_CXX", identity, linker)


def _bad_choice(chosen: str, why: str) -> KgenError:
    hint = 'set KGEN_CXX to a C++ compiler, such as "g++", or unset it'
    return error("no-host-compiler", f"KGEN_CXX={chosen!r}: {why}", hint)


def _identity(path: str) -> str:
    real = Path(path).resolve()
    status = real.stat()
    return f"{real}:{status.st_size}:{status.st_mtime_ns}"


@functools.cache
def _version(command: tuple[str, ...]) -> str:
    try:
        asked = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"unknown ({problem})"
    return (asked.stdout or asked.stderr).partition("\n")[0].strip() or "unknown"
