"""``KGEN_NVTX=1``: calls as ranges in a profiler."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

import kgen


def test_calls_are_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call is a range of the kernel's name, in kgen's domain; without the variable there are none."""
    seen: list[tuple[str, str]] = []

    @contextmanager
    def annotate(message: str, *, domain: str) -> Iterator[None]:
        seen.append((message, domain))
        yield

    monkeypatch.setitem(sys.modules, "nvtx", SimpleNamespace(annotate=annotate))
    x = np.ones(4, np.float32)
    kgen.jit("out = a", device="cpu", name="quiet")(x)
    monkeypatch.setenv("KGEN_NVTX", "1")
    kernel = kgen.jit("out = a + 1", device="cpu", name="loud")
    for _ in range(3):
        assert (kernel(x) == 2).all()
    assert seen == [("kgen loud", "kgen")] * 3


def test_without_nvtx(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for and not installed, it says what to install."""
    monkeypatch.setitem(sys.modules, "nvtx", None)
    monkeypatch.setenv("KGEN_NVTX", "1")
    with pytest.raises(kgen.KgenError, match="no-nvtx"):
        kgen.jit("out = a")
