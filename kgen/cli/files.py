"""Arrays in files: ``.npy``, one each, and ``.npz``, several by name."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kgen.diagnostics import KgenError, error
from kgen.dtypes import DTYPES, DType
from kgen.jit import unreadable_hint
from kgen.spec import counted

_NPY, _NPZ = b"\x93NUMPY", b"PK"  # their first bytes
_SAVE = "save it with numpy.save(path, array, allow_pickle=False)"


def load(name: str, place: str, dtype: DType | None) -> Any:
    """The array of the input ``name``.

    ``place``: ``a.npy``, ``all.npz`` (the array of that name, or the only one), or ``all.npz:a``.  ``dtype``: the dtype
    of raw bytes.  Raises for pickled, truncated and foreign files.
    """
    path, key = _split(place)
    array = _read(path)
    if isinstance(array, dict):
        array = _member(array, path, key, name)
    return _typed(name, path, array, dtype)


def names_in(place: str) -> list[str]:
    """The names of the arrays in an ``.npz`` file; empty for other files."""
    path, key = _split(place)
    if key is not None or path.suffix != ".npz":
        return []
    found = _read(path)
    return list(found) if isinstance(found, dict) else []


def _split(place: str) -> tuple[Path, str | None]:
    """``all.npz:a`` is the array ``a`` of a file."""
    path, colon, key = place.rpartition(":")
    return (Path(path), key) if colon and path.endswith(".npz") else (Path(place), None)


def _read(path: Path) -> Any:
    """One array, or those of an ``.npz`` file by name."""
    import numpy as np

    try:
        with path.open("rb") as file:
            start = file.read(6)
        if start != _NPY and not start.startswith(_NPZ):
            raise error("unreadable-file", f"{path} {'is not a .npy or .npz file' if start else 'is empty'}", _SAVE)
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.ndarray):
            return found
        with found:
            return {name: found[name] for name in found.files}
    except Exception as problem:  # the parser may raise anything for a damaged file
        raise _unreadable(path, problem) from None


def _unreadable(path: Path, problem: Exception) -> KgenError:
    if isinstance(problem, KgenError):
        return problem
    if isinstance(problem, MemoryError):
        return error("unreadable-file", f"{path} claims to hold more than fits into memory", _SAVE)
    if isinstance(problem, OSError):
        return error("unreadable-file", f"cannot read {path}: {problem.strerror or problem}", unreadable_hint(problem))
    if "pickle" in str(problem):
        return error("unreadable-file", f"{path} holds pickled Python objects, which are never loaded", _SAVE)
    return error("unreadable-file", f"{path} is damaged, or truncated", _SAVE)


def _member(arrays: Mapping[str, Any], path: Path, key: str | None, name: str) -> Any:
    wanted = name if key is None else key
    if wanted in arrays:
        found = arrays[wanted]
    elif key is None and len(arrays) == 1:
        found = next(iter(arrays.values()))
    else:
        names = ", ".join(arrays) or "nothing"
        hint = f"it holds {names}; say which: --input {name}={path}:{next(iter(arrays), name)}"
        raise error("unreadable-file", f"{path} holds no array called `{wanted}`", hint)
    if not hasattr(found, "dtype"):
        raise error("unreadable-file", f"`{wanted}` of {path} is not an array", _SAVE)
    return found


def _typed(name: str, path: Path, array: Any, dtype: DType | None) -> Any:
    from kgen.arrays.numpy_ import TO_NUMPY

    raw: list[str] = []  # the dtypes of this size that .npy cannot name
    if array.dtype.kind == "V" and array.dtype.names is None:
        raw = [t.short for t in DTYPES if t.ml_dtypes and t.size == array.dtype.itemsize]
    if dtype is None:
        if raw:
            message = f"{path} holds raw bytes, {counted(array.dtype.itemsize, 'byte')} an element"
            raise error("unsupported-dtype", message, f"state the dtype: {_either(name, raw)}")
        return array
    wanted = TO_NUMPY[dtype]
    if array.dtype == wanted:
        return array
    if array.dtype.kind not in "Vu" or array.dtype.itemsize != wanted.itemsize:
        raise error(
            "dtype-mismatch",
            f"{path} holds {array.dtype}, which are not raw bytes of {dtype}",
            _either(name, raw) if raw else f"remove --dtype; to convert write `cast<{dtype.short}>({name})`",
        )
    return array.view(wanted)


def _either(name: str, dtypes: Sequence[str]) -> str:
    """The options that read a file's raw bytes."""
    return " or ".join(f"--dtype {name}={dtype}" for dtype in dtypes)


def check_names(paths: Iterable[str]) -> None:
    """Raises :class:`~kgen.KgenError` (``bad-option``) for other suffixes."""
    for path in paths:
        suffix = os.path.splitext(path)[1]
        is_stream = os.path.exists(path) and not os.path.isfile(
            path
        )  # /dev/stdout, or a folder, which is reported later
        if suffix not in (".npy", ".npz") and not is_stream:
            message = f"-o {path}: results are written as .npy and .npz files"
            hint = f"-o {path.removesuffix(suffix)}.npy; for other formats, read that with numpy.load"
            raise error("bad-option", message, hint)


def save(files: Mapping[str, Mapping[str, Any]]) -> None:
    """Write all files or none: each of one array, or an ``.npz`` of several by name."""
    from kgen.codegen.writer import write_all

    write_all({Path(path): _archive(a) if path.endswith(".npz") else _plain(*a.values()) for path, a in files.items()})


def _plain(array: Any) -> bytes:
    import numpy as np

    buffer = io.BytesIO()
    np.save(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def _archive(arrays: Mapping[str, Any]) -> bytes:
    """Like ``numpy.savez``, but with any names (also ``file``) and without the time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), _plain(array))
    return buffer.getvalue()
