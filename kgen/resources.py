"""Where the grammar, the templates and the prelude are: one lookup for a wheel and for a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_DATA = _PACKAGE / "_data"  # what the build puts into a wheel


@cache
def folder(name: str) -> Path:
    """The folder ``grammar`` or ``templates``: packed into the wheel, else at the root of the repository."""
    for candidate in (_DATA / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise RuntimeError(
        f"kgen's folder {name!r} is neither in {_DATA} nor in {_PACKAGE.parent}: "
        "this installation is incomplete, install kgen again"
    )


def text(name: str, file: str) -> str:
    """The text of one file of a folder."""
    return (folder(name) / file).read_text(encoding="utf-8")


@cache
def grammar() -> str:
    return text("grammar", "kgen.lark")


@cache
def prelude(file: str) -> str:
    return (_PACKAGE / file).read_text(encoding="utf-8")


def built_path(name: str) -> Path:
    """Where the wheel has, or would have, a build product."""
    return _DATA / name


def built(file: str) -> bytes | None:
    """A build product of the wheel (``_data/<file>``), or None: such a file only ever saves time."""
    try:
        return built_path(file).read_bytes()
    except OSError:
        return None
