"""Rules for make and ninja: what a file depends on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kgen import version


def dependencies(made: Path, programs: Sequence[str]) -> str:
    """``made: program... kgen``.  kgen's version is a file that each installation writes anew."""
    needed = [*(file for file in programs if file != "-"), str(Path(version.__file__).resolve())]
    return f"{_escaped(str(made))}: {' '.join(map(_escaped, needed))}\n"


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace(" ", "\\ ").replace("#", "\\#").replace("$", "$$")
