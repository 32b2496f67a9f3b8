"""Arrays as indices are NumPy's, on arrays and on expressions; an index beyond the axis reads 0."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject, settings, strategies as st

from kgen.diagnostics import KgenError
from tests.check.test_indexing import EXPRESSIONS, SHAPES, Array, oracle

I64 = np.iinfo(np.int64)
HOSTILE = np.array([0, -1, 4, -5, 5, -6, 2**31, -(2**31), 2**40, I64.max, I64.min], np.int64)


def taken(x: Array, *indices: Array) -> Array:
    """NumPy's ``x[indices]``, and 0 for indices that NumPy refuses."""
    whole = np.broadcast_arrays(*indices)
    places = [np.where(i < 0, i + n, i) for i, n in zip(whole, x.shape, strict=False)]
    inside = np.all([(p >= 0) & (p < n) for p, n in zip(places, x.shape, strict=False)], axis=0)
    found = np.zeros(inside.shape + x.shape[len(places) :], x.dtype)
    found[inside] = x[tuple(p[inside] for p in places)]
    return found


@st.composite
def subscripts(draw: st.DrawFn, shape: tuple[int, ...]) -> str:
    """Slices around one to three arrays side by side; ``i``, ``j`` and ``k`` broadcast to one shape."""
    first = draw(st.integers(0, len(shape) - 1))
    last = draw(st.integers(first + 1, min(first + 3, len(shape))))
    cuts = st.sampled_from([":", "1:", "::2", "::-1", "None, :"])
    whole = [draw(cuts) for _ in range(first)]
    whole += [f"{draw(st.sampled_from('ijk'))} % {n}" for n in shape[first:last]]
    if draw(st.booleans()):
        whole.append(draw(st.sampled_from(["...", "None", "..., None"])))
    return f"[{', '.join(whole)}]"


def compare(data: st.DataObject, shape: tuple[int, ...]) -> None:
    x = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    arrays = {"x": x, "y": np.arange(shape[-1], dtype=np.int64) * 7 - 3}
    arrays |= {"i": np.array([3, 0, 2, 8]), "j": np.array([[1], [5]], np.int32), "k": np.array(4)}
    text, reference = data.draw(st.sampled_from(list(EXPRESSIONS.items())), label="expression")
    want = reference(x, arrays["y"])
    if 0 in want.shape or want.ndim == 0:
        reject()
    for _ in range(data.draw(st.integers(1, 2))):
        index = data.draw(subscripts(want.shape), label="index")
        text, want = text + index, eval(f"want{index}", {"want": want, **arrays})
        if 0 in want.shape or want.ndim == 0:
            break
    try:
        got = oracle(f"input x, y, i, j, k; out = {text}", arrays)
    except KgenError as problem:
        if 0 not in want.shape or problem.code != "not-yet":
            raise
        reject()  # no elements of an axis that no array has
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), shape=SHAPES)
def test_numpy(data: st.DataObject, shape: tuple[int, ...]) -> None:
    """An index of an expression is NumPy's index of its value."""
    if 0 not in shape:
        compare(data, shape)


@pytest.mark.whole
@settings(max_examples=10_000, deadline=None)
@given(data=st.data(), shape=SHAPES)
def test_numpy_at_length(data: st.DataObject, shape: tuple[int, ...]) -> None:
    """The same, with more of them."""
    if 0 not in shape:
        compare(data, shape)


@pytest.mark.parametrize("extent", [5, 1, 0])
def test_outside(extent: int) -> None:
    """A negative index counts from the end, once; beyond the axis it reads 0."""
    x = np.arange(1, 3 * extent + 1, dtype=np.int64).reshape(extent, 3)
    np.testing.assert_array_equal(oracle("out = x[i]", {"x": x, "i": HOSTILE}), taken(x, HOSTILE))
    both = {"x": x, "i": HOSTILE, "j": HOSTILE[::-1, None]}
    np.testing.assert_array_equal(oracle("out = x[i, j]", both), taken(x, both["i"], both["j"]))


def test_one_element() -> None:
    """Axes of one element that `keepdims` and `None` add have it for every index."""
    x, i = np.array([[7]], np.int64), np.array([0, 3, -5])
    got = oracle("out = max(x, axis=-1, keepdims=true)[None, :, i]", {"x": x, "i": i})
    np.testing.assert_array_equal(got, np.full((1, 1, 3), 7))


def test_index_in_an_index() -> None:
    """`index()` refers to the common shape of the indices; without arrays, to the place."""
    x, i = np.arange(40, dtype=np.int64).reshape(5, 8), np.array([[3], [0], [7]])
    np.testing.assert_array_equal(oracle("out = x[index(0), i]", {"x": x, "i": i}), x[np.arange(3)[:, None], i])
    table = np.arange(60, dtype=np.int64).reshape(5, 4, 3)
    got = oracle("out = table[index(1), i % 4]", {"table": table, "i": np.tile(i, 2)})
    np.testing.assert_array_equal(got, table[np.arange(2), np.tile(i, 2) % 4])
    y = np.zeros(10, np.int64)
    np.testing.assert_array_equal(oracle("out = x[1, index(0) // 2] + y", {"x": x, "y": y[:8]}), np.repeat(x[1, :4], 2))
    np.testing.assert_array_equal(
        oracle("out = expand(x[j], axis=1) * expand(x[0], axis=0)", {"x": x, "j": i[:, 0] % 5}),
        x[i[:, 0] % 5][:, None] * x[0],
    )


@pytest.mark.parametrize("index", ["[None, :, i % 1, j % 1]", "[None, :, i % 1, j % 1][i % 1]", "[:, i % 3, None]"])
def test_kept_axes(index: str) -> None:
    """An axis of one element that a reduction keeps has that element for every index."""
    x = np.arange(24).reshape(2, 3, 4)
    arrays = {"x": x, "i": np.array([3, 0, 2, 8]), "j": np.array([[1], [5]], np.int32)}
    want = eval(f"x.max(-1, keepdims=True){index}", arrays)
    np.testing.assert_array_equal(oracle(f"input x, i, j; out = max(x, axis=-1, keepdims=true){index}", arrays), want)


def test_index_of_a_kept_axis_of_gathered_values() -> None:
    """Axes that `expand` adds are found where the extents of indices have become those of another array."""
    x, y, i = np.arange(24).reshape(3, 2, 4), np.arange(18).reshape(6, 3), np.array([1, 0, 1])
    rows, columns = np.arange(24).reshape(3, 2, 4) % 6, np.arange(6).reshape(3, 2, 1) % 3
    text = "out = (x - sum(y[rows, columns], axis=(1, 2), keepdims=true))[:, i][:, 1]"
    want = (x - y[rows, columns].sum((1, 2), keepdims=True))[:, i][:, 1]
    given = {"x": x, "y": y, "rows": rows, "columns": columns, "i": i}
    np.testing.assert_array_equal(oracle(text, given), want)
