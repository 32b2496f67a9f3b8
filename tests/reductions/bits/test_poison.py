"""What a kernel does not write is seen, in results and in scratch memory."""

from __future__ import annotations

import numpy as np
import pytest

import kgen
from tests.fuzz.arrays import Array
from tests.fuzz.batch import Batch, Collected, collecting, running
from tests.poison import RESULT

from .ways import ways


def sums(old: str, new: str) -> Array:
    """Sums of rows of zeros, each shared by several blocks of a kernel in whose text ``old`` is replaced."""
    kernel, batch = kgen.jit("out = sum(x, axis=-1)", device="cpu"), Batch()
    x = np.zeros((4, 5000), np.float32)
    (split, *_) = ways(only=("split",))
    with split.taken():
        with collecting(batch), pytest.raises(Collected):
            kernel(x)
        (text,) = batch.texts
        assert text.count(old) == 1
        batch.edit[text] = text.replace(old, new)
        batch.compile()
        with running(batch):
            found: Array = kernel(x)
            return found


def test_all_is_written() -> None:
    assert (sums("if (thread == 0) {", "if (0 == thread) {") == 0).all()


def test_a_result_that_is_not_written() -> None:
    found = sums("if (thread == 0) {", "if (thread == 0 && row != 2) {")
    assert np.flatnonzero(found).tolist() == [2]
    assert found[2:3].tobytes() == bytes([RESULT] * 4)


def test_a_partial_that_is_not_written() -> None:
    """Zeros would hide it: they are what the other blocks add up to as well."""
    found = sums("sum_block_partials[row * gridDim.y + blockIdx.y] = sum_acc;", ";")
    assert np.isnan(found).all()
