"""CONTRIBUTING.md's "Add a dtype", followed in a copy of kgen: three files are changed, two helpers are new."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.recipes import dtype

ROOT = Path(__file__).parents[2]


def insert(path: Path, before: str, text: str) -> None:
    whole = path.read_text(encoding="utf-8")
    assert whole.count(before) == 1, f"{path.name} has {before!r} {whole.count(before)} times"
    path.write_text(whole.replace(before, f"{text}\n{before}"), encoding="utf-8")


def test_a_dtype_is_a_row_and_its_conversions(tmp_path: Path) -> None:
    """All codes of float8_e3m4 are widened, rounded to in every mode, saturated, added up and passed by value."""
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "_data")
    for folder in ("kgen", "templates", "grammar"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    insert(tmp_path / "kgen" / "dtypes.py", "COMPLEX64 = DType(", dtype.ROW)
    public = tmp_path / "kgen" / "__init__.py"
    insert(public, "    FLOAT8_E4M3FN as", "    FLOAT8_E3M4 as float8_e3m4,")
    insert(public, '    "float8_e4m3fn",', '    "float8_e3m4",')
    conversions = tmp_path / "kgen" / "codegen" / "conversions.py"
    insert(conversions, "from kgen.ir.kernel import CastMode\n", "from kgen.dtypes import FLOAT8_E3M4")
    insert(conversions, "CONVERSIONS: Mapping[", dtype.CONVERSIONS)
    insert(conversions, "    FLOAT8_E5M2: _fp8(", dtype.ENTRY)
    device = tmp_path / "templates" / "device"
    (device / "from_e3m4.cu").write_text(dtype.FROM, encoding="utf-8")
    (device / "to_e3m4.cu").write_text(dtype.TO, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", dtype.PROGRAM, str(tmp_path)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "as NumPy says\n"
