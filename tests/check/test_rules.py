"""The typing rules of the language, one a line: program, arguments, and the last output's dtype or an error's code.

Arguments that are not named are float32 arrays.
"""

from __future__ import annotations

import pytest

from kgen import pipeline
from kgen.argument_types import ArrayArg
from kgen.check import check
from kgen.dtypes import FLOAT32
from kgen.ir.graph import Graph
from tests.check.typing import result

Rows = list[tuple[str, str, str]]

WEAK: Rows = [
    # alone: bool, int64, float32, complex64
    ("out = true", "", "bool"),
    ("out = 1", "", "i64"),
    ("out = 1.5", "", "f32"),
    ("out = 2j", "", "c64"),
    ("param k = 1\nout = k", "", "i64"),
    ("param k = 1.5\nout = k", "", "f32"),
    ("out = a", "a=<int>", "i64"),
    ("out = a + b", "a=<int> b=<float>", "f32"),
    ("out = a / b", "a=<int> b=<int>", "f32"),
    ("out = a * a", "a=<bool>", "bool"),
    # met by an array: its dtype when the kind is the same or higher
    ("out = a + 1", "a=i8", "i8"),
    ("out = a + 1", "a=f16", "f16"),
    ("out = a + 1.5", "a=bf16", "bf16"),
    ("out = a + 1", "a=c64", "c64"),
    ("out = a + true", "a=u8", "u8"),
    # a higher kind: the default of that kind
    ("out = a + 2.5", "a=i8", "f32"),
    ("out = a + 1", "a=bool", "i64"),
    ("out = a + 2j", "a=f32", "c64"),
    ("out = a + 2j", "a=f64", "c128"),
    ("out = a + 2j", "a=f16", "c64"),
    ("out = a + 2j", "a=i64", "c64"),
    # literals alone are one literal, as Python has it
    ("out = a * (1 / 2)", "a=f16", "f16"),
    ("out = a + (200 - 100)", "a=i8", "i8"),
    ("out = a + 2 ** 7", "a=u8", "u8"),
    ("out = a + 7 // 2", "a=i8", "i8"),
    ("out = a + 7 / 2", "a=i8", "f32"),
    ("out = a * -128", "a=i8", "i8"),
    ("out = a * sqrt(2)", "a=f64", "f64"),
    ("out = a * pi", "a=f16", "f16"),
    ("out = a + (1 < 2)", "a=i8", "i8"),
    ("out = a * min(2, 3)", "a=i8", "i8"),
    # expressions of weak values stay weak
    ("param k = 2\nout = a * (k + 1)", "a=i8", "i8"),
    ("param k = 2.0\nout = a * -k", "a=f16", "f16"),
    ("param k = 2.0\nout = a * exp(k)", "a=f64", "f64"),
    ("def f(x) = x * 2\nout = a + f(3)", "a=i8", "i8"),
    ("let k = 3\nout = a * k", "a=i8", "i8"),
    # so do choices between weak values
    ("out = x * (x > 0 ? 1.0 : -1.0)", "x=f16", "f16"),
    ("out = x * (x > 0 ? 1 : -1)", "x=i8", "i8"),
    ("out = x * (x > 0 ? 1 : 0.5)", "x=i8", "f32"),
    ("out = x * (x > 0 ? 1 : 0.5)", "x=f16", "f16"),
    ("out = x * ((x > 0 ? 1 : 2) * 3 + 1)", "x=i8", "i8"),
    ("out = x * ((x > 0 ? true : false) + 1)", "x=i8", "i8"),
    ("out = x * (real(x) > 0 ? 1j : 2)", "x=c128", "c128"),
    ("out = x * min(x > 0 ? 0.1 : 0.2, 0.3)", "x=f64", "f64"),
    ("out = x * fmin(x > 0 ? 1 : 2, 3)", "x=i8", "i8"),
    ("out = x * clip(x > 0 ? 1 : 2, 0, 3)", "x=i8", "i8"),
    ("out = x * lerp(x > 0 ? 0.1 : 0.2, 1.0, 0.5)", "x=f16", "f16"),
    ("out = x * where(x > 0, 1, -1)", "x=i8", "i8"),
    ("out = x * abs(x > 0 ? 1 : -1)", "x=i8", "i8"),
    ("out = x * exp(x > 0 ? 1 : -1)", "x=f64", "f64"),
    ("out = x * (x > 0 ? 1 : 2) ** 2", "x=i8", "i8"),
    ("out = x * -(x > 0 ? 1 : 2)", "x=i8", "i8"),
    ("out = x * ((x > 0 ? 1 : 2) & 1)", "x=i8", "i8"),
    ("out = x * ~(x > 0 ? 1 : 2)", "x=i8", "i8"),
    ("out = x * (k > 0 ? k : 1)", "x=i8 k=<int>", "i8"),
    ("let s = x > 0 ? 1.0 : -1.0\nout = x * s", "x=f16", "f16"),
    ("def s(t) = t > 0 ? 1.0 : -1.0\nout = x * s(x)", "x=f16", "f16"),
    ("out = step(0.0, x) * x", "x=f16", "f16"),
    ("out = heaviside(x, 0.5)", "x=f16", "f16"),
    # alone they are what their kind is
    ("out = x > 0 ? 1.0 : -1.0", "x=f64", "f32"),
    ("out = x > 0 ? 1 : -1", "x=i8", "i64"),
    ("out = sum(x > 0 ? 1.0 : 2.0)", "x=f64", "f32"),
    ("out = x * (k * 2)", "x=c128 k=<complex>", "c128"),
    # typed parameters promote like arrays
    ("param k: float = 2\nout = a * k", "a=f16", "f32"),
    ("param k: f64\nout = a * k", "a=f32", "f64"),
    ("param k: int = 3\nout = a * k", "a=i8", "i32"),
    ("param k: half = 1\nout = a * k", "a=f16", "f16"),
]

