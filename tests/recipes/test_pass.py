"""CONTRIBUTING.md's "Add a pass", followed in a copy of kgen: a magnitude does not depend on its argument's sign."""

from __future__ import annotations

from pathlib import Path

from tests.recipes.harness import Copy, files_of

PASS = '''"""The magnitude of a negation is that of its operand, except for unsigned integers: their negation wraps.

%1 = neg %0 : f32[n0]
%2 = abs %1 : f32[n0]    ->    %2 = abs %0 : f32[n0]
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.ir.builder import Builder
from kgen.ir.graph import Graph, Op
from kgen.passes.rewrite import rewrite


def magnitudes(kernel: Graph) -> Graph:
    return rewrite(kernel, _of_negation)


def _of_negation(builder: Builder, op: Op, args: Sequence[Op]) -> int | None:
    if op.name != "abs" or args[0].name != "neg" or not op.dtype.signed:
        return None
    return builder.op("abs", args[0].args, shape=op.shape, span=op.span)
'''

CASE = """# The negation stays where something else reads it.
kernel(x: i32[n0]) -> (a: i32[n0], b: i32[n0])
  %0 = load x : i32[n0]
  %1 = neg %0 : i32[n0]
  %2 = abs %1 : i32[n0]
  store %1, a
  store %2, b
"""
RESULT = """
---> magnitudes

kernel(x: i32[n0]) -> (a: i32[n0], b: i32[n0])
  %0 = load x : i32[n0]
  %1 = neg %0 : i32[n0]
  %2 = abs %0 : i32[n0]
  store %1, a
  store %2, b
"""


def test_a_pass_is_a_rule_and_a_case(tmp_path: Path) -> None:
    """Its case holds bit for bit, and programs go through it."""
    copy = Copy(tmp_path)
    cases = "tests/cases/passes/magnitudes_negation.ir"
    copy.create("kgen/passes/magnitudes.py", PASS)
    copy.insert("kgen/passes/__init__.py", "from kgen.passes.powers", "from kgen.passes.magnitudes import magnitudes\n")
    copy.insert("kgen/passes/__init__.py", ", unread, dce, quotients,", ", magnitudes")
    copy.insert("docs/stages.md", "`cse`, `dce`", "`magnitudes`, ")
    copy.create(cases, CASE)
    tests = "tests/passes/test_goldens.py"
    assert copy.pytest("--bless", tests, "-k", "magnitudes_negation or every_pass") == 2
    assert (tmp_path / cases).read_text(encoding="utf-8") == CASE + RESULT
    shown = copy.python("-m", "kgen", "compile", "-c", "out = abs(-x)", "--after", "magnitudes")
    assert "abs %0" in shown
    changed = {"kgen/passes/magnitudes.py", "kgen/passes/__init__.py", cases, "docs/stages.md"}
    assert copy.changed() == changed
    assert changed <= files_of("Add a pass", name="magnitudes", case="negation")
