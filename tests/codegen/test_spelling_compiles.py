"""Every op, cast and bit cast compiles as CUDA, for the oldest architecture and for new ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import cases, compilers, values

PARTS = {"arithmetic": cases.arithmetic, "casts": cases.casts, "rest": cases.rest}


@pytest.mark.parametrize(
    ("part", "arch"),
    [
        pytest.param(part, arch, marks=[] if row % 2 == column else [pytest.mark.whole])
        for row, part in enumerate(PARTS)
        for column, arch in enumerate(["sm_75", "sm_120", "sm_90"])
    ],
)
def test_nvrtc_takes_every_spelling(part: str, arch: str) -> None:
    """NVRTC compiles every use of every row to machine code, without a warning."""
    assert compilers.nvrtc_log(values.text(*cases.groups(list(PARTS[part]()))), arch) == ""


@pytest.mark.whole  # NVRTC has compiled the same
@pytest.mark.skipif(compilers.nvcc() is None, reason="no nvcc here")
def test_nvcc_takes_every_spelling(tmp_path: Path) -> None:
    """nvcc, whose headers overload more names than NVRTC's, compiles the same text."""
    assert compilers.nvcc_log(values.text(*cases.groups(cases.all_cases())), "compute_75", tmp_path) == ""
