"""The store of compiled kernels, CUBINs and host libraries, and of lowerings: files in kgen's cache folder.

Not ``cuda.core``'s program cache: importing it takes 110 ms in a process with torch, five times as long as compiling
a kernel; a read here takes 0.1 ms.  Several processes may write to one folder and clear it: files are written
atomically.  Each ends in a digest of itself (which ``cuobjdump`` and the loader ignore), so a damaged file is compiled
again.  If the cache folder cannot be used, a temporary folder of the process replaces it, with one warning.

Host libraries are loaded by their path, after the file was checked, and not from a copy: nobody but the user can change
the folder in between, and debuggers, profilers and sanitizers find the file.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Literal

from kgen.records import dataclass
from kgen.runtime import folders

Kind = Literal["cubin", "cpu", "lowering", "call", "tuning"]

SUFFIX: dict[Kind, str] = {
    "cubin": ".cubin", "cpu": ".so", "lowering": ".lowering", "call": ".call", "tuning": ".tuning",
}  # fmt: skip
MAX_BYTES = 512 * 2**20  #: of each kind; the least recently used are removed
_MAX_NOTE = 200
_MAX_NAME = 60
_TRAILER = 2 + 32  # the length of the note, and the digest
#: Entries kept in memory: host libraries stay loaded instead, and lowerings and calls are read once.
_IN_MEMORY = {"cubin": 256, "cpu": 0, "lowering": 0, "call": 0, "tuning": 0}
_PUTS_BETWEEN_SHRINKS = 64
_ATTEMPTS = 5  # to write while another process removes the folder


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An undamaged entry."""

    path: Path
    payload: bytes


class Store:
    """Files of one kind by key.  ``folder`` None keeps them in memory only (CUBINs)."""

    def __init__(self, folder: Path | None, kind: Kind = "cubin", most: int = MAX_BYTES) -> None:
        self.kind = kind
        self._folder = folder
        self._most = most
        self._memory: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self._puts = 0
        self._problem: str | None = None  # why the folder cannot be written to
        self._checked = self._reads = False

    def get(self, key: str) -> bytes | None:
        """The payload of an entry, or None; a damaged entry counts as absent."""
        known = self._memory.get(key)
        if known is not None or self._folder is None:
            return known
        found = self.find(key)
        return None if found is None else found.payload

    def find(self, key: str) -> StoredEntry | None:
        """The file of an entry; None if it is absent or damaged."""
        self._check()
        for folder in (self._folder if self._reads else None, self._temporary_folder() if self._problem else None):
            if folder is not None:
                path = self._path(folder, key)
                payload = read(path, key)
                if payload is not None:
                    self._remember(key, payload)
                    return StoredEntry(path, payload)
        return None

    def put(self, key: str, payload: bytes, note: str = "") -> Path | None:
        """Store an entry; None if it is stored in memory only.  ``note``: one line that describes it."""
        self._remember(key, payload)
        if self._folder is None:
            return None
        self._check()
        if self._problem is None:
            path = self._path(self._folder, key)
            try:
                _write(path, _sealed(key, payload, note))
                self._puts += 1
                if self._puts % _PUTS_BETWEEN_SHRINKS == 1:
                    shrink(self._folder, self.kind, self._most)
                return path
            except OSError as problem:  # the disk is full or read-only: do not try again
                self._give_up(problem.strerror or str(problem))
        return self.put_temporary(key, payload)

    def put_temporary(self, key: str, payload: bytes) -> Path | None:
        """Store a host library in a folder of this process, which no other process clears."""
        if self.kind != "cpu":
            return None
        path = self._path(folders.of_this_process(), key)
        try:
            _write(path, _sealed(key, payload, ""))
        except OSError as problem:
            raise folders.no_room(problem) from problem
        return path

    def _temporary_folder(self) -> Path | None:
        return folders.of_this_process() if self.kind == "cpu" else None

    def _check(self) -> None:
        """Check the folder once, before its first use."""
        if self._checked or self._folder is None:
            return
        why = folders.unusable(self._folder, runs=self.kind == "cpu")
        self._reads = why is None
        self._checked = True
        if why is not None:
            self._give_up(why)

    def _give_up(self, why: str) -> None:
        """Stop writing to the folder, with one warning."""
        with self._lock:
            first, self._problem = self._problem is None, why
        if first and self.kind in ("cubin", "cpu"):  # one warning, from the store of the kernels
            folders.note(
                f"kgen cannot keep compiled kernels in {self._folder}: {why}; they are kept until this process ends "
                "(set KGEN_CACHE_DIR to use another folder)"
            )

    def _remember(self, key: str, payload: bytes) -> None:
        with self._lock:
            self._memory[key] = payload
            while len(self._memory) > _IN_MEMORY[self.kind]:
                self._memory.popitem(last=False)

    def _path(self, folder: Path, key: str) -> Path:
        return folder / f"{key}{SUFFIX[self.kind]}"


