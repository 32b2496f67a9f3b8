"""Every function has a derivative, which is compared with differences, or a reason why it has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.diagnostics import KgenError
from kgen.functions import FUNCTIONS, VIEWS
from kgen.gradients import views
from kgen.gradients.local import target_of
from kgen.gradients.rules import COMPLEX, NO_DERIVATIVE, REDUCTIONS, RULES, WITHOUT_GRADIENT
from kgen.syntax.trees import parsed

from .oracle import check_gradients, derived

#: Where a function's operands are, if not between -2 and 2.
RANGES: dict[str, tuple[tuple[float, float], ...]] = {
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt", "cbrt", "rcbrt", "y0", "y1"), ((0.3, 3),)),
    **dict.fromkeys(("asin", "acos", "atanh", "erfinv"), ((-0.8, 0.8),)),
    "log1p": ((-0.5, 3),), "acosh": ((1.2, 3),), "erfcinv": ((0.2, 1.8),),
    "normcdfinv": ((0.1, 0.9),), "logit": ((0.1, 0.9),), "jn": ((-2, 2), (0.5, 4)), "yn": ((-2, 2), (0.5, 4)),
    **dict.fromkeys(("fmod", "xlogy", "xlog1py"), ((-2, 2), (0.5, 2))),
    **dict.fromkeys(("hardshrink", "softshrink"), ((-2, 2), (0.5, 1))),
    "smoothstep": ((-1, 0), (0.5, 1), (-1.5, 1.5)), "clip": ((-1.5, 1.5), (-1, 0), (0.5, 1)),
}  # fmt: skip
#: The operands that are integers or conditions.
ORDERS = {"jn": "a", "yn": "a", "ldexp": "b", "where": "a"}
_OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "and", "or")
CASES = [
    name
    for name, row in FUNCTIONS.items()
    if row.target in RULES and row.rule != "operator" and not (row.rule == "reduction" and row.arity == (1,))
]


def operands(name: str, count: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    ranges = RANGES.get(FUNCTIONS[name].target, ((-2, 2),))
    found: dict[str, Any] = {}
    for place, letter in enumerate("abcd"[:count]):
        low, high = ranges[min(place, len(ranges) - 1)]
        found[letter] = rng.uniform(low, high, (3, 4))
    order = ORDERS.get(FUNCTIONS[name].target)
    if order is not None:
        found[order] = rng.integers(0, 3, (3, 4)).astype(np.int32)
    return found


@pytest.mark.parametrize("name", CASES)
def test_real(name: str) -> None:
    count = 2 if name in ("min", "max") else FUNCTIONS[name].arity[0]
    given = operands(name, count)
    check_gradients(f"out = {name}({', '.join(given)})", given, [n for n, v in given.items() if v.dtype.kind == "f"])


@pytest.mark.parametrize("name", [n for n in CASES if FUNCTIONS[n].is_complex and FUNCTIONS[n].rule != "special"])
def test_complex(name: str) -> None:
    rng = np.random.default_rng(0)
    given = {
        c: rng.uniform(0.2, 0.8, (3, 4)) - 1j * rng.uniform(0.2, 0.8, (3, 4))
        for c in "abcd"[: FUNCTIONS[name].arity[0]]
    }
    check_gradients(f"out = {name}({', '.join(given)})", given, list(given))


@pytest.mark.parametrize("name", ["real", "imag", "conj", "angle"])
def test_parts_of_complex_numbers(name: str) -> None:
    check_gradients(f"out = {name}(z) * z", {"z": np.array([1 + 2j, -0.5 - 1j, 3 - 0.1j])}, ["z"])


def test_the_tables_have_every_function_and_operator() -> None:
    """Each in one table: it has a rule, no gradient reaches its operands, or it has no derivative here."""
    targets = {row.target for row in FUNCTIONS.values() if row.rule not in ("operator", "view")}
    targets -= {"maximum", "minimum", "expand"}  # max, min, and a rule of shapes alone
    targets |= {target_of(parsed(f"a {op} b")) for op in _OPERATORS} | {target_of(parsed(f"{op} a")) for op in "-+~"}
    targets |= {target_of(parsed("not a")), "bitcast"}
    tables = (RULES.keys() | REDUCTIONS.keys(), WITHOUT_GRADIENT, NO_DERIVATIVE.keys())
    in_tables = [sum(name in table for table in tables) for name in sorted(targets)]
    assert dict(zip(sorted(targets), in_tables, strict=True)) == dict.fromkeys(sorted(targets), 1)
    assert {*views.RULES, "take"} == VIEWS  # `take` is an index
    comparisons = {"==", "!=", "<", "<=", ">", ">="}
    assert set().union(*tables) - targets <= comparisons
    assert COMPLEX.keys() <= RULES.keys()


@pytest.mark.parametrize("name", RULES)
def test_a_rule_for_each_operand(name: str) -> None:
    arity = {len(RULES[name]), len(COMPLEX.get(name, RULES[name]))}
    functions = [row for row in FUNCTIONS.values() if row.target == name and row.rule != "operator"]
    assert len(arity) == 1
    assert all(arity <= set(row.arity) for row in functions)


@pytest.mark.parametrize("name", [n for n in NO_DERIVATIVE if n != "bitcast"])
def test_no_derivative_says_where(name: str) -> None:
    call = f"{name}({', '.join('xy'[: FUNCTIONS[name].arity[0]])})"
    with pytest.raises(KgenError, match="no-derivative") as caught:
        derived(f"out = 1 + {call}", {"x": np.ones(3), "y": np.ones(3)}, ["x"])
    assert f"out = 1 + {call}\n    |           ^" in str(caught.value)
