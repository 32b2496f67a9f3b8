"""Temporaries that are updated at computed places are memory: what is read below has all updates."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kgen import KgenError, jit
from tests.check.test_indexing import Array
from tests.fuzz.test_reductions import reference

X, Y, W = np.arange(24.0).reshape(6, 4), np.arange(20.0).reshape(5, 4) ** 2, np.linspace(-1, 1, 5)
AT, J = np.array([0, 2, 2, 5, -1]), np.array([3, 0, 1, 1, 2])
GIVEN = {"x": X, "y": Y, "w": W, "i": AT, "j": J}


def added(to: Array, at: Any, values: Array) -> Array:
    found: Array = to.copy()
    np.add.at(found, at, values)
    return found


def segments(values: Array) -> Array:
    """The softmax of elements of one segment each."""
    powers: Array = np.exp(values)
    found: Array = powers / added(np.zeros(6), AT, powers)[AT]
    return found


PROGRAMS: dict[str, Callable[[], Array]] = {
    "let t = where(true, 0, x); t[i, :] += y; out = t * 2 + x": lambda: added(0 * X, AT, Y) * 2 + X,
    "let t = x * 2; t[i, :] += y; out = t[i] + y": lambda: added(2 * X, AT, Y)[AT] + Y,
    "let t = x * 2; t[i, :] += y; out = t[1:, ::-2] + 1": lambda: added(2 * X, AT, Y)[1:, ::-2] + 1,
    "let t = x * 2; t[i, :] += y; out = transpose(t) + 1": lambda: added(2 * X, AT, Y).T + 1,
    "let t = x * 2; t[i, :] += y; out = sum(t, axis=0)": lambda: added(2 * X, AT, Y).sum(0),
    "let t = x * 2; t[i, :] += y; t[i, j] += w; out = t": lambda: added(added(2 * X, AT, Y), (AT, J), W),
    "let t = x * 2; t[::2] += x[:3]; t[i, 0] += w if w > 0; out = sum(t, axis=1)": lambda: added(
        added(2 * X, np.s_[::2], X[:3]), (AT, 0), np.maximum(W, 0)
    ).sum(1),
    "let n = where(true, 0, x[:, 0]); n[i] += exp(w); out = exp(w) / n[i]": lambda: segments(W),
    "let t = x * 2; t[i, :] += y; let u = where(true, 0, x); u[i, :] += t[i]; out = u": lambda: added(
        0 * X, AT, added(2 * X, AT, Y)[AT]
    ),
    "let t = x * 2; t[i, :] += concat(y[:, :1], y[:, 1:], axis=1); out = t": lambda: added(2 * X, AT, Y),
    "let t = index(0) * 2.0 + x; t[i, :] += y; out = t": lambda: added(np.arange(6)[:, None] * 2 + X, AT, Y),
}


def given(text: str) -> dict[str, Array]:
    return {name: GIVEN[name] for name in re.findall(r"\b[a-z]\b", text) if name in GIVEN}


@pytest.mark.parametrize("text", PROGRAMS)
def test_values(text: str) -> None:
    """As NumPy's, by the evaluator."""
    np.testing.assert_allclose(reference(text, given(text))["out"], PROGRAMS[text](), rtol=1e-13)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("text", [*PROGRAMS][-4:-2] + [pytest.param(t, marks=pytest.mark.whole) for t in PROGRAMS])
def test_kernels(text: str, deterministic: bool) -> None:
    kernel: Any = jit(text, deterministic=deterministic)
    np.testing.assert_allclose(kernel(**given(text)), PROGRAMS[text](), rtol=1e-13)


def test_halves_are_added_in_float32() -> None:
    """A temporary is not rounded before it is stored."""
    kernel: Any = jit("let t = where(true, 0, x); t[i] += y; out = t")
    ones = np.ones(5000, np.float16)
    assert kernel(x=np.zeros(2, np.float16), i=np.zeros(5000, np.int32), y=ones)[0] == 5000  # a half stays at 2048


def test_integers_and_extremes() -> None:
    kernel: Any = jit("let n = where(true, 0, b); n[i] += 1; let m = b; m[i] max= v; out = n * 100 + m")
    b, v = np.zeros(6, np.int32), np.arange(5, dtype=np.int32)
    assert kernel(b=b, i=AT, v=v).tolist() == [100, 0, 202, 0, 0, 204]


def test_indices_are_checked() -> None:
    kernel: Any = jit("let t = x * 2; t[i, :] += y; out = t")
    kernel(**{n: GIVEN[n] for n in "xiy"}, check_indices=True)
    with pytest.raises(KgenError, match="index-out-of-range"):
        kernel(x=X, i=AT + 2, y=Y, check_indices=True)


def test_no_parts() -> None:
    """What is merged or joined has no memory yet."""
    kernel: Any = jit("let t = concat(x, x); t[i, :] += y; out = t")
    with pytest.raises(KgenError, match="not-yet"):
        kernel(x=X, i=AT, y=Y)
