"""What the tests of the CPU target share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test depends on what the user chose."""
    for name in ("KGEN_CXX", "KGEN_SCHED", "KGEN_STRICT"):
        monkeypatch.delenv(name, raising=False)
