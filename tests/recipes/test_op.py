"""CONTRIBUTING.md's "Add an op", followed in a copy of kgen: a cotangent, and the exact remainder of IEEE 754."""

from __future__ import annotations

from pathlib import Path

from tests.recipes.harness import Copy, files_of

REMAINDER = '''
def remainder(x: Array, y: Array) -> Array:
    """IEEE 754's: of the nearest quotient, and of the even one of two."""
    defined = np.isfinite(x) & (y != 0) & ~np.isnan(y)
    values = [math.remainder(a, b) if ok else math.nan for a, b, ok in zip(x, y, defined, strict=True)]
    return np.array(values, x.dtype)


'''

#: Run with the kgen that has them.
PROGRAM = """
import math
import numpy as np
import kgen
from kgen.dtypes import FLOAT32, FLOAT64
from kgen.ir import evaluator, exact
from tests.codegen.values import corners

k = kgen.jit("a = cot(x); b = ieee_remainder(x, y); c = cot(u); d = ieee_remainder(u, v)", device="cpu")
given = {}
for dtype, names in ((FLOAT32, "xy"), (FLOAT64, "uv")):
    values = corners(dtype)
    given |= zip(names, (np.repeat(values, len(values)), np.tile(values, len(values))))
a, b, c, d = k(**given)
with np.errstate(all="ignore"):
    for found, names in ((a, "x"), (b, "xy"), (c, "u"), (d, "uv")):
        name = "remainder" if len(names) == 2 else "cot"
        expected = evaluator.ROWS[name](None, None, *(given[n] for n in names))
        np.testing.assert_allclose(found, expected, rtol=0 if name == "remainder" else 4 * np.finfo(found.dtype).eps)
        number = ~np.isnan(found)
        np.testing.assert_array_equal(np.signbit(found[number]), np.signbit(expected[number]))
print("as the oracle says")
"""


def test_an_op_is_a_row_of_each_table(tmp_path: Path) -> None:
    """Both run on the CPU target as the oracle says, and the tables and documents list them."""
    copy = Copy(tmp_path)
    copy.insert("kgen/functions.py", "cbrt rcbrt exp2", "cot ")
    copy.insert("kgen/functions.py", "atan2 arctan2=atan2", "ieee_remainder=remainder ")
    copy.remove("kgen/syntax/foreign_functions.py", '    "cot": "write `1 / tan(x)`",\n')
    copy.insert("kgen/ir/ops.py", '    "fdim": ', '    "remainder": OpRow(2, "f"),  # of the nearest quotient\n')
    copy.insert("kgen/ir/ops.py", '    "sinpi": ', '    "cot": _float(1, 5, 3),\n')
    copy.insert("kgen/ir/evaluator.py", '    "fdim": ', '    "remainder": exact.remainder,\n')
    copy.insert("kgen/ir/exact.py", "def fdim(", REMAINDER.lstrip("\n"))
    copy.insert("kgen/ir/special.py", '    "sinpi": ', '    "cot": lambda x: 1 / np.tan(x),\n')
    spelling, references = "kgen/codegen/spelling.py", "tests/accuracy/references.py"
    copy.insert(spelling, "floor ceil trunc", "remainder ")
    copy.insert(
        spelling,
        '    "normcdf": _normal_cdf',
        '    "cot": lambda use: Spelling(infix("/", ONE, ROWS["tan"](use).expr)),\n',
    )
    copy.insert(spelling, "_EXACT: dict", 'ONE = Expr("1", Level.PRIMARY)\n\n')
    copy.insert(references, '    "sinpi": Row(', '    "cot": Row(mp.cot, _ANY, (1.5707963267948966,)),\n')
    copy.python("-m", "tests.accuracy", "cot", "--count", "60")
    copy.pytest(
        "--bless",
        "tests/test_documents.py::test_function_table_is_current",
        "tests/resolve/test_foreign_functions.py::test_no_name_is_a_function_here",
        "tests/ir/test_exact_ops.py::test_one_meaning_per_op",
        "tests/ir/test_functions.py::test_every_function_is_covered",
        "tests/codegen/test_spelling.py::test_one_spelling_per_op",
        "tests/accuracy/test_accuracy.py::test_every_function_has_a_true_value",
        "tests/accuracy/test_accuracy.py::test_recorded_errors_are_small",
    )
    assert copy.python("-c", PROGRAM) == "as the oracle says\n"
    changed = {
        f"kgen/{file}.py"
        for file in ("functions", "ir/ops", "ir/evaluator", "ir/exact", "ir/special", "syntax/foreign_functions")
    }
    changed |= {spelling, references, "tests/accuracy/worst.json", "docs/functions.md"}
    assert copy.changed() == changed
    assert changed <= files_of("Add an op", name="cot")
