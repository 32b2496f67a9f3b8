"""The IR's text form: the same bytes for the same kernel, and back again."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given, strategies as st

from kgen.dtypes import BOOL, DTYPES, FLOAT32, FLOAT64, INT64, DType
from kgen.ir.graph import CastMode, Graph, IndexMap, Op, Operand, Reduction, Scalar, to_bits
from kgen.ir.printer import constant, print_kernel
from kgen.ir.reader import constant_bits, parse_kernel

EVERYTHING = """\
kernel(a: f32[n0, n1], b: f16[n1], w: e4m3fn[1, n0], inout p: f32[n0, n1], alpha: f32) -> (out: i32[n0, n1], s: f32[n0])
  %0 = load a : f32[n0, n1]               # gate
  %1 = load b : f16[n1]
  %2 = cast %1 : f32[n1]
  %3 = load w[1, .] : e4m3fn[n0, 1]
  %4 = cast %3 : f32[n0, 1]
  %5 = mul %0, %2 : f32[n0, n1]
  %6 = powi<3> %5 : f32[n0, n1]
  %7 = const -0.0 : f32[]
  %8 = where %9, %6, %7 : f32[n0, n1]
  %9 = scalar alpha : f32[]
  %10 = index -1 : i64[n0, n1]
  %11 = size n1 : i64[]
  %12 = reduce<var, axes=0 1, keepdims, correction=1> %8 : f32[1, 1]
  %13 = reduce<sum, axes=> %8 : f32[n0, n1]
  %14 = cast<rd> %13 : i32[n0, n1]
  %15 = cast<rne, sat> %10 : i32[n0, n1]
  store %14, out
  store %13, p
  store %4, s[0, .]
"""


def test_every_attribute_reads_back() -> None:
    """Modes, maps, constants, reductions, labels and roles all survive: text to kernel to the same text."""
    kernel = parse_kernel(EVERYTHING)
    assert print_kernel(kernel) == EVERYTHING
    assert kernel.operands[3].role == "inout"
    assert kernel.scalars == (Scalar("alpha", FLOAT32),)
    assert kernel.ops[0].label == "gate"
    assert kernel.ops[3].attr == IndexMap(2, (1, None))
    assert kernel.ops[12].attr == Reduction("var", (0, 1), True, 1)
    assert kernel.ops[14].attr == CastMode("rd", False)
    assert kernel.ops[-1].attr == IndexMap(5, (0, None))


def test_the_default_mode_of_a_cast_is_not_written() -> None:
    """A cast from a float to an integer truncates unless it says otherwise; every other rounds to nearest."""
    plain = parse_kernel("kernel(a: f32[n]) -> (o: i8[n])\n %0 = load a : f32[n]\n %1 = cast %0 : i8[n]\n store %1, o")
    assert plain.ops[1].attr == CastMode("rz", False)
    assert "cast %0" in print_kernel(plain)


def test_a_broken_kernel_prints_too() -> None:
    """Whatever the verifier may be handed can be shown: unknown operands, scalars and missing attributes."""
    ops = (
        Op("load", (), FLOAT32, ("n",), IndexMap(7, (0,))),
        Op("scalar", (), FLOAT32, (), 3),
        Op("cast", (9,), FLOAT32, (), CastMode("rne", False)),
        Op("const", (), FLOAT32, (), 1 << 40),
        Op("add", (), FLOAT32, (), 5),
        Op("store", (0,), FLOAT64, ("n",), IndexMap(0, (4,))),
        Op("load", (), FLOAT32, ("n",), None),
    )
    text = print_kernel(Graph((Operand("a", FLOAT32, ("n",), "input"),), (), ops), {1: ["no such scalar"]})
    assert "load ?7" in text
    assert "scalar ?3" in text
    assert "      ^ no such scalar" in text


@pytest.mark.parametrize("text", ["", "kernel", "kernel() -> ()\n  %1 = const 1 : i32[]", "kernel() -> ()\n  nonsense"])
def test_text_that_is_no_ir(text: str) -> None:
    """The reader says which line it cannot read."""
    with pytest.raises(ValueError, match=r"IR text|numbered|cannot read|no type"):
        parse_kernel(text)


def test_constants_stay_apart() -> None:
    """-0.0, NaN and its payloads, infinities, and 1 / true / 1.0 have texts of their own."""
    assert constant(to_bits(-0.0, FLOAT32), FLOAT32) == "-0.0"
    assert constant(to_bits(math.nan, FLOAT64), FLOAT64) == "nan"
    assert constant(0x7FC00001, FLOAT32) == "0x7fc00001"
    assert constant(to_bits(-math.inf, FLOAT32), FLOAT32) == "-inf"
    assert constant(to_bits(0.1, FLOAT32), FLOAT32) == "0.1"
    assert constant(to_bits(True, BOOL), BOOL) == "true"
    assert [constant(1, INT64), constant(to_bits(1.0, FLOAT64), FLOAT64)] == ["1", "1.0"]


CONSTANTS = [dtype for dtype in DTYPES if not (dtype.is_narrow or dtype.is_complex)]


@given(st.sampled_from(CONSTANTS), st.integers(0, (1 << 64) - 1))
def test_any_constant_reads_back_to_its_bits(dtype: DType, bits: int) -> None:
    """Every bit pattern prints as text that gives the same bits."""
    bits &= 1 if dtype.is_bool else (1 << dtype.bits) - 1
    assert constant_bits(constant(bits, dtype), dtype) == bits


def test_float32_constants_print_short() -> None:
    """A float32 prints the few digits that name it, not its float64 expansion."""
    bits = struct.unpack("<I", struct.pack("<f", 3.14159265))[0]
    assert constant(bits, FLOAT32) == "3.1415927"
