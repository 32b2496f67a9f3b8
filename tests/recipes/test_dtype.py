"""CONTRIBUTING.md's "Add a dtype", followed in a copy of kgen: three files are changed, two helpers are new."""

from __future__ import annotations

from pathlib import Path

from tests.recipes import dtype
from tests.recipes.harness import Copy, files_of


def test_a_dtype_is_a_row_and_its_conversions(tmp_path: Path) -> None:
    """All codes of float8_e3m4 are widened, rounded to in every mode, saturated, added up and passed by value."""
    copy = Copy(tmp_path)
    copy.insert("kgen/dtypes.py", "COMPLEX64 = DType(", dtype.ROW + "\n")
    copy.insert("kgen/__init__.py", "    FLOAT8_E4M3FN as", "    FLOAT8_E3M4 as float8_e3m4,\n")
    copy.insert("kgen/__init__.py", '    "float8_e4m3fn",', '    "float8_e3m4",\n')
    conversions = "kgen/codegen/conversions.py"
    copy.insert(conversions, "from kgen.ir.graph import CastMode\n", "from kgen.dtypes import FLOAT8_E3M4\n")
    copy.insert(conversions, "CONVERSIONS: Mapping[", dtype.CONVERSIONS + "\n")
    copy.insert(conversions, "    FLOAT8_E5M2: _fp8(", dtype.ENTRY + "\n")
    copy.create("templates/device/from_e3m4.cu", dtype.FROM)
    copy.create("templates/device/to_e3m4.cu", dtype.TO)
    assert copy.python("-c", dtype.PROGRAM, str(tmp_path)) == "as NumPy says\n"
    helpers = {"templates/device/from_e3m4.cu", "templates/device/to_e3m4.cu"}
    assert copy.changed() == {"kgen/dtypes.py", "kgen/__init__.py", conversions} | helpers
    assert copy.changed() - helpers <= files_of("Add a dtype")
