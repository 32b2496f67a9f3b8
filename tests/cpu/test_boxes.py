"""Boxes whose outputs go on where an operand does not."""

from __future__ import annotations

import numpy as np

import kgen


def test_short_odd_rows() -> None:
    """Rows of 13 elements, of which one operand has every third, and another lies across."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 9, (301, 150, 13)).astype(np.float32)[:, ::3]
    b = rng.integers(0, 9, (50, 13, 301)).astype(np.float32).transpose(2, 0, 1)
    kernel = kgen.jit("out = a * b + a")
    (step,) = kernel.explain(a, b).steps
    assert step.kernel.startswith("boxes")
    np.testing.assert_array_equal(kernel(a, b), a * b + a)


def test_unaligned_input() -> None:
    """One input begins one byte late: it is read byte by byte, the others and the output by groups of four."""
    rng = np.random.default_rng(0)
    a, across = (rng.integers(0, 9, shape).astype(np.uint8) for shape in ((602, 1024), (1024, 602)))
    late = rng.integers(0, 9, 602 * 1024 + 1).astype(np.uint8)[1:].reshape(602, 1024)
    kernel = kgen.jit("out = a + b * c")
    assert kernel.explain(a, late, across.T).steps[0].kernel.startswith("boxes")
    assert "Moved by aligned groups of 4 elements: out and a." in kernel.source(a, late, across.T)
    np.testing.assert_array_equal(kernel(a, late, across.T), a + late * across.T)
