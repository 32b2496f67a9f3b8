"""Columns in registers of which few lie side by side: threads go along these, then down, and results are the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest

import kgen
from kgen.schedule.reduction.resident_mapping import ResidentDemand, ResidentMapping
from tests.forced import forced

RMSNORM = (
    "let z = cast<float>(x) * y + w\nout = z * rsqrt(mean(z * z, axis=1, keepdims=true) + 1e-6)\nmost = max(z, axis=1)"
)
PLACES = "let m = argmax(x, axis=1, keepdims=true)\nout = index(1) == m ? index(2) : cast<i64>(x)\nat = m"


@contextmanager
def mapped(threads: int, *, most: int = 15, group: int = 1) -> Iterator[None]:
    """64 threads across columns, ``threads`` down each.  ``most``: columns side by side that they take in turn."""

    def share(columns: ResidentDemand) -> ResidentMapping:
        return ResidentMapping(group, 64, threads, -(-columns.height // threads))

    patched = mock.patch.multiple(
        "kgen.schedule.reduction.resident_columns",
        map_columns=share,
        few_columns=lambda *_, **__: None,
        _sharing_sectors=lambda _, found: found,
        _filled=lambda _, found: found.lanes,
        fastest_mapping=lambda _, __, usual, *___: usual,
    )
    with patched, forced({"resident_columns": {"most_in_turn": most}}, only=("column_resident", "row_reduce")):
        yield


@pytest.mark.parametrize(("rows", "height", "threads"), [(700, 32, 8), (131, 21, 4), (2000, 9, 2), (13, 30, 16)])
@pytest.mark.parametrize("beside", [2, 3, 5, 8, 12, 15])
def test_results_are_those_of_threads_across_first(beside: int, rows: int, height: int, threads: int) -> None:
    """Bit for bit, floats too: elements of a column are added in the same order."""
    rng = np.random.default_rng(rows * height * beside)
    x = rng.integers(-8, 9, (rows, height, beside)).astype("float16" if beside % 2 else "int8")
    y = rng.standard_normal((rows, 2 * height, beside)).astype(np.float32)[:, ::2]
    w = rng.standard_normal((height, 1)).astype(np.float32)
    for text, given in ((RMSNORM, (x, y, w)), (PLACES, (x,))):
        found = []
        for most in (15, 0):
            with mapped(threads, most=most):
                kernel = kgen.jit(text, device="cpu")
                (step,) = kernel.explain(*given).steps
                pieces = 1 << (64 // beside).bit_length() - 1
                whole_warps = any(n * beside * threads % 32 == 0 for n in (pieces, 2 * pieces) if n * beside <= 128)
                smallest = 1 if beside % 2 == 0 else 2
                short_runs = beside * smallest < 32 and (beside == 2 or -(-height // threads) > 2)
                assert step.schedule["in_turn"] == (beside if most and whole_warps and short_runs else 0)
                found.append(kernel(*given))
        for mine, other in zip(*found, strict=True):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("beside", [2, 3, 4, 7])
@pytest.mark.parametrize("group", [1, 2])
def test_threads_of_a_piece_are_neighbours(beside: int, group: int) -> None:
    """Along it first, then down it."""
    group = group if beside % group == 0 else 1
    specs = kgen.spec((1 << 16, 32, beside), "i8"), kgen.spec((1 << 16, 32, beside), "f32")
    with mapped(8, group=group):
        kernel = kgen.jit("let z = cast<float>(x) * y\nout = z - max(z, axis=1, keepdims=true)")
        (step,) = kernel.explain(*specs).steps
        source = kernel.source(*specs)
    groups, block = step.schedule["in_turn"], step.schedule["block"]
    assert groups * group == beside
    assert f"// Neighbouring threads go along {groups} group{'s' * (groups > 1)} of columns, then down.\n" in source
    assert block % (8 * groups) == 0
    places = [thread_of(source, thread) for thread in range(block)]
    in_order = [(across // groups, down, across % groups) for across, down in places]
    assert in_order == sorted(set(in_order))


def thread_of(source: str, thread: int) -> tuple[int, int]:
    """The numbers of a thread across columns and down them, by the kernel's text."""
    found = []
    for name in ("across", "down"):
        (text,) = re.findall(rf"const int {name} = (.*?);", source)
        number: Any = eval(text.replace("/", "//").replace("threadIdx.x", str(thread)))
        found.append(int(number))
    return found[0], found[1]


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((4000, 32, 40), None),  # many side by side
        ((4000, 32, 3), (32 * 192, 192, 1)),  # elements of a column are far from each other
        ((4000, 32, "?"), None),
    ],
)
def test_others_go_across_first(shape: Any, strides: tuple[int, ...] | None) -> None:
    text = "let e = exp(x - max(x, axis=1, keepdims=true))\nout = e / sum(e, axis=1, keepdims=true)"
    spec = kgen.spec(shape, "f32", strides) if strides else kgen.spec(shape, "f32")
    with mapped(8):
        source = kgen.jit(text).source(spec)
    assert "const int across = threadIdx.x % 64;" in source


@pytest.mark.parametrize(("beside", "dtype"), [(2, "float32"), (3, "float32"), (2, "float16")])
def test_few_threads_across_merge_in_shared_memory(beside: int, dtype: str) -> None:
    """Threads of a warp that share a column are not a fixed distance apart."""
    x = np.random.default_rng(beside).standard_normal((1 << 13, 32, beside)).astype(dtype)
    softmax = "let q = exp(z - max(z, axis=1, keepdims=true))\nout = q / sum(q, axis=1, keepdims=true)"
    kernel = kgen.jit(f"let z = cast<float>(x)\n{softmax}", device="cpu")
    (step,) = kernel.explain(x).steps
    assert step.schedule["in_turn"]
    assert step.schedule["block"] // step.schedule["threads"] < 64
    z = x.astype(np.float64)
    q = np.exp(z - z.max(1, keepdims=True))
    np.testing.assert_allclose(kernel(x), q / q.sum(1, keepdims=True), rtol=1e-5)
