"""Targets: which row an architecture has, and what the rows that are off would give."""

from __future__ import annotations

import re

import pytest

import kgen
from kgen.schedule.target import BLACKWELL, HOPPER, PORTABLE, Target, target_of
from tests.forced import forced, tuned


@pytest.mark.parametrize(
    ("arch", "found"),
    [
        (None, PORTABLE),
        ("sm_75", PORTABLE),
        ("sm_89", PORTABLE),
        ("sm_90", HOPPER),
        ("sm_90a", HOPPER),
        ("sm_120", HOPPER),
    ],
)
def test_rows(arch: str | None, found: Target) -> None:
    assert target_of(arch) is found


def test_a_schedule_is_chosen_by_the_tuning_of_its_target() -> None:
    """And launched by it: numbers that no text shows reach the launch rule."""
    kernel, x = kgen.jit("out = sum(x, axis=-1)"), kgen.spec((3, 1 << 24), "f32")
    assert "4096)" in str(kernel.explain(x))
    with forced({"rows": {"split_blocks": 96}}):
        assert "96)" in str(kernel.explain(kgen.spec((3, 1 << 25), "f32")))
    assert tuned(PORTABLE.tuning, {}) != PORTABLE.tuning  # tables are told apart


def test_wide_vectors_are_single_accesses_on_sm_100() -> None:
    """What the row that is off relies on."""
    kernel, specs = kgen.jit("out = a * b + 1"), [kgen.spec((1 << 20,), "f32")] * 2
    with forced(vector_bytes=BLACKWELL.vector_bytes):
        assert "Pack<float, 8, 32>" in kernel.source(*specs, arch="sm_100")
        try:
            ptx = kernel.ptx(*specs, arch="sm_100")
        except kgen.KgenError as problem:
            if problem.diagnostics[0].code != "no-nvrtc":
                raise
            pytest.skip("no NVRTC")
    assert re.search(r"ld\.global\S*\.v8\.", ptx)
    assert re.search(r"st\.global\S*\.v8\.", ptx)
