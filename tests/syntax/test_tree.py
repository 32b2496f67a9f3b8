"""The tree of legal programs: precedence, chains, literals, statements and spans."""

from __future__ import annotations

import pytest

from kgen.source import Source
from kgen.syntax.tree import Assign, Binary, Call, Compare, postorder

from .printer import show, show_statement, tree_of, value_of


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a ? b : c ? d : e", "(? a b (? c d e))"),
        ("a ? b ? c : d : e", "(? a (? b c d) e)"),
        ("a || b ? c : d", "(? (or a b) c d)"),
        ("a or b && c", "(or a (and b c))"),
        ("a || b or c", "(or (or a b) c)"),
        ("a and b && c", "(and (and a b) c)"),
        ("not a == b", "(not (== a b))"),
        ("not a and not not b", "(and (not a) (not (not b)))"),
        ("!a == b", "(== (not a) b)"),
        ("!a ** b", "(not (** a b))"),
        ("a < b <= c", "(< <= a b c)"),
        ("a == b != c > d >= e", "(== != > >= a b c d e)"),
        ("(a < b) < c", "(< (< a b) c)"),
        ("a < b > (c)", "(< > a b c)"),
        ("a & b == c", "(== (& a b) c)"),
        ("a | b ^ c & d << e + f * -g ** h", "(| a (^ b (& c (<< d (+ e (* f (- (** g h))))))))"),
        ("a | b | c", "(| (| a b) c)"),
        ("a << b >> c", "(>> (<< a b) c)"),
        ("a - b + c", "(+ (- a b) c)"),
        ("a * b / c // d % e", "(% (// (/ (* a b) c) d) e)"),
        ("a - b * c", "(- a (* b c))"),
        ("-a ** 2", "(- (** a 2))"),
        ("2 ** -1", "(** 2 (- 1))"),
        ("a ** -b ** c", "(** a (- (** b c)))"),
        ("a ** b ** c", "(** a (** b c))"),
        ("-+~!a", "(- (+ (~ (not a))))"),
        ("a - -b", "(- a (- b))"),
        ("a--b", "(- a (- b))"),
        ("(a + b) * c", "(* (+ a b) c)"),
        ("((a))", "a"),
        ("f()", "(f)"),
        ("f(a, b,)", "(f a b)"),
        ("f(g(a), -b)", "(f (g a) (- b))"),
        ("cast<half>(a)", "(cast<float16> a)"),
        ("cast<half, sat>(a)", "(cast<float16,sat> a)"),
        ("cast<u8, sat, rz>(a + b)", "(cast<uint8,sat,rz> (+ a b))"),
        ("cast<i8, rne, sat>(a)", "(cast<int8,sat,rne> a)"),
        ("cast<typeof(x)>(y)", "(cast<typeof x> y)"),
        ("bitcast<int>(a) >> 3", "(>> (bitcast<int32> a) 3)"),
        ("cast<int>(a) < b > (c)", "(< > (cast<int32> a) b c)"),
        ("sum(x, axis=-1, keepdims=true)", "(sum x axis=(- 1) keepdims=true)"),
        ("sum(x, axis=(0, 1))", "(sum x axis=[0 1])"),
        ("sum(x, axis=(0,), dtype=f64)", "(sum x axis=[0] dtype=float64)"),
        ("sum(x, axis=())", "(sum x axis=[])"),
        ("sum(x, axis=(1))", "(sum x axis=1)"),
    ],
)
def test_expression(text: str, tree: str) -> None:
    """Operators bind as the language reference says."""
    assert show(value_of(text)) == tree


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("00", 0),
        ("1_000", 1000),
        ("0xff", 255),
        ("0XF_F", 255),
        ("0b101", 5),
        ("0o17", 15),
        ("18446744073709551616", 1 << 64),
        ("2.5", 2.5),
        ("2.", 2.0),
        (".5", 0.5),
        ("1e-3", 1e-3),
        ("1E+3", 1000.0),
        ("1_0.0_1e1_0", 10.01e10),
        ("2j", 2j),
        ("1.5e3J", 1500j),
        ("true", True),
        ("false", False),
    ],
)
def test_number(text: str, value: complex) -> None:
    """A literal has Python's value and Python's type."""
    number = show(value_of(text))
    assert number == (str(value).lower() if isinstance(value, bool) else repr(value))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("input a", "(input a)"),
        ("input a: half, b, c: f64", "(input a:float16 b c:float64)"),
        ("inout p: float, m", "(inout p:float32 m)"),
        ("param k", "(param k)"),
        ("param k: int", "(param k:int32)"),
        ("param alpha: float = -1.0", "(param alpha:float32=(- 1.0))"),
        ("param a = 1, b: half, c, d: int = 2", "(param a=1 b:float16 c d:int32=2)"),
        ("def f(x, k) = x * k", "(def f [x k] (* x k))"),
        ("def one() = 1", "(def one [] 1)"),
        ("let t = a", "(let t a)"),
        ("out = a", "(= out a)"),
        ("out: bf16 = a", "(= out:bfloat16 a)"),
        ("half = float + int", "(= half (+ float int))"),
        ("__global__ = template", "(= __global__ template)"),
    ],
)
def test_statement(text: str, tree: str) -> None:
    """Each kind of statement, with and without its optional parts."""
    (statement,) = tree_of(text).statements
    assert show_statement(statement) == tree


@pytest.mark.parametrize(
    "text",
    [
        "a = x; b = y",
        "a = x;b = y;",
        "a = x\nb = y",
        "a = x\r\nb = y\r\n",
        "\ufeff\n\n a = x # one; two\n\tb = y # (",
        "a = (\n x # first\n)\nb\t=\ty",
        ";;a = x;\n;b = y",
    ],
)
def test_separators(text: str) -> None:
    """Newlines and semicolons end statements, brackets continue lines, comments end with theirs."""
    assert [show_statement(s) for s in tree_of(text).statements] == ["(= a x)", "(= b y)"]


def test_spans() -> None:
    """A span is the exact text of its node, brackets around an operand and later lines included."""
    text = "let t = a\nout = (a + b) * f(c,\n  -d) < t\n"
    source = Source.of(text)
    statement = tree_of(text).statements[1]
    assert isinstance(statement, Assign)
    spans = {source.text[node.span.start : node.span.end] for node in postorder(statement.value)}
    assert spans == {"a", "b", "(a + b)", "c", "d", "-d", "f(c,\n  -d)", "(a + b) * f(c,\n  -d)", "t", text[16:-1]}
    assert isinstance(statement.value, Compare)
    product = statement.value.operands[0]
    assert isinstance(product, Binary)
    call = product.right
    assert isinstance(call, Call)
    marks = [*statement.value.op_spans, product.op_span, call.function_span, statement.name_span]
    assert [text[mark.start : mark.end] for mark in marks] == ["<", "*", "f", "out"]
