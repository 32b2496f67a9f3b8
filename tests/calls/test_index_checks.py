"""``check_indices=True``: the first index beyond its axis is an error, and no array has changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen import KgenError, jit
from tests.check.test_gathers import HOSTILE
from tests.check.test_indexing import Array

UPDATES = "inout o; let t = x[i] + y[1:][i + 1]; out = t; o[j, k] += 7 if c"


def arrays(**other: Array) -> dict[str, Any]:
    found = {
        "x": np.ones(5), "y": np.ones(4), "o": np.ones((4, 3)), "i": np.array([[0, 1], [-3, 0]]),
        "j": np.array([0, 3, 5]), "k": np.array([[1], [2]], np.int32), "c": np.array([True, True, False]),
    }  # fmt: skip
    return found | other


def problem(text: str, **given: Any) -> str:
    """The message of the error, after which no array is changed."""
    before = {name: np.array(array) for name, array in given.items()}
    with pytest.raises(KgenError) as caught:
        jit(text)(check_indices=True, **given)
    assert all(np.array_equal(before[name], array) for name, array in given.items())
    assert caught.value.code == "index-out-of-range"
    return caught.value.diagnostics[0].message


def test_within() -> None:
    """Where all indices are within their axes, or their updates are skipped, the call is as any."""
    given, other = arrays(), arrays()
    kernel: Any = jit(UPDATES)
    np.testing.assert_array_equal(kernel(check_indices=True, **given), kernel(**other))
    np.testing.assert_array_equal(given["o"], other["o"])
    assert given["o"][3, 1] == 8


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"i": np.array([[0, 1], [2, -3]])}, "the index 3 at (1, 0) is beyond axis 0 of `y[1:]`, which has 3 elements"),
        ({"j": np.array([-4, -5, 9])}, "the index -5 at (1) is beyond axis 0 of `o`, which has 4 elements"),
        ({"c": np.array(True)}, "the index 5 at (2) is beyond axis 0 of `o`, which has 4 elements"),
        ({"k": np.array([[3], [2]])}, "the index 3 at (0, 0) is beyond axis 1 of `o`, which has 3 elements"),
        ({"y": np.ones(1)}, "the index 1 at (0, 0) is beyond axis 0 of `y[1:]`, which has 0 elements"),
    ],
)
def test_beyond(other: dict[str, Array], message: str) -> None:
    assert problem(UPDATES, **arrays(**other)) == message


def test_hostile() -> None:
    """Any int64: the index is shown as it was passed."""
    kernel: Any = jit("out = x[i]")
    for number in map(int, HOSTILE):
        if -5 <= number < 5:
            assert kernel(np.arange(5), np.array([0, 4, number]), check_indices=True)[2] == number % 5
        else:
            message = f"the index {number} at .2. is beyond axis 0 of `x`, which has 5 elements"
            with pytest.raises(KgenError, match=message):
                kernel(np.arange(5), np.array([0, 4, number]), check_indices=True)


def test_unsigned() -> None:
    """A uint64 that no int64 holds is shown as it is, and counts from the start."""
    for number in (2**63, 2**64 - 1, 2**64 - 5, 5):
        index = np.array([0, number], np.uint64)
        assert f"the index {number} at (1) is beyond axis 0 of `x`" in problem("out = x[i]", x=np.ones(5), i=index)
        assert f"the index {number} at (1) is" in problem("inout o; o[i] += 1 if i > 3", o=np.ones(5), i=index)


def test_rows() -> None:
    """The place of an index is that among the indices, not beside the whole axes behind them."""
    x, i = np.ones((5, 4, 3)), np.array([[0, 5], [1, 2]])
    assert "the index 5 at (0, 1) is beyond axis 0" in problem("out = x[i]", x=x, i=i)
    assert "the index 5 at (0, 1) is beyond axis 1" in problem("out = x[:, i]", x=x, i=i)
    assert "the index 5 at (0, 0) is beyond axis 0" in problem("out = x[i]", x=x, i=i[:1, 1:])
    assert "the index 5 at (0, 1) is beyond axis 0" in problem("inout x; x[i] += 1.0", x=x, i=i)


def test_modes() -> None:
    """What ``take`` says of indices beyond an axis is no error; what it promises is."""
    x, i = np.arange(5.0), np.array([7, -8])
    for mode in ("clamp", "wrap", "reflect", "fill"):
        jit(f'out = take(x, i, axis=-1, mode="{mode}")')(x, i, check_indices=True)
    assert "the index 7 at (0)" in problem('out = take(x, i, mode="promise")', x=x, i=i)


def test_of_reductions() -> None:
    """An index that is reduced; and one that a param gives."""
    x = np.array([[1.0, 2, 3], [3, 2, 1]])
    assert "the index 2 at (0)" in problem("let m = argmax(x, axis=-1); out = t[m]", x=x, t=np.ones(2))
    with pytest.raises(KgenError, match="the index -4 is beyond axis 0 of `x`, which has 3 elements"):
        jit("out = x[n]")(np.ones(3), n=-4, check_indices=True)


@pytest.mark.parametrize("text", ["out = x * 2", "out = x[i]", "out = x[index(0)] + x", "outside0 = x[i]"])
def test_nothing_to_check(text: str) -> None:
    """Programs without computed indices, of indices without elements, or of indices that are always within."""
    given = {"x": np.ones(3), "i": np.ones((0, 2), np.int64)}
    kernel: Any = jit(text)
    assert kernel(*(given[name] for name in kernel.inputs), check_indices=True).shape in ((3,), (0, 2), ())


def test_plans() -> None:
    """A plan checks each launch, on its own arrays and on others."""
    x, i = np.arange(5.0), np.array([4, 0])
    plan = jit("out = x[i]", device="cpu").plan(x, i, check_indices=True)
    assert plan().tolist() == [4, 0]
    i[1] = 5
    with pytest.raises(KgenError, match="the index 5"):
        plan()
    assert plan.out.tolist() == [4, 0]
    with pytest.raises(KgenError, match="the index 6"):
        plan(x, np.array([6, 0]))


def test_refused() -> None:
    """A program without arrays has nothing but its shape."""
    with pytest.raises(KgenError) as caught:
        jit("out = index(0)")(shape=(3,), check_indices=True)
    assert caught.value.code == "bad-call"
