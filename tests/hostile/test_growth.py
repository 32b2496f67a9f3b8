"""Programs that grow: time in proportion to the text, and an error with a place where the text multiplies."""

from __future__ import annotations

import time

import numpy as np
import pytest

import kgen
from kgen import pipeline
from kgen.argument_types import ArrayArg
from kgen.check import check
from kgen.check.limits import MOST_OPS
from kgen.dtypes import FLOAT32

MANY = 3_000
X = np.ones(3, np.float32)
SECONDS = 15  # generous: each takes one or less


def doubling(first: str, left: str, right: str, out: str) -> str:
    """24 defs, each of which calls the one before twice."""
    defs = "\n".join(f"def f{i + 1}(x) = f{i}({left}) + f{i}({right})" for i in range(24))
    return f"def f0(x) = {first}\n{defs}\nout = {out}"


LAUGHS = {
    "operations": doubling("x + 1", "x * 1.5", "x + 1", "f24(x)"),
    "literals": doubling("x + 1", "x * 1.5", "x + 1", "x + f24(1.5)"),
    "params": "param k = 1\n" + doubling("x + 1", "x * 1.5", "x + 1", "x + f24(k)"),
    "reductions": doubling("sum(x, axis=0, keepdims=true)", "x * 1.5", "x + 1", "x + f24(x)"),
    "places": doubling("x * index(0)", "x * 1.5", "x + index(0)", "f24(x)"),
    "choices": doubling("x > 0 ? 1.5 : 2.5", "x * 1.5", "x + 1", "x + f24(x)"),
}


@pytest.mark.parametrize("what", LAUGHS)
def test_defs_that_multiply(what: str) -> None:
    """2^24 calls are an error at the statement, in seconds."""
    start = time.process_time()
    with pytest.raises(kgen.KgenError) as caught:
        kgen.jit(LAUGHS[what], device="cpu")(X)
    assert time.process_time() - start < SECONDS
    assert caught.value.code == "program-too-large"
    assert "out = " in str(caught.value)


def test_equal_calls_are_one() -> None:
    """Calls of the same def with the same argument cost nothing more, so these 2^24 are 24 operations."""
    assert kgen.jit(doubling("x + 1", "x", "x", "f24(x)"), device="cpu")(X)[0] == 2.0**25


def test_nested_concatenations() -> None:
    """The head of a file names a view of a view by the name of that."""
    text = "a0"
    for i in range(1, 80):
        text = f"concat({text}, a{i}, axis=0)"
    arrays = [np.ones((4, 3), np.float32)] * 80
    head = kgen.jit(f"out = {text}", device="cpu").source(*arrays).split("\nnamespace")[0]
    assert len(head) < 200_000
    assert "out_1_2 = out_1[" in head


def test_choices_of_choices() -> None:
    """A weak value that is read twice at each of 40 steps is made once at each."""
    lets = "\n".join(f"let t{i + 1} = x > {i} ? t{i} : t{i}" for i in range(40))
    assert (
        kgen.jit(f"let t0 = x > 0 ? 1 : 2\n{lets}\nout = x < t40", device="cpu")(X.astype(np.int8)).tolist()
        == [False] * 3
    )


def test_the_limit_on_operations() -> None:
    def count(terms: int) -> int:
        program = pipeline.load("out = " + " + ".join(f"{i}.5 * x" for i in range(terms)))
        return len(check(program, {"x": ArrayArg(FLOAT32, (None,))}).kernel.ops)

    assert MOST_OPS // 2 < count(MOST_OPS // 3 - 1) <= MOST_OPS + 1
    with pytest.raises(kgen.KgenError, match="more than 16,384 different operations"):
        count(MOST_OPS // 3 + 1)


MANY_OF = {
    "inputs": "out = " + " + ".join(f"a{i}" for i in range(MANY)),
    "listed": "input " + ", ".join(f"a{i}" for i in range(MANY)) + "\nout = a0",
    "inouts": "inout " + ", ".join(f"a{i}" for i in range(MANY)) + "\n" + "\n".join(f"a{i} = 1" for i in range(MANY)),
    "outputs": "\n".join(f"a{i} = x" for i in range(MANY)),
    "params": "param " + ", ".join(f"a{i} = 1" for i in range(MANY)) + "\nout = x + a0",
}


@pytest.mark.parametrize("what", MANY_OF)
def test_many_arguments(what: str) -> None:
    """3,000 of each are an error, as quickly as they are read."""
    start = time.process_time()
    kernel = kgen.jit(MANY_OF[what], device="cpu")
    with pytest.raises(kgen.KgenError) as caught:
        kernel(*[X] * (MANY if what in ("inputs", "listed", "inouts") else 1))
    assert time.process_time() - start < SECONDS
    assert caught.value.code == "too-many-parameters"


def test_many_arguments_ahead_of_time() -> None:
    """Without arrays, 20,000 of them."""
    text = "".join(f"input a{i}\n" for i in range(20_000)) + "out = a0"
    start = time.process_time()
    with pytest.warns(kgen.LintWarning), pytest.raises(kgen.KgenError) as caught:
        kgen.jit(text, device="cpu").source(layout="any")
    assert time.process_time() - start < SECONDS
    assert caught.value.code == "too-many-parameters"


LETS = "".join(f"let tmp{i} = x\n" for i in range(MANY))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("out = " + " + ".join(f"sqtr{i}(x)" for i in range(MANY)), "unknown-function"),
        (LETS + "out = " + " + ".join(f"tpm{i}" for i in range(MANY)), "missing-argument"),
        (MANY_OF["inputs"], "missing-argument"),
    ],
    ids=["functions", "lets", "inputs"],
)  # fmt: skip
def test_many_unknown_names(text: str, code: str) -> None:
    """Hints are looked for as long as a report shows them."""
    start = time.process_time()
    with pytest.raises(kgen.KgenError) as caught:
        kgen.jit(text, device="cpu")(x=X) if " x" in text[:20] else kgen.jit(text, device="cpu")()
    assert time.process_time() - start < SECONDS
    assert caught.value.code == code
