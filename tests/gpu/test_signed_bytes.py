"""Sums of signed bytes on a GPU are those of the CPU target, in groups of 16."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from kgen import jit
from kgen.runtime.cuda.driver import probe
from tests.codegen.signed_bytes import LAYOUTS, SIGNED, operands

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("poisoned"),
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", SIGNED)
def test_results_are_those_of_a_cpu(text: str, layout: str) -> None:
    torch = pytest.importorskip("torch", reason="arrays must lie on the GPU as NumPy has them")
    given: dict[str, Any] = {name: array for name, array in operands(layout).items() if re.search(rf"\b{name}\b", text)}
    on_gpu = {name: torch.empty_strided(a.shape, [s // a.itemsize for s in a.strides], dtype=torch.int8, device="cuda")
              for name, a in given.items()}  # fmt: skip
    for name, array in given.items():
        on_gpu[name].copy_(torch.from_numpy(np.ascontiguousarray(array)))
    got, want = jit(text)(**on_gpu), jit(text, device="cpu")(**given)
    pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
    for one, other in pairs:
        np.testing.assert_array_equal(one.cpu().numpy(), other)
