"""What of the benchmarks needs no GPU: their programs, their peers' names, merging and judging of results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import cub, peers
from benchmarks.elementwise import ALL as WORKLOADS
from benchmarks.report import Results, Row, small_table
from kgen import pipeline


def row(name: str, share: float, target: float | None = 1.0, **rivals: float) -> Row:
    return Row(name, "contiguous", ["contiguous"], 1024, 4000.0, share, target, rivals)


def test_workloads() -> None:
    """Every program is one, names are not used twice, and CUB's are workloads."""
    names = [w.name for w in WORKLOADS]
    assert len(set(names)) == len(names)
    for workload in WORKLOADS:
        assert pipeline.load(workload.program).outputs
    written = re.findall(r"^WORKLOAD\((\w+)\)", cub.SOURCE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(written) > 5
    assert {w.kind for w in WORKLOADS if w.name in written} == {"contiguous"}
    assert set(written) <= set(names)


def test_missing_peers_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that cannot run leaves its column out and says why."""
    cub.library.cache_clear()
    monkeypatch.setattr("shutil.which", lambda _: None)
    notes: list[str] = []
    assert peers.usable(["eager", "cub", "nosuch"], notes) == ["eager"]
    assert notes[0] == "no column cub: there is no nvcc"
    assert notes[1].startswith("no column nosuch: it is none of eager, ")


def test_results_merge(tmp_path: Path) -> None:
    """Rows that are measured again take the place of earlier ones, and the rest stays."""
    first = Results("first", ["a note"], [{"name": "copy", "gigabytes_per_second": 1.0, "share": 1.0}])
    first.rows = [row("x", 1.0), row("z", 1.0)]
    first.small = [{"bytes": 1024, "copy": 1e-6, "kgen": 1e-6, "eager": 1e-6}]
    assert "**1.000**" in first.write(tmp_path)
    earlier = Results.read(tmp_path)
    assert earlier == first
    second = Results("second", rows=[row("x", 0.5, eager=0.7), row("y", 0.9)])
    merged = second.merged(earlier, ["z", "y", "x"])
    assert [(r.name, r.share) for r in merged.rows] == [("z", 1.0), ("y", 0.9), ("x", 0.5)]
    assert merged.yardsticks
    assert merged.small
    assert merged.notes == ["a note"]
    assert Results.read(tmp_path / "nowhere") is None


def test_what_is_met() -> None:
    """A target within half a percent, and the best peer within one; small sizes within 3% or 0.1 us."""
    assert row("x", 0.996).met
    assert not row("x", 0.99).met
    assert not row("x", 1.0, eager=1.02).met
    assert row("x", 0.5, None, eager=0.5, cub=0.4).met
    times = {"bytes": 1024, "copy": 1e-7, "kgen": 1.09e-6, "eager": 1e-6}
    assert small_table([times]).endswith("| yes |")
    assert small_table([{**times, "kgen": 1.2e-6}]).endswith("| no |")
