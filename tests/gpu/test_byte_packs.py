"""The same on a GPU, where an instruction of PTX takes the bytes out of words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.runtime.cuda.driver import probe
from tests.cpu.test_byte_packs import SHAPES, bytes_and_scales, program

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
