"""A layout class as ``kgen/_call.c`` takes it: registers, and steps that compute them or are guards."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kgen.call.fastpath.layout_class import LayoutClass

Step = tuple[str, int, int, int]

_WHOLE = {
    "+": "+", "-": "-", "*": "*", "//": "/", "%": "%", "min": "m", "max": "M", "magic": "g", "magic64": "G",
    "shift": "s", "leading": "k", "digits": "d",
    "==": "=", "!=": "!", "<": "<", "<=": "l",
}  # fmt: skip
_FLOAT = {
    "+": "A", "-": "S", "*": "P", "/": "Q", "min": "n", "max": "N", "==": "E", "!=": "D", "<": "L", "<=": "K",
}  # fmt: skip
_FORMAT = re.compile(r"(\d*)([iIqQ])")


def native_rules(
    layouts: LayoutClass,
    numbers: Mapping[str, int],
    strides: str,
    units: Mapping[str, int],
    views: Sequence[tuple[int, int]],
) -> tuple[object, ...] | None:
    """``Call``'s ``rules``; None where the class computes what C has no step for.

    ``numbers``: of each array.  ``strides``, ``units``: ``strides`` and ``stride_bytes`` of its guards.  ``views``: for
    each view, the offset of its address in the parameters, and the node.
    """
    registers = _Registers(layouts)
    try:
        program = registers.steps(layouts)
    except KeyError:  # no such operation on floats
        return None
    of = registers.number
    sources = [
        (numbers[name], sum(i.array == name and i.what == "shape" for i in layouts.inputs), units.get(name, 1))
        for name in dict.fromkeys(i.array for i in layouts.inputs)
    ]
    return (
        registers.count,
        tuple(sources),
        tuple(registers.constants),
        program,
        tuple((offset, code, of[node]) for offset, code, node in (*_stored(layouts), *((a, "q", n) for a, n in views))),
        tuple(of[node] for grid in layouts.grids for node in grid),
        tuple((tuple(of[n] for n in extents), tuple(of[n] for n in steps)) for extents, steps in layouts.fresh),
        tuple(of[node] for node in layouts.keys),
        layouts.known,
        "shape",
        strides.removesuffix("()"),
        strides.endswith("()"),
    )


def _stored(layouts: LayoutClass) -> Iterator[tuple[int, str, int]]:
    """The offset, code and node of each number that kernels are passed by value."""
    for _, offset, form, nodes in layouts.values:
        codes = [code for count, code in _FORMAT.findall(form) for _ in range(int(count or 1))]
        at = offset
        for code, node in zip(codes, nodes, strict=True):
            yield at, code, node
            at += struct.calcsize(f"<{code}")


class _Registers:
    """``number``: the register of each node.  Inputs come first, then constants."""

    def __init__(self, layouts: LayoutClass) -> None:
        self._trace = layouts.trace
        self.number: dict[int, int] = {}
        self.constants: list[int | float] = []
        self._inputs = len(layouts.inputs)
        self._floats: dict[int, int] = {}
        self._steps: list[Step] = []
        needed = self._needed(layouts.used())
        for node in needed:
            operation, value, _ = self._trace.nodes[node]
            if operation == "input":
                self.number[node] = value
            elif operation == "constant":
                self.number[node] = self._constant(value)
                if self._trace.is_whole(node):
                    self._floats[node] = self._constant(float(value))
        self._computed = [n for n in needed if n not in self.number]
        self.count = self._inputs + len(self.constants)

    def _constant(self, value: int | float) -> int:
        self.constants.append(value)
        return self._inputs + len(self.constants) - 1

    def _needed(self, nodes: Iterable[int]) -> list[int]:
        found: set[int] = set()
        stack = list(nodes)
        while stack:
            node = stack.pop()
            operation, one, other = self._trace.nodes[node]
            if node not in found and operation not in ("input", "constant"):
                stack += [one, other]
            found.add(node)
        return sorted(found)

    def steps(self, layouts: LayoutClass) -> tuple[Step, ...]:
        """Each guard follows what it needs, so that a layout of another class is seen early."""
        guards = list(layouts.guards)
        for node in [-1, *self._computed]:
            if node >= 0:
                operation, one, other = self._trace.nodes[node]
                self._add(operation, one, other, self._new(node), is_whole=self._trace.is_whole(node))
            while guards and all(n in self.number for n in guards[0][1:]):
                relation, one, other = guards.pop(0)
                whole = self._trace.is_whole(one) and self._trace.is_whole(other)
                self._add(relation, one, other, 0, is_whole=whole)
        return tuple(self._steps)

    def _new(self, node: int) -> int:
        self.number[node] = self.count
        self.count += 1
        return self.number[node]

    def _add(self, operation: str, one: int, other: int, to: int, *, is_whole: bool) -> None:
        of = self.number.__getitem__ if is_whole else self._float
        self._steps.append(((_WHOLE if is_whole else _FLOAT)[operation], to, of(one), of(other)))

    def _float(self, node: int) -> int:
        """The register of a number as a float."""
        if not self._trace.is_whole(node):
            return self.number[node]
        if node not in self._floats:
            self._steps.append(("f", self.count, self.number[node], 0))
            self._floats[node] = self.count
            self.count += 1
        return self._floats[node]
