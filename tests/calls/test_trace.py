"""Traced numbers record what a decision depends on, and C computes with them as Python does."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from kgen.call.fastpath.native_rules import _FLOAT, _WHOLE
from kgen.schedule.divisors import magic_number, signed_magic
from kgen.schedule.leading_bits import digits, leading_bits
from kgen.schedule.trace import _FUNCTIONS, _RELATIONS, Guard, Trace, keyed, leading

from .test_limits import description, rules

X = np.ones(3, np.float32)
EDGES = (0, 1, -1, 2, 3, -7, 100, 1 << 31, (1 << 31) - 1, 1 << 53, (1 << 62) + 1, (1 << 63) - 1, -(1 << 63))


def guards(trace: Trace) -> list[str]:
    """The conditions, as text."""

    def text(node: int) -> str:
        operation, one, other = trace.nodes[node]
        if operation in ("input", "constant"):
            return f"x{one}" if operation == "input" else str(one)
        return f"({text(one)} {operation} {text(other)})"

    def shown(guard: Guard) -> str:
        return f"{text(guard[1])} {guard[0]} {text(guard[2])}"

    return list(map(shown, trace.conditions()))


def test_comparisons_are_guards() -> None:
    trace = Trace()
    n, m = trace.input(1000), trace.input(3)
    assert -(-n // 256) * m == 12 if n > 100 else None
    assert guards(trace) == ["101 <= x0", "((0 - ((0 - x0) // 256)) * x1) == 12"]


def test_bounds_imply_others() -> None:
    trace = Trace()
    n = trace.input(20)
    assert n > 3 and n >= 7 and n != 5 and n != 7 and n < 100 and n != 30 and n  # noqa: PT018  # each is recorded
    assert guards(trace) == ["8 <= x0", "x0 <= 99", "x0 != 30"]


USES: dict[str, Callable[[Any], object]] = {
    "hash": hash, "int": int, "float": float, "range": range, "repeat": lambda n: [1] * n, "shift": lambda n: 1 << n,
    "and": lambda n: n & 3, "round": round,
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_other_uses_take_the_value(use: str) -> None:
    trace = Trace()
    USES[use](trace.input(5))
    assert guards(trace) == ["x0 == 5"]


def test_bits_are_bounds() -> None:
    trace = Trace()
    assert trace.input(1000).bit_length() == 10
    assert guards(trace) == ["512 <= x0", "x0 <= 1023"]


def test_leading_bits_are_bounds_or_keys() -> None:
    """Numbers that agree in them are alike; so is what is only asked for its few values."""
    trace = Trace()
    assert leading(trace.input(1000), 2) == 768
    assert leading(trace.input(16), 2) == 16
    assert keyed(trace.input(7) % 4) == 3
    assert guards(trace) == ["768 <= x0", "x0 <= 1023", "x1 == 16", "(x2 % 4) == 3"]
    trace = Trace(keys={})
    assert leading(trace.input(1000), 2) == 768
    assert keyed(trace.input(7) % 4) == 3
    assert guards(trace) == []
    assert trace.keys is not None
    assert list(trace.keys.values()) == [768, 3]
    assert [trace.nodes[n][0] for n in trace.keys] == ["leading", "%"]


def test_rough_keys_are_the_digits_of_what_has_its_first_bits_as_a_key() -> None:
    trace = Trace(keys={})
    for number in (trace.input(1000), trace.input(0), trace.input(17)):
        leading(number, 2)
        leading(number, 1)
        keyed(number % 4)
    rough = trace.rough_keys()
    assert list(rough.values()) == [5, 0, 3]  # of base 4
    assert [trace.nodes[n][0] for n in rough] == ["digits"] * 3


def test_ratios_are_floats() -> None:
    trace = Trace()
    n = trace.input(10)
    assert n / 4 > 2
    assert n / 4 != 2.6
    assert guards(trace) == ["2 < (x0 / 4)", "(x0 / 4) != 2.6"]


def computed(extension: Any, operation: str, one: int, other: int) -> Any:
    """What C computes: the extent of an output; NotImplemented where that is no int64."""
    found = rules(6, constants=(one, other), steps=((operation, 5, 3, 4),), sizes=(((5,), (1,)),))
    call = extension.Call(**description(rules=found, fresh=((lambda shape, strides: [*shape, *strides],),), pointer=id))
    result = call((X,), None, None, {})
    return result if result is NotImplemented else result[0]


@pytest.mark.parametrize("operation", [o for o in _WHOLE if o in _FUNCTIONS and o not in ("leading", "digits")])
def test_integers_in_c(extension: Any, how: str, operation: str) -> None:
    rng = Random(operation)
    pairs = [(a, b) for a in EDGES for b in EDGES] + [(rng.randrange(-99, 99), rng.randrange(-9, 9)) for _ in range(99)]
    for one, other in pairs:
        found = computed(extension, _WHOLE[operation], one, other)
        try:
            wanted = _FUNCTIONS[operation](one, other)
        except ZeroDivisionError:
            wanted = NotImplemented
        if wanted is not NotImplemented and not -(1 << 63) <= wanted < 1 << 63:
            wanted = NotImplemented
        # -2^63 % -1 is 0, which C's division cannot find
        assert found == wanted or (found is NotImplemented and (one, other) == (-(1 << 63), -1)), (one, other)


@pytest.mark.parametrize("bits", [1, 2, 4, 70])
def test_leading_bits_in_c(extension: Any, how: str, bits: int) -> None:
    for n in (*EDGES, *range(100)):
        assert computed(extension, "k", n, bits) == leading_bits(n, bits)
    assert computed(extension, "k", 100, 0) is NotImplemented


@pytest.mark.parametrize("bits", [1, 2, 70])
def test_digits_in_c(extension: Any, how: str, bits: int) -> None:
    for n in (*(n for n in EDGES if n >= 0), *range(100)):
        assert computed(extension, "d", n, bits) == digits(n, bits)
    assert computed(extension, "d", 100, 0) is NotImplemented


def test_known_keys_in_c(extension: Any, how: str) -> None:
    """Values of registers have to be among those that are known, also those that become known later."""
    known = {(3, 5)}
    found = rules(5, constants=(5, 6), keys=((0, 4), ()))
    call = extension.Call(**description(rules=(*found[:8], known, *found[9:]), fresh=((lambda shape, strides: X,),)))
    assert call((X,), None, None, {}) is NotImplemented
    known.add((3, 6))
    assert call((X,), None, None, {}) is X


def test_magic_numbers_in_c(extension: Any, how: str) -> None:
    for d in (1, 2, 3, 7, 1000, 1 << 20, (1 << 31) - 1):
        assert (computed(extension, "g", d, 0), computed(extension, "s", d, 0)) == magic_number(d)
    for d in (1, 2, 3, 7, 1000, 1 << 20, (1 << 31) + 1, (1 << 62) - 1, (1 << 63) - 1):
        assert (computed(extension, "G", d, 0), computed(extension, "s", d, 0)) == (signed_magic(d), magic_number(d)[1])
    assert computed(extension, "g", 0, 0) is NotImplemented


def holds(extension: Any, constants: tuple[Any, ...], *steps: tuple[str, int, int, int]) -> bool:
    made = ((lambda shape, strides: X,),)
    call = extension.Call(**description(rules=rules(9, constants=constants, steps=steps), fresh=made))
    return call((X,), None, None, {}) is not NotImplemented


@pytest.mark.parametrize("relation", _RELATIONS)
def test_relations_in_c(extension: Any, how: str, relation: str) -> None:
    for one in EDGES:
        for other in EDGES:
            wanted = _RELATIONS[relation](one, other)  # type: ignore[index]
            assert holds(extension, (one, other), (_WHOLE[relation], 0, 3, 4)) == wanted
            floats = float(one), float(other)
            wanted = _RELATIONS[relation](*floats)  # type: ignore[index]
            assert holds(extension, floats, (_FLOAT[relation], 0, 3, 4)) == wanted


@pytest.mark.parametrize("operation", [o for o in _FLOAT if o in _FUNCTIONS])
def test_floats_in_c(extension: Any, how: str, operation: str) -> None:
    rng = Random(operation)
    for _ in range(200):
        one, other = rng.uniform(-9, 9), rng.uniform(1, 9)
        wanted = _FUNCTIONS[operation](one, other)
        for value in (wanted, math.nextafter(wanted, 99)):
            steps = (_FLOAT[operation], 8, 3, 4), ("E", 0, 8, 5)
            assert holds(extension, (one, other, value), *steps) == (value == wanted)


def test_integers_become_floats_in_c(extension: Any, how: str) -> None:
    """Exact ones only: Python compares an integer and a float exactly."""
    for n in EDGES:
        assert holds(extension, (n, float(n)), ("f", 8, 3, 0), ("E", 0, 8, 4)) == (abs(n) <= 1 << 53)
