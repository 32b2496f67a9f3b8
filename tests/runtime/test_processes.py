"""Several processes and one cache folder: racing writers, a vandal, a writer that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kgen.runtime.cache import clear, entries
from kgen.runtime.store import Store, shrink

pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed")

_COMPILE = """
import sys
from kgen.runtime.cuda.compiler import compile_cubin, flags
from kgen.runtime.store import store

for round in range(int(sys.argv[1])):
    for i in range(4):
        text = f'extern "C" __global__ void f(int* p) {{ p[threadIdx.x] = {i}; }}'
        store("cubin")._memory.clear()  # as a process that starts now
        cubin = compile_cubin(text, name=f"f{i}.cu", arch="sm_90", options=flags("sm_90"))
        assert cubin.startswith(b"\\x7fELF"), cubin[:20]
        print(len(cubin), flush=True)
"""


def start(folder: Path, rounds: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "KGEN_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", _COMPILE, str(rounds)]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_many_writers_and_a_vandal(tmp_path: Path) -> None:
    """Eight processes fill one folder while entries are cut short under them; all get whole kernels."""
    writers = [start(tmp_path, 5) for _ in range(8)]
    cut = 0
    while any(w.poll() is None for w in writers):
        for path in list((tmp_path / "cubin").glob("*.cubin")):
            try:
                os.truncate(path, path.stat().st_size // 2)
                cut += 1
            except OSError:
                continue
        time.sleep(0.02)
    for writer in writers:
        _, errors = writer.communicate()
        assert writer.returncode == 0, errors
        assert "Warning" not in errors
    assert cut > 0


def test_killed_while_writing(tmp_path: Path) -> None:
    """kill -9 in the middle of compiling leaves a folder that the next process works with."""
    for delay in (0.0, 0.05, 0.2):
        victim = start(tmp_path, 1000)
        assert victim.stdout is not None
        victim.stdout.readline()  # it compiles
        time.sleep(delay)
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
    after = start(tmp_path, 1)
    _, errors = after.communicate()
    assert after.returncode == 0, errors
    assert len(entries(tmp_path)) == 4


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    """A folder above its cap loses what was not asked for longest, and files that were never finished."""
    store = Store(tmp_path / "cubin")
    for i in range(6):
        store.put(f"k{i}.sm_90.{i}", bytes(1000))
        os.utime(tmp_path / "cubin" / f"k{i}.sm_90.{i}.cubin", (1000 + i, 1000 + i))
    Store(tmp_path / "cubin").get("k0.sm_90.0")  # used just now
    abandoned = tmp_path / "cubin" / ".new-abc"
    abandoned.write_bytes(b"half")
    os.utime(abandoned, (1000, 1000))
    shrink(tmp_path / "cubin", "cubin", 3500)
    assert {k.name for k in entries(tmp_path)} == {"k0.sm_90", "k4.sm_90", "k5.sm_90"}
    assert not abandoned.exists()


def test_clear(tmp_path: Path) -> None:
    """Everything goes; a folder that is not there is empty."""
    store = Store(tmp_path / "cubin")
    store.put("k.sm_90.1", b"x")
    assert clear(tmp_path) == 1
    assert entries(tmp_path) == []
    assert clear(tmp_path / "nowhere") == 0
    store.put("k.sm_90.2", b"x")
    assert len(entries(tmp_path)) == 1
