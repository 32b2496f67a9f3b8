"""Every run compiles afresh, into a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest) -> int:
    """How many random programs to run."""
    wanted = request.config.getoption("--fuzz")
    return 120 if wanted is None else int(wanted)


@pytest.fixture(scope="session", autouse=True)
def _fresh_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGEN_CACHE_DIR", str(tmp_path_factory.mktemp("fuzz-cache")))
        yield
