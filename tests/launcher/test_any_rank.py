"""Files for programs that reduce, without --shape: an array of any rank, whose dimensions that are alike are merged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import pipeline
from kgen.aot import aot_module
from kgen.compile_spec import CompileSpec, Shapes
from kgen.options import Options
from tests.launcher.host import BAD_RANK, BAD_SHAPE, NOT_COVERED, SUCCESS, host, of_numpy

NORM = "out = x * rsqrt(mean(x * x, axis=-1, keepdims=true)) * w"
W: dict[str, tuple[int, ...]] = {"w": (40,)}

#: A program, the shapes of other inputs, and shapes of the one of any rank.
CALLS: dict[str, tuple[str, dict[str, tuple[int, ...]], list[tuple[int, ...]]]] = {
    "rows": (NORM, W, [(40,), (1, 40), (3, 40), (2, 3, 40), (2, 1, 2, 3, 40), (0, 40), (2, 0, 3, 40)]),
    "columns": (
        "out = sum(x, axis=0); top = max(x, axis=0, keepdims=true)",
        {},
        [(7,), (7, 3), (7, 2, 3), (1, 4, 1, 5)],
    ),
    "everything": ("out = sum(x); rest = x - max(x)", {}, [(), (9,), (3, 4), (2, 3, 4, 1, 5)]),
}


def integers(*shape: int) -> np.ndarray[Any, Any]:
    return np.asarray(np.rint(4 * np.random.default_rng(sum(shape)).standard_normal(shape)), np.float32)


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.whole) if n == "columns" else n for n in CALLS])
def test_results(name: str, tmp_path: Path) -> None:
    text, others, shapes = CALLS[name]
    loaded, kernel = host(text, CompileSpec("f32", others), tmp_path, name), kgen.jit(text, device="cpu", fmad=False)
    memory = np.zeros(1 << 20, np.uint8)
    start = memory.ctypes.data + -memory.ctypes.data % 256
    for shape in shapes:
        inputs = [integers(*shape), *(integers(*of) for of in others.values())]
        found = kernel(*inputs)
        wanted = list(found) if isinstance(found, tuple) else [found]
        outs = [np.full_like(w, 7) for w in wanted]
        status = loaded.launch([of_numpy(x) for x in (*inputs, *outs)], (), start, 1 << 19)
        assert status == SUCCESS, (shape, loaded.message(status))
        for out, w in zip(outs, wanted, strict=True):
            np.testing.assert_allclose(out, w, rtol=1e-6, err_msg=str(shape))


SEVERAL = {
    "dots": "out = sum(x * mask, axis=-1)",
    "masked": "let s = x + mask; let e = exp(s - max(s, axis=-1, keepdims=true)); "
    "out = e / sum(e, axis=-1, keepdims=true)",
}

#: The shapes of two arrays of any rank.
PAIRS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((40,), (40,)),
    ((3, 40), (40,)),
    ((1, 1, 40), (2, 3, 40)),
    ((2, 3, 40), (2, 3, 40)),
    ((2, 3, 41), (1, 1, 41)),
    ((2, 3, 41), (2, 3, 41)),
    ((5, 3), (3,)),
    ((2, 1, 7, 6), (2, 1, 7, 6)),
    ((0, 40), (40,)),
]


@pytest.mark.parametrize("name", ["dots", pytest.param("masked", marks=pytest.mark.whole)])
def test_several_arrays(name: str, tmp_path: Path) -> None:
    """Each may have one row for all, or its rows apart."""
    text = SEVERAL[name]
    loaded, kernel = host(text, CompileSpec("f32"), tmp_path, name), kgen.jit(text, device="cpu", fmad=False)

    def check(x: np.ndarray[Any, Any], mask: np.ndarray[Any, Any]) -> None:
        wanted = kernel(x, mask)
        out = np.full_like(wanted, 7)
        memory = np.zeros(1 << 16, np.uint8)
        start = memory.ctypes.data + -memory.ctypes.data % 256
        status = loaded.launch([of_numpy(a) for a in (x, mask, out)], (), start, 1 << 15)
        assert status == SUCCESS, (x.shape, mask.shape, loaded.message(status))
        np.testing.assert_allclose(out, wanted, rtol=1e-6, err_msg=f"{x.shape} {mask.shape}")

    for one, other in PAIRS:
        check(integers(*one), integers(*other))
    check(integers(6, 44)[:, :40], integers(6, 48)[:, 4:44])
    check(integers(6, 43)[:, :41], integers(6, 47)[:, 3:44])


def test_several_arrays_that_do_not_fit(tmp_path: Path) -> None:
    loaded = host(SEVERAL["dots"], CompileSpec("f32"), tmp_path, "dots")
    x, out = integers(2, 3, 40), np.full((2, 3), 7, np.float32)

    def status(mask: np.ndarray[Any, Any]) -> int:
        return loaded.launch([of_numpy(x), of_numpy(mask), of_numpy(out)])

    assert status(integers(3, 40)) == BAD_SHAPE + 256 * 2
    assert status(integers(2, 1, 40)) == BAD_SHAPE + 256 * 2
    assert status(integers(2, 3, 1)) == BAD_SHAPE + 256 * 2
    assert status(integers()) == BAD_RANK + 256 * 2
    assert status(integers(2, 3, 80)[..., ::2]) == NOT_COVERED + 256 * 2
    assert status(integers(2, 3, 41)[..., :40]) == NOT_COVERED
    assert status(integers(4, 3, 40)[::2]) == NOT_COVERED + 256 * 2
    assert (out == 7).all()


def test_arrays_that_do_not_fit(tmp_path: Path) -> None:
    loaded = host(NORM, CompileSpec("f32", W), tmp_path, "norm")
    x, w, out = integers(2, 3, 40), integers(40), np.full((2, 3, 40), 7, np.float32)

    def status(x: np.ndarray[Any, Any], w: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> int:
        return loaded.launch([of_numpy(x), of_numpy(w), of_numpy(out)])

    assert status(x, w, out.reshape(6, 40)) == BAD_SHAPE + 256 * 3
    assert status(x, w, out.reshape(3, 2, 40)) == BAD_SHAPE + 256 * 3
    assert status(x, w.reshape(1, 40), out) == BAD_RANK + 256 * 2
    assert status(integers(), w, out) == BAD_RANK + 256
    assert status(integers(2, 6, 40)[:, :3], w, out) == NOT_COVERED + 256
    assert status(integers(2, 3, 41)[..., :40], w, out) == NOT_COVERED + 256
    assert (out == 7).all()
    assert status(x, w, out) == SUCCESS


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        (NORM + " + x * sum(w, axis=0)", {}),  # along another axis
        ("out = sum(x, axis=-1) + sum(y, axis=0)", {}),  # of different shapes
        ("out = sum(x, keepdims=true)", {}),  # a result of any rank
        ("out = x - sum(x, axis=-1, keepdims=true) * index(-1)", {}),
        ("out = x - sum(x, axis=-1)", {}),  # along another axis
        ("out = x + y", {"y": (3,)}),  # nothing is reduced
        ("out = sum(x * size(x, 0), axis=-1)", {}),
    ],
)
def test_programs_that_need_a_rank(text: str, shapes: Shapes) -> None:
    with pytest.raises(kgen.KgenError, match="shape-needed"):
        aot_module(pipeline.load(text), "program", Options(), CompileSpec("f32", shapes))
