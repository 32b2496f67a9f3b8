"""Puts generated text into files: all of it or none, and only where it differs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from kgen.diagnostics import error


def write(path: Path, content: str | bytes) -> bool:
    """Replace a file's content in one step.  True if it changed.

    Raises :class:`~kgen.KgenError` (``unwritable``), leaving whatever was there.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        if path.is_file() and path.read_bytes() == data:
            return False
        if path.is_dir():
            raise error("unwritable", f"{path} is a folder", "name a file")
        if path.exists() and not path.is_file():  # /dev/stdout and its kin cannot be replaced
            path.write_bytes(data)
            return True
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as problem:
        raise error("unwritable", f"cannot write {path}: {problem.strerror}") from None
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
