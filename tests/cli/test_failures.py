"""What a command line does when things go wrong: a diagnostic and an exit status, never a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen.diagnostics import error
from tests.cli.conftest import Run
from tests.test_architecture import ROOT

KGEN = [sys.executable, "-m", "kgen"]
LONG = "n" * 230


def shell(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """A command line of ``kgen``, through a shell, in a folder."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    argv = ["bash", "-c", command.replace("kgen", " ".join(KGEN), 1)]
    return subprocess.run(argv, cwd=folder, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "argv",
    [
        ["compile", "-c", "out = a"],
        ["compile", "-c", "out = a", "--shape", "a=4"],
        ["compile", "-c", "out = a", "--emit", "ir"],
        ["explain", "-c", "out = a"],
        ["explain", "-c", "out = a", "--shape", "a=?"],
    ],
    ids=lambda argv: " ".join(argv),
)
@pytest.mark.parametrize("arch", ["banana", "sm_1", "sm_91", "sm_80f", "sm_75a", "90", "", "sm_90\n*/ evil", "SM_90"])
def test_architectures_are_known(run: Run, argv: list[str], arch: str) -> None:
    """One that is not is refused wherever one is taken, with or without anything to compile."""
    status, out, err = run(*argv, "--arch", arch)
    assert (status, out) == (1, "")
    assert "error[unknown-arch]" in err
    assert "one of sm_75, sm_80" in err


@pytest.mark.parametrize("arch", ["sm_75", "sm_89", "sm_90", "sm_90a", "sm_100f", "sm_121", "sm_121a"])
def test_these_architectures_exist(run: Run, arch: str) -> None:
    """And a text for them says so."""
    status, out, _ = run("compile", "-c", "out = a", "--arch", arch)
    assert status == 0
    assert f"--arch {arch}\n" in out


def test_what_is_wrong_with_a_program_comes_first(run: Run) -> None:
    """Editors ask with ``--json`` and nothing else: they see the program's errors, not that ``-o`` is missing."""
    for program, code in (("out = a +", "syntax"), ("input a: c64; out = floor(a)", "no-function")):
        status, out, _ = run("compile", "-", "--json", stdin=program)
        assert status == 1
        assert [e["code"] for e in json.loads(out)["errors"]] == [code]
    assert "-o kernel.cu" in run("compile", "-c", "out = a", "--json")[1]


