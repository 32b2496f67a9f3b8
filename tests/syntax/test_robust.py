"""Any text is either a program or an error, in time that grows with its length."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings, strategies as st

from kgen.diagnostics import KgenError, Reporter
from kgen.program import Program
from kgen.resolve import resolve
from kgen.source import Source
from kgen.syntax.parser import MAX_SIZE, parse

_WORDS = (
    "a b out x1 let def input inout param and or not true false cast bitcast typeof half float sum max exp index pi e "
    "axis keepdims dtype ( ) [ ] { } , ; : ? = == != < <= > >= + - * / // % ** & && | || ^ ~ ! << >> . # \\ @ $ ' \" "
    "+= /* */ ''' 1 0 2.5 .5 1e-3 2j 0xff 1x 017 é × ² if else lambda return np in"
)
WORDS = st.sampled_from([*_WORDS.split(" "), "\n", "\t", "\r\n", " "])


def program_of(text: str) -> Program:
    source = Source.of(text, "t.k")
    reporter = Reporter(source)
    return resolve(parse(source, reporter), source, reporter)


def attempt(text: str) -> str | None:
    """The codes of a text's errors, or None for a program."""
    try:
        program_of(text)
    except KgenError as problem:
        return problem.code
    return None


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    """Unicode text of any kind raises nothing but KgenError."""
    attempt(text)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    """Bytes read as Latin-1 raise nothing but KgenError."""
    attempt(data.decode("latin-1"))


@settings(max_examples=500, deadline=None)
@given(st.lists(WORDS, max_size=30), st.sampled_from(["", " "]))
def test_any_words(words: list[str], space: str) -> None:
    """The language's own words in any order raise nothing but KgenError."""
    attempt(space.join(words))


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=12))
def test_any_expression(words: list[str]) -> None:
    """Words after `out =` raise nothing but KgenError."""
    attempt("out = " + " ".join(words))


N = 10_000


@pytest.mark.parametrize(
    "text",
    [
        "out = " + " + ".join(["a"] * N),
        "out = " + " < ".join(["a"] * N),
        "out = " + " ** ".join(["a"] * N),
        "out = " + "a ? b : " * N + "c",
        "out = " + "-" * N + "a",
        "out = " + "not " * N + "a",
        "input " + ", ".join(f"a{i}" for i in range(N)) + "\nout = a1",
        "def f(" + ", ".join(f"a{i}" for i in range(N)) + ") = a1\nout = x",
        "\n".join(f"let t{i} = {f't{i - 1}' if i else 'x'} * 2" for i in range(N)) + f"\nout = t{N - 1}",
        "\n".join(f"def f{i}(x) = {f'f{i - 1}(x)' if i else 'x'} + 1" for i in range(N)) + f"\nout = f{N - 1}(a)",
        "\n" * (100 * N) + "out = a",
        "# comment\n" * (10 * N) + "out = a",
        "out = (\n" + "a +\n" * N + "a)",
        "out = " + "a" * N,
        "param k = " + " + ".join(["1"] * N) + "\nout = k * a",
    ],
    ids=lambda text: text[:20].replace("\n", " "),
)
def test_long_programs(text: str) -> None:
    """Ten thousand of anything is a program, quickly."""
    start = time.process_time()
    program_of(text)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("out = " + "(" * N + "a" + ")" * N, "too-deep"),
        ("out = " + "f(" * N + "a" + ")" * N, "too-deep"),
        ("out = " + "(" * N, "unclosed-bracket"),
        ("out = " + ")" * N, "unmatched-bracket"),
        ("out = " + "1" * 10 * N, "bad-number"),
        ("out = 0x" + "f" * 10 * N, "bad-number"),
        ("out = " + "1" * 10 * N + "x", "bad-number"),
        ("out = " + "a" * 10 * N + "é", "bad-character"),
        ("out = (\n" * N, "unclosed-bracket"),
        ("x = (a]\n" * N, "unmatched-bracket"),
        ("a b // c d;" * N, "syntax"),
        ("x = a // c $;" * N, "bad-character"),
        ('"""' * N, "string"),
        ("/*" * N, "comment"),
        ("x = a ++ ; " * N, "assignment-operator"),
        ("a = b\n" * N, "assigned-twice"),
        ("param k = " + "9 ** " * 50 + "9\nout = k * a", "bad-literal"),
        ("param k = 1 << 1 << 99999999999\nout = k * a", "bad-literal"),
        ("\x00" * N, "bad-character"),
        ("out = a\n" * (MAX_SIZE // 8 + 1), "too-large"),
    ],
    ids=lambda text: text[:20].replace("\n", " "),
)
def test_long_mistakes(text: str, code: str) -> None:
    """Ten thousand of a mistake is an error, quickly, and no crash."""
    start = time.process_time()
    assert attempt(text) == code
    assert time.process_time() - start < 5


def test_many_statements() -> None:
    """Ten thousand statements take less than three seconds."""
    text = "".join(f"out{i} = a{i} * b + cast<float>(c)\n" for i in range(N))
    start = time.process_time()
    program = program_of(text)
    assert time.process_time() - start < 3
    assert len(program.outputs) == N


@pytest.mark.whole
def test_megabyte() -> None:
    """A program of one megabyte is read in seconds."""
    text = "out = " + " + ".join(["a"] * 250_000)
    start = time.process_time()
    program_of(text)
    assert time.process_time() - start < 20
