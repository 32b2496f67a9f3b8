"""Views of arrays and expressions have NumPy's elements, whose ``reshape`` splits."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from .test_indexing import EXPRESSIONS, SHAPES, Array, oracle


@st.composite
def views(draw: st.DrawFn, text: str, value: Array) -> tuple[str, Array]:
    """A view of an expression, and its value."""
    axes = list(range(value.ndim))
    match draw(st.sampled_from(["transpose", "flip", "split", "index"])):
        case "transpose":
            order = draw(st.permutations(axes))
            spelled = [a - value.ndim * draw(st.booleans()) for a in order]
            written = f", ({', '.join(map(str, spelled))},)" if order != axes[::-1] or draw(st.booleans()) else ""
            return f"transpose({text}{written})", value.transpose(order)
        case "flip":
            chosen = tuple(draw(st.lists(st.sampled_from(axes), unique=True))) if axes else ()
            return f"flip({text}, axis=({''.join(f'{a}, ' for a in chosen)}))", np.flip(value, chosen)
        case "split" if axes:
            axis = draw(st.sampled_from(axes))
            n = value.shape[axis]
            by = draw(st.sampled_from([k for k in range(1, n + 1) if n % k == 0] or [3]))
            shape = (*value.shape[:axis], n // by, by, *value.shape[axis + 1 :])
            return f"split({text}, axis={axis - value.ndim * draw(st.booleans())}, by={by})", value.reshape(shape)
        case _:
            items = "None, ..., ::-1" if axes else "None"
            return f"{text}[{items}]", value[None, ..., ::-1] if axes else value[None]


@settings(max_examples=60, deadline=None)
@given(data=st.data(), shape=SHAPES)
def test_numpy(data: st.DataObject, shape: tuple[int, ...]) -> None:
    """A view of a view of an expression has NumPy's elements."""
    x = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    y = np.arange(shape[-1], dtype=np.int64) * 7 - 3
    text, reference = data.draw(st.sampled_from(list(EXPRESSIONS.items())), label="expression")
    if min(shape) == 0 and "max" in text:
        return
    value = reference(x, y)
    for _ in range(data.draw(st.integers(1, 3))):
        text, value = data.draw(views(text, value))
    got = oracle(f"input x, y; out = {text}", {"x": x, "y": y})
    assert got.shape == value.shape
    np.testing.assert_array_equal(got, value)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_argmin_of_transposed_results(order: tuple[int, ...]) -> None:
    """What is transposed behind a reduction does not change which of equal elements is the first."""
    x = np.array([3, 1, 2, 1] * 6, dtype=np.int64).reshape(2, 3, 4)
    text = f"out = transpose(argmin(x, keepdims=true), {order})"
    np.testing.assert_array_equal(oracle(text, {"x": x}), [[[1]]])
