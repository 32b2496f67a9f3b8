"""Numbers of a trace as C, over the names of its inputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from kgen.schedule.expressions import bare
from kgen.schedule.trace import Guard, Node, Operation, Trace

_SPELLED = {
    "+": "({} + {})", "-": "({} - {})", "*": "({} * {})", "/": "(static_cast<double>({}) / static_cast<double>({}))",
    "min": "kgen_min({}, {})", "max": "kgen_max({}, {})", "magic": "kgen_magic({})", "magic64": "kgen_magic64({})",
    "shift": "kgen_shift({})",
}  # fmt: skip


class Numbers:
    """``names``: of the inputs of a trace, each of which is at least 1."""

    def __init__(self, trace: Trace, names: Sequence[str]) -> None:
        self._trace = trace
        self._names = names

    def text(self, number: Any) -> str:
        """A number of the trace, or a constant, as a C expression."""
        return bare(self._text(self._trace.number(number)))

    def holds(self, guard: Guard) -> bool:
        """Whether a condition holds for all inputs."""
        relation, one, other = guard
        if relation == "==" and self._factors(one) == self._factors(other):
            return True
        lowest = self._least(other) if self._node(one)[0] == "constant" else None
        return relation in ("<", "<=") and lowest is not None and self._node(one)[1] <= lowest - (relation == "<")

    def _factors(self, number: int) -> list[str]:
        operation, one, other = self._node(number)
        return sorted(self._factors(one) + self._factors(other)) if operation == "*" else [self._text(number)]

    def guard(self, guard: Guard) -> str:
        """A condition, with the constant on its right."""
        relation, one, other = guard
        first, second = bare(self._text(one)), bare(self._text(other))
        if self._node(one)[0] == "constant":
            return f"{second} { {'<': '>', '<=': '>='}.get(relation, relation) } {first}"
        return f"{first} {relation} {second}"

    def inputs(self, node: int) -> set[str]:
        """The names of the inputs that a number is computed from."""
        return {self._names[i] for i in self._trace.inputs_of(node)}

    def used(self, texts: Iterable[str]) -> list[str]:
        """The names that these texts use."""
        words = set(re.findall(r"\w+", "\n".join(texts)))
        return [name for name in self._names if name in words]

    def _node(self, number: int) -> Node:
        """An operation and its operands, after the removal of what cancels: ``x - 1 + 1`` and ``0 - (0 - x)``."""
        node = self._trace.nodes[number]
        operation, one, other = node
        if operation == "%" and self._trace.nodes[other][:2] == ("constant", 1):
            return "constant", 0, int
        if operation not in ("+", "-"):
            return node
        first, second = self._trace.nodes[one], self._trace.nodes[other]
        if operation == "+" and first[0] == "-" and first[2] == other:
            return self._node(first[1])
        if operation == "-" and second[:2] == ("-", one) and first[:2] == ("constant", 0):
            return self._node(second[2])
        return node

    def _text(self, number: int) -> str:
        operation, one, other = self._node(number)
        if operation == "input":
            return self._names[one]
        if operation == "constant":
            return f"({one!r})" if one < 0 else repr(one)
        if operation in ("//", "%"):
            return self._divided(operation, one, other)
        rounded_up = self._ceil_div(one, other) if operation == "-" else None
        if rounded_up is not None:
            return f"kgen_ceil_div({bare(self._text(rounded_up[0]))}, {bare(self._text(rounded_up[1]))})"
        return _SPELLED[operation].format(self._text(one), self._text(other))

    def _ceil_div(self, one: int, other: int) -> tuple[int, int] | None:
        """The operands of a quotient that is rounded up: ``0 - ((0 - x) // y)``."""
        quotient = self._trace.nodes[other]
        negated = self._trace.nodes[quotient[1]] if quotient[0] == "//" else quotient
        is_zero = self._trace.nodes[one][:2] == ("constant", 0)
        return (negated[2], quotient[2]) if is_zero and quotient[0] == "//" and negated[:2] == ("-", one) else None

    def _divided(self, operation: str, one: int, other: int) -> str:
        """A quotient or a remainder as in Python, where the divisor is positive."""
        a, b, lowest = self._text(one), self._text(other), self._least(one)
        if lowest is not None and lowest >= 0:
            return f"({a} {'%' if operation == '%' else '/'} {b})"
        quotient = f"kgen_floor_div({a}, {b})"
        return quotient if operation == "//" else f"({a} - {b} * {quotient})"

    def _least(self, number: int) -> int | None:
        """A lower bound of a number; None where none is known."""
        operation, one, other = self._node(number)
        match operation:
            case "input":
                return 1
            case "constant":
                return one if isinstance(one, int) else None
            case "magic" | "shift":
                return 0
            case "magic64" | "/":
                return None
            case "-":
                lowest, (kind, subtracted, _) = self._least(one), self._node(other)
                return lowest - int(subtracted) if lowest is not None and kind == "constant" else None
        a, b = self._least(one), self._least(other)
        return None if a is None or b is None else _least_of(operation, a, b)


def _least_of(operation: Operation, a: int, b: int) -> int | None:
    """A lower bound of a result, from those of the operands."""
    bounds = {"+": a + b, "*": a * b, "min": min(a, b), "max": max(a, b), "//": 0, "%": 0}
    is_known = operation not in ("*", "//", "%") or (a >= 0 and b >= (0 if operation == "*" else 1))
    return bounds[operation] if is_known else None
