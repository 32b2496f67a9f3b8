"""Calls of programs that join several features in a line; each case was once wrong, or no kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kgen import jit

Array = np.ndarray[Any, Any]


def some(*shape: int, dtype: str = "float32") -> Array:
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(dtype)


def added(target: Array, index: Array, value: Array) -> Array:
    found = target.copy()
    np.add.at(found, index, value)
    return found


def stacked(x: Array, axis: int) -> Array:
    return np.stack([x, -x], axis)


ROWS, INDEX = some(6, 8), np.array([1, 0, 5, 2, -1, 0, 4, 3])
SHORTS = some(8, dtype="int16")

#: Programs of ``x``, ``y``, ``i`` and ``p``, which some update, and what they give of these.
PROGRAMS: dict[str, tuple[str, Callable[..., Array], tuple[Array, ...]]] = {
    "a reduction of a concatenation, at computed places along it": (
        "let t = concat(x, y, axis=0); out = (t - min(t, axis=1, keepdims=true))[i]",
        lambda x, y, i: (t := np.concatenate([x, y]))[i] - t.min(1, keepdims=True)[i],
        (ROWS, ROWS[:3] * 2, INDEX),
    ),
    "a reduction of merged rows, at computed places": (
        "out = sum(merge(x, axis=(0, 1)), axis=1)[i]",
        lambda x, i: x.reshape(-1, x.shape[2]).sum(1)[i],
        (some(3, 2, 8), INDEX),
    ),
    "a reduction of a stack, at computed places across it": (
        "out = max(stack(x, 2 * x, axis=1), axis=2)[:, i % 2]",
        lambda x, i: np.stack([x, 2 * x], 1).max(2)[:, i % 2],
        (ROWS, INDEX),
    ),
    "a temporary of which nothing that is read is left": (
        "let t = cast<f64>(x); t[i] += 1.5; out = x[cast<int>(t) % 1]",
        lambda x, i: x[np.zeros(len(x), int)],
        (ROWS[0], INDEX),
    ),
    "a sum over rows of what is itself reduced": (
        "let t = max(x, axis=1); out = t - sum(t, axis=0)",
        lambda x: (t := x.max(1)) - t.sum(0),
        (some(7, 4, 16),),
    ),
    "a row of which nothing is in memory, stored at places": (
        "inout p; let t = where(true, index(0) % 7, p); p[0:] = cast<f32>(t - sum(t, axis=0))",
        lambda p: (t := np.arange(len(p)) % 7) - t.sum(),
        (ROWS[0].copy(),),
    ),
    "parts of a temporary added to parts of an array": (
        "inout p; let t = where(true, 0.0, p); t[1:, :] = y; p[:, i] += t + concat(x, x + 1, axis=0)",
        lambda p, y, i, x: added(p.T, i, (np.concatenate([p[:1] * 0, y]) + np.concatenate([x, x + 1])).T).T,
        (ROWS.copy(), some(5, 8), INDEX, some(3, 8)),
    ),
    "sums of 16 bits at computed places": (
        "inout p; p[i] += clip(x, -3, 2)",
        lambda p, i, x: added(p, i, x.clip(-3, 2)),
        (SHORTS.copy(), INDEX, SHORTS),
    ),
    "the greatest of 16 bits at computed places": (
        "inout p; p[i] max= x & 3",
        lambda p, i, x: np.maximum(p, [max([*(x & 3)[i == n], -9]) for n in range(8)]),
        (SHORTS.copy(), np.abs(INDEX), SHORTS),
    ),
    "elements of coordinates": (
        'out = take(x * 0 + index(0), i, mode="clamp")',
        lambda x, i: np.clip(i, 0, 5).astype(x.dtype),
        (ROWS[:, 0], INDEX + 4),
    ),
    "single elements, stored one by one": (
        "inout p; p[0:] = any(x - max(x, axis=1, keepdims=true) - stack(y, y, axis=0), axis=-1)",
        lambda p, x, y: (x - x.max(1, keepdims=True) - y != 0).any(-1),
        (np.zeros(2, bool), some(2, 1), some(1)),
    ),
    "a column at one computed place, with another axis in front": (
        "out = expand(x[:, i], axis=0)",
        lambda x, i: x[None, :, i],
        (ROWS, np.array([3])),
    ),
    "pairs of reductions beside other pairs, in an array with as many rows as columns": (
        """
        out = stack(x[:, i], merge(stack(y, y + 1, axis=2), axis=(1, 2)), z[i] - max(z, axis=0),
                    merge(stack(max(w, axis=(-2, -1)), x[:, 2:5], axis=2), axis=(1, 2)), axis=2)
        """,
        lambda x, i, y, z, w: np.stack(
            [
                x[:, i],
                np.stack([y, y + 1], 2).reshape(6, 6),
                z[i] - z.max(0),
                np.stack([w.max((2, 3)), x[:, 2:5]], 2).reshape(6, 6),
            ],
            2,
        ),
        (ROWS, np.abs(INDEX[:6]), some(6, 3), some(7, 6), some(6, 3, 1, 4)),
    ),
    "a part without elements, in another order than the rest": (
        "inout p; p[:, :, 0::2] = concat(x, transpose(y, (2, 1, 0)), axis=1)",
        lambda p, x, y: np.stack([x, p[:, :, 1::2]], 3).reshape(p.shape),
        (some(8, 2, 64), some(8, 2, 32), some(32, 0, 8)),
    ),
    "parts of a part of an output": (
        """
        let t = merge(stack(z[::2], w[::2], axis=1), axis=(0, 1))
        out = stack(x, x, y, y, axis=0)
        out[:, 0:, :] = stack(z, w, t, w, axis=0)
        """,
        lambda z, w, x, y: np.stack([z, w, np.stack([z[::2], w[::2]], 1).reshape(z.shape), w]),
        (some(16, 1, dtype="int8"), some(16, 1, dtype="int8"), some(16, 1), some(16, 1)),
    ),
    "a temporary that begins as another one": (
        "let a = x + 0; a[i] += y; let b = a + 0; b[i + 1] += a; out = b",
        lambda x, i, y: added(a := added(x, i, y), i + 1, a),
        (SHORTS.astype("float32"), np.array([0, 1, 2, 0, 1, 2, 0, 0]), some(8)),
    ),
    "places beyond an axis of one element, of what is at computed places": (
        "out = concat(x, y, axis=0)[i][:, j]",
        lambda x, y, i, j: np.concatenate([x, y])[i] * ((j == 0) | (j == -1))[:, None],
        (some(3, 1, 8), some(5, 1, 8), INDEX, np.array([0, 1, -1, 3, -2])),
    ),
    "places beyond an axis of one element, of a part of a temporary": (
        "let t = x + 2; t[i] += 3; out = t[::-1][:, :, 0][:, j]",
        lambda x, i, j: added(x + 2, i, np.array(3))[::-1, :, 0] * ((j == 0) | (j == -1)),
        (some(3, 1, 8), np.array([1, 1, 0]), np.array([0, 1, -1, 3, -2])),
    ),
    "an argument that is updated after an output was, by what it held": (
        "inout p; out = z; out[0:, :] max= p; p = z",
        lambda p, z: np.maximum(z, p),
        (ROWS - 1, ROWS[::-1] + 1),
    ),
    "the same, where the argument is updated in parts, and other outputs begin as the same": (
        "inout p, q; let h = z; out = h; out[0:, :] += p * q; p[0:, :] = h; q = h",
        lambda p, q, z: z + p * q,
        (ROWS - 1, ROWS + 1, ROWS[::-1] + 2),
    ),
    "numbers as places along axes, of which one has one element": (
        "out = x[i, j, i]",
        lambda x, i, j: np.zeros((), "float32"),
        (some(3, 1, 8), np.array(1), np.array(2)),
    ),
    "stacks of stacks of one element, at computed places of computed places": (
        "let s = stack(x, -x, axis=1); let t = stack(s, -s, axis=0)[i % 1];"
        "out = stack(t, -t, axis=0)[i % 1, j % 2, k % 2]",
        lambda x, i, j, k: stacked(stacked(stacked(x, 1), 0)[i % 1], 0)[i % 1, j % 2, k % 2],
        (SHORTS[:1], INDEX, INDEX[:2, None], np.array(4)),
    ),
    "the same beside another axis": (
        "let s = stack(x, -x, axis=1); let t = stack(s, -s, axis=1)[i % 1];"
        "out = stack(t, -t, axis=1)[j % 2, i % 2, j % 2]",
        lambda x, i, j: stacked(stacked(stacked(x, 1), 1)[i % 1], 1)[j % 2, i % 2, j % 2],
        (SHORTS[:1], INDEX, INDEX[:2, None]),
    ),
}


@pytest.mark.filterwarnings("ignore::kgen.LintWarning")
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results(name: str, deterministic: bool) -> None:
    """They are NumPy's, at calls that repeat, too."""
    text, reference, arrays = PROGRAMS[name]
    kernel: Any = jit(text, device="cpu", deterministic=deterministic)
    for _ in range(3):
        given = [np.array(array) for array in arrays]
        want = reference(*given)
        out = kernel(*given)
        np.testing.assert_array_equal(given[0] if out is None else out, want)
