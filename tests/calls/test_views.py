"""Calls of programs that index: views have the memory of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kgen

Array = np.ndarray[Any, Any]
HALVES = "let h = size(x, 1) // 2; out = x[:, :h] * 2 - x[:, h:]"


def halves(x: Array) -> Array:
    half = x.shape[1] // 2
    result: Array = x[:, :half] * 2 - x[:, half:]
    return result


def numbers(*shape: int) -> Array:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 8


def test_layouts_and_extents() -> None:
    """Repeated calls, new layouts of a class and new classes, through every path of a call."""
    k = kgen.jit(HALVES, device="cpu")
    for rows in (5, 1, 6, 7, 33):
        for columns in (2, 6, 8, 16, 256):
            whole = numbers(2 * rows, 2 * columns)
            for x in (whole[:rows, :columns], whole[::2, columns:], whole.T[:rows], np.asfortranarray(whole)):
                for _ in range(2):
                    np.testing.assert_array_equal(k(x), halves(x))


def test_a_plan() -> None:
    """A plan reads the views of its own arrays, and of others of the same layout."""
    x, y = numbers(4, 6), numbers(4, 6) * 3
    plan = kgen.jit(HALVES, device="cpu").plan(x)
    np.testing.assert_array_equal(plan(), halves(x))
    x += 1
    np.testing.assert_array_equal(plan(), halves(x))
    np.testing.assert_array_equal(plan(y), halves(y))


def test_extents_of_one() -> None:
    """A view broadcasts where it has one element, for the arrays of this call."""
    k = kgen.jit("out = x[1:] + y", device="cpu")
    for rows in (2, 4, 2, 4):
        x, y = numbers(rows, 3), numbers(3, 3)
        np.testing.assert_array_equal(k(x, y), x[1:] + y)
    with pytest.raises(kgen.KgenError, match="shape-mismatch"):
        k(numbers(3, 3), numbers(3, 3))


def test_out_of_range() -> None:
    """An integer beyond an axis is an error at the call, with its place; nothing is written."""
    k = kgen.jit("out = x[3] + 0", device="cpu")
    out = np.zeros(2, np.float32)
    np.testing.assert_array_equal(k(numbers(5, 2)), numbers(5, 2)[3])
    for _ in range(2):
        with pytest.raises(kgen.KgenError, match="index-out-of-range"):
            k(numbers(3, 2), out=out)
    assert not out.any()


def test_views_of_scalars() -> None:
    """An index of a value whose ops are scalars has the extents of this call, and is checked against them."""
    part = kgen.jit("out = (x ** 0)[1:]", device="cpu")
    for n in (2, 5, 3):
        np.testing.assert_array_equal(part(np.zeros(n, np.complex64)), np.ones(n - 1, np.complex64))
    fourth = kgen.jit("out = (x ** 0)[3]", device="cpu")
    assert fourth(np.zeros(5, np.complex64)) == 1
    with pytest.raises(kgen.KgenError, match="index-out-of-range"):
        fourth(np.zeros(2, np.complex64))


def test_halves_that_differ() -> None:
    """Extents decide whether views fit each other."""
    k = kgen.jit(HALVES, device="cpu")
    np.testing.assert_array_equal(k(numbers(2, 4)), halves(numbers(2, 4)))
    with pytest.raises(kgen.KgenError, match="shape-mismatch"):
        k(numbers(2, 5))


def test_an_update_by_a_view_of_itself() -> None:
    """The error shows the view as the program writes it; nothing is written."""
    x = numbers(3, 2)
    with pytest.raises(kgen.KgenError, match=r"overlap.*by `x\[::-1, :\]`"):
        kgen.jit("inout x; x = x[::-1] + 1", device="cpu")(x)
    np.testing.assert_array_equal(x, numbers(3, 2))


def test_overlap() -> None:
    """An output may be another part of the array that a view is of, but not overlap the view."""
    k = kgen.jit("out = x[:, :2] + 1", device="cpu")
    x = numbers(4, 6)
    want = x[:, :2] + 1
    for _ in range(3):
        np.testing.assert_array_equal(k(x, out=x[:, 2:4]), want)
    with pytest.raises(kgen.KgenError, match="overlap"):
        k(x, out=x[:, 1:3])
    np.testing.assert_array_equal(k(x, out=x[:, :2]), want)  # the view itself


def test_update_in_place() -> None:
    """An argument that is updated cannot be read at other elements."""
    with pytest.raises(kgen.KgenError, match="overlap"):
        kgen.jit("inout x; x = x + x[::-1]", device="cpu")(numbers(4))
    x = numbers(4, 3)
    first = x[0].copy()
    kgen.jit("inout x; input y; x = x + y[0]", device="cpu")(x, x.copy())
    np.testing.assert_array_equal(x, numbers(4, 3) + first)


def test_the_text_names_the_views() -> None:
    """Views are no arguments of the program: the file and ``explain`` say what they are."""
    k = kgen.jit(HALVES, name="halves")
    text = k.source(kgen.spec((4, 6), "f32"))
    assert "// Inputs:  x: float32\n// Views:   x_1 = x[:, :size(x, 1) // 2], x_2 = x[:, size(x, 1) // 2:]\n" in text
    assert "halves_launch(const kgen_array* x_array,\n" in text
    assert "x_1_array" not in text
    assert "x_1  view x[:, :size(x, 1) // 2] float32" in str(k.explain(kgen.spec((4, 6), "f32")))


@pytest.mark.parametrize(
    ("text", "plain", "view"),
    [
        ("out = y[:64] + x[:, :64]", "out = y[:64] + x", lambda x: x[:, :64]),
        ("out = y[:100] + x[::2, 1:101]", "out = y[:100] + x", lambda x: x[::2, 1:101]),
        ("out = y[:256] - x[:, ::-1]", "out = y[:256] - x", lambda x: x[:, ::-1]),
        ("out = y - transpose(x)", "out = y - x", lambda x: x.T),
        ("out = max(split(x, by=32), axis=-1)", "out = max(x, axis=-1)", lambda x: x.reshape(300, 8, 32)),
        ("out = sum(x[:, 3], axis=0) * y", "out = sum(x, axis=0) * y", lambda x: x[:, 3]),
    ],
)
def test_a_view_costs_what_it_costs_at_the_call(text: str, plain: str, view: Callable[[Array], Array]) -> None:
    """The same kernels, which walk the same space, and move the same bytes by the same accesses."""
    x, y = numbers(300, 256), numbers(300)

    def kernels(program: str, of: Array) -> list[tuple[object, ...]]:
        steps = kgen.jit(f"input x, y\n{program}", device="cpu").explain(of, y).steps
        return [(s.kernel, s.spaces, s.bytes, sorted((o.kind, o.access) for o in s.operands)) for s in steps]

    assert kernels(text, x) == kernels(plain, view(x))


def test_a_file_for_any_layout_needs_the_rank() -> None:
    """Which axis an index is for depends on the rank."""
    with pytest.raises(kgen.KgenError, match="a program that indexes needs to know its rank"):
        kgen.jit("out = x[:, 1:]").source()


def test_no_columns() -> None:
    """Sums of no columns have a schedule, too."""
    k = kgen.jit("input x, y; out = sum(x * y, axis=-1)[:0, None]")
    facts = k.explain(kgen.spec((2, 200, 3), "i64", (600, 1, 200)), kgen.spec((3,), "i64"))
    assert [step.kernel for step in facts.steps] == ["columns"]
