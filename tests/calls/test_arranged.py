"""Calls of programs that split, merge, stack and concatenate: outputs are stored to views of one array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kgen

Array = np.ndarray[Any, Any]


def some(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def pairs(x: Array) -> Array:
    return np.stack([x, -x], -1).reshape(x.shape[0], -1)


#: Programs, their results in NumPy, and the shapes of arguments of several calls.
PROGRAMS: dict[str, tuple[str, Callable[..., Array], list[tuple[tuple[int, ...], ...]]]] = {
    "pairs": (
        "out = merge(stack(x, -x, axis=-1))",
        pairs,
        [((2, n),) for n in (12, 12, 12, 3, 5, 7, 16, 33, 1, 0)],
    ),
    "concat": (
        "out = concat(x, y, axis=1)",
        lambda x, y: np.concatenate([x, y], 1),
        [((2, m), (2, n)) for m, n in ((12, 4), (12, 4), (5, 1), (1, 1), (1, 7), (0, 3), (0, 1), (0, 0), (3, 3))],
    ),
    "halves": (
        "let h = size(x, 1) // 2; out = concat(-x[:, h:], x[:, :h], axis=1) * concat(y[:, :h], y[:, h:], axis=1)",
        lambda x, y: np.concatenate([-x[:, (h := x.shape[1] // 2) :], x[:, :h]], 1) * y,
        [((2, n), (2, n)) for n in (8, 2, 64)],
    ),
    "merge": (
        "out = merge(x) + y",
        lambda x, y: x.reshape(len(x), x.shape[1] * x.shape[2]) + y,
        [(s, (s[1] * s[2],)) for s in ((2, 3, 4), (2, 1, 4), (2, 3, 1), (0, 3, 4), (2, 0, 4), (2, 3, 0), (1, 1, 1))],
    ),
    "split": (
        "let g = split(transpose(x), axis=0, by=4); out = g / expand(max(abs(g), axis=1), axis=1)",
        lambda x: (g := x.T.reshape(-1, 4, len(x))) / np.abs(g).max(1, keepdims=True),
        [((3, 8),), ((5, 12),), ((1, 4),), ((64, 64),)],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results(name: str) -> None:
    """Every layout, also where a call is repeated, with ``out=``, and as a plan."""
    text, reference, calls = PROGRAMS[name]
    kernel = kgen.jit(text, device="cpu")
    for shapes in calls:
        arrays = [some(*shape) for shape in shapes]
        wanted = reference(*arrays)
        for _ in range(3):
            np.testing.assert_array_equal(kernel(*arrays), wanted)
        stepped = np.full((*wanted.shape, 2), 7.0)
        out = stepped[..., 0]
        assert kernel(*arrays, out=out) is out
        np.testing.assert_array_equal(out, wanted)
        assert (stepped[..., 1] == 7).all()
    plan = kernel.plan(*arrays)
    np.testing.assert_array_equal(plan(), wanted)


def test_updates_in_place() -> None:
    """Parts of an argument are updated from the same parts."""
    kernel = kgen.jit("inout x; x = concat(x[:, :6] + 1, x[:, 6:] * 2, axis=1)", device="cpu")
    x = some(5, 12)
    wanted = np.concatenate([x[:, :6] + 1, x[:, 6:] * 2], 1)
    kernel(x)
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize(
    ("text", "shapes", "code"),
    [
        ("out = split(x, by=4)", [(3, 8), (3, 10)], "bad-split"),
        ("out = merge(x) + y", [(2, 3, 4), (12,), (2, 3, 4), (11,)], "shape-mismatch"),
        ("out = stack(x, -x) * y", [(5,), (2, 1), (5,), (3, 1)], "shape-mismatch"),
        ("out = concat(x, y) + concat(y, x)", [(3,), (3,), (3,), (4,)], "not-yet"),
        ("out = concat(x, y)", [(5, 2), (3, 2), (5, 2), (3, 4)], "shape-mismatch"),
        ("inout x; x = concat(x[6:], x[:6])", [(12,), (12,)], "overlap"),
    ],
)
def test_extents_of_a_later_call(text: str, shapes: list[tuple[int, ...]], code: str) -> None:
    """What does not fit is an error of the call, also where an earlier call of the same ranks was right."""
    kernel = kgen.jit(text, device="cpu")
    count = len(kernel.inputs)
    arrays = [some(*shape) for shape in shapes]
    if code != "overlap":
        kernel(*arrays[:count])
    with pytest.raises(kgen.KgenError) as caught:
        kernel(*arrays[-count:])
    assert caught.value.code == code


def test_outputs_that_overlap_inputs() -> None:
    """A part of an output that lies over an input in another order is refused."""
    x = some(2, 24)
    with pytest.raises(kgen.KgenError, match=r"`split\(out, axis=1, by=2\)\[:, :, 0\]` is written to"):
        kgen.jit("out = merge(stack(x, -x, axis=-1))", device="cpu")(x[:, :12], out=x)


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("out = a[:2] * stack(1, 2, axis=0)", "uint8"),
        ("let w = stack(1.0, -1.0, axis=0); out = h[:2] * w; wide = w * d[:2]", "float16"),
        ("out = h * merge(stack(stack(1, 2, axis=0), stack(3, 4, axis=0), axis=0))", "float16"),
        ("out = h * concat(stack(0.5, 2, axis=0), stack(3, 4, axis=0), axis=0)", "float16"),
        ("param p; out = h * repeat(stack(p, 2 * p, axis=0), 2, axis=0)", "float16"),
    ],
)
def test_weak_parts(text: str, dtype: str) -> None:
    """What is made of weak values only is weak."""
    arrays = {"a": np.arange(4, dtype=np.uint8), "h": np.ones(4, np.float16), "d": np.ones(4)}
    kernel: Any = kgen.jit(text, device="cpu")
    got = kernel(**{name: arrays[name] for name in kernel.inputs}, **dict.fromkeys(kernel.params, 2.0))
    first, *more = got if isinstance(got, tuple) else (got,)
    assert first.dtype == dtype
    assert [one.dtype for one in more] == ["float64"] * len(more)
