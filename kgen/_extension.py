"""Compiles ``_call.c``: for the build hook, and for tests."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path


def has_headers() -> bool:
    """Whether this Python came with its C headers; some distributions keep them apart (python3-dev)."""
    return Path(sysconfig.get_paths()["include"], "Python.h").is_file()


class Uncompiled(Exception):
    """There is no extension, and why."""


def compile_extension(source: Path, folder: Path) -> Path:
    """The extension module for this Python.  Raises :class:`Uncompiled`."""
    target = folder / f"_call{sysconfig.get_config_var('EXT_SUFFIX')}"
    flags = ["-O2", "-DNDEBUG", "-fPIC", "-shared", f"-I{sysconfig.get_paths()['include']}"]
    # Stripped of names of temporary files, so that the same tree gives the same wheel.
    flags += ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-s"]
    try:
        command = [*_compiler(), *flags, str(source), "-o", str(target)]
        ran = subprocess.run(command, capture_output=True, check=False, text=True, errors="replace")
    except (OSError, ValueError) as problem:  # ValueError: a quote that nothing closes
        raise Uncompiled(f"CC={os.environ.get('CC', '')!r}: {problem}") from problem
    if ran.returncode != 0 or not target.exists():
        raise Uncompiled(f"{shlex.join(command)}: exit status {ran.returncode}\n{ran.stderr.strip()}")
    return target


def _compiler() -> list[str]:
    """``$CC`` with all its words, as in ``ccache gcc`` or ``gcc -m64``; else what Python was built with."""
    chosen = shlex.split(os.environ.get("CC", ""))
    # Of that, the program alone: its options are for the machine that Python was built on.
    return chosen or shlex.split(sysconfig.get_config_var("CC") or "cc")[:1]
