"""The examples run as users run them."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.snapshots.cases import EXAMPLES, ROOT

SCRIPTS = sorted(path for path in EXAMPLES.glob("*.py") if path.stem != "common")


def test_scripts() -> None:
    """Every program has its few lines of Python."""
    assert [path.stem for path in SCRIPTS] == sorted(path.stem for path in EXAMPLES.glob("*.k"))


def test_all_run() -> None:
    """Each runs without a warning, agrees with NumPy and says so.  One test, because they share a process."""
    command = [sys.executable, "-W", "error", "-m", "tests.snapshots.scripts", *map(str, SCRIPTS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ran: dict[str, tuple[int, str]] = json.loads(done.stdout)
    assert len(ran) == len(SCRIPTS)
    bad = {path: output for path, (status, output) in ran.items() if status != 0 or "as NumPy says" not in output}
    assert not bad, "\n".join(f"{path}:\n{output}" for path, output in bad.items())
