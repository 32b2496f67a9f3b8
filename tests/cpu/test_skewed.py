"""Tiles whose rows begin at sectors of memory, for halves in two orders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import kgen
from kgen import spec
from tests.forced import forced

HALVES = (np.float16, ml_dtypes.bfloat16)
#: Both sides longer than whole tiles and what surrounds them; shorter; and by one element longer than a tile.
SHAPES = ((301, 451), (451, 301), (17, 1201), (1201, 17), (113, 129), (129, 145), (257, 1025))
LARGE = (16383, 16383)
TURNED = (1, 16383)


@pytest.fixture
def tiles() -> Iterator[None]:
    with forced({"elementwise": {"shortest_skewed_side": 1}}, elementwise="skewed"):
        yield


def numbers(count: int, dtype: type, offset: int = 0) -> npt.NDArray[Any]:
    """At an address so many elements behind an aligned one, at most."""
    found = np.random.default_rng(count).standard_normal(count + offset).astype(np.float32)
    return found.astype(dtype)[offset:]


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.usefixtures("tiles")
def test_bits(shape: tuple[int, int], dtype: type) -> None:
    """Operands that begin anywhere give what NumPy does, at edges and elsewhere."""
    height, width = shape
    kernel = kgen.jit("out = a - b", device="cpu")
    for a_offset, b_offset in ((0, 0), (8, 3), (16, 1)):
        a = numbers(height * width, dtype, a_offset).reshape(shape)
        b = numbers(height * width, dtype, b_offset).reshape(width, height).T
        assert kernel.explain(a, b).steps[0].kernel == "skewed_2d"
        assert kernel(a, b).tobytes() == np.ascontiguousarray(a - b).tobytes()


@pytest.mark.usefixtures("tiles")
def test_many_layouts() -> None:
    """Those of one class need no lowering; where rows are aligned, other kernels run."""
    kernel = kgen.jit("out = a - b", device="cpu")
    for height, width in ((301, 451), (303, 453), (304, 456), (1001, 331), (305, 457), (303, 453), (299, 129)):
        a, b = numbers(height * width, np.float16).reshape(height, width), numbers(height * width, np.float16, 5)
        turned = b.reshape(width, height).T
        np.testing.assert_array_equal(kernel(a, turned), a - turned)


@pytest.mark.usefixtures("tiles")
def test_gaps_and_backwards() -> None:
    """Rows with gaps between them, and from the last to the first, and nothing written between."""
    kernel = kgen.jit("out = a - b", device="cpu")
    memory, turned = numbers(600 * 461, np.float16).reshape(600, 461), numbers(471 * 603, np.float16).reshape(471, 603)
    whole = np.zeros_like(memory)
    for b in (turned[5:456, 3:304].T, turned[455:4:-1, 3:304].T):
        a, out = (one[::-1][7:308, :451] for one in (memory, whole))
        assert kernel.explain(a, b, out=out).steps[0].kernel == "skewed_2d"
        kernel(a, b, out=out)
        np.testing.assert_array_equal(out, a - b)
        assert not whole[:, 451:].any()


@pytest.mark.parametrize(
    ("dtypes", "strides", "is_skewed"),
    [
        (("float16", "float16"), ((16383, 1), TURNED), True),
        (("bfloat16", "float16"), ((16383, 1), TURNED), True),
        (("int16", "int16"), ((16383, 1), TURNED), False),
        (("float32", "float32"), ((16383, 1), TURNED), False),
        (("float16", "float16"), ((16383, 1), (1, 16384)), False),  # rows that lie across begin at sectors
        (("float16", "float16"), ((16391, 1), TURNED), False),  # rows of the input and of the output do not begin alike
        (("float16", "float16"), (TURNED, TURNED), False),
    ],
)
def test_what_is_taken(dtypes: tuple[str, str], strides: tuple[tuple[int, int], ...], *, is_skewed: bool) -> None:
    a, b = (spec(LARGE, dtype, s) for dtype, s in zip(dtypes, strides, strict=True))
    kernel = kgen.jit("out: f16 = cast<f16>(a + b)")
    assert kernel.explain(a, b).steps[0].kernel.startswith("skewed_2d") is is_skewed
    assert "funnel_shift" not in kernel.source(a, b)


@pytest.mark.parametrize(
    ("shape", "strides"), [((16383, 1), (1, 1)), (LARGE, (32766, 2)), ((16383,), (1,)), (LARGE, (16383, 1))]
)
def test_no_third_operand(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """One element a row has no place in such text; others have not been measured."""
    a, b, c = spec(LARGE, "float16"), spec(LARGE, "float16", TURNED), spec(shape, "float16", strides)
    assert "skewed" not in kgen.jit("out = a + b + c").source(a, b, c)
    assert "skewed" not in kgen.jit("inout a\na = a + b + c").source(a, b, c)
    assert "skewed_2d" in kgen.jit("out = a + b + c").source(a, b, spec((1, 1), "float16"))


@pytest.mark.parametrize("text", ["out = tanh(a) + exp(b)", "out = a + b + cast<f16>(index(0))"])
def test_not_what_computes_more(text: str) -> None:
    """Registers are for operands in flight; and a thread does not count its rows."""
    a, b = (spec(LARGE, "float16", s) for s in ((16383, 1), TURNED))
    assert not kgen.jit(text).explain(a, b).steps[0].kernel.startswith("skewed")


@pytest.mark.usefixtures("tiles")
def test_two_dimensions_only() -> None:
    a = numbers(3 * 301 * 451, np.float16).reshape(3, 301, 451)
    b = numbers(3 * 301 * 451, np.float16, 5).reshape(3, 451, 301).swapaxes(1, 2)
    np.testing.assert_array_equal(kgen.jit("out = a - b", device="cpu")(a, b), a - b)


def test_large_only() -> None:
    """Tiles at the ends move element by element; and more than 32 bits for offsets take more instructions."""
    for side, is_skewed in ((12287, False), (12289, True), (40001, False)):
        a, b = (spec((side, side), "bfloat16", s) for s in ((side, 1), (1, side)))
        assert kgen.jit("out = a + b").explain(a, b).steps[0].kernel.startswith("skewed_2d") is is_skewed
