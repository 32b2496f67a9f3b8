"""``examples/cpp`` and ``examples/cmake``: the commands of READMEs build them, and on a GPU run them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.library.tools import commands, copied, missing, no_gpu, sh
from tests.snapshots.cases import ROOT

NEEDS = {"cpp": ("g++", "gcc", "rustc"), "cmake": ("cmake", "nvcc")}


@pytest.mark.whole
@pytest.mark.parametrize("name", NEEDS)
def test_they_are_built(name: str, tmp_path: Path) -> None:
    """Without the commands that run them."""
    if why := missing(*NEEDS[name]):
        pytest.skip(why)
    folder = copied(tmp_path) / name
    for command in commands(folder / "README.md"):
        if not command.startswith("build/"):
            sh(command.partition(" && ./")[0], folder)


@pytest.mark.whole
def test_readme(tmp_path: Path) -> None:
    """The first section on libraries; :func:`test_they_are_built` has CMake's commands."""
    if why := missing("g++"):
        pytest.skip(why)
    copied(tmp_path)
    found = [c for c in commands(ROOT / "README.md", "library") if not c.startswith("./main")]
    assert len(found) == 2
    for command in found:
        sh(command.replace(".venv/bin/", ""), tmp_path)


@pytest.mark.gpu
@pytest.mark.parametrize("name", NEEDS)
def test_they_run(name: str, tmp_path: Path) -> None:
    if why := missing(*NEEDS[name]) or no_gpu():
        pytest.skip(why)
    folder = copied(tmp_path) / name
    said = "".join(sh(command, folder) for command in commands(folder / "README.md"))
    assert said.count("0 wrong elements\n") == (3 if name == "cpp" else 0)
