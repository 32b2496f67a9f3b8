"""Sums of signed bytes keep their sign, which compilers lose in vector loads of 16 (CUDA 12.1 to 13.5)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kgen import jit, spec
from kgen.runtime.cuda.compiler import compile_ptx, flags
from tests.codegen.signed_bytes import LAYOUTS, SIGNED, operands

#: What the compiler loses: ``a.at[0] + b.at[0] > 3`` compares 16 bits of which the upper 8 are those of ``at[1]``.
LOST = """
struct alignas(16) Bytes { signed char at[16]; };
extern "C" __global__ void lost(const Bytes* a, const Bytes* b, Bytes* out)
{
    const Bytes x = a[threadIdx.x], y = b[threadIdx.x];
    Bytes z;
    #pragma unroll
    for (int j = 0; j < 16; ++j) {
        z.at[j] = (signed char)(x.at[j] + y.at[j]) > 3;
    }
    out[threadIdx.x] = z;
}
"""

_SUM = re.compile(r"(?:add|sub|neg)\.s16\s+(%rs\d+), (.*);")
_HALVES = re.compile(r"mov\.b32\s+\{(%rs\d+), %rs\d+\}, %r\d+;")
_SIGNED_USE = re.compile(r"(?:(?:setp\.[gl][te]|cvt(?:\.rn)?\.[a-z]\d+|min|max)\.s|shr\.[us])16\s+\S+, (.*);")


def lost_signs(ptx: str) -> list[str]:
    """Instructions that take the sign of a sum of 16 bits, of which the lower 8 are a loaded byte, and the upper ones
    the next byte."""
    found: list[str] = []
    for kernel in ptx.split(".entry")[1:]:
        halves: set[str] = set()
        sums: set[str] = set()
        for line in kernel.splitlines():
            text = line.strip()
            if of_word := _HALVES.match(text):
                halves.add(of_word[1])
            elif (of := _SUM.match(text)) and halves & {*of[2].split(", ")}:
                sums.add(of[1])
            elif (use := _SIGNED_USE.match(text)) and sums & {*use[1].split(", ")}:
                found.append(text)
    return found


def ptx_of(text: str) -> str:
    return compile_ptx(text, name="kernel.cu", arch="sm_90", options=flags("sm_90")).decode()


def test_what_compilers_lose_is_seen() -> None:
    """Else the tests below would pass for nothing; where this fails, a compiler has been repaired."""
    assert len(lost_signs(ptx_of(LOST))) == 4


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", SIGNED)
def test_signs_are_kept(text: str, layout: str) -> None:
    given = {name: array for name, array in operands(layout).items() if re.search(rf"\b{name}\b", text)}
    specs: dict[str, Any] = {
        name: spec(a.shape, a.dtype, tuple(s // a.itemsize for s in a.strides)) for name, a in given.items()
    }
    assert not lost_signs(ptx_of(jit(text).source(**specs, arch="sm_90")))


@pytest.mark.parametrize("text", [text for text in SIGNED if "axis=1" not in text])
def test_signs_are_kept_in_files_for_any_layout(text: str) -> None:
    assert not lost_signs(ptx_of(jit(text).source(dtypes="int8", arch="sm_90")))
