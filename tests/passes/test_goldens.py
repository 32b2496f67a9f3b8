"""Every file of ``cases/passes``: IR before a pass, an arrow, and IR after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kgen.ir.evaluator import evaluate
from kgen.ir.graph import Graph
from kgen.ir.printer import print_kernel
from kgen.ir.reader import parse_kernel
from kgen.ir.verifier import check as verify
from kgen.passes import PIPELINE
from kgen.passes.linear_sums import linear_sums
from kgen.passes.online import online_reductions
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