RANGES: Rows = [
    ("out = a + 255", "a=u8", "u8"),
    ("out = a + 256", "a=u8", "literal-out-of-range"),
    ("out = a + -1", "a=u8", "literal-out-of-range"),
    ("out = a - 1", "a=u8", "u8"),
    ("out = a == 300", "a=u8", "bool"),
    ("out = a < -129", "a=i8", "bool"),
    ("out = a != 2 ** 70", "a=i8", "bool"),
    ("out = a > 0 ? a : 1000", "a=i8", "literal-out-of-range"),
    ("out = a * (a > 0 ? 1 : 1000)", "a=i8", "literal-out-of-range"),
    ("out = a < (a > 0 ? 1 : 1000)", "a=i8", "bool"),
    ("out = a + 1" + "0" * 309, "a=c64", "literal-out-of-range"),
    ("out = a + 1" + "0" * 309, "a=f64", "literal-out-of-range"),
    ("out = clip(a, -1, 1)", "a=u8", "literal-out-of-range"),
    ("out = a * 2 ** 64", "a=u64", "literal-out-of-range"),
    ("out = a * 2 ** 64", "a=f32", "f32"),
    ("out = 2 ** 63", "", "literal-out-of-range"),
    ("out = a + 300", "a=f16", "f16"),
    ("out = a + 300", "a=bool", "i64"),
]

ARITHMETIC: Rows = [
    ("out = a / b", "a=i64 b=i64", "f32"),
    ("out = a / b", "a=f16 b=i64", "f16"),
    ("out = a // b", "a=i16 b=i8", "i16"),
    ("out = a % b", "a=u8 b=i8", "i16"),
    ("out = a // b", "a=f16 b=f16", "f16"),
    ("out = a << b", "a=u8 b=i32", "i32"),
    ("out = a ** b", "a=i8 b=i16", "i16"),
    ("out = a ** 2", "a=i8", "i8"),
    ("out = a ** -1", "a=i8", "negative-power"),
    ("out = a ** -1", "a=f16", "f16"),
    ("out = a ** 0.5", "a=i8", "f32"),
    ("out = a ** 0.5", "a=c64", "c64"),
    ("out = -a", "a=u8", "u8"),
    ("out = +a", "a=f16", "f16"),
    ("out = ~a", "a=u16", "u16"),
    # bools
    ("out = a + a", "a=bool", "bool"),
    ("out = a * a", "a=bool", "bool"),
    ("out = a & a", "a=bool", "bool"),
    ("out = ~a", "a=bool", "bool"),
    ("out = a / a", "a=bool", "f32"),
    ("out = a - a", "a=bool", "no-operator"),
    ("out = a // a", "a=bool", "no-operator"),
    ("out = a % a", "a=bool", "no-operator"),
    ("out = a ** a", "a=bool", "no-operator"),
    ("out = a << a", "a=bool", "no-operator"),
    ("out = -a", "a=bool", "no-operator"),
    ("out = +a", "a=bool", "no-operator"),
    ("out = a - b", "a=bool b=i8", "i8"),
    # bit operators need integers
    ("out = a & b", "a=f32 b=i32", "no-operator"),
    ("out = a ^ 2", "a=f32", "no-operator"),
    ("out = ~a", "a=f32", "no-operator"),
    ("out = a | a", "a=c64", "no-operator"),
    ("out = a & 1.5", "a=i32", "no-operator"),
    # complex
    ("out = a // b", "a=c64 b=f32", "no-operator"),
    ("out = a % b", "a=c64 b=f32", "no-operator"),
    ("out = a < b", "a=c64 b=f32", "no-operator"),
    ("out = a == b", "a=c64 b=f32", "bool"),
    ("out = max(a, a)", "a=c64", "no-function"),
    ("out = clip(a, 0, 1)", "a=c64", "no-function"),
    ("out = sign(a)", "a=c64", "c64"),
    ("out = abs(a)", "a=c128", "f64"),
    ("out = real(a)", "a=c64", "f32"),
    ("out = angle(a)", "a=c64", "f32"),
    ("out = conj(a)", "a=c64", "c64"),
    ("out = exp(a)", "a=c64", "c64"),
    ("out = tanh(a)", "a=c128", "c128"),
    ("out = erf(a)", "a=c64", "no-function"),
    ("out = floor(a)", "a=c64", "no-function"),
    ("out = complex(a, b)", "a=f32 b=f32", "c64"),
    ("out = complex(a, b)", "a=f32 b=f64", "c128"),
    ("out = real(a)", "a=i8", "i8"),
    ("out = a * b", "a=c64 b=f64", "c128"),
]

