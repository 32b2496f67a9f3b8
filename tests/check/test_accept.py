"""Every program of ``cases/accept`` types to exactly the IR beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen.ir.evaluator import evaluate
from kgen.ir.graph import Graph
from kgen.ir.printer import print_kernel
from kgen.ir.reader import parse_kernel
from kgen.ir.rounding import numpy_dtype
from kgen.ir.verifier import check as verify
from kgen.ir.views import evaluate as bound_value
from kgen.passes import optimise
from tests.cases.headers import checked, files

Array = np.ndarray[Any, Any]
PROGRAMS = files("accept", "*.k")
EXTENTS = (3, 4, 5, 2, 6, 7)  # of n0, n1, ... where arrays are made up


def kernel_of(path: Path) -> Graph:
    return checked(path.read_text(encoding="utf-8"), path.name).kernel


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_ir(path: Path, bless: Callable[[Path, str], None]) -> None:
    """The typed IR, before any pass, and the lints; it is valid and reads back as itself."""
    result = checked(path.read_text(encoding="utf-8"), path.name)
    verify(result.kernel)
    text = print_kernel(result.kernel)
    assert parse_kernel(text) == result.kernel
    lints = "".join(f"\n{lint.render()}\n" for lint in result.lints)
    bless(path.with_suffix(".ir"), text + lints)


def test_no_orphans() -> None:
    """Each IR text belongs to a program."""
    assert [path.stem for path in PROGRAMS] == [path.stem for path in files("accept", "*.ir")]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_passes_keep_every_bit(path: Path) -> None:
    """The optimised kernel is valid and evaluates to the same bits."""
    kernel = kernel_of(path)
    better = optimise(kernel)
    verify(better)
    arrays, scalars, shape = made_up(kernel)
    kept = [kernel.scalars.index(scalar) for scalar in better.scalars]
    before = evaluate(kernel, arrays, scalars, shape)
    after = evaluate(better, arrays, [scalars[i] for i in kept], shape)
    for a, b in zip(before, after, strict=True):
        assert a.tobytes() == b.tobytes()


def made_up(kernel: Graph) -> tuple[list[Array | None], list[object], tuple[int, ...] | None]:
    """Arguments of a kernel: small integers, so that every dtype holds them."""
    rng = np.random.default_rng(0)
    extent = {f"n{i}": n for i, n in enumerate(EXTENTS)}
    for dim, bound in kernel.derived:
        extent[dim] = bound_value(bound, extent)

    def values(dtype: Any, shape: tuple[int, ...]) -> Array:
        numbers = rng.integers(0 if not dtype.signed else -5, 6, shape)
        return np.asarray(numbers).astype(numpy_dtype(dtype))

    def concrete(shape: Any) -> tuple[int, ...]:
        return tuple(1 if dim == 1 else extent[dim] for dim in shape)

    arrays = [None if o.role == "output" or o.view else values(o.dtype, concrete(o.shape)) for o in kernel.operands]
    scalars: list[object] = [values(s.dtype, ()) for s in kernel.scalars]
    alone = all(array is None for array in arrays)
    return arrays, scalars, concrete(kernel.operands[-1].shape) if alone else None


def run(name: str, *arrays: Array) -> list[Array]:
    kernel = optimise(kernel_of(next(path for path in PROGRAMS if path.stem == name)))
    missing = [None] * (len(kernel.operands) - len(arrays))
    return evaluate(kernel, [*arrays, *missing])


def test_softmax() -> None:
    """The three lines of softmax are softmax."""
    from scipy.special import softmax

    x = (np.random.default_rng(0).normal(size=(5, 33)) * 10).astype(np.float32)
    (out,) = run("softmax", x)
    np.testing.assert_allclose(out, softmax(x.astype(np.float64), axis=-1), rtol=5e-6)


def test_centred() -> None:
    """``a - mean(a, axis=0)`` is NumPy's."""
    a = np.arange(12, dtype=np.float32).reshape(4, 3)
    (out,) = run("centred", a)
    np.testing.assert_array_equal(out, a - a.mean(axis=0))
