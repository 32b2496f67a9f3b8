"""Kernels that take the last elements first, where L2 still has what the kernel ahead read last."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen

QUANTISE = "s = max(abs(x), axis=0, keepdims=true) / 127\nq = cast<i8, sat, rne>(x / s)"
LARGE = (1 << 21) + 3  # elements of 8 bytes: more than are left in any order


def takes_last_first(text: str, **arrays: Any) -> list[bool]:
    """For each kernel."""
    found = kgen.jit(text).explain(arch="sm_90", **arrays).steps
    said = [any(reason.startswith("backward: ") for reason in step.reasons) for step in found]
    assert said == [step.schedule.get("backward", False) for step in found]
    return said


@pytest.mark.parametrize(
    ("shape", "strides", "want"),
    [
        ((LARGE,), None, [False, True]),
        ((LARGE,), (2,), [False, True]),
        ((LARGE // 2,), None, [False, False]),  # L2 has all of it
        ((LARGE // 64, 64), None, [False, False]),  # columns: blocks end at many places
    ],
)
def test_which(shape: tuple[int, ...], strides: tuple[int, ...] | None, want: list[bool]) -> None:
    assert takes_last_first(QUANTISE, x=kgen.spec(shape, "f64", strides)) == want


def test_of_rows() -> None:
    x = kgen.spec((3, LARGE), "f64")
    assert takes_last_first(QUANTISE.replace("axis=0", "axis=1"), x=x) == [False, True]


def test_others_read_nothing_again() -> None:
    x, y = kgen.spec((LARGE,), "f64"), kgen.spec((LARGE,), "f64")
    assert takes_last_first("out = y - max(x, axis=0, keepdims=true)", x=x, y=y) == [False, False]


@pytest.mark.parametrize("step", [1, 2])
def test_results(step: int) -> None:
    """Of every element, the last ones that are in no whole group too."""
    x = np.random.default_rng(1).standard_normal(LARGE * step)[::step]
    scale, found = kgen.jit(QUANTISE)(x)
    want = np.abs(x).max(keepdims=True) / 127
    assert np.array_equal(scale, want)
    assert np.array_equal(found, np.clip(np.rint(x / want), -128, 127).astype(np.int8))