def store(kind: Kind) -> Store:
    """The store in kgen's cache folder, as the environment names it now."""
    return _store_in(folders.cache_dir() / kind, kind)


@cache
def _store_in(folder: Path, kind: Kind) -> Store:
    return Store(folder, kind)


# --- entries ------------------------------------------------------------------------------------------


def entry_name(file: str) -> str:
    """The base name of a text's entries: short, and of characters that every filesystem allows."""
    return re.sub(r"[^A-Za-z0-9_]", "_", file.removesuffix(".cu"))[:_MAX_NAME] or "_"


def read(path: Path, key: str) -> bytes | None:
    """The payload of a file; None unless it is an undamaged entry of ``key`` that only this user can have written."""
    try:
        # The file may be anything: do not follow links, and do not block on a pipe.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not folders.is_ours(status) or status.st_size > MAX_BYTES:
            return None
        with open(handle, "rb", closefd=False) as file:
            entry = file.read()
        body, digest = entry[:-32], entry[-32:]
        if len(entry) < _TRAILER or _digest(key, body) != digest:
            return None
        with suppress(OSError):  # the folder may be read-only
            os.utime(handle)  # the least recently used are removed first
        return body[: -2 - int.from_bytes(body[-2:], "little")]
    except OSError:
        return None
    finally:
        os.close(handle)


def note_of(path: Path) -> str:
    """The note of an entry, which may be damaged."""
    with suppress(OSError), path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - _TRAILER - _MAX_NOTE))
        tail = file.read()[:-32]
        length = int.from_bytes(tail[-2:], "little")
        if length <= _MAX_NOTE and len(tail) >= length + 2:
            return tail[-2 - length : -2].decode("utf-8", "replace")
    return ""


def _sealed(key: str, payload: bytes, note: str) -> bytes:
    short = note.encode("utf-8", "replace")[:_MAX_NOTE].decode("utf-8", "ignore").encode()
    body = payload + short + len(short).to_bytes(2, "little")
    return body + _digest(key, body)


def _digest(key: str, body: bytes) -> bytes:
    digest = hashlib.sha256(b"kgen entry 2\0" + key.encode() + b"\0")
    digest.update(body)
    return digest.digest()


def _write(path: Path, entry: bytes) -> None:
    """Write a file atomically, replacing what was there, also while other processes clear the folder."""
    for attempt in range(_ATTEMPTS):
        try:
            folders.make_private(path.parent)
            handle, written = tempfile.mkstemp(prefix=".new-", dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(entry)
                os.replace(written, path)
                return
            except BaseException:
                with suppress(OSError):
                    os.unlink(written)
                raise
        except IsADirectoryError:
            shutil.rmtree(path, ignore_errors=True)
        except FileNotFoundError:
            if attempt == _ATTEMPTS - 1:
                raise
    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))


def shrink(folder: Path, kind: Kind, most: int = MAX_BYTES) -> None:
    """Remove the least recently used files above the limit, and unfinished files of killed processes."""
    found: list[tuple[float, int, Path]] = []
    for path in folder.glob(f"*{SUFFIX[kind]}"):
        with suppress(OSError):  # removed meanwhile
            status = path.stat()
            found.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= most:
            break
        with suppress(OSError):  # removed by another process
            path.unlink()
        total -= size
    sweep(folder)


def sweep(folder: Path) -> None:
    """Remove unfinished files of killed processes."""
    for left in (*folder.glob(".new-*"), *folder.glob("build-*")):
        with suppress(OSError):
            if time.time() - left.lstat().st_mtime > folders.ABANDONED_S:
                if left.is_dir() and not left.is_symlink():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink()


# --- compiling once -----------------------------------------------------------------------------------

_locks: dict[str, tuple[threading.Lock, int]] = {}  # with the number of threads that use each
_locks_lock = threading.Lock()


@contextmanager
def compile_lock(key: str) -> Iterator[None]:
    """While one thread compiles a key, others that need it wait."""
    with _locks_lock:
        lock, users = _locks.get(key, (threading.Lock(), 0))
        _locks[key] = lock, users + 1
    try:
        with lock:
            yield
    finally:
        with _locks_lock:
            lock, users = _locks[key]
            if users == 1:
                del _locks[key]
            else:
                _locks[key] = lock, users - 1


def _forget_threads() -> None:
    """A forked process has one thread: locks of other threads would never be released."""
    global _locks_lock
    _locks_lock = threading.Lock()
    _locks.clear()


os.register_at_fork(after_in_child=_forget_threads)
