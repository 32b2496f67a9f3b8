"""The cache folder of compiled kernels, for ``kgen cache``: listing and clearing it."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from kgen.records import dataclass
from kgen.runtime.store import SUFFIX, Kind, note_of, sweep

KERNELS: tuple[Kind, ...] = ("cubin", "cpu")
SCHEDULER = "libkgen-scheduler-"  #: the file name of the CPU target's scheduler, which is not a kernel
_MAX_PROGRAM = 120
_NOT_STATEMENTS = ("#", "input ", "inout ", "param ")


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """One compiled kernel on disk.  ``used``: seconds since the epoch."""

    path: Path
    kind: Kind
    bytes: int
    used: float

    @property
    def name(self) -> str:
        """``axpy.sm_90``: the kernel's name and its architecture."""
        return self.path.stem.rpartition(".")[0] or self.path.stem

    def note(self) -> str:
        """One line with its statements and operands, read from the file."""
        return note_of(self.path)


def entries(folder: Path) -> list[CacheEntry]:
    """The kernels in a cache folder, most recently used first."""
    found = []
    for kind in KERNELS:
        for path in _files(folder, kind):
            if path.name.startswith(SCHEDULER):
                continue
            with suppress(OSError):  # removed meanwhile
                status = path.stat()
                found.append(CacheEntry(path, kind, status.st_size, status.st_mtime))
    return sorted(found, key=lambda k: k.used, reverse=True)


def lowering_bytes(folder: Path) -> int:
    """The size of all lowerings in a cache folder."""
    total = 0
    for path in _files(folder, "lowering"):
        with suppress(OSError):  # removed meanwhile
            total += path.stat().st_size
    return total


def clear(folder: Path) -> int:
    """Remove all kernels and lowerings; the number of kernels removed.

    Running processes keep what they have loaded, and compile again what they miss.
    """
    removed = len(entries(folder))
    for kind in SUFFIX:
        for path in _files(folder, kind):
            with suppress(OSError):  # removed by another process
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()
        sweep(folder / kind)
    return removed


def _files(folder: Path, kind: Kind) -> list[Path]:
    return list((folder / kind).glob(f"*{SUFFIX[kind]}"))


def summary(text: str) -> str:
    """The note for a generated text, from its header: the program's statements and the operands."""
    head = text.partition("\n\n")[0]
    lines = [line[2:].rstrip() for line in head.splitlines() if line.startswith("//")]
    program = [line.strip() for line in lines[2:] if line.startswith("     ")]
    code = "; ".join(line for line in program if line and not line.startswith(_NOT_STATEMENTS))
    operands = [line.partition(":")[2].strip() for line in lines if line.startswith(" Inputs:")]
    return " | ".join([code[:_MAX_PROGRAM], *operands])
