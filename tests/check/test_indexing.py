"""Slices, integers, ``None`` and ``...`` are NumPy's, on arrays and on expressions."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings, strategies as st

from kgen import pipeline
from kgen.argument_types import ArrayArg
from kgen.check import check
from kgen.diagnostics import KgenError
from kgen.dtypes import INT32, INT64
from kgen.ir.evaluator import evaluate
from kgen.ir.verifier import check as verify
from kgen.passes import optimise

Array = np.ndarray[Any, Any]

#: Expressions of ``x`` and ``y`` (a row of it) of int64, and the same in NumPy.
EXPRESSIONS = {
    "x": lambda x, y: x,
    "(x * y + 1)": lambda x, y: x * y + 1,
    "(x - y)[..., None]": lambda x, y: (x - y)[..., None],
    "expand(x, axis=0)": lambda x, y: x[None],
    "sum(x, axis=0)": lambda x, y: x.sum(0),
    "max(x, axis=-1, keepdims=true)": lambda x, y: x.max(-1, keepdims=True),
    "expand(sum(x * y, axis=-1), axis=-1)": lambda x, y: (x * y).sum(-1)[..., None],
    "(x ** 0)": lambda x, y: x**0,
    "(x * 10 + index(-1))": lambda x, y: x * 10 + np.arange(x.shape[-1]),
    "(index(0) - y * size(x, 0))": lambda x, y: np.arange(x.shape[-1]) - y * x.shape[0],
}


@st.composite
def subscripts(draw: st.DrawFn, shape: tuple[int, ...]) -> str:
    """An index that NumPy accepts for this shape, or nearly."""
    bound = st.one_of(st.just(""), st.integers(-9, 9).map(str))
    step = st.sampled_from(["", ":", ":1", ":2", ":-1", ":-3"])
    items: list[str] = []
    for extent in shape[: draw(st.integers(0, len(shape)))]:
        if extent and draw(st.integers(0, 2)) == 0:
            items.append(str(draw(st.integers(-extent, extent - 1))))
        else:
            items.append(f"{draw(bound)}:{draw(bound)}{draw(step)}")
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), "None")
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), "...")
    return f"[{', '.join(items)}]" if items else "[...]"


def oracle(text: str, arrays: dict[str, Array]) -> Array:
    """The value of the program's one output, by the evaluator, on the IR before and after the passes."""
    program = pipeline.load(text)
    dtypes = {np.dtype(np.int64): INT64, np.dtype(np.int32): INT32}
    used = [a.name for a in program.arguments]
    kernel = check(program, {n: ArrayArg(dtypes[arrays[n].dtype], arrays[n].shape) for n in used}).kernel
    verify(kernel)
    found: list[Array] = []
    for one in (kernel, optimise(kernel)):
        given_arrays = [arrays[o.name] if o.role == "input" and not o.view else None for o in one.operands]
        found.append(evaluate(one, given_arrays)[0])
    np.testing.assert_array_equal(found[0], found[1])
    return found[0]


def compare(data: st.DataObject, shape: tuple[int, ...]) -> None:
    x = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    y = np.arange(shape[-1], dtype=np.int64) * 7 - 3
    text, reference = data.draw(st.sampled_from(list(EXPRESSIONS.items())), label="expression")
    if min(shape) == 0 and "max" in text:
        return
    want = reference(x, y)
    for _ in range(data.draw(st.integers(1, 2))):
        index = data.draw(subscripts(want.shape), label="index")
        text += index
        try:
            want = eval(f"want{index}", {"want": want})
        except IndexError:  # `...` moved an integer to an axis without elements
            reject()
    if 0 in want.shape:
        with suppress(KgenError):  # no elements of an axis that no array has
            np.testing.assert_array_equal(oracle(f"input x, y; out = {text}", {"x": x, "y": y}), want)
        return
    got = oracle(f"input x, y; out = {text}", {"x": x, "y": y})
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)


SHAPES = st.lists(st.integers(0, 7), min_size=1, max_size=3).map(tuple)


@settings(max_examples=80, deadline=None)
@given(data=st.data(), shape=SHAPES)
def test_numpy(data: st.DataObject, shape: tuple[int, ...]) -> None:
    """An index of an expression is NumPy's index of its value."""
    compare(data, shape)


@pytest.mark.whole
@settings(max_examples=20_000, deadline=None)
@given(data=st.data(), shape=SHAPES)
def test_numpy_at_length(data: st.DataObject, shape: tuple[int, ...]) -> None:
    """The same, with more of them."""
    compare(data, shape)


@pytest.mark.parametrize("columns", [2, 10, 12])
def test_computed_bounds(columns: int) -> None:
    """Bounds may be computed from extents, also in lets and defs."""
    x = np.arange(5 * columns, dtype=np.int64).reshape(5, columns)
    half = columns // 2
    text = "let h = size(x, -1) // 2\ndef halves(v, k) = v[..., :k] - v[..., k:]\nout = halves(x, h) + size(x, 1)"
    np.testing.assert_array_equal(oracle(text, {"x": x}), x[:, :half] - x[:, half:] + columns)
    np.testing.assert_array_equal(oracle("out = x[size(x, 0) - 2, 1 - size(x, 1):]", {"x": x}), x[3, 1 - columns :])


def test_equal_views_are_one_operand() -> None:
    """A view that a program names twice is read once."""
    program = pipeline.load("let a = x[1:, :4]; out = a * x[1:, :4] + x[1:][:, :4]")
    kernel = optimise(check(program, {"x": ArrayArg(INT64, (5, 9))}).kernel)
    views = [o for o in kernel.operands if o.view is not None]
    assert len([op for op in kernel.ops if op.name == "load"]) == 2  # x[1:][:, :4] is a view of a view
    assert len(views) == 3


def test_extents_of_the_call() -> None:
    """An axis whose extent only ``shape=`` gives is not cut."""
    with pytest.raises(KgenError, match="a part of an axis that no array has") as caught:
        check(pipeline.load("a = 2.0; out = a[1:]"), {}, shape=(5,))
    assert caught.value.code == "not-yet"
