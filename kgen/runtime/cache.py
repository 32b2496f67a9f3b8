"""The folder where compiled kernels are kept between processes, as a user sees and tidies it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 512 * 2**20  #: of CUBINs; the least recently used make room
SCHEDULER = "libkgen-scheduler-"  #: what the CPU target's own library is called; it is no kernel
_ABANDONED_S = 3600  # after which a file that was never finished is nobody's


@dataclass(frozen=True, slots=True)
class Kept:
    """One compiled kernel on disk.  ``used``: seconds since the epoch; ``kind``: ``"cubin"`` or ``"cpu"``."""

    path: Path
    kind: str
    bytes: int
    used: float

    @property
    def name(self) -> str:
        """``axpy.sm_90``: the kernel's name and what it was compiled for."""
        return self.path.stem.rpartition(".")[0] or self.path.stem


def cache_dir() -> Path:
    """``$KGEN_CACHE_DIR``, else the user's cache folder; it need not exist yet."""
    chosen = os.environ.get("KGEN_CACHE_DIR")
    if chosen:
        return Path(chosen)
    import platformdirs  # only here: it costs a few milliseconds of import

    return Path(platformdirs.user_cache_dir("kgen"))


def kept(folder: Path) -> list[Kept]:
    """Everything in a cache folder, most recently used first."""
    found = [*_files(folder / "cubin", "*.cubin", "cubin"), *_files(folder / "cpu", "*.so", "cpu")]
    return sorted(found, key=lambda k: k.used, reverse=True)


def clear(folder: Path) -> int:
    """Remove everything that kgen keeps there; the number of kernels removed.  Running processes lose nothing."""
    removed = len(kept(folder))
    for part in ("cubin", "cpu"):
        shutil.rmtree(folder / part, ignore_errors=True)
    return removed


def shrink(folder: Path, most: int = MOST_BYTES) -> None:
    """Bring a folder of CUBINs below its cap, least recently used first, and sweep up after killed writers."""
    files = sorted(_files(folder, "*.cubin", "cubin"), key=lambda k: k.used)
    total = sum(k.bytes for k in files)
    for one in files:
        if total <= most:
            break
        with suppress(OSError):  # another process was faster
            one.path.unlink()
        total -= one.bytes
    for left in _files(folder, ".new-*", "cubin"):
        if time.time() - left.used > _ABANDONED_S:
            with suppress(OSError):
                left.path.unlink()


def _files(folder: Path, pattern: str, kind: str) -> Iterator[Kept]:
    for path in folder.glob(pattern):
        if path.name.startswith(SCHEDULER):
            continue
        with suppress(OSError):  # gone since
            status = path.stat()
            yield Kept(path, kind, status.st_size, status.st_mtime)
