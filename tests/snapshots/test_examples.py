"""The examples run as users run them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.snapshots.cases import EXAMPLES, ROOT

SCRIPTS = sorted(path for path in EXAMPLES.glob("*.py") if path.stem != "common")


def test_scripts() -> None:
    """Every program has its few lines of Python."""
    assert [path.stem for path in SCRIPTS] == sorted(path.stem for path in EXAMPLES.glob("*.k"))


@pytest.fixture(scope="module")
def ran() -> dict[str, tuple[int, str]]:
    """The exit status and the output of each."""
    command = [sys.executable, "-W", "error", "-m", "tests.snapshots.scripts", *map(str, SCRIPTS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, tuple[int, str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_runs(path: Path, ran: dict[str, tuple[int, str]]) -> None:
    """A script runs without a warning, agrees with NumPy and says so."""
    status, output = ran[str(path)]
    assert status == 0, output
    assert "as NumPy says" in output
