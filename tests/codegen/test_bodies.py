"""Kernels that differ in index width or rank alone share a function template."""

from __future__ import annotations

import re

import pytest

from kgen import pipeline
from kgen.aot import aot_module
from kgen.compile_spec import CompileSpec
from kgen.options import Options

AXPY = "param a: float = 2.0\nout = a * x + y"

#: The kernels that call each function template.
SHARED = {
    ("any", 4): {
        "contiguous_any": ["contiguous", "contiguous_64bit"],
        "rows_any": ["rows_2d", "rows_4d", "rows_4d_64bit"],
        "strided_any": ["strided_2d", "strided_4d", "strided_8d_64bit"],
    },
    ("rows", 4): {
        "contiguous_any": ["contiguous", "contiguous_64bit"],
        "rows_any": ["rows_2d", "rows_4d", "rows_8d_64bit"],
    },
    ("strided", 2): {"strided_any": ["strided_2d", "strided_8d_64bit"]},
    ("strided", 1): {},
}


@pytest.mark.parametrize(("layout", "rank"), SHARED)
def test_one_text(layout: str, rank: int) -> None:
    text = aot_module(pipeline.load(AXPY), "axpy", Options(), CompileSpec("f32", layout=layout, rank=rank)).text
    found: dict[str, list[str]] = {}
    for kernel, body in re.findall(
        r'^extern "C" __global__ .*\naxpy_(\w+)\([^{]*\{\n    axpy_(\w+)\(', text, re.MULTILINE
    ):
        found.setdefault(body, []).append(kernel)
    assert found == SHARED[layout, rank]
    for body in found:
        assert len(re.findall(rf"^axpy_{body}\(", text, re.MULTILINE)) == 1


def test_a_single_kernel_is_plain() -> None:
    """Without a template, where indices have one type."""
    text = aot_module(pipeline.load(AXPY), "axpy", Options(), CompileSpec("f32", {"x": (64, 1000), "y": (1000,)})).text
    assert "Count" not in text


def test_size() -> None:
    """A file is short enough to be reviewed."""
    sizes = {
        layout: len(aot_module(pipeline.load(AXPY), "axpy", Options(), CompileSpec("f32", layout=layout)).text)
        for layout in ("any", "contiguous")
    }
    assert sizes["any"] < 38_000
    assert sizes["contiguous"] < 20_500
