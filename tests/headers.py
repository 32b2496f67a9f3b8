"""Compiles of tests in half the time: headers are precompiled, and kernels linked with less."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from kgen import KgenError
from kgen.runtime.cpu import build, compiler, toolchain


@cache
def precompiled(folder: Path, flags: str, sanitize: str | None = None) -> str:
    """``flags`` for ``KGEN_CXXFLAGS``, and an option by which GCC finds the CPU target's headers in ``folder``.

    Reading them is half of what a small kernel takes.  They are precompiled for these flags and this sanitizer by the
    first process that asks; others do not wait for it.  Whatever does not fit them, or GCC, reads the headers.
    """
    try:
        command = toolchain.find().command
    except KgenError:
        return flags
    # For other sanitizers in another folder: GCC would take what is instrumented for what shall not be.
    mine = folder / "".join(c if c.isalnum() else "_" for c in f"{sanitize}{flags}")
    headers = mine / "kgen_cpu.h.gch"  # a folder: GCC takes the file that fits
    headers.mkdir(parents=True, exist_ok=True)
    common = [flag for flag in build._FLAGS if flag != "-shared"]
    chosen = [*common, *build._sanitizer_flags(sanitize)[0], *shlex.split(flags)]
    for fibers in range(2):
        made, own = headers / f"fibers{fibers}", mine / f"fibers{fibers}"
        try:
            own.touch(exist_ok=False)
        except FileExistsError:
            continue
        header = ["-x", "c++-header", str(build._INCLUDE / "kgen_cpu.h"), "-o", str(own)]
        subprocess.run([*command, *chosen, f"-DKGEN_FIBERS={fibers}", *header], check=True)
        own.rename(made)
    return f"{flags} -I{shlex.quote(str(mine))}".strip()


def compile_library(
    chain: toolchain.Toolchain,
    flags: Sequence[str],
    source: str,
    tail: Sequence[str],
    needs: tuple[str, bytes] | None,
) -> bytes:
    """As kgen does; but the linker of kernels without optimisation does not read the C++ library, which none uses."""
    if needs is not None and "-O0" in flags and not any(flag.startswith("-fsanitize") for flag in flags):
        flags, tail = (*flags, "-nodefaultlibs"), (*tail, "-lgcc")
    return compiler.compile_library(chain, flags, source, tail, needs)
