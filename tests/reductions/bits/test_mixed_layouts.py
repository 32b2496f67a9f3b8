"""Rows of operands that lie differently in memory: without gaps, with gaps, one row beside the next."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fuzz.arrays import Array

from .test_schedules import assert_exact
from .ways import run_every_way

EXACT = """let z = a > b ? c : a
let m = max(z, axis=-1, keepdims=true)
at = argmax(z, axis=-1)
share = z / m"""

PLAIN = "low = min(a > b ? c : a, axis=-1)"


def laid(shape: tuple[int, ...], layout: str, dtype: str) -> Array:
    """Whole numbers from -4 to 4 and no zeros.  ``layout``: of rows, the last axis."""
    chosen = np.random.default_rng(len(layout))
    *outer, width = shape
    match layout:
        case "dense":
            array = np.empty(shape, dtype)
        case "gaps":
            array = np.empty((*outer, width + 3), dtype)[..., :width]
        case "larger gaps outside":
            array = np.empty((*outer[:-1], outer[-1] + 2, width), dtype)[..., : outer[-1], :]
        case "every other":
            array = np.empty((*outer, 2 * width), dtype)[..., ::2]
        case "across":
            array = np.moveaxis(np.empty((width, *outer), dtype), 0, -1)
        case "columns":
            array = np.moveaxis(np.empty((*outer[:-1], width, outer[-1]), dtype), -2, -1)
        case "reversed":
            array = np.empty(shape[::-1], dtype).T
        case "one a row":
            array = np.empty((*outer, 1), dtype)
        case _:
            raise ValueError(layout)
    array[...] = chosen.choice([-4, -3, -2, -1, 1, 2, 3, 4], array.shape)
    return np.broadcast_to(array, shape)


LAYOUTS = (
    ("dense", "gaps", "across"), ("across", "gaps", "dense"), ("columns", "dense", "larger gaps outside"),
    ("every other", "dense", "one a row"), ("columns", "every other", "gaps"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("layouts", "width"),
    [
        pytest.param(layouts, width, marks=[] if (column - 2 * row) % 5 < 2 else [pytest.mark.whole])
        for row, layouts in enumerate(LAYOUTS)
        for column, width in enumerate([2, 13, 16, 30, 65])
    ],
    ids=str,
)
def test_every_schedule_gives_the_same(width: int, layouts: tuple[str, str, str]) -> None:
    """The outputs of whole rows lie as the first operand does."""
    shape = (3, 37, width)
    arrays = {
        name: laid(shape, layout, dtype)
        for name, layout, dtype in zip("abc", layouts, ("float32", "int8", "float16"), strict=True)
    }
    programs = [(text, arrays) for text in (EXACT, PLAIN)]
    runs = run_every_way(programs, only=("as chosen", "held by 1", "held by 8", "staged", "columns kept, 16"))
    for (text, _), found in zip(programs, runs, strict=True):
        assert_exact(text, arrays, found)


@pytest.mark.parametrize("axes", ["-1", "(-2, -1)"])
@pytest.mark.parametrize("layouts", [("one a row", "dense"), ("every other", "one a row"), ("one a row", "one a row")])
def test_walks_that_load_ahead_give_the_same(layouts: tuple[str, str], axes: str) -> None:
    """Divisions, beside what elements of a row share and at their places; quotients by powers of two are exact."""
    shape, (first, second) = (3, 7, 1500), layouts
    powers = np.exp2(laid(shape, "one a row" if second == "one a row" else "dense", "float32"))
    divisors = np.broadcast_to(powers[..., :1], shape) if second == "one a row" else powers
    arrays = {"a": laid(shape, first, "int8"), "b": divisors}
    text = f"""let z = {{}}
m = max(z, axis={axes}, keepdims=true)
s = sum(z, axis={axes}, keepdims=true)
left = z - m"""
    programs = [(text.format(z), arrays) for z in ("a / b", "a / b + index(-1) % 5 * index(-2)")]
    runs = run_every_way(programs, only=("as chosen", "read again", "one by one", "split", "held by 32"))
    for (program, _), found in zip(programs, runs, strict=True):
        assert any("read again" in run.name for run in found)
        assert_exact(program, arrays, found)


@pytest.mark.parametrize("shape", [(11, 37, 5), (5, 3, 21, 13)], ids=str)
def test_tiles_of_rows_give_the_same(shape: tuple[int, ...]) -> None:
    """Operands are consecutive along different kept dimensions, none of which is a whole number of chunks."""
    layouts = ("columns", "reversed", "columns")
    arrays = {
        name: laid(shape, layout, dtype)
        for name, layout, dtype in zip("abc", layouts, ("float32", "int8", "float16"), strict=True)
    }
    programs = [(text, arrays) for text in (EXACT, PLAIN)]
    runs = run_every_way(programs, only=("as chosen", "in tiles"))
    for (text, _), found in zip(programs, runs, strict=True):
        assert any(run.name.startswith("in tiles") for run in found)
        assert_exact(text, arrays, found)


@pytest.mark.parametrize("shape", [(11, 37, 5), (5, 3, 21, 13), (33, 40, 18)], ids=str)
@pytest.mark.parametrize("text", [PLAIN, "at = argmax(z * z - c, axis=-1)".replace("z", "(a > b ? a : b)")])
def test_boxes_of_columns_give_the_same(text: str, shape: tuple[int, ...]) -> None:
    """Operands are consecutive along different kept dimensions, none of which is a whole number of boxes."""
    layouts = ("columns", "reversed", "dense")
    arrays = {
        name: laid(shape, layout, dtype)
        for name, layout, dtype in zip("abc", layouts, ("float32", "int8", "float16"), strict=True)
    }
    (found,) = run_every_way([(text, arrays)], only=("as chosen", "boxes of columns"))
    assert any(run.name.startswith("boxes of columns") for run in found)
    assert_exact(text, arrays, found)


@pytest.mark.parametrize("shape", [(11, 37, 5), (5, 3, 21, 13), (33, 40, 18), (70, 31)], ids=str)
@pytest.mark.parametrize("layouts", [("columns", "reversed", "dense"), ("columns", "dense", "gaps")], ids=str)
def test_boxes_of_columns_that_threads_keep_give_the_same(
    layouts: tuple[str, str, str], shape: tuple[int, ...]
) -> None:
    """Whole columns, some of them read along a second kept dimension or down columns."""
    arrays = {
        name: laid(shape, layout, dtype)
        for name, layout, dtype in zip("abc", layouts, ("float32", "int8", "float16"), strict=True)
    }
    (found,) = run_every_way([(EXACT, arrays)], only=("as chosen", "boxes of columns kept"))
    assert any(run.name.startswith("boxes of columns kept") for run in found)
    assert_exact(EXACT, arrays, found)
