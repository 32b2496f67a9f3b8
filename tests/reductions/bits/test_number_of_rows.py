"""A row has the same bits alone and among others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen
from tests.schedule.test_number_of_rows import MATRICES, PROGRAMS


@pytest.mark.parametrize("width", [7, 100, 1001, 5120, 40_000, 70_001])
@pytest.mark.parametrize("name", ["rmsnorm", "add_rmsnorm", "layernorm", "softmax", "sum", "cross_entropy", "moments"])
def test_bits(name: str, width: int) -> None:
    kernel = kgen.jit(PROGRAMS[name], device="cpu")
    rng = np.random.default_rng(width)
    program = kgen.pipeline.load(PROGRAMS[name])
    many: dict[str, Any] = {
        i.name: rng.standard_normal((5, width) if i.name in MATRICES else width, np.float32) for i in program.arguments
    }
    one = {n: x[:1].copy() if n in MATRICES else x for n, x in many.items()}
    among, alone = kernel(**many), kernel(**one)
    for a, b in zip(among, alone, strict=True) if isinstance(among, tuple) else ((among, alone),):
        assert np.array_equal(a[:1].view(np.uint32), b.view(np.uint32))
