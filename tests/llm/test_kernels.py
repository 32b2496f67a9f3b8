"""Each program of ``examples/llm`` is one kernel, and gives what NumPy does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from tests.fuzz.test_reductions import as_tuple, reference

from .cases import CASES, Draw
from .references import Array

FOLDER = Path(__file__).parents[2] / "examples" / "llm"

#: Relative and absolute errors of one rounding to a dtype, and a little more.
ROUNDING = {
    "float32": (2e-6, 1e-6),
    "float16": (2**-10, 1e-6),
    "bfloat16": (2**-7, 1e-6),
    "float8_e4m3fn": (2**-4 + 1e-4, 2**-9),
    "int8": (1e-5, 0.51),
    "int32": (0, 0.51),
    "uint8": (0, 0),
}
ENDS = {"float8_e4m3fn": (-448, 448), "int8": (-128, 127)}


def given(name: str) -> dict[str, Any]:
    draw = Draw()
    return {argument: make(draw) for argument, make in CASES[name][0].items()}


def assert_right(name: str, got: dict[str, Array]) -> None:
    """``got``: outputs and updated arguments."""
    arguments = {n: a.astype(float) if isinstance(a, np.ndarray) else a for n, a in given(name).items()}
    wanted = as_tuple(CASES[name][1](**arguments))
    assert len(wanted) == len(got)
    for (output, found), want in zip(got.items(), wanted, strict=True):
        assert found.shape == want.shape, output
        assert output != "out" or found.dtype.itemsize <= 2, "scales in float32 make no results in float32"
        limits = (
            (-448, 448) if found.dtype == "float8_e4m3fn" else (-128, 127) if found.dtype == "int8" else (None, None)
        )
        relative, absolute = ROUNDING[str(found.dtype)]
        inside = want if limits[0] is None else np.clip(want, *limits)
        np.testing.assert_allclose(found.astype(float), inside, relative, absolute, err_msg=f"{name}: {output}")


def run(name: str, device: str) -> dict[str, Array]:
    """Outputs, then updated arguments."""
    kernel: Any = kgen.jit(path=FOLDER / f"{name}.k", device=device)
    arrays = given(name)
    results = as_tuple(kernel(**arrays))
    updated = {a.name: arrays[a.name] for a in kernel.program.arguments if a.role == "inout"}
    return dict(zip(kernel.outputs, results, strict=True)) | updated


def test_all() -> None:
    """Every program has its reference."""
    assert sorted(CASES) == sorted(path.stem for path in FOLDER.glob("*.k"))


@pytest.mark.parametrize("name", CASES)
def test_one_kernel(name: str) -> None:
    """``explain`` names one kernel, for arrays of the sizes that models have as well."""
    kernel: Any = kgen.jit(path=FOLDER / f"{name}.k")
    arrays = given(name)
    large = {
        n: kgen.spec((4096, *a.shape[1:]), str(a.dtype)) if np.shape(a)[:1] == (5,) else a for n, a in arrays.items()
    }
    for arguments in (arrays, large):
        assert len(kernel.explain(**arguments).to_dict()["kernels"]) == 1


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    """The evaluator's results are NumPy's."""
    kernel = kgen.jit(path=FOLDER / f"{name}.k")
    found = reference(kernel.program.source.text, given(name))
    updated = {n: found[n] for n in found if n not in kernel.outputs}
    assert_right(name, {n: found[n] for n in kernel.outputs} | updated)


@pytest.mark.whole
@pytest.mark.parametrize("name", CASES)
def test_cpu(name: str) -> None:
    """The CPU target's results are NumPy's."""
    assert_right(name, run(name, "cpu"))
