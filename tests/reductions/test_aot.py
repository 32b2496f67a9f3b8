"""Kernels for rows of which only the length is known: those that calls with many rows get."""

from __future__ import annotations

import re
from typing import Any

import pytest

import kgen
from kgen.aot import aot_explain, aot_module
from kgen.codegen.kernels import Module
from kgen.compile_spec import CompileSpec
from kgen.ir.graph import KINDS
from kgen.operands import ASSUMED_EXTENTS
from kgen.options import Options
from kgen.pipeline import load
from kgen.runtime.cuda.compiler import compile_cubin, flags

SOFTMAX = "let e = exp(x - max(x, axis=-1, keepdims=true))\nout = e / sum(e, axis=-1, keepdims=true)"
LAYERNORM = (
    "let d = x - mean(x, axis=-1, keepdims=true)\nout = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b"
)


def module(text: str, dtype: str, arch: str | None = None, **shapes: tuple[int | None, ...]) -> Module:
    return aot_module(load(text), "k", Options(), CompileSpec(dtype, shapes, arch=arch))


def ahead(text: str, dtype: str, arch: str | None = None, **shapes: tuple[int | None, ...]) -> str:
    return module(text, dtype, arch, **shapes).text


@pytest.mark.parametrize("arch", [None, "sm_90"])
@pytest.mark.parametrize("width", [1, 3, 8, 100, 256, 1001, 4096, 8192, 32768, 50257, 131072])
@pytest.mark.parametrize(("text", "dtype"), [(SOFTMAX, "bf16"), (LAYERNORM, "bf16"), (SOFTMAX, "f32")])
def test_any_number_of_rows(text: str, dtype: str, width: int, arch: str | None) -> None:
    """Of any rank, by the same kernel first; the text says nothing of a number of rows that nobody stated."""
    rows = min(1_000_003, (1 << 23) // width | 1)  # so few bytes that L2 may keep the results
    weights: dict[str, Any] = {"w": (width,), "b": (width,)} if text is LAYERNORM else {}
    wanted = module(text, dtype, arch, x=(rows, width), **weights).entries[0]
    for shape in ((None, width), (3, None, width)):
        found = module(text, dtype, arch, x=shape, **weights)
        assert (found.entries[0].name, found.entries[0].schedule) == (wanted.name, wanted.schedule)
        assert not any(str(n) in line for n in ASSUMED_EXTENTS for line in found.text.splitlines() if "Chosen" in line)


@pytest.mark.parametrize("shape", [(None, 8192), (None, 100), (None, None), (64, None), (3, None, 1001), (5, 4096)])
@pytest.mark.parametrize("arch", [None, "sm_90"])
def test_explained(shape: tuple[int | None, ...], arch: str | None) -> None:
    """What is explained is what is compiled."""
    found = aot_explain(load(SOFTMAX), "k", Options(), CompileSpec("bf16", {"x": shape}, arch=arch))
    text = ahead(SOFTMAX, "bf16", arch, x=shape)
    kernels = re.findall(r"^k_(reduce_\w+)\(", text, re.MULTILINE)  # further ones are for other extents
    assert kernels[: len(found.steps)] == [step.kernel for step in found.steps]
    assert len(found.assumed) == (None in shape)


def test_unknown_length() -> None:
    """Short rows stay in registers, rows of any length are read again for each round; no reason has a length."""
    found = ahead(SOFTMAX, "bf16", x=(64, None))
    assert "_reduce_regs" in found
    assert "_reduce_long" in found
    assert "too long" not in found


def test_shifted_rows_of_any_length_compile() -> None:
    """With 64-bit places beside the 32-bit start of a row's first group."""
    made = module("out = x * rsqrt(mean(x * x, axis=-1, keepdims=true)) * w", "bf16", x=(None, None), w=(None,))
    assert any(t.kind == "shifted" for e in made.entries for t in e.schedule.accesses)
    assert compile_cubin(made.text, name="k.cu", arch="sm_90", options=flags("sm_90", fmad=True, fast=False))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_places_in_32_bits(kind: str) -> None:
    """Loops count beyond the end of a row, so rows of nearly 2^31 elements take 64 bits."""
    for width, bits in (((1 << 31) - (1 << 16) - 1, 32), ((1 << 31) - (1 << 16), 64)):
        (step, *_) = kgen.jit(f"out = {kind}(x, axis=-1)").explain(kgen.spec((2, width), "u8")).steps
        assert step.schedule["index_bits"] == bits
