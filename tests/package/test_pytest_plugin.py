"""The pytest plugin, in processes of its own as users run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import kgen
from tests.test_architecture import ROOT

SUITE = """
import kgen
import pytest

@pytest.mark.parametrize("name", ["same", "older", "other", "missing"])
def test_it(kgen_snapshot, name):
    kgen_snapshot(kgen.jit("out = a * b", name=name).source(dtypes="f16", layout="contiguous"), f"made/{name}.cu")
"""


def suite(folder: Path, *more: str) -> tuple[set[str], str]:
    """The tests that fail, and the output."""
    plugin = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]["kgen"]
    argv = [sys.executable, "-m", "pytest", "-p", plugin, "-p", "no:cacheprovider", "-rf", *more, "tests"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    said = subprocess.run(argv, cwd=folder, env=environ, capture_output=True, text=True, check=False).stdout
    assert "4 items" in said, said
    return set(re.findall(r"^FAILED .*\[(\w+)\]", said, re.MULTILINE)), said


def test_kgen_snapshot(tmp_path: Path) -> None:
    """It fails where a file is missing or differs but for the version; ``--kgen-bless`` writes it."""
    made = tmp_path / "tests" / "made"
    made.mkdir(parents=True)
    (tmp_path / "tests" / "test_it.py").write_text(SUITE)
    sources = {
        name: kgen.jit("out = a * b", name=name).source(dtypes="f16", layout="contiguous")
        for name in ("same", "older", "other", "missing")
    }
    older = sources["older"].replace("Made by kgen ", "Made by kgen 0.dev", 1)
    (made / "same.cu").write_text(sources["same"])
    (made / "older.cu").write_text(older)
    (made / "other.cu").write_text(sources["other"].replace("a * b", "a - b"))
    failed, said = suite(tmp_path)
    assert failed == {"other", "missing"}
    assert re.search("there is no .*missing.cu; `pytest --kgen-bless` writes it\n", said)
    assert "-//     out = a - b\n+//     out = a * b\n" in said
    assert "pytest_plugin.py" not in said
    assert suite(tmp_path, "--kgen-bless")[0] == set()
    assert {path.stem: path.read_text() for path in made.iterdir()} == sources | {"older": older}
