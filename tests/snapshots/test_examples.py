"""The examples run as users run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.snapshots.cases import EXAMPLES, ROOT

SCRIPTS = sorted(path for path in EXAMPLES.glob("*.py") if path.stem != "common")


def test_scripts() -> None:
    """Every program has its few lines of Python."""
    assert [path.stem for path in SCRIPTS] == sorted(path.stem for path in EXAMPLES.glob("*.k"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_runs(path: Path) -> None:
    """A script runs without a warning, agrees with NumPy and says so."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-W", "error", str(path)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "as NumPy says" in done.stdout
