"""Other tables of tuned numbers: what they change, and that only speed depends on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import pipeline
from kgen.call.cached_lowering import CachedLowering
from kgen.options import OTHER_TABLES
from kgen.schedule.search import factors, fastest
from kgen.schedule.tables import SIZES, with_table
from kgen.schedule.target import HOPPER, PORTABLE

from .test_number_of_rows import PROGRAMS, ROWS, order

TEXT = "out = max(cast<float>(max(a, b) + min(b, c)), axis=(0,))"


def _numbers(table: Any, part: str = "") -> Iterator[tuple[str, str, Any]]:
    """Part, field and value of each number."""
    for field in fields(table):
        value = getattr(table, field.name)
        if is_dataclass(value):
            yield from _numbers(value, f"{part}.{field.name}" if part else field.name)
        else:
            yield part, field.name, value


def test_limits_are_the_same_in_all_tables() -> None:
    """Odd ones: rates differ by up to 4, sizes are twice or half as large.  Even ones differ in what they doubt."""
    usual = list(_numbers(HOPPER.tuning))
    assert {(part, name) for part, names in SIZES.items() for name in names} <= {(p, n) for p, n, _ in usual}
    for number in range(1, OTHER_TABLES + 1):
        for (part, name, value), (*_, other) in zip(usual, _numbers(with_table(HOPPER, number).tuning), strict=True):
            if isinstance(value, float) and name == "overlap" and number % 2:
                assert (value - 1) / 4.001 <= other - 1 <= (value - 1) * 4.001
            elif isinstance(value, float) and number % 2:
                assert value / 4.001 <= other <= value * 4.001
            elif name == "doubt":
                assert other == (0 if number % 2 else number)
            elif name in SIZES.get(part, ()) and number % 2:
                assert other in (value, 2 * value, max(1, value // 2))
            else:
                assert other == value


def test_a_number_is_one_table_everywhere() -> None:
    """What a user wrote down gives the same kernels in every process, and targets are compared by identity."""
    assert with_table(HOPPER, 0) is HOPPER
    assert with_table(HOPPER, 7) is with_table(HOPPER, 7)
    assert with_table(HOPPER, 7) != with_table(PORTABLE, 7)
    rates = with_table(HOPPER, 5).tuning.traffic
    assert (round(rates.memory / 1e12, 6), round(rates.launch * 1e6, 6)) == (14.420249, 3.508691)
    assert [round(factor, 6) for factor in islice(factors(12), 3)] == [0.984858, 1.099091, 1.105001]


def test_doubts_reach_what_no_rate_makes_the_fastest() -> None:
    """Each prediction is doubted by itself, by up to 1.35, so any of several ways that are close may be the fastest."""
    predicted = {"a": 1.0, "b": 1.1, "c": 1.2, "d": 1.9}
    found = [fastest(predicted, predicted.__getitem__, doubt=number) for number in range(2, 102, 2)]
    assert {way for one in found if one for way in one[1]} == {"a", "b", "c"}
    assert all(one and 0.74 < one[0] / predicted[one[1]] < 1.35 for one in found)
    assert fastest(predicted, predicted.__getitem__) == (1.0, "a")
    assert fastest(predicted, predicted.__getitem__, 1.0) is None


def test_tables_choose_among_kernels() -> None:
    """Where predictions are close, several kernels; the file says by which table it was made."""
    arrays = [kgen.spec((8192, 4750), dtype) for dtype in ("u8", "f64", "u8")]
    texts = [kgen.jit(TEXT, tuning=n).source(*arrays, arch="sm_90") for n in range(OTHER_TABLES + 1)]
    codes = {"\n".join(line for line in text.splitlines() if not line.startswith("//")) for text in texts}
    assert len(codes) >= 4
    assert all(f"--arch sm_90 --tuning {n}\n" in text for n, text in enumerate(texts) if n)
    assert "--tuning" not in texts[0]


@pytest.mark.parametrize(
    ("text", "arrays"),
    [
        (TEXT, [((8192, 4750), "u8"), ((8192, 4750), "f64"), ((8192, 4750), "u8")]),  # columns
        ("let e = exp(a * b - max(a * b, axis=0, keepdims=true))\nout = e / sum(e, axis=0, keepdims=true)",
         [((49, 228735), "i32"), ((49, 228735), "f16")]),  # columns in registers
        ("out = silu(cast<f32>(a)) * b", [((5000, 255, 52), "f64"), ((5000, 255, 52), "f64", (1, 5000, 1275000))]),
        ("out = max(cast<f32>(a + b), axis=2)",
         [((8192, 1711, 7), "f16"), ((8192, 1711, 7), "i32", (1, 57344, 8192))]),  # rows in several orders
    ],
)  # fmt: skip
def test_doubts_choose_among_kernels(text: str, arrays: list[tuple[Any, ...]]) -> None:
    """Searches for columns, columns in registers, boxes and orders of rows take the doubt of their table."""
    given = [kgen.spec(*array) for array in arrays]
    even = [kgen.jit(text, tuning=n).source(*given, arch="sm_90") for n in range(0, OTHER_TABLES + 1, 2)]
    codes = {"\n".join(line for line in one.splitlines() if not line.startswith("//")) for one in even}
    assert len(codes) >= 3


def test_another_table_predicts_no_times() -> None:
    """It is what the numbers might be; what is said of its kernels is which table it was."""
    x = kgen.spec((3000, 500), "f32")
    usual, other = (kgen.jit("out = sum(x, axis=0)", tuning=n).explain(x, arch="sm_90").steps[0] for n in (0, 6))
    assert usual.costs
    assert not other.costs
    assert other.reasons[-1] == "table 6 of tuned numbers"


@pytest.mark.parametrize("number", [4, 7, 12, 18, 19])
def test_the_number_of_rows_decides_nothing(number: int) -> None:
    """The order of a sum along a row is the same for one row and for a million, by another table, too."""
    for name in ("rmsnorm", "softmax", "moments"):
        lowering = CachedLowering(pipeline.load(PROGRAMS[name]))
        for width in (7, 129, 4096, 262152):
            found = {rows: order(lowering, rows, width, with_table(HOPPER, number)) for rows in ROWS}
            assert set(found.values()) == {found[2]}, (name, width)


@pytest.mark.parametrize("given", [-1, OTHER_TABLES + 1, True, "3", 1.0, None])
def test_what_is_no_table(given: Any) -> None:
    with pytest.raises(kgen.KgenError, match=f"tuning= is a number from 0 to {OTHER_TABLES}"):
        kgen.jit("out = a", tuning=given)


def test_tuning_is_for_a_gpu() -> None:
    with pytest.raises(kgen.KgenError, match="runs on the CPU"):
        kgen.jit("out = sum(x, axis=0)", device="cpu").tune(np.ones((3, 4), "f4"))
