"""Rules for make and ninja: what a file depends on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kgen import version
from kgen.diagnostics import error


def rule(depfile: str, made: Sequence[Path], programs: Sequence[str]) -> dict[Path, str]:
    """The file and its content: ``first of made: program... kgen``.

    kgen's version is a file that each installation writes anew.  Raises :class:`~kgen.KgenError` (``bad-option``).
    """
    if not made:
        raise error("bad-option", "--depfile is about files, and the text goes to standard output", "give -o kernel.cu")
    if Path(depfile) in made:
        raise error("bad-option", f"--depfile {depfile} is a file that is made", "name another file")
    needed = [*(file for file in programs if file != "-"), str(Path(version.__file__).resolve())]
    return {Path(depfile): f"{_escaped(str(made[0]))}: {' '.join(map(_escaped, needed))}\n"}


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace(" ", "\\ ").replace("#", "\\#").replace("$", "$$")
