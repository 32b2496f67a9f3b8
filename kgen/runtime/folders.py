"""Folders that only this user writes to: the cache, and temporary ones that go with the process.

What lies in the cache is loaded and run, so a folder counts only where nobody else can have put anything into it: as
ssh has it, it and all above it belong to the user or to root and are writable by nobody else.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import fcntl
import os
import shutil
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from kgen.diagnostics import KgenError, error

ABANDONED_S = 3600  #: after which a file that was never finished is nobody's
_YOUNG_S = 60  # a folder this new may not be locked yet


def cache_dir() -> Path:
    """``$KGEN_CACHE_DIR``, else the user's cache folder; it need not exist yet."""
    chosen = os.environ.get("KGEN_CACHE_DIR")
    if chosen:
        return Path(os.path.abspath(os.path.expanduser(chosen)))
    import platformdirs  # only here: it costs a few milliseconds of import

    return Path(platformdirs.user_cache_dir("kgen"))


def unusable(folder: Path, *, runs: bool) -> str | None:
    """Why a folder of the cache cannot be used at all; None where it can.  Makes it where it is missing.

    ``runs``: whether the processor itself is to run what lies there.
    """
    if not folder.is_absolute():
        return "there is no home folder"
    try:
        make_private(folder)
        why = _shared(folder)
        if why is None and runs and os.statvfs(folder).f_flag & os.ST_NOEXEC:
            why = "its filesystem is mounted noexec"
    except OSError as problem:
        return problem.strerror or str(problem)
    return why


def unwritable(folder: Path) -> str | None:
    """Why nothing can be added to a folder, by trying; None where it can."""
    try:
        with tempfile.TemporaryFile(prefix=".new-", dir=folder) as file:
            file.write(bytes(4096))
    except OSError as problem:
        return problem.strerror or str(problem)
    return None


def make_private(folder: Path) -> None:
    """Make a folder, and what is missing above it, for this user alone."""
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for one in reversed(missing):
        with suppress(FileExistsError):
            one.mkdir(mode=0o700)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))


def is_ours(status: os.stat_result) -> bool:
    """Whether a file or folder is this user's (or root's, who may do anything anyway), and nobody else writes to it."""
    if status.st_uid not in (os.geteuid(), 0) or status.st_mode & stat.S_IWOTH:
        return False
    return not status.st_mode & stat.S_IWGRP or _is_private_group(status.st_gid)


def _shared(folder: Path) -> str | None:
    """Who else may change what a folder holds; None where nobody can."""
    real = folder.resolve(strict=True)
    for one in (real, *real.parents):
        status = one.stat()
        # In a sticky folder others can add, but not rename or remove what is the user's.
        sticky = one != real and status.st_mode & stat.S_ISVTX and status.st_uid in (os.geteuid(), 0)
        if not is_ours(status) and not sticky:
            shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            return f"other users can write to {one}" if shared else f"{one} belongs to another user"
    return None


@cache
def _is_private_group(number: int) -> bool:
    """Whether a group is the user's own and has no other member, as under a umask of 002."""
    import grp
    import pwd

    try:
        name, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(number)
    except KeyError:
        return False
    return group.gr_name == name and set(group.gr_mem) <= {name}


# --- temporary folders --------------------------------------------------------------------------------


@contextmanager
def temporary() -> Iterator[Path]:
    """A new private folder, for as long as the context.  Raises :class:`~kgen.KgenError` (``no-cache``)."""
    folder, lock = _make()
    try:
        yield folder
    finally:
        _remove(folder, lock)


def of_this_process() -> Path:
    """A private folder that is removed when the process ends.  Raises :class:`~kgen.KgenError` (``no-cache``)."""
    return _of_process(os.getpid())


@cache
def _of_process(pid: int) -> Path:  # a forked process has one of its own
    folder, lock = _make()

    def remove() -> None:
        if os.getpid() == pid:
            _remove(folder, lock)

    atexit.register(remove)
    return folder


def _make() -> tuple[Path, int]:
    """A folder, and a lock on it that goes when the process does, however that ends."""
    try:
        _sweep(tempfile.gettempdir())
        folder = Path(tempfile.mkdtemp(prefix=_prefix()))
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as problem:
        raise no_room(problem) from problem
    with suppress(OSError):  # not every filesystem has locks: then nobody sweeps
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return folder, lock


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        os.close(lock)


def no_room(problem: OSError) -> KgenError:
    """Not even a temporary folder will do."""
    why = problem.strerror or str(problem)
    return error("no-cache", f"cannot write to a temporary folder: {why}", "set TMPDIR to a folder with room")


def _prefix() -> str:
    return f"kgen-{os.geteuid()}-"


@cache
def _sweep(above: str) -> None:
    """Remove what processes left that were killed: folders that nobody holds a lock on.  Once a process."""
    with suppress(OSError), os.scandir(above) as entries:
        for entry in entries:
            if entry.name.startswith(_prefix()) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    _sweep_one(entry)


def _sweep_one(entry: os.DirEntry[str]) -> None:
    status = entry.stat(follow_symlinks=False)
    if status.st_uid != os.geteuid() or time.time() - status.st_mtime < _YOUNG_S:
        return
    lock = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(entry.path, ignore_errors=True)
    finally:
        os.close(lock)


# --- notes --------------------------------------------------------------------------------------------


def note(text: str) -> None:
    """A warning at the line outside kgen that led here."""
    frame, level = sys._getframe(1), 2
    own = (str(Path(__file__).parents[1]) + os.sep, contextlib.__file__)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(own):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, RuntimeWarning, stacklevel=level)
