"""Programs that are broken, huge or strange: a result or an error with a code, in reasonable time, never a crash."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

import kgen
from kgen.diagnostics import KgenError

DEEP = 10_000

REFUSED: list[tuple[str, str]] = [
    ("out = " + "(" * DEEP + "a" + ")" * DEEP, "too-deep"),
    ("out = " + "exp(" * DEEP + "a" + ")" * DEEP, "too-deep"),
    ("out = " + "(" * DEEP, "unclosed-bracket"),
    ("out = " + ")" * DEEP, "unmatched-bracket"),
    ("out = ä + 1", "bad-character"),
    ("out = a × b", "bad-character"),
    ("out = a\u00a0+ b", "bad-character"),
    ("out = a \u202e+ b", "bad-character"),
    ("out = a \0+ b", "bad-character"),
    ("out = ａ", "bad-character"),
    ("out = a \\\n + b", "bad-character"),
    ("out = 'a'", "string"),
    ("out = a + " + "9" * 10_000, "bad-number"),
    ("", "empty-program"),
    ("\n" * 100_000, "empty-program"),
    ("# nothing", "empty-program"),
    ("let t = a", "no-output"),
]


@pytest.mark.parametrize(("text", "code"), REFUSED, ids=lambda v: ascii(v[:20]))
def test_refused_with_a_code(text: str, code: str) -> None:
    """Each of these is a user's mistake, reported in a text that is short however long the program."""
    with pytest.raises(KgenError) as caught:
        kgen.jit(text)
    assert caught.value.code == code
    assert len(str(caught.value)) < 3_000


NESTED: dict[str, Callable[[int], str]] = {
    "indices": lambda n: "out = x" + "[::-1]" * n,
    "views": lambda n: "out = " + "flip(" * n + "x" + ", axis=0)" * n,
    "views of views": lambda n: "out = " + "merge(split(" * (n // 2) + "x" + ", by=2))" * (n // 2),
    "computed indices": lambda n: "out = " + "x[cast<int>(" * (n // 2) + "x" + ")]" * (n // 2),
    "take": lambda n: "let i = cast<int>(x)\nout = " + "take(i, " * (n // 2) + "i" + ")" * (n // 2),
    "reductions": lambda n: "out = " + "sum(" * n + "x" + ", axis=())" * n,
    "arguments": lambda n: "def f(a) = a * index(0)\nout = " + "f(" * (n // 2) + "x / index(0)" + ")" * (n // 2),
    "lets": lambda n: "let v0 = x * index(0)\n" + "".join(
        f"let v{k + 1} = (v{k} * index(0))[::-1] * index(0)\n" for k in range(n // 2)) + f"out = v{n // 2}",
}  # fmt: skip


@pytest.mark.parametrize("what", NESTED)
def test_nested_places(what: str) -> None:
    """What has a place of its own is typed recursively: beyond a limit that is an error, and none of Python's stack."""
    x = kgen.spec(8, "f32")
    kgen.jit(NESTED[what](40)).meta(x)
    with pytest.raises(KgenError) as caught:
        kgen.jit(NESTED[what](240)).meta(x)
    assert caught.value.code == "nested-too-deeply"


ACCEPTED: dict[str, Callable[[], str]] = {
    "a mark of byte order": lambda: "\ufeffout = a",
    "carriage returns": lambda: "let t = a\r\nout = t\r\n",
    "a megabyte of comment": lambda: "#" + "x" * 1_000_000 + "\nout = a",
    "a name of 10,000 letters": lambda: f"out = {'a' * 10_000}",
    "10,000 signs": lambda: "out = " + "-" * DEEP + "a",
    "a chain of 3,000 choices": lambda: "out = " + "a ? b : " * 3_000 + "a",
    "a choice by 3,000 conditions": lambda: (
        f"out = {' && '.join(['a > b'] + [f'a > {n}' for n in range(3_000)])} ? a : b"
    ),
    "a chain of 3,000 powers": lambda: "out = " + "a ** " * 3_000 + "a",
    "a sum of 10,000 terms": lambda: "out = " + " + ".join(["a"] * DEEP),
    "an infinite literal": lambda: "out = a + 1e999999",
}


@pytest.mark.parametrize("what", ACCEPTED)
def test_accepted(what: str) -> None:
    """Long programs are slow in proportion, and none meets a limit of Python's."""
    text = kgen.jit(ACCEPTED[what]()).source(layout="contiguous")
    assert "__global__" in text


def test_a_program_of_one_megabyte() -> None:
    """40,000 statements parse within a minute on any machine; an error in the last line is found there."""
    lines = [f"let t{i} = a * {i}.5 + b" for i in range(40_000)]
    start = time.perf_counter()
    with pytest.raises(KgenError) as caught:
        kgen.jit("\n".join([*lines, "out = t1 +"]))
    assert time.perf_counter() - start < 60
    assert "<string>:40001:10: error[syntax]" in str(caught.value)


def test_errors_on_every_line_give_a_short_report() -> None:
    """Twenty are shown and the rest counted."""
    with pytest.raises(KgenError) as caught:
        kgen.jit("\n".join(f"out{i} = nosuch{i}(a)" for i in range(1_000)))
    assert len(caught.value.diagnostics) == 1_000
    assert str(caught.value).endswith("... and 980 more")


def test_300_inputs() -> None:
    """300 pointers fit into a kernel's parameters; with 300 sets of strides they do not, and the error says so."""
    kernel = kgen.jit("out = " + " + ".join(f"a{i}" for i in range(300)))
    assert "a299_ptr" in kernel.source(layout="contiguous")
    with pytest.raises(KgenError, match="at most 4,096") as caught:
        kernel.source()
    assert caught.value.code == "too-many-parameters"
    assert "--layout contiguous" in str(caught.value)


@pytest.mark.parametrize(("inputs", "fits"), [(510, True), (511, False)])
def test_the_limit_is_4096_bytes(inputs: int, fits: bool) -> None:
    """510 inputs, one output and a 4-byte n are 4,092 bytes; one array more is too much."""
    kernel = kgen.jit("out = " + " + ".join(f"a{i}" for i in range(inputs)))
    if fits:
        assert "a509_ptr" in kernel.source(layout="contiguous")
    else:
        with pytest.raises(KgenError, match="512 arrays and 4,100 bytes"):
            kernel.source(layout="contiguous")


@pytest.mark.parametrize("text", [None, b"out = a", 3])
def test_what_is_no_text(text: object) -> None:
    """A program is a str."""
    with pytest.raises(KgenError) as caught:
        kgen.jit(text)  # type: ignore[arg-type]
    assert caught.value.code == "bad-call"
