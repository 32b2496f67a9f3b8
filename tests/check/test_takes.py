"""``take`` is NumPy's, with its modes."""

from __future__ import annotations

import numpy as np
import pytest

from kgen import KgenError, jit, spec
from tests.check.test_gathers import HOSTILE
from tests.check.test_indexing import oracle

X = np.arange(40, dtype=np.int64).reshape(5, 8)
AT = np.array([[0, -1, 4, 5, 8], [-5, -6, 9, 700, -700]])


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_modes(axis: int) -> None:
    """``clamp`` is NumPy's clip, and ``reflect`` its padding of this name."""
    arrays, n = {"x": X, "i": AT}, X.shape[axis]
    want = {mode: np.take(X, AT, axis, mode=mode) for mode in ("clip", "wrap")}
    np.testing.assert_array_equal(oracle(f'out = take(x, i, axis={axis}, mode="clamp")', arrays), want["clip"])
    np.testing.assert_array_equal(oracle(f"out = take(x, i, axis={axis}, mode='wrap')", arrays), want["wrap"])
    far = np.pad(np.arange(n), (1000, 1000), mode="reflect")
    found = oracle(f'out = take(x, i, axis={axis}, mode="reflect")', arrays)
    np.testing.assert_array_equal(found, np.take(X, far[AT + 1000], axis))
    inside = (-n <= AT) & (n > AT)
    zeros = np.take(X, np.where(inside, AT, 0), axis) * np.expand_dims(inside, 2 if axis in (0, -2) else 0)
    np.testing.assert_array_equal(oracle(f"out = take(x, i, axis={axis})", arrays), zeros)


@pytest.mark.parametrize("axis", [-1, -2, 0, 1])
def test_fill(axis: int) -> None:
    n = X.shape[axis]
    inside = (-n <= AT) & (n > AT)
    kept = np.expand_dims(inside, 2) if axis in (-2, 0) else inside
    want = np.where(kept, np.take(X, np.where(inside, AT, 0), axis), -7)
    got = oracle(f'out = take(x, i, axis={axis}, mode="fill", value=-7)', {"x": X, "i": AT})
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["bool", "i8", "f16", "c64"])
def test_fill_keeps_the_dtype(dtype: str) -> None:
    """Without ``value=``, what is beyond the axis is zero in the dtype of the array."""
    assert str(jit('out = take(x, i, mode="fill")').meta(spec((3,), dtype), spec((4,), "i64"))) == f"{dtype}[4]"


@pytest.mark.parametrize("mode", ["clamp", "wrap", "reflect", "fill"])
@pytest.mark.parametrize("extent", [1, 2, 5])
def test_any_place(mode: str, extent: int) -> None:
    """Any int64 is a place: modes but ``fill`` read an element of the array."""
    x = np.arange(1, extent + 1)
    got = oracle(f'out = take(x, i, axis=-1, mode="{mode}", value=9)', {"x": x, "i": HOSTILE})
    inside = (-extent <= HOSTILE) & (extent > HOSTILE)
    assert np.isin(got, x)[inside | (mode != "fill")].all()
    assert mode != "fill" or (got[~inside] == 9).all()


@pytest.mark.parametrize("axis", [0, -1])
def test_promise(axis: int) -> None:
    """An index that is promised to be within the axis counts from the end if it is negative, and nothing tests it."""
    i = np.array([[0, -1], [3, -4]])
    text = f'out = take(x, i, axis={axis}, mode="promise")'
    np.testing.assert_array_equal(oracle(text, {"x": X, "i": i}), np.take(X, i, axis))
    assert "is_inside(" not in jit(text).source(X, i)
    assert "is_inside(" in jit(text.replace(', mode="promise"', "")).source(X, i)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('out = take(x, i, mode="near")', "bad-keyword"),
        ("out = take(x, i, axis=7)", "bad-axis"),
        ('out = take(x, i, axis=2, mode="fill")', "bad-axis"),
        ("out = take(x, 1.5)", "bad-index"),
        ('out = take(x, i, "clamp")', "string"),
    ],
)
def test_refused(text: str, code: str) -> None:
    with pytest.raises(KgenError) as caught:
        oracle(text, {"x": X, "i": AT})
    assert caught.value.code == code
