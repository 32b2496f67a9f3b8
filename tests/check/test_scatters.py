"""Updates at any index are NumPy's ``ufunc.at``: what an index reads is what an update writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings, strategies as st

from kgen import KgenError
from tests.check import test_gathers, test_indexing
from tests.check.test_indexing import SHAPES, oracle

UPDATES: dict[str, Any] = {"+": np.add, "min": np.minimum, "max": np.maximum}
VALUES = ("7", "(x * 5 - 60){index}", "(x * 5 - 60){index} * 0 + x{index}")


def compare(data: st.DataObject, shape: tuple[int, ...]) -> None:
    x = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    arrays = {"x": x, "i": np.array([3, 0, 2, 3]), "j": np.array([[1], [5]], np.int32), "k": np.array(4)}
    kinds = st.one_of(test_indexing.subscripts(shape), test_gathers.subscripts(shape))
    index, kind = data.draw(kinds, label="index"), data.draw(st.sampled_from([*UPDATES, ""]), label="update")
    value = data.draw(st.sampled_from(VALUES), label="value").format(index=index)
    want = x * 2
    try:
        at, written = (eval(text, {"x": x, "np": np, **arrays}) for text in (f"np.s_{index}", value))
        x[at]
    except IndexError:
        reject()
    if kind:
        UPDATES[kind].at(want, at, written)
    else:
        value, want[at] = "7", 7
    for text in ("o = x * 2; o{0} {1}= {2}", "let t = x * 2; t{0} {1}= {2}; o = t + 0"):
        try:
            got = oracle(f"input x, i, j, k; {text.format(index, kind, value)}", arrays)
        except KgenError as problem:  # of a temporary with an axis of one element
            if text[0] != "l" or "takes no elements" not in str(problem):
                raise
        else:
            np.testing.assert_array_equal(got, want)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), shape=SHAPES)
def test_numpy(data: st.DataObject, shape: tuple[int, ...]) -> None:
    if 0 not in shape:
        compare(data, shape)


@pytest.mark.whole
@settings(max_examples=10_000, deadline=None)
@given(data=st.data(), shape=SHAPES)
def test_numpy_at_length(data: st.DataObject, shape: tuple[int, ...]) -> None:
    """The same, with more of them."""
    if 0 not in shape:
        compare(data, shape)
