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


def compile_extension(source: Path, folder: Path) -> Path | None:
    """The extension module for this Python, or None where it cannot be compiled."""
    target = folder / f"_call{sysconfig.get_config_var('EXT_SUFFIX')}"
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[:1]
    flags = ["-O2", "-DNDEBUG", "-fPIC", "-shared", f"-I{sysconfig.get_paths()['include']}"]
    # Stripped of names of temporary files, so that the same tree gives the same wheel.
    flags += ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-s"]
    try:
        ran = subprocess.run([*compiler, *flags, str(source), "-o", str(target)], capture_output=True, check=False)
    except OSError:
        return None
    return target if ran.returncode == 0 and target.exists() else None
