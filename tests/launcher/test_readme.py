"""The C++ program of README, and what it says of the file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kgen.cli.compile_ import command
from tests.snapshots.cases import EXAMPLES, ROOT

NVCC = shutil.which("nvcc")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with README's program, and with the file that it includes."""
    (text,) = re.findall(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "main.cu").write_text(text, encoding="utf-8")
    arguments = [str(EXAMPLES / "axpy.k"), "--dtype", "f32", "-o", str(tmp_path / "axpy.cu")]
    command.main(arguments, standalone_mode=False)
    return tmp_path


@pytest.mark.skipif(NVCC is None, reason="no nvcc on this machine")
def test_it_compiles(program: Path) -> None:
    warnings = ["-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror"]
    subprocess.run([str(NVCC), "-c", *warnings, "-o", os.devnull, "main.cu"], check=True, cwd=program, timeout=300)


def test_files_are_small(program: Path) -> None:
    """An axpy with every kernel and the launcher; and for contiguous arrays alone."""
    assert (program / "axpy.cu").stat().st_size < 75_000
    assert (ROOT / "generated" / "axpy.cu").stat().st_size < 30_000
