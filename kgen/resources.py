"""Where the grammar, the templates and the prelude are: one lookup for a wheel and for a checkout."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kgen.version import VERSION

_PACKAGE = Path(__file__).resolve().parent
_DATA = _PACKAGE / "_data"  # what the build puts into a wheel
IN_CHECKOUT = _PACKAGE.parent / "build" / "kgen"  #: build products that tests of a checkout make for themselves


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


def cmake_folder() -> Path:
    """The folder of the CMake package."""
    return _PACKAGE / "cmake"


@cache
def grammar() -> str:
    return text("grammar", "kgen.lark")


@cache
def prelude(file: str) -> str:
    return (_PACKAGE / file).read_text(encoding="utf-8")


@cache
def identity() -> str:
    """Tells one kgen from another: where its files are, and their sizes and times, which tell edited ones apart."""
    outside = [f for f in (folder("grammar"), folder("templates")) if not f.is_relative_to(_PACKAGE)]  # of a checkout
    return repr((VERSION, *(sorted(_files(os.fspath(f))) for f in (_PACKAGE, *outside))))


def _files(path: str) -> Iterator[tuple[str, int, int]]:
    """All files below a folder but what is compiled from them: path, bytes, and when it was written."""
    with os.scandir(path) as entries:
        for entry in entries:
            if not entry.is_dir():
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns
            elif entry.name not in ("__pycache__", "compiled"):  # the second: templates
                yield from _files(entry.path)


def built_path(name: str) -> Path:
    """Where a build product is, or would be in a wheel."""
    return next((folder / name for folder in (_DATA, IN_CHECKOUT) if (folder / name).exists()), _DATA / name)


def built(file: str) -> bytes | None:
    """A build product (``_data/<file>`` of a wheel), or None: such a file only ever saves time."""
    try:
        return built_path(file).read_bytes()
    except OSError:
        return None
