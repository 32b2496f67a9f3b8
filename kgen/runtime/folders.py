"""Folders that only this user can write to: the cache, and temporary ones, removed with the process.

Files of the cache are loaded and run, so a folder is used only if nobody else can write to it: as for ssh, it and all
folders above it have to belong to the user or to root and be writable by nobody else.
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

ABANDONED_S = 3600  #: after this time an unfinished file is removed
_YOUNG_S = 60  # a newer folder may not be locked yet


def cache_dir() -> Path:
    """``$KGEN_CACHE_DIR``, else the user's cache folder; it need not exist yet."""
    chosen = os.environ.get("KGEN_CACHE_DIR")
    if chosen:
        return Path(os.path.abspath(os.path.expanduser(chosen)))
    import platformdirs  # imported here: it takes a few milliseconds

    return Path(platformdirs.user_cache_dir("kgen"))


def unusable(folder: Path, *, runs: bool) -> str | None:
    """Why a folder of the cache cannot be used; None if it can.  Creates it if it is missing.

    ``runs``: whether it holds host libraries, which need a filesystem without noexec.
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
    """Why a folder cannot be written to, found by writing a file; None if it can."""
    try:
        with tempfile.TemporaryFile(prefix=".new-", dir=folder) as file:
            file.write(bytes(4096))
    except OSError as problem:
        return problem.strerror or str(problem)
    return None


def make_private(folder: Path) -> None:
    """Create a folder, and missing folders above it, for this user alone."""
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for one in reversed(missing):
        with suppress(FileExistsError):
            one.mkdir(mode=0o700)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))


def is_ours(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user or root, and nobody else can write to it."""
    if status.st_uid not in (os.geteuid(), 0) or status.st_mode & stat.S_IWOTH:
        return False
    return not status.st_mode & stat.S_IWGRP or _is_private_group(status.st_gid)


def _shared(folder: Path) -> str | None:
    """Who else may change the content of a folder; None if nobody can."""
    real = folder.resolve(strict=True)
    for one in (real, *real.parents):
        status = one.stat()
        # In a sticky folder others can add files, but not rename or remove the user's.
        sticky = one != real and status.st_mode & stat.S_ISVTX and status.st_uid in (os.geteuid(), 0)
        if not is_ours(status) and not sticky:
            shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            return f"other users can write to {one}" if shared else f"{one} belongs to another user"
    return None


@cache
def _is_private_group(number: int) -> bool:
    """Whether a group is the user's own and has no other member, as is usual with a umask of 002."""
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
def _of_process(pid: int) -> Path:  # a forked process gets its own
    folder, lock = _make()

    def remove() -> None:
        if os.getpid() == pid:
            _remove(folder, lock)

    atexit.register(remove)
    return folder


def _make() -> tuple[Path, int]:
    """A folder, and a lock on it that ends with the process, even if it is killed."""
    try:
        _sweep(tempfile.gettempdir())
        folder = Path(tempfile.mkdtemp(prefix=_prefix()))
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as problem:
        raise no_room(problem) from problem
    with suppress(OSError):  # some filesystems have no locks: their folders are not swept
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return folder, lock


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        os.close(lock)


def no_room(problem: OSError) -> KgenError:
    """The error for a temporary folder that cannot be written to."""
    why = problem.strerror or str(problem)
    return error("no-cache", f"cannot write to a temporary folder: {why}", "set TMPDIR to a folder with room")


def _prefix() -> str:
    return f"kgen-{os.geteuid()}-"


@cache
def _sweep(above: str) -> None:
    """Remove folders of killed processes, which nobody holds a lock on.  Once per process."""
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
    """A warning at the caller's line outside kgen."""
    frame, level = sys._getframe(1), 2
    own = (str(Path(__file__).parents[1]) + os.sep, contextlib.__file__)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(own):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, RuntimeWarning, stacklevel=level)
