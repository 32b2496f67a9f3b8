"""Where CUBINs are kept: in memory, and on disk under kgen's cache folder.

Files of our own, not ``cuda.core``'s program cache: importing that costs 110 ms in a process that has torch loaded,
five times what it takes to compile a kernel anew, and a read here costs 0.1 ms.  Many processes may write one folder: a
file appears whole or not at all, and each ends in a digest of itself (which does not disturb ``cuobjdump``), so that
one damaged later is compiled again.  Whatever goes wrong with the disk costs a compilation and at most one warning.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import warnings
from collections import OrderedDict
from contextlib import suppress
from functools import cache
from pathlib import Path

from kgen.runtime.cache import cache_dir, shrink

_DIGEST_BYTES = 32
_MOST_IN_MEMORY = 256  # kernels; each was loaded when it was first needed, so few are asked for again
_PUTS_BETWEEN_SHRINKS = 64


class CubinStore:
    """Bytes by key.  ``folder`` None keeps them in memory only."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._memory: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self._puts = 0

    def get(self, key: str) -> bytes | None:
        """What was put, or None; a damaged entry counts as absent."""
        found = self._memory.get(key)
        if found is not None or self._folder is None:
            return found
        path = self._path(self._folder, key)
        try:
            entry = path.read_bytes()
            os.utime(path)  # the least recently used go first when the folder is full
        except FileNotFoundError:
            return None
        except PermissionError:  # of utime: somebody else's folder, which may be read
            pass
        except OSError as problem:
            self._give_up(problem)
            return None
        payload, digest = entry[:-_DIGEST_BYTES], entry[-_DIGEST_BYTES:]
        if _digest(key, payload) != digest:
            return None
        self._remember(key, payload)
        return payload

    def put(self, key: str, cubin: bytes) -> None:
        self._remember(key, cubin)
        if self._folder is None:
            return
        path = self._path(self._folder, key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, written = tempfile.mkstemp(prefix=".new-", dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(cubin + _digest(key, cubin))
                os.replace(written, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(written)
                raise
        except OSError as problem:
            self._give_up(problem)
            return
        self._puts += 1
        if self._puts % _PUTS_BETWEEN_SHRINKS == 1:
            shrink(self._folder)

    def _remember(self, key: str, cubin: bytes) -> None:
        with self._lock:
            self._memory[key] = cubin
            while len(self._memory) > _MOST_IN_MEMORY:
                self._memory.popitem(last=False)

    def _give_up(self, problem: OSError) -> None:
        """Reading and writing stop together: a full or read-only disk stays one for a while."""
        folder, self._folder = self._folder, None
        if folder is not None:
            text = f"kgen cannot keep compiled kernels in {folder}: {problem.strerror or problem}"
            warnings.warn(text, RuntimeWarning, stacklevel=4)

    @staticmethod
    def _path(folder: Path, key: str) -> Path:
        return folder / f"{key}.cubin"


def _digest(key: str, payload: bytes) -> bytes:
    return hashlib.sha256(key.encode() + payload).digest()


def store() -> CubinStore:
    """The store in kgen's cache folder, as the environment names it now."""
    return _store_in(cache_dir() / "cubin")


@cache
def _store_in(folder: Path) -> CubinStore:
    return CubinStore(folder)
