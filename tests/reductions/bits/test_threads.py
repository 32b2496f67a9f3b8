"""All threads that share a row hold the same bits of its results: written out per element, they are constant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.fuzz.arrays import Array
from tests.fuzz.test_reductions import expected

from .device import has_fma
from .test_schedules import SOME, laid
from .ways import Run, run_every_way

#: Kinds whose results go to every element, a program for each row.
KINDS: tuple[tuple[str, ...], ...] = (
    ("sum", "mean", "norm", "max"),
    ("var", "std", "logsumexp"),
    ("var(tanh({x}))", "logsumexp(tanh({x}))", "prod(1 + {x} * 0.01)"),
    ("mean", "sum({x} * {x})", "sum(exp({x} - max({x}, axis={axis}, keepdims=true)))"),
)
COMPLEX: tuple[tuple[str, ...], ...] = (
    ("sum", "mean", "logsumexp"),
    ("prod({x} * 0.9)", "norm", "var"),
)


def program(kinds: Sequence[str], axis: str, *, of_complex: bool = False) -> str:
    """``s0 = v`` once a row, ``a0 = v + 0 * x`` once an element, and so on."""
    lines: list[str] = []
    for number, kind in enumerate(kinds):
        call = kind if "(" in kind else kind + "({x})"
        text = call[:-1].format(x="x", axis=axis)
        lines += [f"let v{number} = {text}, axis={axis}, keepdims=true)"]
    for number in range(len(kinds)):
        zero = "0 * real(x)" if of_complex else "0 * x"
        lines += [f"s{number} = v{number}", f"a{number} = v{number} + {zero}"]
    return "\n".join(lines)


def assert_constant(run: Run) -> None:
    results = dict(zip(run.kernel.outputs, run.results, strict=True))
    for name in (n for n in results if n.startswith("s")):
        once, each = results[name], results["a" + name[1:]]
        differ = np.broadcast_to(once, each.shape) != each
        assert not differ.any(), (
            f"{run.name}: {name} is {np.broadcast_to(once, each.shape)[differ][:4]}, "
            f"elements have {each[differ][:4]} at {np.argwhere(differ)[:4].tolist()}"
        )


def check(array: Array, layout: str, kinds: Sequence[Sequence[str]], only: Sequence[str] = (), **options: bool) -> None:
    """By every way: constant along rows, and close to the oracle."""
    view, axis = laid(array, layout)
    texts = [program(k, axis, of_complex=array.dtype.kind == "c") for k in kinds]
    rough = 1e-4 if array.dtype in (np.float32, np.complex64) else 1e-11
    for text, runs in zip(texts, run_every_way([(t, {"x": view}) for t in texts], only=only, **options), strict=True):
        want = expected(text, {"x": view})
        for run in runs:
            assert_constant(run)
            for name, one, other in zip(run.kernel.outputs, run.results, want, strict=True):
                np.testing.assert_allclose(one, other, rtol=rough, atol=rough, err_msg=f"{run.name}: {name}")


def rows(width: int, kind: str = "float32") -> Array:
    rng = np.random.default_rng(width)
    x = rng.standard_normal((16, width))
    return (x + 1j * rng.standard_normal(x.shape) if kind.startswith("c") else x).astype(kind)


ROWS = [(20, "dense"), (100, "misaligned"), (100, "columns"), (1000, "dense"), (1000, "columns"), (2051, "misaligned")]


@pytest.mark.parametrize(
    ("width", "layout", "half"),
    [
        pytest.param(*where, half, marks=[] if (number, half) in ((1, 1), (3, 1), (4, 0)) else [pytest.mark.whole])
        for number, where in enumerate(ROWS)
        for half in range(2)
    ],
)
def test_floats(width: int, layout: str, half: int) -> None:
    """Of float32, by every schedule; by default, half of the kinds in rows of each layout."""
    check(rows(width), layout, KINDS[half::2])


@pytest.mark.parametrize(
    ("kind", "layout"),
    [
        pytest.param(kind, layout, marks=[pytest.mark.whole] if (row + column) % 2 else [])
        for row, kind in enumerate(("float64", "complex64", "complex128"))
        for column, layout in enumerate(("dense", "columns"))
    ],
)
def test_other_types(kind: str, layout: str) -> None:
    check(rows(200, kind), layout, COMPLEX if kind.startswith("c") else KINDS[:2], SOME)


@pytest.mark.parametrize(
    ("width", "layout", "number"), [(1000, "dense", 0), pytest.param(1001, "misaligned", 1, marks=pytest.mark.whole)]
)
def test_contracted(width: int, layout: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the compiler may contract as it likes, as a GPU's does by default."""
    if not has_fma():
        pytest.skip("a CPU with fma")
    monkeypatch.setenv("KGEN_CXXFLAGS", "-ffp-contract=fast -mfma")
    check(rows(width), layout, [KINDS[number]], fmad=True)
