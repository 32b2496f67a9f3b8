"""Columns, where operands that are the same down each column go into functions."""

from __future__ import annotations

import re

import numpy as np
import pytest

import kgen

RNG = np.random.default_rng(7)
FIXED = np.broadcast_to(RNG.standard_normal((1, 96)).astype(np.float16), (300, 96))
B, C = (RNG.standard_normal((300, 96)).astype(np.float32) for _ in "bc")


@pytest.mark.parametrize("height", [1, 4, 300])
@pytest.mark.parametrize("text", ["var(tanh(a) / (b + c), axis=0)", "sum(tanh(k * a) * b + tanh(a) * c + a, axis=0)"])
def test_functions_once_a_column(text: str, height: int) -> None:
    """The same bits as for an operand with an element for each, and the functions ahead of the elements."""
    program = f"{'param k = 0.5; ' if 'k' in text else ''}input a, b, c; out = {text}"
    kernel = kgen.jit(program, device="cpu", fmad=False)
    a, b, c = FIXED[:height], B[:height], C[:height]
    assert np.array_equal(kernel(a, b, c), kernel(a.copy(), b, c))
    if height > 1:
        source = kernel.source(a, b, c)
        assert source.count("tanhf(") == text.count("tanh(")
        assert all("[j] = tanhf(" in line for line in source.splitlines() if "tanhf(" in line)
        assert kernel.source(a.copy(), b, c).count("[j] = tanhf(") == 0


@pytest.mark.parametrize("text", ["out = mean(a, axis=0)", "out = a - mean(a, axis=0, keepdims=true)"])
def test_the_length_of_short_columns_is_in_the_text(text: str) -> None:
    """A mean of four is a product, not a division."""
    assert re.search(r"mean_acc\[j\]\.mean\(4\);", kgen.jit(text).source(kgen.spec((4, 4096 * 4096), "f32")))
