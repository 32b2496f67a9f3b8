"""Every file of ``cases/passes``: IR before a pass, an arrow, and IR after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kgen.compile_spec import CompileSpec
from kgen.ir.evaluator import evaluate
from kgen.ir.graph import Graph
from kgen.ir.printer import print_kernel
from kgen.ir.reader import parse_kernel
from kgen.ir.verifier import check as verify
from kgen.load import load
from kgen.passes import PIPELINE, optimise
from kgen.passes.linear_sums import linear_sums
from kgen.passes.online import online_reductions
from kgen.pipeline import typed_kernel
from tests.cases.headers import files
from tests.check.test_accept import made_up

PASSES = {one.__name__: one for one in PIPELINE} | {"rounds": online_reductions, "linear": linear_sums}
ARROW = "\n---> {}\n\n"  # and the pass


def split(path: Path) -> tuple[str, str, Graph]:
    """The text before, the pass, and the kernel before: a file's name begins with the pass."""
    before = path.read_text(encoding="utf-8").partition("\n--->")[0].rstrip("\n") + "\n"
    return before, path.stem.partition("_")[0], parse_kernel(before)


@pytest.mark.parametrize("path", files("passes", "*.ir"), ids=lambda path: path.stem)
def test_pass(path: Path, bless: Callable[[Path, str], None]) -> None:
    """A pass rewrites this to that, and nothing else; the result is valid and means the same bits."""
    before, name, kernel = split(path)
    verify(kernel)
    after = PASSES[name](kernel)
    verify(after)
    arrays, scalars, shape = made_up(kernel)
    kept = [kernel.scalars.index(scalar) for scalar in after.scalars]
    results = zip(
        evaluate(kernel, arrays, scalars, shape),
        evaluate(after, arrays, [scalars[i] for i in kept], shape),
        strict=True,
    )
    if name in (
        "rounds",
        "linear",
        "reflections",
    ):  # a sum's terms are rounded otherwise; 2 - erfc(x) is within erfc's bound
        assert all(np.allclose(a, b, rtol=1e-6, equal_nan=True) for a, b in results)
    else:
        assert all(a.tobytes() == b.tobytes() for a, b in results)
    bless(path, before + ARROW.format(name) + print_kernel(after))


def test_every_pass_has_cases() -> None:
    """No pass goes without a case."""
    assert {split(path)[1] for path in files("passes", "*.ir")} == set(PASSES)


def test_new_ops_have_the_place_of_what_they_replace() -> None:
    """So comments in generated text, and ``#line``, name the statement that lines come from."""
    text = "input a: i64, b: i64\nlet s = cast<float>(a) ** 3\nout = s * cast<float>(a // b - a % b)\n"
    operands = CompileSpec({}, {"a": (None,), "b": (None,)}).operands(program := load(text))
    kernel = optimise(typed_kernel(program, operands.types, (), None).kernel)
    assert [op.name for op in kernel.ops].count("mul") == 4
    places = {op.name: op.span for op in kernel.ops if op.args}
    assert all(places.values()), [name for name, span in places.items() if span is None]
