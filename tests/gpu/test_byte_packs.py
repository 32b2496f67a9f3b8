"""The same on a GPU, where an instruction of PTX takes the bytes out of words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen
from kgen.runtime.cuda.driver import probe
from tests.cpu.test_byte_packs import ROWS, SHAPES, bytes_and_scales, program, rows

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

torch: Any = pytest.importorskip("torch", reason="these tests pass torch's CUDA tensors")


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
def test_all_bytes(dtype: Any, shapes: list[tuple[int, ...]]) -> None:
    """Each is the float that it is, in kernels for one dimension, for rows, and for pairs of rows."""
    x, scales, want = bytes_and_scales(dtype, shapes)
    found = program(scales)(torch.from_numpy(x).cuda(), *(torch.from_numpy(one).cuda() for one in scales))
    assert np.array_equal(found.cpu().numpy(), want.astype(np.float16))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_all_bytes_of_rows(dtype: Any) -> None:
    """The same in kernels that reduce rows."""
    x, a, want = rows(dtype)
    found = kgen.jit(ROWS)(torch.from_numpy(x).cuda(), torch.from_numpy(a).cuda())
    assert np.array_equal(found.cpu().numpy(), want)
