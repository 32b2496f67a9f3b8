"""What the tests on a GPU share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.poison import poisoned


@pytest.fixture(name="poisoned")
def _poisoned() -> Iterator[None]:
    """An allocator hands out memory that a call before has filled with the right results: here it is overwritten."""
    with poisoned():
        yield