COMPARISONS: Rows = [
    ("out = a < b", "a=u64 b=i64", "bool"),
    ("out = a == b", "a=u64 b=i8", "bool"),
    ("out = a + b", "a=u64 b=i8", "no-common-dtype"),
    ("out = a < b < c", "a=i8 b=u64 c=f32", "bool"),
    ("out = a == 0.1", "a=f16", "bool"),
    ("out = !a", "a=f32", "bool"),
    ("out = not a", "a=c64", "bool"),
    ("out = a && b", "a=i8 b=f16", "bool"),
    ("out = a or b", "a=e4m3fn b=i32", "bool"),
    ("out = a ? b : c", "a=f16 b=i8 c=u8", "i16"),
    ("out = a ? b : 1.5", "a=bool b=i8", "f32"),
    ("out = where(a, b, c)", "a=i8 b=bool c=bool", "bool"),
    ("out = isnan(a)", "a=i8", "bool"),
    ("out = isinf(a)", "a=c64", "bool"),
    ("out = signbit(a)", "a=f16", "bool"),
]

FUNCTIONS: Rows = [
    ("out = sqrt(a)", "a=u8", "f32"),
    ("out = sqrt(a)", "a=bf16", "bf16"),
    ("out = hypot(a, b)", "a=i8 b=f64", "f64"),
    ("out = atan2(a, b)", "a=f16 b=bf16", "f32"),
    ("out = max(a, b, 1)", "a=i8 b=i16", "i16"),
    ("out = max(a, 1.5)", "a=i8", "f32"),
    ("out = max(a, b)", "a=bool b=bool", "bool"),
    ("out = popcount(a)", "a=u8", "i32"),
    ("out = popcount(a)", "a=f32", "no-function"),
    ("out = clz(a)", "a=i64", "i32"),
    ("out = ldexp(a, b)", "a=f16 b=i32", "f16"),
    ("out = ldexp(a, b)", "a=f32 b=i64", "f32"),
    ("out = ldexp(a, b)", "a=f32 b=u64", "f32"),
    ("out = ldexp(a, b)", "a=f32 b=f32", "no-function"),
    ("out = jn(b, a)", "a=f32 b=i64", "f32"),
    ("out = fmod(a, b)", "a=i8 b=i64", "i64"),
    ("out = fmod(a, 2)", "a=u8", "u8"),
    ("out = fmod(a, 2.5)", "a=u8", "f32"),
    ("out = fmod(a, a)", "a=bool", "f32"),
    ("out = fmin(a, b)", "a=i8 b=u8", "i16"),
    ("out = fmax(a, a)", "a=bool", "bool"),
    ("out = fmod(a, a)", "a=c64", "no-function"),
    ("out = a + fmod(7, 2)", "a=i8", "i8"),
    ("out = gelu(a)", "a=f16", "f16"),
    ("out = sigmoid(a)", "a=i32", "f32"),
    ("out = relu(a)", "a=i8", "i8"),
    ("out = square(a)", "a=u8", "u8"),
    ("out = softplus(a)", "a=i8", "f32"),
    ("out = lerp(a, b, 0.5)", "a=u8 b=u8", "f32"),
    ("out = fma(a, b, c)", "a=f16 b=f16 c=f16", "f16"),
    ("out = index(0) + a", "a=f16", "f16"),
    ("out = index(0)", "", "i64"),
    ("out = size(a, 0)", "a=f16", "i64"),
    ("out = size(a, 0)", "a=c64", "i64"),
    ("out = a + size(0)", "a=i8", "i64"),
]

