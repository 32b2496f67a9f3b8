"""Files are refused where calls are: for kernels that would write what other threads still read of the same array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kgen import KgenError, jit, pipeline
from kgen.aot import aot_module
from kgen.compile_spec import CompileSpec
from kgen.options import Options

ARRAYS: dict[str, Any] = {"x": np.ones((8, 8), np.float32), "i": np.arange(8)}
REFUSED = (
    "p = flip(p, axis=0)", "p = p[i]", "p = transpose(p, (1, 0))", "p = p - p[0]", "out = flip(p, axis=0); p = p + 1",
    "p[i, :] += p", "p[i] = p[i] + 1", "p[0:4, :] = p[0:4, :] * 2", "p = where(x > 0, p[7 - index(0), index(1)], p)",
)  # fmt: skip
TAKEN = (
    "p = p[::1] * 2", "p = sum(p, axis=0) + x", "p = p - sum(p, axis=1, keepdims=true)", "out = p[i]; p = p + 1",
    "out = p[0]; p = p + x", "let t = p + 0; t[i] += x; p = flip(t, axis=0)",
    "p = concat(p[:, :4] - p[:, 4:], p[:, 4:] + p[:, :4], axis=1)",
)  # fmt: skip


def code(function: Callable[[], object]) -> str:
    try:
        function()
    except KgenError as problem:
        return problem.code
    return ""


@pytest.mark.parametrize("rows", [8, None], ids=["fixed", "open"])
@pytest.mark.parametrize("text", [*REFUSED, *TAKEN])
def test_of_one_array(text: str, rows: int | None) -> None:
    text = f"inout p; {text}"
    kernel = jit(text, device="cpu")
    arrays = {name: ARRAYS.get(name, np.ones((8, 8), np.float32)) for name in kernel.inputs}
    shapes = {name: (rows if name == "p" or rows else None, *a.shape[1:]) for name, a in arrays.items()}
    spec = CompileSpec({name: a.dtype.name for name, a in arrays.items()}, shapes)
    found = code(lambda: aot_module(pipeline.load(text), "program", Options(), spec))
    assert found == code(lambda: kernel(**arrays)) == ("overlap" if text.removeprefix("inout p; ") in REFUSED else "")


def test_parts_of_an_array_are_not_restrict() -> None:
    """Where a kernel reads and writes them by several pointers."""
    text = "inout q; q = concat(q[:, :4] - q[:, 4:], q[:, 4:] + q[:, :4], axis=1)"
    for rows in (512, None):
        module = aot_module(pipeline.load(text), "program", Options(), CompileSpec("f32", {"q": (rows, 8)}))
        kernels = module.text.partition("// --- Host code")[0]
        assert "q_3_ptr" in kernels
        assert "__restrict__ q" not in kernels


def test_an_open_extent_that_follows_from_its_own_parts() -> None:
    text = "inout p; p = concat(p[:4], p[4:], axis=0)"
    made = lambda: aot_module(pipeline.load(text), "program", Options(), CompileSpec("f32", {"p": (None,)}))  # noqa: E731
    assert code(made) == "shape-needed"
