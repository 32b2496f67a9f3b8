"""``examples/torch_extension`` and ``examples/jax_ffi``: the commands of their READMEs, and on a GPU their checks."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.library.tools import commands, copied, missing, no_gpu, sh

NEEDS = {"torch_extension": "torch", "jax_ffi": "jax"}


def building(folder: Path) -> list[str]:
    """The commands of a README until the first that needs a GPU."""
    found = commands(folder / "README.md")
    return found[: next(i for i, c in enumerate(found) if c.startswith(("python", "cd /")))]


def unmet(name: str) -> str | None:
    """Why an example cannot be built here."""
    if importlib.util.find_spec(NEEDS[name]) is None:
        return f"{NEEDS[name]} is not installed"
    return missing("nvcc") or None


@pytest.mark.whole
@pytest.mark.parametrize("name", NEEDS)
def test_they_are_built(name: str, tmp_path: Path) -> None:
    """Without what needs torch or JAX with CUDA."""
    if why := unmet(name):
        pytest.skip(why)
    folder = copied(tmp_path) / name
    for command in building(folder):
        sh(command, folder)
    assert list(folder.rglob("axpy.h"))


@pytest.mark.gpu
@pytest.mark.parametrize("name", NEEDS)
def test_they_run(name: str, tmp_path: Path) -> None:
    if why := unmet(name) or no_gpu():
        pytest.skip(why)
    folder = copied(tmp_path) / name
    for command in building(folder):
        sh(command, folder)
    if name == "torch_extension":
        sh("python setup.py build_ext --inplace", folder)
    said = sh("python test_mine.py" if name == "torch_extension" else "python check.py", folder)
    assert said.endswith("ok\n")
