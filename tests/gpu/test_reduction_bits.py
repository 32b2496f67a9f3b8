"""Exact reductions on the GPU: the oracle's bits by every schedule, clusters among them, and in every thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.runtime.cuda.driver import probe
from tests.fuzz.test_reductions import expected
from tests.reductions.bits import test_mixed_layouts as mixed
from tests.reductions.bits.test_schedules import NARROW, OF_FLOATS, OF_INTEGERS, PLAIN, SOME, assert_exact, laid
from tests.reductions.bits.test_threads import KINDS, assert_constant, program
from tests.reductions.bits.values import special_rows
from tests.reductions.bits.ways import Run, as_tuple, distinct_ways

from .sanitizer import sized

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("poisoned"),
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]


def arch() -> int:
    torch = pytest.importorskip("torch", reason="asks for the compute capability")
    major, minor = torch.cuda.get_device_capability()
    return 10 * int(major) + int(minor)


def every_way(text: str, arrays: dict[str, Any], *, fmad: bool = False) -> list[Run]:
    """As ``run_every_way``, of NumPy arrays that are copied to the device and back."""
    found: list[Run] = []
    only = sized((), (*SOME, "held by 2 blocks"))
    for way, kernel in distinct_ways(text, arrays, device="cuda", fmad=fmad, arch=arch(), only=only):
        with way.taken():
            found.append(Run(way, kernel, as_tuple(kernel(**arrays))))
    return found


@pytest.mark.parametrize("layout", ["dense", "columns"])
@pytest.mark.parametrize("dtype", sized(["float32", "float64", "bfloat16", "float16"], ["bfloat16"]))
@pytest.mark.parametrize("width", sized([24, 100, 1001, 4096, 40_960], [1001, 40_960]))
def test_exact_work(width: int, dtype: str, layout: str) -> None:
    array, axis = laid(special_rows(dtype, 23, width), layout)
    with np.errstate(all="ignore"):
        for text in (OF_FLOATS, PLAIN, NARROW):
            if dtype == "float64" and text == NARROW:
                continue
            arrays = {"x": array}
            assert_exact(text.format(axis=axis), arrays, every_way(text.format(axis=axis), arrays))


@pytest.mark.parametrize(
    "dtype", sized(["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"], ["int8"])
)
def test_integers(dtype: str) -> None:
    for layout in ("dense", "columns"):
        array, axis = laid(special_rows(dtype, 23, 1001), layout)
        for text in (OF_INTEGERS, PLAIN):
            assert_exact(text.format(axis=axis), {"x": array}, every_way(text.format(axis=axis), {"x": array}))


@pytest.mark.parametrize("shape", [(11, 37, 5), (5, 3, 21, 13), (40, 129, 7)], ids=str)
def test_operands_along_different_dimensions(shape: tuple[int, ...]) -> None:
    """Blocks take tiles of rows, of which the last ones are not whole."""
    layouts = zip("abc", ("columns", "reversed", "columns"), ("float32", "int8", "float16"), strict=True)
    arrays: dict[str, Any] = {name: mixed.laid(shape, layout, dtype) for name, layout, dtype in layouts}
    for text in (mixed.EXACT, mixed.PLAIN):
        ways = distinct_ways(text, arrays, device="cuda", arch=arch(), only=("as chosen", "in tiles"))
        found: list[Run] = []
        for way, kernel in ways:
            with way.taken():
                found.append(Run(way, kernel, as_tuple(kernel(**arrays))))
        assert any(run.name.startswith("in tiles") for run in found)
        assert_exact(text, arrays, found)


@pytest.mark.parametrize("fmad", sized([False, True], [True]))
@pytest.mark.parametrize("layout", ["dense", "columns"])
@pytest.mark.parametrize("width", sized([20, 100, 1000, 1001, 8192, 40_960], [1001]))
def test_threads_agree(width: int, layout: str, fmad: bool) -> None:
    """Written out per element, a row's result is constant, and what is written once."""
    x = np.random.default_rng(width).standard_normal((64, width)).astype(np.float32)
    view, axis = laid(x, layout)
    for kinds in KINDS:
        text = program(kinds, axis)
        want = expected(text, {"x": view})
        for run in every_way(text, {"x": view}, fmad=fmad):
            assert_constant(run)
            for name, one, other in zip(run.kernel.outputs, run.results, want, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3, err_msg=f"{run.name}: {name}")


def test_repros() -> None:
    """What was wrong: zeros that lost their sign, and variances of one row that differed."""
    torch: Any = pytest.importorskip("torch", reason="passes torch's CUDA tensors")
    import kgen

    x = torch.randn(512, 1001, device="cuda")
    x[:, ::3] = -0.0
    share = kgen.jit("out = x / max(abs(x), axis=-1, keepdims=true)")(x)
    assert torch.equal(torch.signbit(share), torch.signbit(x))
    s, a = kgen.jit("let v = var(x, axis=-1, keepdims=true)\ns = v\na = v + 0 * x")(x)
    assert bool((a == s).all())