CASTS: Rows = [
    ("out = cast<half>(a)", "a=f64", "f16"),
    ("out = cast<int>(a) + b", "a=f32 b=i8", "i32"),
    ("out = cast<u8, sat>(a)", "a=f32", "u8"),
    ("out = cast<u8, sat, rne>(a)", "a=f32", "u8"),
    ("out = cast<e4m3fn, sat, rz>(a)", "a=f64", "e4m3fn"),
    ("out = cast<bf16, ru>(a)", "a=i64", "bf16"),
    ("out = cast<bool>(a)", "a=c64", "bool"),
    ("out = cast<bool, rz>(a)", "a=f32", "bad-cast"),
    ("out = cast<float>(a)", "a=c64", "bad-cast"),
    ("out = cast<c64>(a)", "a=f32", "c64"),
    ("out = cast<c64, sat>(a)", "a=f32", "bad-cast"),
    ("out = cast<c64>(a)", "a=c128", "c64"),
    ("out = cast<half>(0.1) * a", "a=f16", "f16"),
    ("out = cast<half>(0.1) * a", "a=f32", "f32"),
    ("out = cast<typeof(b)>(a) + b", "a=f32 b=i16", "i16"),
    ("out = bitcast<float>(a)", "a=u32", "f32"),
    ("out = bitcast<u16>(a)", "a=bf16", "u16"),
    ("out = bitcast<int>(a)", "a=f64", "bad-cast"),
    ("out = bitcast<c64>(a)", "a=f64", "c64"),
    ("out = bitcast<i8>(a)", "a=e5m2", "i8"),
]

NAMES: Rows = [
    ("input a: half\nout = a", "a=f32", "dtype-mismatch"),
    ("input a: half\nout = a", "a=f16", "f16"),
    ("input a: int\nout = a", "a=<int>", "i32"),
    ("input a: int\nout = a", "a=<float>", "dtype-mismatch"),
    ("input a: half\nout = a * b", "a=<int> b=f16", "f16"),
    ("out: half = a", "a=f64", "f16"),
    ("out: u8 = a", "a=f32", "u8"),
    ("out: float = a", "a=c64", "bad-cast"),
    # hiding: pi, e and functions' names are names like any other
    ("let pi = a\nout = pi", "a=i8", "i8"),
    ("param e = 1\nout = a + e", "a=i8", "i8"),
    ("def sqrt(x) = x\nout = sqrt(a)", "a=i8", "i8"),
    ("def f(x) = x + k\nparam k: f64\nout = f(a)", "a=f32", "f64"),
    # let keeps its expression's dtype and rounds nothing
    ("let t = a * 2\nout = t", "a=f16", "f16"),
    ("let t = a + 2.5\nout = t", "a=i8", "f32"),
    ("y = a * 1.5\nout = y", "a=f16", "f16"),
    # C++ words are names
    ("out = class + double", "class=f16 double=f16", "f16"),
]

OUTPUTS: Rows = [
    ("inout p\nold = p\np = p * 2", "p=i8", "i8"),
    ("inout p\np = p * 1.5", "p=i8", "lossy-cast"),
    ("inout p\np = p * 1.5", "p=f16", "f16"),
    ("inout p\np = a\nnew = p", "p=f16 a=f64", "f16"),
    ("inout p\np = a\nnew = p", "p=i8 a=i64", "i8"),
    ("inout p\np = a", "p=bool a=i8", "lossy-cast"),
    ("inout p\np = a", "p=f32 a=c64", "lossy-cast"),
    ("inout p\np = 0", "p=f16", "f16"),
    ("inout p\np = 300", "p=u8", "literal-out-of-range"),
    ("inout p: i32\np = a", "p=f64 a=f64", "dtype-mismatch"),
    ("inout p: float\np = a", "p=f64", "dtype-mismatch"),
]

