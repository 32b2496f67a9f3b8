"""Reductions over operands of which some are consecutive down columns and others across: threads take tiles."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kgen
from tests.forced import AS_MANY, Tuned, both, forced
from tests.reductions.bits.column_ways import tiles
from tests.reductions.bits.ways import run_every_way

#: Shapes, the axes that are reduced, and the order of the axes in memory of the second operand, the slowest first.
CASES = (
    ((77, 40), 0, (1, 0)),
    ((64, 333), 1, (1, 0)),
    ((1000, 33), 0, (1, 0)),  # an odd number of columns
    ((4, 333, 64), 1, (2, 0, 1)),
    ((30, 64, 24), (0, 1), (2, 0, 1)),  # runs go through both reduced axes
    ((30, 7, 24), (0, 1), (2, 0, 1)),
    ((10, 31, 24), (0, 2), (2, 0, 1)),
    ((9000, 16), 0, (1, 0)),  # several blocks share a column
    ((16, 128), 0, (1, 0)),  # short columns
)


def data(shape: tuple[int, ...], dtype: Any, order: tuple[int, ...], seed: int) -> Any:
    """Multiples of one half, whose sums are exact.  ``order``: of the axes in memory, the slowest first."""
    values = np.random.default_rng(seed).integers(-6, 7, [shape[a] for a in order])
    return (values / 2 if dtype not in (np.int8, np.uint8) else abs(values)).astype(dtype).transpose(np.argsort(order))


@pytest.mark.parametrize(
    "dtypes", [("float32", "float32"), ("bfloat16", "bfloat16"), ("float64", "int8"), ("uint8", "float16")], ids=str
)
def test_tiles(dtypes: tuple[str, str]) -> None:
    """Exact sums, places and extremes: every column has all of its elements, once and in their order."""
    a_type, b_type = (getattr(ml_dtypes, d, d) for d in dtypes)
    for number, (shape, axes, order) in enumerate(CASES):
        a = data(shape, np.dtype(a_type).type, tuple(range(len(shape))), number)
        b = data(shape, np.dtype(b_type).type, order, number + 100)
        text = f"s = sum(cast<f32>(a) * cast<f32>(b), axis={axes})\nm = max(cast<f32>(a) - cast<f32>(b), axis={axes})"
        kernel = kgen.jit(text, device="cpu")
        s, m = kernel(a, b)
        x, y = a.astype(np.float64), b.astype(np.float64)
        assert np.array_equal(s, (x * y).sum(axes)), (shape, axes)
        assert np.array_equal(m, (x - y).max(axes)), (shape, axes)
        assert "tiles: " in str(kernel.explain(a, b)), (shape, axes)


def test_unaligned_runs_and_columns() -> None:
    a = data((401, 51), np.float32, (0, 1), 1)[1:, 3:]
    b = data((48, 403), np.float32, (0, 1), 2)[:, 3:].T
    kernel = kgen.jit("s = sum(a * b, axis=0)\np = argmax(a * b, axis=0)", device="cpu")
    s, p = kernel(a, b)
    assert np.array_equal(s, (a * b).sum(0))
    assert np.array_equal(p, (a * b).argmax(0))
    assert "tiles: " in str(kernel.explain(a, b))
    assert "load_shifted_run" not in kernel.source(a, b)  # of words, each of which is one access


@pytest.mark.parametrize("shape", [(2, 100, 256), (5, 36, 256)], ids=str)
def test_runs_end_with_the_fastest_axis(shape: tuple[int, ...]) -> None:
    """Where tiles are searched by predicted time, runs divide the extent itself, not only its first bits."""
    a, b = data(shape, np.float32, (0, 1, 2), 1), data(shape, np.float32, (0, 2, 1), 2)
    kernel = kgen.jit("s = sum(a * b, axis=(0, 1))", device="cpu")
    with forced({**AS_MANY, "column_tiles": {"gain": 1e6}}):
        assert np.array_equal(kernel(a, b), (a * b).sum((0, 1)))
        assert "tiles: " in str(kernel.explain(a, b))


@pytest.mark.parametrize(("lanes", "counts"), [(256, (16, 8, 4, 2, 1)), (64, (16, 1))], ids=str)
def test_what_is_left_behind_the_last_run(lanes: int, counts: tuple[int, ...]) -> None:
    """Threads share it, and read parts of it at once: one element after the other, each load would be waited for."""
    kernel = kgen.jit("s = sum(a * b, axis=0)\np = argmax(a - b, axis=0)", device="cpu", name=f"left{lanes}")
    with tiles(lanes, 8, split=False).taken():  # runs of 16 float32
        for height in (1, 16, 23, 47, 271, 31):
            a, b = (data((height, 600), np.float32, order, height) for order in ((0, 1), (1, 0)))
            s, p = kernel(a, b)
            assert np.array_equal(s, (a * b).sum(0)), height
            assert np.array_equal(p, (a - b).argmax(0)), height
        text = kernel.source(a, b)
    steps = [256 // lanes * count for count in counts]
    assert re.findall(r"for \(.*; e.*; (.*)\) {", text) == [f"e += {n}" if n > 1 else "++e" for n in steps]


#: Columns of any length are reduced as such, whatever is predicted.
BY_COLUMNS: Tuned = {"traffic": {"slow": 0}, "columns": {"gain_of_others": 1e6, "gain_over_rows": 1e6}}


@pytest.mark.parametrize(
    "dtypes", [("uint8", "float32"), ("bfloat16", "float64"), ("float32", "int8"), ("float64", "float16")], ids=str
)
def test_whole_short_columns(dtypes: tuple[str, str]) -> None:
    """A thread that has whole columns alone reads all of their elements at once, aligned or not."""
    a_type, b_type = (np.dtype(getattr(ml_dtypes, d, d)).type for d in dtypes)
    kernel = kgen.jit("s = sum(cast<f32>(a) * cast<f32>(b), axis=1)\nm = max(cast<f32>(b), axis=1)", device="cpu")
    with forced(both(AS_MANY, BY_COLUMNS)):
        for height in range(2, 10):
            for outer, gap in ((1, 0), (3, 0), (3, 1)):
                a = data((outer, height, 301), a_type, (0, 1, 2), height)
                b = data((outer, height + gap, 301), b_type, (0, 2, 1), height + 9)[:, gap:]
                s, m = kernel(a, b)
                assert np.array_equal(s, (a.astype(float) * b.astype(float)).sum(1)), (height, outer, gap)
                assert np.array_equal(m, b.astype(float).max(1)), (height, outer, gap)
                (step,) = kernel.explain(a, b).steps
                assert (step.schedule["at_once"], step.schedule["vectors"]) == (True, height), (outer, gap)
                text = kernel.source(a, b)
                assert f"A column has {height} elements." in text
                assert "for (;" not in text


@pytest.mark.parametrize(("height", "alignment"), [(2, 8), (3, 4), (4, 16), (6, 8), (8, 16)])
def test_runs_are_as_aligned_as_their_length_allows(height: int, alignment: int) -> None:
    kernel = kgen.jit("out = max(a + b, axis=1)", device="cpu")
    a = np.zeros((3, height, 1001), np.float32)
    with forced(both(AS_MANY, BY_COLUMNS)):
        text = kernel.source(a, a.reshape(3, 1001, height).swapaxes(1, 2))
    assert f"const Pack<float, {height}, {alignment}>*>(b_column" in text


def test_runs_of_two_bytes_are_one_access() -> None:
    a = np.zeros((3, 2, 1001), np.uint8)
    with forced(both(AS_MANY, BY_COLUMNS)):
        text = kgen.jit("out = max(a + b, axis=1)").source(a, a.reshape(3, 1001, 2).swapaxes(1, 2))
    assert "const Pack<unsigned char, 2, 2>*>(b_column" in text


def test_every_way_has_the_same_bits() -> None:
    programs = []
    for number, (shape, axes, order) in enumerate(CASES[:6]):
        a = data(shape, np.float32, tuple(range(len(shape))), number)
        b = data(shape, np.float32, order, number + 9)
        programs.append((f"s = sum(a * b, axis={axes})\nm = max(a - b, axis={axes})", {"a": a, "b": b}))
    for runs in run_every_way(programs, only=("as chosen", "tiles", "copied", "held by 8", "read again", "cut")):
        assert sum(run.name.startswith("tiles") for run in runs) >= 2
        for run in runs[1:]:
            for mine, first in zip(run.results, runs[0].results, strict=True):
                assert np.array_equal(mine, first), run.name


#: Shapes, reduced axes, strides of an operand that is consecutive down columns; and whether only blocks of its first
#: and its last column may reach beyond it.
RUNS = (
    ((127, 300), 0, (1, 127), True),
    ((33, 300), 0, (1, 33), True),
    ((96, 5, 61), 0, (1, 61 * 97, 97), True),  # gaps behind columns
    ((32, 5, 61), 0, (1, 35, 5 * 35), True),  # the kept axes in another order
    ((3, 32, 61), (0, 1), (32 * 61 + 1, 1, 32), True),
    ((127, 300), 0, (1, 15), False),  # columns overlap
    ((127, 5, 61), 0, (1, 0, 127), False),  # several columns begin at the lowest address
    ((127, 5, 61), 0, (1, -127 * 61, 127), False),  # the first column does not
)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "float16", "bfloat16"])
def test_runs_at_odd_addresses(dtype: str, split: bool) -> None:
    """They are shifted out of aligned blocks where none of another column than the first and the last reaches beyond
    the operand."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype)).type
    size = np.dtype(kind).itemsize
    for number, (shape, axes, strides, shifts) in enumerate(RUNS):
        kernel = kgen.jit(f"s = sum(cast<f32>(a) * cast<f32>(b), axis={axes})", device="cpu", name=f"runs{number}")
        ends = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
        lowest, highest = sum(min(0, end) for end in ends), sum(max(0, end) for end in ends)
        a = data(shape, kind, tuple(range(len(shape))), number)
        for first in (1, 5, 10):
            memory = data((first + highest - lowest + 1,), kind, (0,), first)[first - lowest :]
            b = np.lib.stride_tricks.as_strided(memory, shape, [size * s for s in strides])
            with tiles(64, 4, split=split).taken():
                assert np.array_equal(kernel(a, b), (a.astype("f8") * b.astype("f8")).sum(axes)), (strides, first)
                text = kernel.source(a, b)
            assert "tiles: " in text
            whole = "0 < number && number < layout.groups - 1"
            assert text.count(f"load_shifted_run<{32 // size}>(b_column") == text.count(whole) == shifts, (
                strides,
                first,
            )


def test_one_column_a_thread() -> None:
    """Rows that no group divides: a run is one pack, other operands are elements, and no loop has one step."""
    a, b = kgen.spec((4097, 511), "f32", (1, 4097)), kgen.spec((4097, 511), "f32")
    text = kgen.jit("out = max(a * b, axis=1)").source(a, b)
    for part in ("const auto b_vec = ", "b_vec.at[u]", "a_in[u]"):
        assert part in text
    assert not re.search(r"j < 1;|\[1\]", text.split("// --- Host code")[0])


def test_short_columns_fill_blocks() -> None:
    """Where one thread has all of a column, more columns go across than one line of memory has."""
    a, b = kgen.spec((160000, 16, 49), "f64"), kgen.spec((160000, 16, 49), "u8", (16, 1, 160000 * 16))
    with forced({"gathered_rates": {"launch": 1.0}}):  # or rows would be predicted to be faster
        (step,) = kgen.jit("out = max(a - b, axis=1)", device="cpu").explain(a, b).steps
    assert "tiles: " in " ".join(step.reasons)
    assert step.schedule["threads"] == 1
    assert step.schedule["block"] >= 64
