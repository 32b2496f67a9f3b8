"""Launch rules: what a launch passes to a kernel besides pointers, as expressions over extents and strides.

A family makes one rule per schedule.  Python evaluates it for a space, ``codegen`` declares the layout struct from it,
and a launcher in C can be generated from it (:func:`kgen.schedule.expressions.c`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from struct import Struct, calcsize
from typing import Any, Literal

from kgen.layout.iterator import IterationSpace
from kgen.records import dataclass
from kgen.schedule.expressions import PYTHON_FUNCTIONS, Expr, Name, evaluate, magic, python, shift, shown
from kgen.schedule.schedule import Schedule

Dim3 = tuple[int, int, int]

#: How many clusters of the kernel fit the device at a time.  Known when the kernel is loaded.
CLUSTERS = Name("clusters")

#: As many as any grid has.
ALL_CLUSTERS = 2**31 - 1

FieldType = Literal["int", "unsigned int", "long long"]

_CODES = {"int": "i", "unsigned int": "I", "long long": "q"}


@dataclass(frozen=True, slots=True)
class Launch:
    """What a rule gives for one space.

    ``grid``: of persistent clusters, on a device that all of them fit.  ``n``: elements, or groups of elements (rows).
    ``layout`` is empty when the kernel takes no layout struct.  ``lets``: the rule's named values.
    """

    rule: Rule
    grid: Dim3
    n: int
    layout: bytes
    lets: Mapping[str, int]

    @property
    def block(self) -> Dim3:
        return self.rule.block, 1, 1

    def grid_on(self, clusters: int) -> Dim3:
        """The grid on a device that fits ``clusters`` clusters at a time."""
        x, y, z = (evaluate(side, {**self.lets, CLUSTERS.of: clusters}) for side in self.rule.grid)
        return x, y, z


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a layout struct.  ``owners``: the operands that it describes, for the comment in generated code.
    ``is_array``: whether its length depends on the rank.  ``within``: the member struct that it is in, if any.
    """

    type: FieldType
    name: str
    values: tuple[Expr, ...]
    comment: str = ""
    owners: tuple[str, ...] = ()
    is_array: bool = True
    within: str = ""

    @property
    def length(self) -> str:
        """How many elements it has, in the text of one rank; empty for a number, as an array of one is."""
        return str(len(self.values)) if self.is_array and len(self.values) > 1 else ""

    @property
    def declaration(self) -> str:
        return f"{self.type} {self.name}" + (f"[{self.length}]" if self.length else "")

    @property
    def code(self) -> str:
        """The format of all its values, as ``struct`` has it."""
        return f"{len(self.values)}{_CODES[self.type]}"


@dataclass(frozen=True, slots=True)
class Labels:
    """Names for a struct's members.  ``labels``: of the accesses.  ``owners``: of their operands."""

    schedule: Schedule
    labels: tuple[str, ...]
    owners: tuple[str, ...]

    @staticmethod
    def numbered(schedule: Schedule) -> Labels:
        """Placeholder names, for when no code is generated."""
        found = tuple(f"t{i}" for i in range(len(schedule.accesses)))
        return Labels(schedule, found, found)

    def of_patterns(self) -> list[tuple[str, int, tuple[str, ...]]]:
        """For each stride pattern, its name, the first access that has it, and the operands of all that do."""
        found: list[tuple[str, int, tuple[str, ...]]] = []
        for number in range(self.schedule.patterns):
            accesses = [i for i, t in enumerate(self.schedule.accesses) if t.pattern == number]
            found.append((self.labels[accesses[0]], accesses[0], tuple(self.owners[i] for i in accesses)))
        return found


def divisor_fields(extents: Sequence[Expr], is_64bit: bool, of: str, prefix: str = "") -> list[Field]:
    """Fields for the extents that an index is divided by, and for the magic numbers and shifts that divide."""
    if not extents:
        return []
    bits, multiply = (64, "__umul64hi") if is_64bit else (32, "__umulhi")
    type_: FieldType = "long long" if is_64bit else "unsigned int"
    magic_comment = f"2^{bits} * (2^shift - extent) / extent + 1, in integers"
    shift_comment = f"ceil(log2(extent)); x / extent == ({multiply}(x, magic) + x) >> shift for x < 2^{bits - 1}"
    return [
        Field(type_, f"{prefix}extent", tuple(extents), of),
        Field(type_, f"{prefix}magic", tuple(magic(e, is_64bit=is_64bit) for e in extents), magic_comment),
        Field(type_, f"{prefix}shift", tuple(map(shift, extents)), shift_comment),
    ]


@dataclass(frozen=True)
class Rule:
    """``lets``: named values, each computed from earlier ones, which the other expressions use.

    ``grid``: over the named values and, where clusters are persistent, :data:`CLUSTERS`.  ``n``: as in :class:`Launch`.
    ``persistent_cluster``: blocks per cluster where clusters are persistent, else 0.  ``starts_early``: whether the
    kernel may start while the one ahead of it in the stream ends.
    """

    grid: tuple[Expr, Expr, Expr]
    block: int
    n: Expr
    struct: tuple[Field, ...] = ()
    lets: tuple[tuple[str, Expr], ...] = ()
    persistent_cluster: int = 0
    starts_early: bool = True

    def __getstate__(self) -> dict[str, Any]:
        """The fields: generated functions cannot be pickled."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def struct_alignment(self) -> int:
        return max((calcsize(_CODES[f.type]) for f in self.struct), default=1)

    @property
    def struct_bytes(self) -> int:
        """The size in C: a multiple of the alignment."""
        return -(-self.packer.size // self.struct_alignment) * self.struct_alignment

    @cached_property
    def _function(self) -> Callable[[Any, Any, int], tuple[Any, ...]]:
        """``(shape, strides, clusters) -> (grid, n, values of the struct, named values)``."""
        values = "".join(f"{python(v)}, " for field in self.struct for v in field.values)
        lines = [f"{name} = {python(value)}" for name, value in self.lets]
        named = ", ".join(f"'{name}': {name}" for name, _ in self.lets)
        lines.append(f"return ({', '.join(map(python, self.grid))}), {python(self.n)}, ({values}), {{{named}}}")
        found: dict[str, Any] = dict(PYTHON_FUNCTIONS)
        exec("\n    ".join([f"def rule(shape, strides, {CLUSTERS.of}):", *lines]), found)
        function: Callable[[Any, Any, int], tuple[Any, ...]] = found["rule"]
        return function

    @cached_property
    def packer(self) -> Struct:
        """Packs the struct's values, without trailing padding."""
        return Struct("<" + "".join(f.code for f in self.struct))

    def __str__(self) -> str:
        """The text that ``explain`` prints: the blocks, and the named values that they are computed from."""
        sides = [shown(side) for side in self.grid]
        while len(sides) > 1 and sides[-1] == "1":
            sides.pop()
        lets = "".join(f"; {name} = {shown(value)}" for name, value in self.lets)
        if "shape[1]" in lets:
            lets += " (shape: the fastest dimension first)"
        if self.persistent_cluster:
            lets += f"; {CLUSTERS.of} = how many clusters of {self.persistent_cluster} blocks fit the device"
        return f"launch: {' x '.join(sides)} blocks of {self.block} threads{lets}"

    def launch(self, space: IterationSpace) -> Launch:
        """Evaluates the rule for a space."""
        grid, n, values, lets = self._function(space.shape, space.strides, ALL_CLUSTERS)
        return Launch(self, grid, n, self.packer.pack(*values), lets)
