"""Views of arrays and expressions have NumPy's elements, whose ``reshape`` splits."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, reject, settings, strategies as st

from kgen.diagnostics import KgenError

from .test_gathers import subscripts
from .test_indexing import EXPRESSIONS, SHAPES, Array, oracle

#: Functions of which some indices and reductions are not supported.
ARRANGED = ("merge", "stack", "concat", "repeat")


@st.composite
def views(draw: st.DrawFn, text: str, value: Array) -> tuple[str, Array]:
    """A view of an expression, and its value."""
    axes = list(range(value.ndim))
    match draw(st.sampled_from(["transpose", "reverse", "flip", "split", "expand", "index"])):
        case "transpose":
            order = draw(st.permutations(axes))
            spelled = "".join(f"{a - value.ndim * draw(st.booleans())}, " for a in order)
            return f"transpose({text}, axes=({spelled}))", value.transpose(order)
        case "reverse":
            return f"transpose({text})", value.T
        case "flip":
            chosen = tuple(draw(st.sets(st.sampled_from(axes or [0])))) if axes else ()
            return f"flip({text}, axis=({''.join(f'{a}, ' for a in chosen)}))", np.flip(value, chosen)
        case "split" if axes:
            axis = draw(st.sampled_from(axes))
            n = value.shape[axis]
            by = draw(st.sampled_from([k for k in range(1, n + 1) if n % k == 0] or [3]))
            shape = (*value.shape[:axis], n // by, by, *value.shape[axis + 1 :])
            return f"split({text}, axis={axis - value.ndim * draw(st.booleans())}, by={by})", value.reshape(shape)
        case "expand" if "index" not in text:  # there, index() has the place around
            axis = draw(st.integers(0, len(axes)))
            return f"expand({text}, axis={axis})", np.expand_dims(value, axis)
        case _:
            return f"{text}[None, ...]", value[None]


@st.composite
def arranged(draw: st.DrawFn, text: str, value: Array) -> tuple[str, Array]:
    """A value that is arranged of an expression, and what it is."""
    axes = list(range(value.ndim))
    match draw(st.sampled_from(ARRANGED)):
        case "merge" if len(axes) > 1:
            first = draw(st.integers(0, len(axes) - 2))
            last = draw(st.integers(first + 1, len(axes) - 1))
            shape = (*value.shape[:first], int(np.prod(value.shape[first : last + 1])), *value.shape[last + 1 :])
            return f"merge({text}, axis=({', '.join(map(str, range(first, last + 1)))}))", value.reshape(shape)
        case "stack":
            axis = draw(st.integers(0, len(axes)))
            return f"stack({text}, -{text}, {text} * 3, axis={axis})", np.stack([value, -value, value * 3], axis)
        case "concat" if axes:
            axis = draw(st.sampled_from(axes))
            index = (slice(None),) * axis + (slice(1, None),)
            part = f"{text}[{':, ' * axis}1:]"
            return f"concat({text}, {part} * 2, axis={axis})", np.concatenate([value, value[index] * 2], axis)
        case "repeat" if axes:
            axis, count = draw(st.sampled_from(axes)), draw(st.integers(1, 3))
            return f"repeat({text}, {count}, axis={axis})", np.repeat(value, count, axis)
        case _:
            return text, value


def compare(data: st.DataObject, shape: tuple[int, ...]) -> None:
    x = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    y = np.arange(shape[-1], dtype=np.int64) * 7 - 3
    text, reference = data.draw(st.sampled_from(list(EXPRESSIONS.items())), label="expression")
    if min(shape) == 0 and "max" in text:
        return
    value = np.asarray(reference(x, y))
    for _ in range(data.draw(st.integers(1, 3))):
        text, value = data.draw(st.one_of(views(text, value), arranged(text, value)))
        value = np.asarray(value)
    if "expand(" in text and "index(" in text:
        return  # index() has the axes of the statement, not those of the argument of expand()
    try:
        got = oracle(f"input x, y; out = {text}", {"x": x, "y": y})
    except KgenError as problem:
        if problem.code != "not-yet" or not any(name in text for name in ARRANGED):
            raise
        return
    assert got.shape == value.shape
    np.testing.assert_array_equal(got, value)


def compare_places(data: st.DataObject, shape: tuple[int, ...]) -> None:
    """Arrays as indices of arranged values, whose results are arranged again."""
    x = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    y = np.arange(shape[-1], dtype=np.int64) * 7 - 3
    arrays = {"x": x, "y": y, "i": np.array([3, 0, 2, 8]), "j": np.array([[1], [5]], np.int32), "k": np.array(4)}
    text, reference = data.draw(st.sampled_from(list(EXPRESSIONS.items())), label="expression")
    value = np.asarray(reference(x, y))
    for _ in range(data.draw(st.integers(1, 2))):
        for _ in range(data.draw(st.integers(1, 2))):
            text, value = data.draw(arranged(text, value))
        if value.ndim == 0 or value.size == 0:
            reject()
        index = data.draw(subscripts(value.shape), label="index")
        text, value = text + index, eval(f"value{index}", {"value": value, **arrays})
    if "expand(" in text and "index(" in text:
        reject()
    try:
        got = oracle(f"input x, y, i, j, k; out = {text}", arrays)
    except KgenError as problem:
        if problem.code != "not-yet":
            raise
        return  # slices
    assert got.shape == value.shape
    np.testing.assert_array_equal(got, value)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), shape=SHAPES)
def test_places(data: st.DataObject, shape: tuple[int, ...]) -> None:
    """An array as the index of an arranged value is NumPy's."""
    if 0 not in shape:
        compare_places(data, shape)


@pytest.mark.whole
@settings(max_examples=10_000, deadline=None)
@given(data=st.data(), shape=SHAPES)
def test_places_at_length(data: st.DataObject, shape: tuple[int, ...]) -> None:
    """The same, with more of them."""
    if 0 not in shape:
        compare_places(data, shape)


@settings(max_examples=100, deadline=None)
@given(data=st.data(), shape=SHAPES)
def test_numpy(data: st.DataObject, shape: tuple[int, ...]) -> None:
    """A view of a view of an expression has NumPy's elements."""
    compare(data, shape)


@pytest.mark.whole
@settings(max_examples=20_000, deadline=None)
@given(data=st.data(), shape=SHAPES)
def test_numpy_at_length(data: st.DataObject, shape: tuple[int, ...]) -> None:
    """The same, with more of them."""
    compare(data, shape)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_argmin_of_transposed_results(order: tuple[int, ...]) -> None:
    """What is transposed behind a reduction does not change which of equal elements is the first."""
    x = np.array([3, 1, 2, 1] * 6, dtype=np.int64).reshape(2, 3, 4)
    text = f"out = transpose(argmin(x, keepdims=true), {order})"
    np.testing.assert_array_equal(oracle(text, {"x": x}), [[[1]]])