def test_without_a_compiler_nothing_is_written(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the text nor its header, though both could be."""

    def missing() -> None:
        raise error("no-nvrtc", "NVRTC cannot be loaded", "pip install cuda-bindings")

    monkeypatch.setattr("kgen.runtime.cuda.nvrtc._library", missing)
    monkeypatch.setenv("KGEN_CACHE_DIR", str(tmp_path / "cache"))
    status, out, err = run("compile", "-c", "out = a + 1", "-o", "x.cu", "--emit", "cu,h,cubin", "--arch", "sm_90")
    assert (status, out) == (1, "")
    assert err.startswith("error[no-nvrtc]: NVRTC cannot be loaded\n    = hint: pip install")
    assert not list(tmp_path.glob("x*"))


def test_more_than_memory_holds(run: Run) -> None:
    """A result of 7 TiB is refused."""
    status, _, err = run("run", "-c", "out = index(0)", "--shape", "1000000x1000000", "--device", "cpu")
    assert status == 1
    assert err.startswith("error[out-of-memory]: not enough memory: Unable to allocate 7.28 TiB")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "command",
    [
        "kgen compile -c 'out = a' > /dev/full",
        "kgen explain -c 'out = a' > /dev/full",
        "kgen doctor > /dev/full",
        "kgen --help > /dev/full",
        "kgen run -c 'out = index(0)' --shape 3 --device cpu > /dev/full",
        "kgen run -c 'out = index(0)' --shape 3 --device cpu -o /dev/full",
        "kgen compile -c 'out = a' -o /dev/full",
    ],
)
def test_a_full_disk(tmp_path: Path, command: str) -> None:
    """What cannot be written is said once, without a traceback."""
    done = shell(tmp_path, command)
    assert done.returncode == 1
    assert done.stderr.startswith("error[")
    assert "No space left on device" in done.stderr
    assert done.stderr.count("\n") == 1


def test_closed_streams(tmp_path: Path) -> None:
    """Nobody has to listen, and nothing has to be there to read."""
    assert shell(tmp_path, "kgen compile -c 'out = a' -o a.cu >&- 2>&-").returncode == 0
    assert (tmp_path / "a.cu").exists()
    assert shell(tmp_path, "kgen compile -c 'out = a +' 2> /dev/full").returncode == 1
    assert "standard input is closed" in shell(tmp_path, "kgen compile - <&-").stderr


def test_long_names(run: Run, tmp_path: Path) -> None:
    """A program's file may be called what the system allows; its kernels have the first hundred characters."""
    (tmp_path / f"{LONG}.k").write_text("out = x + 1")
    np.save(tmp_path / "x.npy", np.ones(3, np.float32))
    status, out, _ = run("run", f"{LONG}.k", "--input", "x.npy", "--device", "cpu")
    assert status == 0
    assert out.startswith(f"ran {LONG[:100]} on cpu")
    for more in ([], ["--emit", "cu,ir"]):
        status, _, err = run("compile", f"{LONG}.k", "-o", "n" * 300, *more)
        assert status == 1
        assert "error[unwritable]" in err
    assert "error[bad-name]" in run("compile", f"{LONG}.k", "--name", LONG)[2]


HOSTILE = "\x1b[31mred\x07\x9b\u202e"


@pytest.mark.parametrize(
    "argv",
    [
        ["compile", f"{HOSTILE}.k"],
        ["compile", f"--{HOSTILE}"],
        [HOSTILE],
        ["compile", "-c", f"out = a {HOSTILE}"],
        ["compile", "-c", "out = a", "--emit", HOSTILE],
        ["compile", "-c", "out = a", "--arch", HOSTILE],
        ["compile", "-c", "out = a", "--dtype", HOSTILE],
        ["compile", "-c", "out = a", "--name", HOSTILE],
        ["compile", "-c", "out = a", "-o", f"missing/{HOSTILE}"],
        ["compile", "-c", "out = a", "-o", f"{HOSTILE}.cu"],
        ["explain", "-c", f"out = a # {HOSTILE}"],
        ["run", "-c", "out = a", "--input", f"a={HOSTILE}"],
        ["run", "-c", "out = a", "--input", "a=a.npy", "--device", "cpu", "-o", f"{HOSTILE}.npy"],
        ["run", "-c", "out = a", "--param", f"a={HOSTILE}"],
        ["run", "-c", "out = a", "--device", HOSTILE],
    ],
    ids=lambda argv: repr(argv),
)
def test_control_characters_are_escaped(run: Run, tmp_path: Path, argv: list[str]) -> None:
    """Nothing that a user or a file says reaches the terminal as a command."""
    np.save(tmp_path / "a.npy", np.ones(3, np.float32))
    for more in ([], ["--json"]):
        _, out, err = run(*argv, *more)
        assert out + err
        assert not [c for c in out + err if not c.isprintable() and c != "\n"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals(tmp_path: Path, number: int, status: int) -> None:
    """They end a command at once, without a traceback; nothing is left half-written."""
    compiler = tmp_path / "slow"
    compiler.write_text('#!/bin/sh\ntouch "$STARTED"\nexec sleep 30\n')
    compiler.chmod(0o755)
    out = tmp_path / "out"
    out.mkdir()
    environ = {
        **os.environ, "PYTHONPATH": str(ROOT), "KGEN_CXX": str(compiler), "KGEN_CACHE_DIR": str(tmp_path / "cache"),
        "STARTED": str(tmp_path / "started"),
    }  # fmt: skip
    argv = [*KGEN, "run", "-c", "out = index(0)", "--shape", "3", "--device", "cpu", "-o", "out.npy"]
    process = subprocess.Popen(argv, cwd=out, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        if (tmp_path / "started").exists():
            break
        time.sleep(0.05)
    process.send_signal(number)
    started = time.monotonic()
    printed, said = process.communicate(timeout=25)
    assert time.monotonic() - started < 10
    assert process.returncode == status
    assert (printed, said.strip()) == ("", "")
    assert list(out.iterdir()) == []


def test_a_bug_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only then is there a traceback, and a status of its own."""

    def broken(*args: Any, **named: Any) -> None:
        raise AssertionError("\x1b[2Jof kgen's own")

    monkeypatch.setattr("kgen.cli.request.aot_module", broken)
    status, out, err = run("compile", "-c", "out = a")
    assert (status, out) == (70, "")
    assert "Traceback" in err
    assert "AssertionError: \\x1b[2Jof kgen's own" in err
    assert "error[internal-error]: this is a bug in kgen" in err
    status, out, _ = run("compile", "-c", "out = a", "--json")
    assert status == 70
    assert json.loads(out)["errors"][0]["code"] == "internal-error"
