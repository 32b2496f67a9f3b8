"""Random programs that reach other places give NumPy's results on the CPU target."""

from __future__ import annotations

from collections import Counter

import pytest

from . import rows
from .reach import generate
from .runs import Count, failures
from .subjects import Reaching


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [
        ("reach", range(30_000, 30_024)),
        ("rows", range(30_000, 30_008)),
        pytest.param("reach", range(31_000, 33_000), marks=pytest.mark.whole),
        pytest.param("rows", range(31_000, 33_000), marks=pytest.mark.whole),
    ],
)
def test_random_programs(kind: str, seeds: range) -> None:
    """Each is run twice and as a plan, those of rows also with other extents; none is refused."""
    total = Count()
    for start in range(seeds.start, seeds.stop, 24):
        batch = [Reaching(kind, seed) for seed in range(start, min(start + 24, seeds.stop))]
        for subject, problem in failures(batch, total):
            raise AssertionError(subject.report(problem, "cpu", small=False)) from problem
    assert not total.refused
    assert total.run.total() == len(seeds)


def test_programs_are_varied() -> None:
    """Everything that a program may reach by comes up."""
    seen: Counter[str] = Counter()
    words: tuple[str, ...] = (
        "[:, ",
        ")[",
        "::",
        "transpose(",
        "split(",
        "keepdims",
        "let",
        "merge(",
        "stack(",
        "concat(",
        "repeat(",
    )
    words += ("] += ", "] min= ", "] max= ", "] = ", " if ", "cast<int>(", "inout")
    for seed in range(300):
        program = generate(seed)
        seen.update(word for word in words if word in program.text)
        seen["empty"] += any(array.size == 0 for array in program.inputs.values())
        arrays = [array for array in program.inputs.values() if array.size]
        seen["one memory"] += len({array.ctypes.data for array in arrays}) < len(arrays)
        seen["hostile"] += any(a.dtype == "int64" and abs(a.astype(float)).max() > 2**30 for a in arrays)
        seen["deterministic"] += program.deterministic
    assert min(seen.values()) >= 5, seen
    assert len(seen) == len(words) + 4, seen


def test_programs_of_rows_are_varied() -> None:
    """Everything that lies beside a reduction comes up, and a program's text is that of all its extents."""
    seen: Counter[str] = Counter()
    words: tuple[str, ...] = (
        " // size(",
        "[:, a",
        "index(0)",
        "[:, None]",
        "sum(",
        "max(",
        "count_nonzero(",
        "split(",
        "merge(",
    )
    words += ("] = ", "] += ", "] min= ", "] max= ", " if ", "inout", ">(a", "axis=(0,)")
    for seed in range(200):
        program, other = rows.generate(seed), rows.generate(seed, 1)
        assert program.text == other.text
        seen.update(word for word in words if word in program.text)
        seen["other extents"] += any(program.inputs[n].shape != other.inputs[n].shape for n in program.inputs)
        seen["hostile"] += any(
            a.dtype == "int64" and abs(a.astype(float)).max() > 2**30 for a in program.inputs.values()
        )
    assert len(seen) == len(words) + 2, seen
    assert min(seen.values()) >= 5, seen
