"""Rows that threads walk: where elements take divisions or functions, several groups are loaded at once."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kgen
from tests.codegen.bare import bare

AT_ONCE = "groups at once: all are loaded ahead of the work on the first"


def _loops(source: str) -> list[str]:
    """The bodies of loops that begin where another one ended."""
    found = []
    for start in re.finditer(r"for \(; begin [^{]*{", source):
        end, depth = start.end(), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(source[end], 0)
            end += 1
        found.append(source[start.end() : end])
    return found


@pytest.mark.parametrize(
    ("text", "batches"),
    [
        ("out = sum(a / b, axis=-1)", 1),
        ("out = argmax(a * tanh(b), axis=-1)", 1),
        ("out = sum(a + b, axis=-1)", 0),  # the compiler loads ahead itself
        ("let e = exp(a - max(a, axis=-1, keepdims=true))\nout = e / sum(e, axis=-1, keepdims=true) * b", 2),
    ],
)
def test_which(text: str, batches: int) -> None:
    specs = (kgen.spec((300, 60000), "f32"), kgen.spec((300, 60000), "f32"))
    source = kgen.jit(text).source(*specs, arch="sm_75")
    assert source.count(AT_ONCE) == batches
    loops = [loop for loop in _loops(bare(source)) if "keep_loads_above();" in loop]
    assert len(loops) == batches
    for loop in loops:
        loads, work = loop.split("keep_loads_above();")
        assert "if (" not in loads
        assert "reinterpret_cast<const Pack" in loads
        assert "const Pack" not in work


@pytest.mark.parametrize("end", [0, 1, 255, 256, 1023, 1024, 1025])
def test_rows_of_several_dimensions(end: int) -> None:
    """Coordinates are those of each load; what is left of the last batch is read alone; rows have gaps."""
    chosen = np.random.default_rng(end)
    shape = (3, 7, 2048 + end)
    a: Any = chosen.integers(-8, 8, (*shape[:2], shape[2] + 3)).astype(np.float32)[:, :, 2:-1]
    b: Any = 2.0 ** chosen.integers(-2, 2, shape).astype(np.float32)
    kernel = kgen.jit("total = sum(a / b, axis=(1, 2))\nmost = max(a / b, axis=(1, 2))", device="cpu")
    assert AT_ONCE in kernel.source(a, b, arch="sm_90")
    total, most = kernel(a, b)
    assert np.array_equal(total, (a / b).sum(axis=(1, 2)))
    assert np.array_equal(most, (a / b).max(axis=(1, 2)))


@pytest.mark.parametrize("width", [70000, 70003, 4 * 512 * 4 * 9 + 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_results(width: int, axis: int) -> None:
    """Sums of quotients that are exact, and where the greatest is; rows, and their transpose."""
    chosen = np.random.default_rng(width)
    a: Any = chosen.integers(-8, 8, (3, width)).astype(np.float32)
    b: Any = 2.0 ** chosen.integers(-2, 2, (3, width)).astype(np.float32)
    if axis == 0:
        a, b = a.T, b.T
    total, at = kgen.jit(f"total = sum(a / b, axis={axis})\nat = argmax(a / b, axis={axis})")(a, b)
    assert np.array_equal(total, (a / b).sum(axis=axis))
    assert np.array_equal(at, (a / b).argmax(axis=axis))


@pytest.mark.parametrize("end", [0, 1, 1025])
@pytest.mark.parametrize("dimensions", [1, 2])
def test_what_elements_share(end: int, dimensions: int) -> None:
    """What a row shares is read once; what the elements of a group share, and places, are those of each group."""
    chosen = np.random.default_rng(end)
    shape = (3, 7, 10240 + end) if dimensions == 2 else (3, 70000 + end)
    reduced = tuple(range(1, len(shape)))
    a: Any = chosen.integers(-8, 8, shape).astype(np.float32)
    b: Any = np.broadcast_to(2.0 ** chosen.integers(-2, 2, (*shape[:-1], 1)).astype(np.float32), shape)
    text = f"total = sum(a / b + index(-1) % 5 * index(-2), axis={reduced})\nplace = argmax(a / b, axis={reduced[-1]})"
    kernel = kgen.jit(text, device="cpu")
    source = kernel.source(a, b, arch="sm_90")
    loops = [loop for loop in _loops(bare(source)) if "keep_loads_above();" in loop]
    assert [("b_row[" in loop, " r0 =" in loop) for loop in loops] == [(dimensions == 2, dimensions == 2)]
    before, last = np.indices(shape)[-2:]
    total, place = kernel(a, b)
    assert np.array_equal(total, (a / b + last % 5 * before).sum(axis=reduced))
    assert np.array_equal(place, (a / b).argmax(axis=-1))


@pytest.mark.parametrize(("step", "dtype", "groups"), [(1, "u8", 4), (2, "u8", 2), (2, "f32", 4)])
def test_groups_without_a_branch(step: int, dtype: str, groups: int) -> None:
    """Fewer where elements lie apart: the compiler keeps how far each is from the first one in registers."""
    a, b = kgen.spec((1 << 24,), dtype, (step,)), kgen.spec((1 << 24,), "f16" if dtype == "u8" else "f32")
    source = kgen.jit("out = max(cast<float>(a) + cast<float>(b), axis=0)").source(a, b, arch="sm_90")
    assert re.search(rf"#pragma unroll {groups}\n    for \(int i = first", source)
