"""What all tests of reductions share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.forced import AS_MANY, forced


@pytest.fixture(autouse=True)
def as_many() -> Iterator[None]:
    """Small arrays have the kernels of large ones; ``bits/test_few.py`` and the fuzzers have those of few elements."""
    with forced(AS_MANY):
        yield
