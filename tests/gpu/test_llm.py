"""The kernels of ``examples/llm`` on a GPU."""

from __future__ import annotations

import pytest

from kgen.runtime.cuda.driver import probe
from tests.llm.cases import CASES
from tests.llm.test_kernels import assert_right, run

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    """Results are NumPy's."""
    assert_right(name, run(name, "cuda"))
