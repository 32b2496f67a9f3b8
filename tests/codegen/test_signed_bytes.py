"""Sums of signed bytes keep their sign, which compilers lose in vector loads of 16 (CUDA 12.1 to 13.5)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kgen import jit, spec
from kgen.runtime.cuda.compiler import compile_ptx, flags
from tests.codegen.signed_bytes import LAYOUTS, SIGNED, operands

#: What compilers made of ``a + b > 3`` for the first byte of a word, whose sign they lose, and for the second one.
LOST = """
.visible .entry lost(
\tmov.b32 \t{%rs1, %rs2}, %r1;
\tmov.b32 \t{%rs3, %rs4}, %r2;
\tshr.u16 \t%rs5, %rs1, 8;
\tshr.u16 \t%rs6, %rs3, 8;
\tadd.s16 \t%rs7, %rs3, %rs1;
\tsetp.gt.s16 \t%p1, %rs7, 3;
\tadd.s16 \t%rs8, %rs6, %rs5;
\tcvt.s16.s8 \t%rs9, %rs8;
\tsetp.gt.s16 \t%p2, %rs9, 3;
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
    assert lost_signs(LOST) == ["setp.gt.s16 \t%p1, %rs7, 3;"]


def test_bytes_that_are_only_moved_are_not_taken_apart() -> None:
    a = spec((1 << 20,), "int8")
    assert "load_words" not in jit("out = a").source(a, arch="sm_90")
    assert "load_words" in jit("out = a; more = a + 1").source(a, arch="sm_90")


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
