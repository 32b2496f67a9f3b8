"""Literals, params and Python numbers at every limit: an answer or an error with a code, in typing and in packing."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from kgen import KgenError, pipeline
from kgen.arrays.numpy_ import TO_NUMPY
from kgen.call.arguments import ScalarValue, bind, describe
from kgen.dtypes import BY_NAME
from kgen.functions import FUNCTIONS
from kgen.runtime.scalars import pack
from tests.check.typing import type_of

LITERALS = (
    "1" + "0" * 309, "0x" + "f" * 300, "2 ** 63", "-2 ** 63", "2 ** 64", "1e400", "1e-400", "1e308", "inf", "nan",
    "-inf", "5e-324", "2j", "0j", "1e400j", "-0.0", "true", "false", "9" * 40, "2 ** 1000", "(1 << 1000)", "0", "1",
    "-1", "65520", "1 / 3", "10 ** 4000", "0 ** -1", "2 ** 2000.5",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    1, -1, 0, True, 0.5, float("nan"), float("inf"), 1e308, 10**5000, -(10**5000), 10**309, 2**63, 2**64, -(2**63) - 1,
    1j, complex("nan"), np.float16(3), np.int64(-1), np.float64(1e300), np.complex64(1j),
)  # fmt: skip
DTYPES = tuple(sorted({t.short for t in BY_NAME.values()}))
CALLS = [(name, count) for name, row in FUNCTIONS.items() for count in row.arity if count <= 4]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "<", "<=", "==", "!=", "and", "or"]


def expression(rng: Random, depth: int) -> str:
    if depth == 0:
        return rng.choice("abk") if rng.random() < 0.5 else f"({rng.choice(LITERALS)})"
    parts = [expression(rng, depth - 1) for _ in range(4)]
    match rng.randrange(6):
        case 0 | 1:
            return f"({parts[0]} {rng.choice(OPERATORS)} {parts[1]})"
        case 2:
            return f"({parts[0]} ? {parts[1]} : {parts[2]})"
        case 3:
            name, count = rng.choice(CALLS)
            word = rng.choice(("axis", "correction")) if FUNCTIONS[name].rule == "reduction" and count == 1 else "axis"
            keyword = f", {word}={rng.choice(('0', '-1', '()', *LITERALS))}" if rng.random() < 0.3 else ""
            if name in ("index", "size"):
                return f"{name}({rng.choice(('0', '-1', *LITERALS))})"
            return f"{name}({', '.join(parts[:count])}{keyword})"
        case 4:
            kind, mode = rng.choice((*DTYPES, "typeof(a)", "typeof(k)")), rng.choice(("", ", sat", ", rz", ", sat, ru"))
            return f"cast<{kind}{mode}>({parts[0]})"
        case _:
            return f"bitcast<{rng.choice(DTYPES)}>({parts[0]})" if rng.random() < 0.5 else f"-{parts[0]}"


def program(rng: Random) -> str:
    kind, default = rng.choice(DTYPES), rng.choice(LITERALS)
    declared = (
        "", f"param k = {default}", f"param k: {kind} = {default}", f"param k: {kind}", f"input k: {kind}",
        f"inout a: {kind}", "inout a",
    )  # fmt: skip
    line = rng.choice(declared) if rng.random() < 0.5 else ""
    target = "a" if "inout" in line else rng.choice(("out", f"out: {kind}"))
    if rng.random() < 0.3:
        line += f"\nlet b = {expression(rng, 1).replace('b', 'a')}"
    return f"{line}\n{target} = {expression(rng, rng.choice((1, 1, 1, 2, 2, 3)))}"


def argument(rng: Random) -> Any:
    shape = rng.choice(((3,), (), (2, 3), (1,), (0,)))
    return rng.choice(VALUES) if rng.random() < 0.4 else np.ones(shape, TO_NUMPY[BY_NAME[rng.choice(DTYPES)]])


def attempt(rng: Random) -> None:
    loaded = pipeline.load(program(rng))
    given = {a.name: argument(rng) for a in loaded.arguments}
    given |= {p.name: rng.choice(VALUES) for p in loaded.parameters if p.default is None or rng.random() < 0.7}
    values = describe(loaded, bind(loaded, [], given))
    found = pipeline.specialise(loaded, {name: type_of(value) for name, value in values.items()}, (3,))
    for scalar in found.graph.scalars:
        value = values[scalar.name]
        assert isinstance(value, ScalarValue)
        pack(scalar.name, value.value, scalar.dtype)


@pytest.mark.parametrize("group", range(6))
def test_hostile_values(group: int) -> None:
    """Nothing but KgenError leaves the front end."""
    answered = 0
    for seed in range(group * 300, (group + 1) * 300):
        try:
            attempt(Random(seed))
            answered += 1
        except KgenError:
            pass
        except Exception as problem:
            raise AssertionError(f"seed {seed}: {program(Random(seed))}") from problem
    assert answered > 30
