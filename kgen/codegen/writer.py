"""Writes generated text to files: all of them or none, and only those that change."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kgen.diagnostics import KgenError, error


def write(path: Path, content: str | bytes) -> bool:
    """Replace a file's content in one step.  True if it changed.

    Raises :class:`~kgen.KgenError` (``unwritable``), and then leaves the file as it was.
    """
    return write_all({path: content})


def write_all(files: Mapping[Path, str | bytes]) -> bool:
    """Replace the content of all these files, or of none.  True if any changed.

    Raises :class:`~kgen.KgenError` (``unwritable``), and then leaves the files as they were.
    """
    staged: list[tuple[str, Path]] = []
    streams: list[tuple[Path, bytes]] = []
    try:
        for path, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            try:
                if path.is_dir():
                    raise error("unwritable", f"{path} is a folder", "name a file")
                if path.exists() and not path.is_file():
                    streams.append((path, data))  # streams such as /dev/stdout cannot be replaced
                elif not (path.is_file() and path.read_bytes() == data):
                    staged.append((_stage(path, data), path))
            except (OSError, ValueError) as problem:  # ValueError: a null byte in the path
                raise _unwritable(path, problem) from None
        for path, data in streams:
            try:
                path.write_bytes(data)
            except OSError as problem:
                raise _unwritable(path, problem) from None
        changed = bool(staged or streams)
        while staged:
            temporary, path = staged[0]
            try:
                os.replace(temporary, path)
            except OSError as problem:
                raise _unwritable(path, problem) from None
            staged.pop(0)
    finally:
        for temporary, _ in staged:
            os.unlink(temporary)
    return changed


def _stage(path: Path, data: bytes) -> str:
    """Write the new content to a temporary file beside ``path``, with the permissions of ``path``."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".kgen-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(13, "Permission denied")
        os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary


def _unwritable(path: Path, problem: Exception) -> KgenError:
    why = getattr(problem, "strerror", None) or problem
    hint = f"mkdir -p {shlex.quote(str(path.parent))}" if isinstance(problem, FileNotFoundError) else None
    return error("unwritable", f"cannot write {path}: {why}", hint)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
