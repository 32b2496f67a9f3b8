"""How much the fuzzers run."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest) -> int:
    """How many random programs to run."""
    wanted = request.config.getoption("--fuzz")
    return 120 if wanted is None else int(wanted)
