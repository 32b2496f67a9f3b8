"""CONTRIBUTING.md's "Add a prelude function", followed in a copy of kgen with 1 / (1 + x * x)."""

from __future__ import annotations

import json
from pathlib import Path

from tests.recipes.harness import Copy, files_of


def test_a_prelude_function_is_a_line_of_kgen(tmp_path: Path) -> None:
    """It runs on the CPU target, within an error that mpmath measures, and the tables and documents list it."""
    copy = Copy(tmp_path)
    copy.insert("kgen/prelude.k", "\n# --- arithmetic ---", "def bump(x) = 1 / (1 + x * x)\n")
    copy.insert("kgen/functions.py", "sigmoid expit=sigmoid gelu", "bump ")
    references, ends = "tests/accuracy/references.py", "tests/accuracy/test_ends.py"
    copy.insert(references, '    "relu": Row(', '    "bump": Row(lambda x: 1 / (1 + x * x), _ANY, (1.0,)),\n')
    copy.insert(ends, '    "relu": (NAN, ', '    "bump": (NAN, 0, 0, 1, 1),\n')
    copy.python("-m", "tests.accuracy", "bump", "--count", "60")
    copy.pytest(
        "--bless",
        "tests/test_documents.py::test_function_table_is_current",
        "tests/accuracy/test_accuracy.py::test_every_function_has_a_true_value",
        "tests/accuracy/test_accuracy.py::test_recorded_errors_are_small",
        f"{ends}::test_the_whole_prelude_is_here",
    )
    errors = json.loads((tmp_path / "tests/accuracy/worst.json").read_text(encoding="utf-8"))["cpu"]
    assert 0 < errors["float32"]["bump"][0] < 4
    changed = {"kgen/prelude.k", "kgen/functions.py", references, ends}
    changed |= {"tests/accuracy/worst.json", "docs/functions.md"}
    assert copy.changed() == changed
    assert changed <= files_of("Add a prelude function", name="bump")