REDUCTIONS: Rows = [
    ("out = sum(a)", "a=bool", "i64"),
    ("out = sum(a)", "a=i8", "i64"),
    ("out = sum(a)", "a=u8", "i64"),
    ("out = sum(a)", "a=u64", "u64"),
    ("out = prod(a)", "a=i32", "i64"),
    ("out = sum(a)", "a=f16", "f16"),
    ("out = sum(a)", "a=e4m3fn", "f32"),
    ("out = sum(a, dtype=f64)", "a=f16", "f64"),
    ("out = mean(a)", "a=i8", "f32"),
    ("out = mean(a)", "a=bf16", "bf16"),
    ("out = var(a)", "a=i64", "f32"),
    ("out = std(a)", "a=f64", "f64"),
    ("out = norm(a)", "a=u8", "f32"),
    ("out = logsumexp(a)", "a=f16", "f16"),
    ("out = max(a)", "a=i8", "i8"),
    ("out = min(a)", "a=bool", "bool"),
    ("out = argmax(a)", "a=f16", "i64"),
    ("out = count_nonzero(a)", "a=f16", "i64"),
    ("out = any(a)", "a=f32", "bool"),
    ("out = all(a)", "a=c64", "bool"),
    ("out = max(a)", "a=c64", "no-function"),
    ("out = sum(a, axis=1)", "", "bad-axis"),
    ("out = sum(a, axis=-2)", "", "bad-axis"),
    ("out = sum(a, axis=())", "a=i8", "i64"),
    ("out = a - mean(a)", "a=f16", "f16"),
    ("out = sum(a, axis=0)", "a=f16()", "f16"),
    ("out = argmax(a, axis=-1, keepdims=true)", "a=f16()", "i64"),
    ("out = sum(a, axis=1)", "a=f16()", "bad-axis"),
    ("out = var(a, correction=0.5)", "", "f32"),
    ("out = var(a, correction=1 / 2)", "", "f32"),
    ("out = var(a, correction=inf)", "", "bad-keyword"),
    ("out = any(imag(a), axis=0)", "", "bool"),
    ("out = a * index(1)", "", "bad-axis"),
]

TABLES = {
    "weak": WEAK,
    "ranges": RANGES,
    "arithmetic": ARITHMETIC,
    "comparisons": COMPARISONS,
    "functions": FUNCTIONS,
    "casts": CASTS,
    "names": NAMES,
    "outputs": OUTPUTS,
    "reductions": REDUCTIONS,
}


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [pytest.param(*row, id=f"{table}-{row[0]}-{row[1]}") for table, rows in TABLES.items() for row in rows],
)
def test_rule(text: str, arguments: str, expected: str) -> None:
    """A program of these arguments has this dtype, or this error."""
    assert result(text, arguments) == expected


@pytest.mark.parametrize(
    ("value", "out", "expected"),
    [
        ("f32", "f64", "f64"),
        ("f64", "f16", "f16"),
        ("i64", "i8", "i8"),
        ("i64", "f16", "f16"),
        ("bool", "u8", "u8"),
        ("f32", "c64", "c64"),
        ("f32", "i32", "lossy-cast"),
        ("i8", "bool", "lossy-cast"),
        ("c64", "f32", "lossy-cast"),
    ],
)
def test_out(value: str, out: str, expected: str) -> None:
    """``out=`` may have another dtype where the kind does not fall."""
    assert result("out = a", f"a={value}", out=out) == expected


def kernel(text: str, **shapes: tuple[int | None, ...]) -> Graph:
    program = pipeline.load(text)
    return check(program, {a.name: ArrayArg(FLOAT32, shapes[a.name]) for a in program.arguments}).kernel


@pytest.mark.parametrize(
    ("text", "a", "b", "shape"),
    [
        ("out = a + b", (4, 3), (3,), ("n0", "n1")),
        ("out = a + b", (4, 1), (3,), ("n0", "n1")),
        ("out = a + b", (None, None), (None,), ("n0", "n1")),
        ("out = a + b", (), (3,), ("n0",)),
        ("out = a + b", (1,), (1,), (1,)),
        ("out = a + b", (0, 3), (1,), ("n0", "n1")),
        ("out = a + expand(b, axis=1)", (4, 3), (4,), ("n0", "n1")),
        ("out = b + a + sum(a, axis=0)", (4, 3), (3,), ("n1", "n0")),
        ("out = a\nout2 = b", (4, 3), (5,), ("n2",)),
        ("out = b * mean(a)", (4, 3), (5,), ("n0",)),
        ("out = sum(a, axis=-1) * b", (4, 3), (4,), ("n0",)),
        ("out = sum(a, axis=(0, 1), keepdims=true) * b", (4, 3), (4,), (1, "n2")),
    ],
)
def test_shapes(text: str, a: tuple[int | None, ...], b: tuple[int | None, ...], shape: tuple[object, ...]) -> None:
    """Each output has the shape of its own expression; extents that meet are one symbol."""
    typed = kernel(text, a=a, b=b)
    assert typed.operands[-1].shape == shape
