"""On a terminal: colours, and a spinner for what takes longer than a second."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_architecture import ROOT

RED, GREEN = "\x1b[1;31m", "\x1b[1;32m"
WRONG = ["compile", "-c", "out = foo(a)"]


def on_terminal(folder: Path, argv: list[str], **environ: str) -> str:
    """All that a command prints, standard output and error on one terminal."""
    ours, theirs = pty.openpty()
    inherited = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "kgen", *argv],
        cwd=folder,
        env={**inherited, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **environ},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    found = b""
    try:
        while part := os.read(ours, 4096):
            found += part
    except OSError:  # Linux's way to say that the other end is closed
        pass
    os.close(ours)
    process.wait()
    return found.decode()


def test_colours(tmp_path: Path) -> None:
    """Errors, lints and explanations have them."""
    text = on_terminal(tmp_path, WRONG)
    assert f"{RED}error[unknown-function]:" in text
    assert f"{GREEN}= hint:" in text
    text = on_terminal(tmp_path, ["explain", "-c", "input b; out = a", "--shape", "a=4,b=4"])
    assert "\x1b[1;36mtypes\x1b[0m" in text
    assert "\x1b[1;33mlint[unused-input]:" in text


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colours(tmp_path: Path, environ: dict[str, str]) -> None:
    """Where they are not wanted, or not understood."""
    assert "\x1b[1;3" not in on_terminal(tmp_path, WRONG, **environ)


@pytest.mark.whole  # waits for seconds
def test_a_spinner_after_a_second(tmp_path: Path) -> None:
    """It says what is being done, and goes when that is done; short work and ``--json`` show none."""
    slow = tmp_path / "slow"
    slow.write_text('#!/bin/sh\nsleep 1\nexec "${CXX:-g++}" "$@"\n')
    slow.chmod(0o755)
    argv = ["run", "-c", "out = index(0)", "--shape", "3", "--device", "cpu"]
    cache = {"KGEN_CXX": str(slow), "KGEN_CACHE_DIR": str(tmp_path / "cache")}
    text = on_terminal(tmp_path, argv, **cache)
    assert "compiling and running kernel" in text
    assert text.rindex("\x1b[?25h") < text.index("ran kernel on cpu")  # the cursor is back
    assert "compiling" not in on_terminal(tmp_path, argv, **cache).partition("ran kernel")[0]
    quiet = {**cache, "KGEN_CACHE_DIR": str(tmp_path / "another")}
    assert on_terminal(tmp_path, [*argv, "--json"], **quiet).startswith("{")
