"""Host libraries on disk: what damages them, and what keeps them from being kept."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kgen.diagnostics import KgenError
from kgen.runtime import cache, folders
from kgen.runtime.cpu import build, compiler
from kgen.runtime.cpu.module import CpuModule
from kgen.runtime.store import Store, store

from .harness import launch

CODE = """
import sys, numpy, kgen
k = kgen.jit("out = a * 2 + 1", device="cpu")
print(k(numpy.arange(3, dtype="f4")))
"""


RESULT = "[1. 3. 5.]\n"


def store_in(folder: Path) -> Store:
    return Store(folder / "cpu", "cpu")


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with what `use` needs."""
    folder = tmp_path_factory.mktemp("warm")
    use(folder)
    return folder


@pytest.fixture
def folder(warm: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    copied: Path = shutil.copytree(warm, tmp_path / "cache")
    return copied


def use(folder: Path | str, **environ: str) -> tuple[str, str]:
    """A process that calls a kernel: its result, and what it said."""
    environment = {**os.environ, "KGEN_CACHE_DIR": str(folder), **environ}
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def text(number: int) -> str:
    return f'extern "C" __global__ void k(int* out) {{ *out = {number}; }}'


def check(number: int) -> None:
    """A kernel that nobody has compiled before runs."""
    out = np.zeros(1, np.int32)
    launch(CpuModule.load(text(number), ["k"]), "k", out)
    assert out[0] == number


# --- damage -------------------------------------------------------------------------------------------


def _zeroed(data: bytes) -> bytes:
    return data[:1024] + bytes(len(data) - 2048) + data[-1024:]


CONTENTS: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda data: data[: len(data) // 2],
    "zeroed": _zeroed,
    "empty": lambda data: b"",
    "garbage": lambda data: b"garbage" * 1000,
    "32 bits": lambda data: data[:4] + b"\1" + data[5:],
    "of another machine": lambda data: data[:18] + b"\xb7" + data[19:],
    "one bit": lambda data: data[:3000] + bytes([data[3000] ^ 1]) + data[3001:],
}


def _folder(path: Path) -> None:
    path.unlink()
    (path / "in it").mkdir(parents=True)


def _replaced(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.unlink()
        make(path)

    return damage


def _socket(path: Path) -> None:
    before = os.getcwd()
    os.chdir(path.parent)  # the names of sockets are short
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(before)


def _elsewhere(path: Path) -> None:
    moved = path.rename(path.with_suffix(".moved"))
    path.symlink_to(moved)


def _writable(path: Path) -> None:
    path.chmod(0o666)


OTHERS: dict[str, Callable[[Path], object]] = {
    "a folder": _folder,
    "unreadable": lambda path: path.chmod(0),
    "a fifo": _replaced(os.mkfifo),
    "a socket": _replaced(_socket),
    "a link": _elsewhere,
    "a link to nothing": _replaced(lambda path: path.symlink_to("nowhere")),
    "of everybody": _writable,
}


@pytest.mark.filterwarnings("ignore:unclosed")
@pytest.mark.parametrize("damage", [*CONTENTS, *OTHERS])
def test_damage_is_mended(damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever has become of a library on disk is compiled again, and found from then on."""
    recipe = build.recipe(text(1), ["k"], name="damaged.cu")
    made = recipe.build()
    monkeypatch.setattr(build, "compile_library", lambda *_: made.payload)  # takes a second
    if damage in CONTENTS:
        made.path.write_bytes(CONTENTS[damage](made.path.read_bytes()))
    else:
        OTHERS[damage](made.path)
    is_readable = damage == "unreadable" and os.geteuid() == 0
    assert (store("cpu").find(recipe.key) is not None) is is_readable
    again = recipe.build()
    assert again.payload[:4] == b"\x7fELF"
    assert store("cpu").find(recipe.key) == again
    assert again.path.lstat().st_mode == 0o100600 or is_readable


@pytest.mark.parametrize(("which", "damage"), [("kernel", "cut short"), ("scheduler", "zeroed")])
def test_damage_stops_no_program(folder: Path, which: str, damage: str) -> None:
    """Processes that meet a damaged library run, and mend it for those after them."""
    (path,) = [p for p in (folder / "cpu").iterdir() if p.name.startswith(cache.SCHEDULER) == (which == "scheduler")]
    path.write_bytes(CONTENTS[damage](path.read_bytes()))
    assert use(folder) == (RESULT, "")
    assert store_in(folder).find(path.stem) is not None


def test_a_library_of_somebody_else_is_not_loaded(tmp_path: Path, folder: Path) -> None:
    """In a folder that others write to, whatever lies there under the right name is not even looked at."""
    mark = tmp_path / "ran"
    source = f'#include <fcntl.h>\n__attribute__((constructor)) static void go() {{ creat("{mark}", 0600); }}'
    command = ["g++", "-x", "c++", "-shared", "-fPIC", "-", "-o", str(tmp_path / "evil.so")]
    subprocess.run(command, input=source.encode(), check=True)
    evil = (tmp_path / "evil.so").read_bytes()
    for one in (folder / "cpu").glob("*.so"):  # as its attacker would: with a digest that fits
        one.unlink()
        store_in(folder).put(one.stem, evil)
    (folder / "cpu").chmod(0o777)
    result, said = use(folder)
    assert result == RESULT
    assert "other users can write to" in said
    assert not mark.exists()


# --- no cache -----------------------------------------------------------------------------------------


def test_a_file_in_place_of_the_cache(tmp_path: Path) -> None:
    """A note, once, at the user's line; and the result."""
    (tmp_path / "file").write_text("")
    (tmp_path / "program.py").write_text(CODE)
    environ = {**os.environ, "KGEN_CACHE_DIR": str(tmp_path / "file")}
    command = [sys.executable, str(tmp_path / "program.py")]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == RESULT
    assert done.stderr.count("RuntimeWarning: kgen cannot keep compiled kernels in") == 1
    assert "program.py:4: " in done.stderr
    assert "Not a directory" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("options", ["noexec", "ro", "size=8k"])
def test_filesystems(tmp_path: Path, options: str) -> None:
    """A cache that nothing can be run from, written to, or that is full: a note, and the result."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "tmpfs", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this root may not mount")
    try:
        result, said = use(folder)
        assert result == RESULT
        assert said.count("RuntimeWarning: kgen cannot keep compiled kernels in") == 1
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_read_only_cache_with_the_entry(folder: Path) -> None:
    """Is used, silently."""
    bind = ["mount", "--bind", "-o", "ro", str(folder), str(folder)]
    if subprocess.run(bind, check=False, capture_output=True).returncode:
        pytest.skip("this root may not mount")
    try:
        assert use(folder) == (RESULT, "")
    finally:
        subprocess.run(["umount", folder], check=True)


def test_no_room_anywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a temporary folder there is a diagnostic that names TMPDIR."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(KgenError, match="TMPDIR") as caught:
        CpuModule.load(text(3), ["k"])
    assert caught.value.code == "no-cache"


def test_flags_with_a_bad_quote(monkeypatch: pytest.MonkeyPatch) -> None:
    """Are named."""
    monkeypatch.setenv("KGEN_CXXFLAGS", "-DX='1")
    with pytest.raises(KgenError, match="KGEN_CXXFLAGS") as caught:
        CpuModule.load(text(4), ["k"])
    assert caught.value.code == "bad-option"


@pytest.mark.parametrize("name", ["x" * 230, "a/b", "..", "é" * 100, "line\nbreak", ""])
def test_names_of_any_length(name: str) -> None:
    """A file's name is not the entry's."""
    path = build.recipe(text(5), ["k"], name=f"{name}.cu").build().path
    assert path.parent == folders.cache_dir() / "cpu"
    assert len(path.name) < 120
    assert path.name.isascii()


def test_a_compiler_behind_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``KGEN_CXX="ccache g++ -m64"``."""
    wrapper = tmp_path / "ccache"
    wrapper.write_text(f'#!/bin/sh\necho used >> {tmp_path}/log\nexec "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("KGEN_CXX", f"{wrapper} g++ -DNUMBER=7")
    out = np.zeros(1, np.int32)
    launch(CpuModule.load(text(6).replace("= 6", "= NUMBER"), ["k"]), "k", out)
    assert out[0] == 7
    assert (tmp_path / "log").read_text().startswith("used")


# --- others at work -----------------------------------------------------------------------------------


def test_cleared_between_finding_and_loading(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """However often: the last try is in a folder that nobody else knows."""
    monkeypatch.setenv("KGEN_CACHE_DIR", str(tmp_path / "cache"))
    check(9)  # the scheduler is loaded
    real = ctypes.CDLL
    tried: list[str] = []

    def load(name: str) -> ctypes.CDLL:
        tried.append(name)
        cache.clear(folders.cache_dir())
        return real(name)

    monkeypatch.setattr(ctypes, "CDLL", load)
    check(10)
    assert len(tried) == 3
    assert Path(tried[-1]).parent == folders.of_this_process()


def test_cleared_while_compiling(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The compiler works in a folder that is no part of the cache; what it made is kept all the same."""
    monkeypatch.setenv("KGEN_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    real = compiler._run

    def run(command: list[str], folder: Path) -> tuple[int, str]:
        shutil.rmtree(folders.cache_dir())
        return real(command, folder)

    monkeypatch.setattr(compiler, "_run", run)
    check(11)
    assert build.recipe(text(11), ["k"]).build().path.is_file()


_STRESS = """
import os, sys, time, warnings
warnings.simplefilter("error")
import numpy, kgen
end, number = time.time() + float(sys.argv[1]), 0
while time.time() < end:
    k = kgen.jit(f"out = a * {number % 5} + 1", device="cpu")
    assert k(numpy.full(3, 2, "i4")).tolist() == [number % 5 * 2 + 1] * 3
    number += 1
print(number)
"""


def test_compiling_clearing_and_killing(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Some processes compile, one after the other is killed, and the cache is cleared all the while."""
    seconds = request.config.getoption("--stress") or 1
    (tmp_path / "tmp").mkdir()
    environ = {**os.environ, "KGEN_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "tmp")}

    def start(duration: float) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", _STRESS, str(duration)]
        return subprocess.Popen(command, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    workers = [start(seconds) for _ in range(3 if seconds < 10 else 16)]
    killed = 0
    while any(w.poll() is None for w in workers):
        victim = start(60)
        time.sleep(0.4 + 0.05 * (killed % 10))
        cache.clear(tmp_path / "cache")
        victim.kill()
        victim.communicate()
        killed += 1
    for worker in workers:
        said, errors = worker.communicate()
        assert worker.returncode == 0, errors
        assert int(said) > 0
    left = list((tmp_path / "tmp").iterdir())
    assert len(left) <= killed
    for one in left:
        os.utime(one, (time.time() - 1000, time.time() - 1000))
    assert use(tmp_path / "cache", TMPDIR=str(tmp_path / "tmp"))[0] == RESULT
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not [p for p in (tmp_path / "cache" / "cpu").iterdir() if p.suffix != ".so" and p.stat().st_size > 2**20]


# --- interrupted --------------------------------------------------------------------------------------

_SLOW = """
import sys, kgen, numpy
try:
    kgen.jit("out = a + 1", device="cpu")(numpy.ones(3))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_compiler_ends_with_kgen(tmp_path: Path, how: signal.Signals) -> None:
    """And all that it has started."""
    slow = tmp_path / "slow"
    pids = tmp_path / "pids"
    slow.write_text(f"#!/bin/sh\nsleep 987 &\necho $! $$ > {pids}.new\nmv {pids}.new {pids}\nwait\n")
    slow.chmod(0o755)
    environ = {**os.environ, "KGEN_CACHE_DIR": str(tmp_path / "cache"), "KGEN_CXX": str(slow)}
    running = subprocess.Popen([sys.executable, "-c", _SLOW], env=environ, text=True, stdout=subprocess.PIPE)
    wait_for(pids.exists)
    running.send_signal(how)
    said, _ = running.communicate(timeout=60)
    assert said == ("interrupted\n" if how == signal.SIGINT else "")
    for pid in pids.read_text().split():
        wait_for(lambda pid=pid: ended(int(pid)))  # type: ignore[misc]


def wait_for(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


def ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
