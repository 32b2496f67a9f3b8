"""A ``let``, and what a ``def`` is given, mean the same as their text in brackets where they are read."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from kgen import KgenError
from kgen.call.arguments import ArrayValue, bind, describe
from kgen.check import check
from kgen.ir.evaluator import evaluate
from kgen.pipeline import load
from tests.check.typing import type_of

ARRAYS = {"x": np.arange(12.0, dtype=np.float32).reshape(3, 4) / 8, "y": np.ones((3, 1), np.float32)}


def value(text: str) -> Any:
    """What the oracle gives; None for a program in error, which may have several."""
    program = load(text)
    values = describe(program, bind(program, [], ARRAYS))
    try:
        kernel = check(program, {n: type_of(v) for n, v in values.items()}).kernel
    except KgenError:
        return None
    given = {n: v.array for n, v in values.items() if isinstance(v, ArrayValue)}
    (out,) = evaluate(kernel, [given.get(o.name) if o.role == "input" else None for o in kernel.operands])
    return out


def expression(rng: Random, names: list[str], depth: int) -> str:
    """``names``: what may be read beside the arrays."""
    if depth == 0:
        return rng.choice(["x", "y", "index(0)", "index(1)", "size(0)", "size(-1)", "2", *names, *names])
    one = expression(rng, names, depth - 1)
    match rng.randrange(4):
        case 0:
            keep = "true" if rng.random() < 0.9 else "false"
            return f"sum({one}, axis={rng.choice(['0', '-1', '(0, 1)'])}, keepdims={keep})"
        case 1:
            return f"max({one}, {expression(rng, names, depth - 1)})"
        case _:
            return f"({one} {rng.choice('+-*')} {expression(rng, names, depth - 1)})"


@pytest.mark.parametrize("seed", range(300))
def test_lets_and_defs(seed: int) -> None:
    rng = Random(seed)
    lets: dict[str, str] = {}
    inlined: dict[str, str] = {}
    for name in ("a", "b", "c"):
        text = expression(rng, list(lets), rng.randrange(3))
        lets[name] = text
        inlined[name] = f"({substituted(text, inlined)})"
    result = expression(rng, list(lets), 3)
    passed = expression(rng, list(lets), 1)
    with_lets = "".join(f"let {n} = {text}\n" for n, text in lets.items())
    body = "sum(v * index(0), axis=-1, keepdims=true) + v"
    keep = "0 * (x + y + a + b + c)"  # so that each is read
    one = value(f"def f(v) = {body}\n{with_lets}out = {result} + f({passed}) + {keep}")
    whole = body.replace("v", f"({substituted(passed, inlined)})")
    other = value(f"out = {substituted(result, inlined)} + ({whole}) + {substituted(keep, inlined)}")
    assert (one is None) == (other is None), (one, other)
    if one is not None:
        assert one.shape == other.shape
        assert np.array_equal(one, other, equal_nan=True)


def substituted(text: str, inlined: dict[str, str]) -> str:
    for name, by in inlined.items():
        text = "".join(by if part == name else part for part in parts(text))
    return text


def parts(text: str) -> list[str]:
    """Words, and what is between them."""
    found = [""]
    for character in text:
        if character.isalnum() == found[-1].isalnum() and found[-1]:
            found[-1] += character
        else:
            found.append(character)
    return found
