"""Runs the host's compiler, which is killed if kgen ends."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from kgen.diagnostics import KgenError, error
from kgen.runtime import folders
from kgen.runtime.cpu.toolchain import Toolchain

#: Kills its process group, which contains the compiler and its children, when kgen ends: its input then ends without a
#: line.  A handler in kgen would not suffice, because kgen may be killed.
_GUARD = ("/bin/sh", "-c", "read _ || kill -KILL 0")
_MIN_ROOM = 1 << 20


def compile_library(
    chain: Toolchain, flags: Sequence[str], source: str, tail: Sequence[str], needs: tuple[str, bytes] | None
) -> bytes:
    """The shared object of a C++ text, linked with ``needs`` (a file's name and content).

    Built in a temporary folder outside the cache, so that clearing the cache does not interfere.
    """
    with folders.temporary() as folder:
        text, output = folder / "kernel.cpp", folder / "out.so"
        command = [*chain.command, *flags, str(text), "-o", str(output), *tail]
        try:
            text.write_text(source, encoding="utf-8")
            if needs is not None:
                library = folder / needs[0]
                library.write_bytes(needs[1])
                command += ["-x", "none", str(library), "-lm"]  # -x none: zig treats all other inputs as C++
            status, said = _run(command, folder)
            if status == 0 and output.exists():
                return output.read_bytes()
        except OSError as problem:
            raise folders.no_room(problem) from problem
        raise _rejected(command, status, said, folder)


def _run(command: Sequence[str], folder: Path) -> tuple[int, str]:
    try:
        return run_compiler(command, folder)
    except OSError as problem:
        raise error("cpu-compile-failed", f"cannot run {command[0]}: {problem.strerror}") from problem


def run_compiler(command: Sequence[str], folder: Path) -> tuple[int, str]:
    """The exit status, and all that it printed.  ``folder``: for its temporary files."""
    environ = {**os.environ, "TMPDIR": str(folder)}  # for temporary files of compilers that are killed
    with subprocess.Popen(_GUARD, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0) as guard:
        assert guard.stdin is not None
        try:
            running = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                errors="replace", env=environ, process_group=guard.pid,
            )  # fmt: skip
            with running:
                try:
                    said, _ = running.communicate()
                except BaseException:  # Ctrl-C
                    _end(guard)
                    raise
            guard.stdin.write(b"\n")
            return running.returncode, said
        except BaseException:
            _end(guard)
            raise


def _end(guard: subprocess.Popen[bytes]) -> None:
    if guard.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(guard.pid, signal.SIGKILL)


def _rejected(command: Sequence[str], status: int, said: str, folder: Path) -> KgenError:
    room = os.statvfs(folder)
    if room.f_bavail * room.f_frsize < _MIN_ROOM:
        return folders.no_room(OSError(28, "No space left on device"))
    return error(
        "cpu-compile-failed",
        f"the host compiler rejected the text (exit status {status})\n{shlex.join(command)}\n{said}",
    )
