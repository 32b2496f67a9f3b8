"""Under compute-sanitizer a launch takes up to a thousand times as long: with ``KGEN_SANITIZER=1``, tests do less."""

from __future__ import annotations

import os
from typing import TypeVar

import pytest

SANITIZER = os.environ.get("KGEN_SANITIZER", "0") not in ("", "0")

T = TypeVar("T")


def sized(usual: T, small: T) -> T:
    """``small`` under the sanitizer: fewer launches, and one case of each path that kernels take."""
    return small if SANITIZER else usual


#: Of tests whose kernels fault on purpose, or that run those of other libraries (cuDNN's attention has hazards).
without_sanitizer = pytest.mark.skipif(SANITIZER, reason="the sanitizer reports faults that are meant or not ours")
