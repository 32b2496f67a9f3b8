"""Runs a compiler or linker, whose output becomes a diagnostic where it fails."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from kgen.diagnostics import error
from kgen.runtime.cpu.compiler import run_compiler


def run(command: Sequence[str], folder: Path) -> str:
    """What it printed.  ``folder``: for its temporary files.  Raises :class:`~kgen.KgenError` (``build-failed``)."""
    try:
        status, said = run_compiler(command, folder)
    except OSError as problem:
        raise error("build-failed", f"cannot run {command[0]}: {problem.strerror}") from None
    if status != 0:
        message = f"{Path(command[0]).name} failed (exit status {status})\n{shlex.join(command)}\n{said.rstrip()}"
        raise error("build-failed", message)
    return said
