"""Where CUBINs are kept: in memory, and on disk under kgen's cache folder.

``cuda.core``'s file cache does the hard part (atomic replacement, several processes, eviction).  It does not check what
it reads, so each entry ends in a digest of itself; after a CUBIN's end it does not disturb ``cuobjdump``.  Whatever
goes wrong with the disk costs a compilation and at most one warning.
"""

from __future__ import annotations

import hashlib
import threading
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from kgen.runtime.cache import cache_dir

_DIGEST_BYTES = 32
_MAX_BYTES = 512 * 2**20


class CubinStore:
    """Bytes by key.  ``folder`` None keeps them in memory only."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._memory: dict[str, bytes] = {}
        self._disk: Any = None
        self._lock = threading.Lock()
        self._broken = folder is None

    def get(self, key: str) -> bytes | None:
        """What was put, or None; a damaged entry is removed and counts as absent."""
        found = self._memory.get(key)
        if found is not None:
            return found
        disk = self._open()
        if disk is None:
            return None
        try:
            entry: bytes | None = disk.get(key)
        except OSError as problem:
            self._give_up(problem)
            return None
        if entry is None:
            return None
        payload, digest = entry[:-_DIGEST_BYTES], entry[-_DIGEST_BYTES:]
        if _digest(key, payload) != digest:
            self._discard(disk, key)
            return None
        self._memory[key] = payload
        return payload

    def put(self, key: str, cubin: bytes) -> None:
        self._memory[key] = cubin
        disk = self._open()
        if disk is None:
            return
        try:
            disk[key] = cubin + _digest(key, cubin)
        except OSError as problem:
            self._give_up(problem)

    def _open(self) -> Any:
        if self._disk is None and not self._broken:
            with self._lock:
                if self._disk is None and not self._broken:
                    # Costs 90 ms of import, so not at the top of the file.
                    from cuda.core.utils import FileStreamProgramCache

                    try:
                        self._disk = FileStreamProgramCache(self._folder, max_size_bytes=_MAX_BYTES)
                    except OSError as problem:
                        self._give_up(problem)
        return None if self._broken else self._disk

    def _give_up(self, problem: OSError) -> None:
        """Reading and writing stop together: a full or read-only disk stays one for a while."""
        if not self._broken:
            self._broken = True
            text = f"kgen cannot keep compiled kernels in {self._folder}: {problem.strerror or problem}"
            warnings.warn(text, RuntimeWarning, stacklevel=4)

    @staticmethod
    def _discard(disk: Any, key: str) -> None:
        with suppress(KeyError, OSError):  # gone already, or not ours to remove: the next put replaces it
            del disk[key]


def _digest(key: str, payload: bytes) -> bytes:
    return hashlib.sha256(key.encode() + payload).digest()


def store() -> CubinStore:
    """The store in kgen's cache folder, as the environment names it now."""
    return _store_in(cache_dir() / "cubin")


@cache
def _store_in(folder: Path) -> CubinStore:
    return CubinStore(folder)
