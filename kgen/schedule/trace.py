"""Numbers that record what is computed from them, and every comparison: what a decision depends on.

Lowering runs once on :class:`Traced` extents, strides and addresses.  Its result is the same for all inputs that give
the same outcome to every comparison, so these are the exact guards of a later call with another layout.

    trace = Trace()
    n = trace.input(1000)
    blocks = -(-n // 256) if n > 100 else 1    # records 100 < n, and how to compute -(-n // 256)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import reduce
from operator import getitem
from typing import Any, Literal

from kgen.records import dataclass
from kgen.schedule.bounds import Bounds, Relation
from kgen.schedule.divisors import magic_number, signed_magic
from kgen.schedule.expressions import Expr, Int, Name, Op
from kgen.schedule.leading_bits import digits, last_bit, leading_bits

Operation = Literal[
    "input", "constant", "+", "-", "*", "/", "//", "%", "min", "max", "magic", "magic64", "shift", "leading", "digits"
]
Number = int | float

#: An operation and its operands: numbers of earlier nodes, or the number of an input, or a constant's value.
Node = tuple[Operation, Any, Any]
Guard = tuple[Relation, int, int]

_FUNCTIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "min": min, "max": max, "leading": leading_bits,
    "digits": digits,
}  # fmt: skip
_RELATIONS: Mapping[Relation, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
_NEUTRAL = {("+", 0), ("-", 0), ("*", 1), ("//", 1)}  # as the right operand
_NEUTRAL_LEFT = {("+", 0), ("*", 1)}


@dataclass(slots=True, eq=False)
class Trace:
    """``nodes``: every computation once.  ``guards``: the relations of nodes that held.

    ``keys``: nodes with few values, all of which the decision may depend on; None: these values are guards.
    """

    nodes: list[Node] = field(default_factory=list)
    guards: dict[Guard, None] = field(default_factory=dict)
    keys: dict[int, int] | None = None
    _numbers: dict[tuple[Any, ...], int] = field(default_factory=dict)
    _is_whole: list[bool] = field(default_factory=list)  # for each node, whether it is an integer
    _inputs: int = 0

    def input(self, value: int) -> Any:
        """The next number that a call provides."""
        self._inputs += 1
        return Traced(self, self._node("input", self._inputs - 1, None), value)

    def number(self, value: Any) -> int:
        """The node of a traced number or of a constant."""
        return (
            value.node
            if isinstance(value, Traced)
            else self._node("constant", value, type(value), isinstance(value, int))
        )

    def apply(self, operation: Operation, one: Any, other: Any) -> Any:
        """The result of an operation; a plain number where both operands are."""
        if type(other) is int and (operation, other) in _NEUTRAL:
            return one
        if type(one) is int and (operation, one) in _NEUTRAL_LEFT:
            return other
        value = _FUNCTIONS[operation](_value(one), _value(other))
        if not (isinstance(one, Traced) or isinstance(other, Traced)) or (operation == "*" and _is_zero(one, other)):
            return value
        if operation in ("/", "//", "%"):
            self.check("!=", other, 0)
        node = self._node(operation, self.number(one), self.number(other), isinstance(value, int))
        return Traced(self, node, value)

    def call(self, function: Literal["magic", "magic64", "shift"], value: Any) -> Any:
        """A magic number or the shift of a divisor: see :mod:`kgen.schedule.divisors`."""
        divisor = _value(value)
        magic, shift = magic_number(divisor)
        result = {"magic": magic, "magic64": signed_magic(divisor), "shift": shift}[function]
        return Traced(self, self._node(function, value.node, 0), result) if isinstance(value, Traced) else result

    def check(self, relation: Relation, one: Any, other: Any) -> bool:
        """Whether a relation holds; recorded, or its opposite is."""
        if not isinstance(one, Traced) and not isinstance(other, Traced):
            return _RELATIONS[relation](one, other)
        holds = _RELATIONS[relation](_value(one), _value(other))
        a, b = self.number(one), self.number(other)
        if a == b:
            return holds
        match relation, holds:
            case ("==", True) | ("!=", False):
                guard: Guard = ("==", min(a, b), max(a, b))
            case ("==", False) | ("!=", True):
                guard = ("!=", min(a, b), max(a, b))
            case (_, True):
                guard = (relation, a, b)
            case _:
                guard = ("<=" if relation == "<" else "<", b, a)
        self.guards[guard] = None
        return holds

    def leading(self, number: Traced, bits: int) -> int:
        """See :func:`leading`."""
        least = leading_bits(number._whole(), bits)
        if self.keys is not None:
            return int(self.keyed(self.apply("leading", number, bits)))
        self.check("<=", least, number)
        self.check("<", number, least + last_bit(least, bits))
        return least

    def keyed(self, number: Traced) -> Number:
        """See :func:`keyed`."""
        if self.keys is None:
            self.check("==", number, number.value)
        else:
            self.keys[number.node] = int(number.value)
        return number.value

    def reaches(self, number: Traced, bound: int) -> bool:
        """See :func:`reaches`."""
        if self.keys is None:
            return self.check("<=", bound, number)
        return bool(self.keyed(self.apply("min", self.apply("max", number - (bound - 1), 0), 1)))

    def rough_keys(self) -> dict[int, int]:
        """The digits in base 4 of the numbers whose first bits are keys; these have as many as the numbers."""
        first = {self.nodes[n][1]: bits for n, bits in (self.keys or {}).items() if self.nodes[n][0] == "leading"}
        found = [self.apply("digits", Traced(self, number, bits), 2) for number, bits in first.items()]
        return {one.node: one.value for one in found}

    def is_whole(self, node: int) -> bool:
        """Whether a node is an integer."""
        return self._is_whole[node]

    def inputs_of(self, node: int) -> set[int]:
        """The inputs that a number is computed from."""
        operation, one, other = self.nodes[node]
        if operation in ("input", "constant"):
            return {one} if operation == "input" else set()
        return self.inputs_of(one) | (
            self.inputs_of(other) if operation not in ("magic", "magic64", "shift") else set()
        )

    def drop(self, is_needless: Callable[[Guard], bool]) -> None:
        """Leaves out guards: where decisions also hold without them."""
        self.guards = {guard: None for guard in self.guards if not is_needless(guard)}

    def conditions(self) -> tuple[Guard, ...]:
        """The guards, without those that others imply; those of few computations first."""
        found: dict[Guard, None] = {}
        bounds: dict[int, Bounds] = {}
        for relation, a, b in self.guards:
            one, other = self._constant(a), self._constant(b)
            if other is not None and self._is_whole[a]:
                bounds.setdefault(a, Bounds()).add(relation, other, is_first=False)
            elif one is not None and self._is_whole[b]:
                bounds.setdefault(b, Bounds()).add(relation, one, is_first=True)
            else:
                found[relation, a, b] = None
        for node, bound in bounds.items():
            for relation, value, is_first in bound.relations():
                constant = self.number(value)
                found[(relation, constant, node) if is_first else (relation, node, constant)] = None
        return tuple(sorted(found, key=lambda g: max(n for n in g[1:] if self.nodes[n][0] != "constant")))

    def holds(self, inputs: Sequence[int]) -> bool:
        """Whether all guards hold for other inputs."""
        values: list[Any] = []
        for operation, one, other in self.nodes:
            match operation:
                case "input":
                    values.append(inputs[one])
                case "constant":
                    values.append(one)
                case "magic" | "magic64" | "shift":
                    values.append(self.call(operation, values[one]))
                case "/" | "//" | "%" if values[other] == 0:
                    return False  # a guard says that it is not
                case _:
                    values.append(_FUNCTIONS[operation](values[one], values[other]))
        return all(_RELATIONS[relation](values[a], values[b]) for relation, a, b in self.guards)

    def _constant(self, node: int) -> int | None:
        operation, value, _ = self.nodes[node]
        return value if operation == "constant" and isinstance(value, int) else None

    def _node(self, operation: Operation, one: Any, other: Any, is_whole: bool = True) -> int:
        key = (operation, one, other)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.nodes)
            self.nodes.append(key)
            self._is_whole.append(is_whole)
        return found


def _is_zero(*factors: Any) -> bool:
    return any(type(x) is int and x == 0 for x in factors)


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Traced) else x


def _operation(operation: Operation) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    def forward(self: Traced, other: Any) -> Any:
        return self.trace.apply(operation, self, other) if _is_number(other) else NotImplemented

    def backward(self: Traced, other: Any) -> Any:
        return self.trace.apply(operation, other, self) if _is_number(other) else NotImplemented

    return forward, backward


def _relation(relation: Relation) -> Callable[[Any, Any], Any]:
    def compare(self: Traced, other: Any) -> Any:
        return self.trace.check(relation, self, other) if _is_number(other) else NotImplemented

    return compare


def _on_values(function: Callable[[Any, Any], Any]) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    def forward(self: Traced, other: Any) -> Any:
        self.trace.check("==", self, self.value)
        return function(self.value, other)

    def backward(self: Traced, other: Any) -> Any:
        self.trace.check("==", self, self.value)
        return function(other, self.value)

    return forward, backward


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float | Traced)


class Traced:
    """A number of a trace.  Any use but arithmetic and comparisons takes its value, with a guard that it is equal."""

    __slots__ = ("node", "trace", "value")

    def __init__(self, trace: Trace, node: int, value: Number) -> None:
        self.trace = trace
        self.node = node
        self.value = value

    __add__, __radd__ = _operation("+")
    __sub__, __rsub__ = _operation("-")
    __mul__, __rmul__ = _operation("*")
    __truediv__, __rtruediv__ = _operation("/")
    __floordiv__, __rfloordiv__ = _operation("//")
    __mod__, __rmod__ = _operation("%")
    __eq__ = _relation("==")
    __ne__ = _relation("!=")
    __lt__ = _relation("<")
    __le__ = _relation("<=")

    def __gt__(self, other: Any) -> Any:
        return self.trace.check("<", other, self) if _is_number(other) else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return self.trace.check("<=", other, self) if _is_number(other) else NotImplemented

    def __neg__(self) -> Any:
        return 0 - self

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def __bool__(self) -> bool:
        return self.trace.check("!=", self, 0)

    def bit_length(self) -> int:
        """Exact for the numbers that have as many bits, which is the guard."""
        bits = self._whole().bit_length()
        if bits == 0 or self.value < 0:
            return self.__index__().bit_length()
        self.trace.check("<=", 1 << (bits - 1), self)
        self.trace.check("<", self, 1 << bits)
        return bits

    def __index__(self) -> int:
        self.trace.check("==", self, self.value)
        return self._whole()

    def __int__(self) -> int:
        self.trace.check("==", self, self.value)
        return int(self.value)

    def __float__(self) -> float:
        self.trace.check("==", self, self.value)
        return float(self.value)

    def __hash__(self) -> int:
        self.trace.check("==", self, self.value)
        return hash(self.value)

    def __round__(self, digits: int | None = None) -> Any:
        self.trace.check("==", self, self.value)
        return round(self.value, digits)

    __lshift__, __rlshift__ = _on_values(operator.lshift)
    __rshift__, __rrshift__ = _on_values(operator.rshift)
    __and__, __rand__ = _on_values(operator.and_)
    __or__, __ror__ = _on_values(operator.or_)
    __pow__, __rpow__ = _on_values(operator.pow)

    def __str__(self) -> str:  # only reasons are text, and calls do not depend on them
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a traced number has no `{name}`")

    def _whole(self) -> int:
        if not isinstance(self.value, int):
            raise TypeError("a traced float is no integer")
        return self.value


def leading(number: int, bits: int) -> int:
    """A number with its first bits only, those up to 16 as they are: the least of all that are alike."""
    return number.trace.leading(number, bits) if isinstance(number, Traced) else leading_bits(number, bits)


def keyed(number: int) -> int:
    """A number that has few values.  Where it is traced, these distinguish keys of a class, and are no guards."""
    return int(number.trace.keyed(number)) if isinstance(number, Traced) else number


def reaches(number: int, bound: int) -> bool:
    """Whether a number is at least ``bound``: where it is traced, a part of the key as in :func:`keyed`."""
    return number.trace.reaches(number, bound) if isinstance(number, Traced) else number >= bound


def computed(trace: Trace, expr: Expr, names: Mapping[str, Any]) -> Any:
    """The value of an expression, as a traced number.  ``names``: what its names stand for."""
    if isinstance(expr, Int):
        return expr.value
    if isinstance(expr, Name):
        return reduce(getitem, expr.indices, names[expr.of])
    assert isinstance(expr, Op)
    if expr.operator == "if":
        test, then, otherwise = expr.args
        return computed(trace, then if computed(trace, test, names) else otherwise, names)
    args = [computed(trace, a, names) for a in expr.args]
    match expr.operator:
        case "ceil":
            return -(-args[0] // args[1])
        case ">":
            return int(trace.check("<", args[1], args[0]))
        case "!=":
            return int(trace.check("!=", args[0], args[1]))
        case "magic" | "magic64" | "shift":
            return trace.call(expr.operator, args[0])
        case operator:
            return trace.apply(operator, args[0], args[1])
