"""Random programs by schedules that are not theirs give what the oracle says."""

from __future__ import annotations

from random import Random

import pytest

from tests.fuzz.reductions import generate
from tests.fuzz.test_reductions import run

from .ways import ways

FIRST_SEED = 80_000
BATCH = 24


def by_random_ways(seeds: range) -> int:
    """Each program by one way; how many were not refused."""
    around = [Random(seed).choice(ways()).taken for seed in seeds]
    return run([generate(seed) for seed in seeds], around=around)


@pytest.mark.parametrize("number", range(4))
def test_random_programs_by_random_ways(number: int) -> None:
    start = FIRST_SEED + BATCH * number
    assert by_random_ways(range(start, start + BATCH)) > BATCH // 2
