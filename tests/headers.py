"""The CPU target's headers, precompiled: reading them is half of what a kernel without optimisation takes."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from kgen import KgenError
from kgen.runtime.cpu import build, toolchain


def precompile_headers(folder: Path, flags: str) -> str:
    """``flags`` for ``KGEN_CXXFLAGS``, and an option by which GCC finds its headers precompiled in ``folder``.

    Other compilers, and GCC where other flags join these, read the headers themselves.  Processes may do this at once.
    """
    try:
        compiler = toolchain.find().command
    except KgenError:
        return flags
    precompiled = folder / "kgen_cpu.h.gch"  # a folder: GCC takes the file that fits
    precompiled.mkdir(parents=True, exist_ok=True)
    common = [flag for flag in build._FLAGS if flag != "-shared"]
    header = build._INCLUDE / "kgen_cpu.h"
    for fibers in range(2):
        made, own = precompiled / f"fibers{fibers}", folder / f"fibers{fibers}.{os.getpid()}"
        if made.exists():
            continue
        command = [*compiler, *common, *shlex.split(flags), f"-DKGEN_FIBERS={fibers}", "-x", "c++-header", str(header)]
        subprocess.run([*command, "-o", str(own)], check=True)
        own.rename(made)
    return f"{flags} -I{shlex.quote(str(folder))}"
