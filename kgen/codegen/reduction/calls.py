"""Writes the element functions of a kernel, and their calls in its body."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import field
from types import MappingProxyType

from kgen.codegen import names
from kgen.codegen.arguments import Argument
from kgen.codegen.element import Element
from kgen.codegen.layouts import call_lines
from kgen.codegen.narrow import rounded
from kgen.codegen.reduction.context import Call, Declared, Read, Stored
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.parts import HALF, Parts
from kgen.codegen.reduction.places import Places, address
from kgen.codegen.reduction.sections import Section, access_of, kept_name, write_section
from kgen.codegen.reduction.states import States, target_of
from kgen.codegen.short_results import NO_SHORT_RESULTS, ShortResults
from kgen.codegen.spelling import register_type
from kgen.codegen.statements import Statement
from kgen.dtypes import BFLOAT16
from kgen.ir.graph import IndexMap, Op, Scatter
from kgen.partition.reduction_step import ReductionStep
from kgen.records import dataclass, replace
from kgen.schedule.target import WORD

#: The places of what a block computes once for all of its rows, and when a row begins, among the numbers of rounds.
BEFORE_ROWS, AT_ROW = -2, -1

Declare = Callable[[Element], Element]  #: gives a function its name in the file; equal functions share one


@dataclass(slots=True)
class Values:
    """The names of values in a kernel's body.

    ``parameters``: of scalars and sizes.  ``rows``: of values that are uniform along the row; ``passed``: the text by
    which element functions get these.  ``reciprocals``: of the reciprocals of divisors.  ``kept``: values of elements
    that one element function keeps for later ones, with the number of the round that computes each, or
    :data:`BEFORE_ROWS` or :data:`AT_ROW`.
    """

    parameters: Mapping[tuple[str, int | str], str]
    unique: names.Unique = field(default_factory=names.Unique)
    rows: dict[int, str] = field(default_factory=dict)
    passed: dict[int, str] = field(default_factory=dict)
    reciprocals: dict[int, str] = field(default_factory=dict)
    kept: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for value in self.parameters.values():
            self.unique(value)

    def parameter(self, op: Op) -> str:
        """The name of a scalar or size."""
        assert isinstance(op.attr, int | str)
        return self.parameters[op.name, op.attr]


@dataclass(slots=True)
class Functions:
    """The element functions of a kernel, in the order of their calls.

    ``short``: the values that need no more than 16 bits.  ``picks``: whether elements are extracted from 32-bit words.
    ``by_group``: whether a group is divided on a fast path, by reciprocals.  ``kept``: the values that a function has
    kept, which later ones are given.
    """

    parts: Parts
    values: Values
    statements: Sequence[Statement]
    declare: Declare
    short: ShortResults = NO_SHORT_RESULTS
    picks: bool = False
    by_group: bool = False
    written: list[Element] = field(default_factory=list)
    kept: set[int] = field(default_factory=set)

    def write(
        self,
        place: int,
        name: str,
        sinks: Sequence[int],
        states: States | None = None,
        narrow: Mapping[int, int] = MappingProxyType({}),
        by_group: bool = True,
    ) -> Element:
        """Write a function.  ``place``: the number of rounds before it.  ``narrow``: as of a ``Section``."""
        step, kept_by = self.parts.step, self.values.kept
        given = {n for n, made in kept_by.items() if made < place or n in self.kept}
        kept = [n for n, made in kept_by.items() if made == place and n not in self.kept]
        self.kept.update(kept)
        if states is not None:
            into = names.listed(states[n][1].removesuffix("_acc") for n in sinks)
            direct = all(mine.mode != "group" for mine, _ in states.values())
            title = (
                f"Accumulates one element into {into}."
                if direct
                else f"The value of one element that goes into {into}."
            )
        else:
            states = {}
            title = _TITLES.get(place) or _title(step, sinks)
        by_group = by_group and self.by_group and place == len(self.parts.rounds)
        section = Section(
            name, title, sinks, states, self.values.rows, given, kept, by_group=by_group, narrow=narrow,
            picks=self.picks, short=self.short,
        )  # fmt: skip
        found = self.declare(write_section(self.parts, section, self.statements))
        self.written.append(found)
        return found

    @property
    def headers(self) -> tuple[str, ...]:
        return tuple(h for e in self.written for h in e.headers)

    @property
    def helpers(self) -> tuple[str, ...]:
        return tuple(h for e in self.written for h in e.helpers)


_TITLES = {
    BEFORE_ROWS: "What a block needs of elements that all rows share.",
    AT_ROW: "What the rounds of a row need of its elements.",
}


def _title(step: ReductionStep, stores: Sequence[int]) -> str:
    """What a function for one element writes, and the sums that it adds to."""
    attrs = {n: step.graph.ops[n].attr for n in stores}
    of = {n: step.graph.operands[a.operand].name for n, a in attrs.items() if isinstance(a, IndexMap | Scatter)}
    written = [name for n, name in of.items() if not step.is_sum(n)]
    summed = [name for n, name in of.items() if step.is_sum(n)]
    one = [f"One element of {names.listed(written)}."] if written else []
    return " ".join([*one, *([f"Adds to {names.listed(map(names.column_sum, summed))}."] if summed else [])])


def reads_of(function: Element) -> list[int]:
    """The accesses whose elements an element function takes."""
    return [int(a.key) for a in function.arguments if a.kind == "read"]


@dataclass(slots=True)
class Calls:
    """Calls of element functions.

    ``element``: gives the text of an element that was read.  ``column``: the index of an element's column in arrays, if
    there are any.  ``collected``: the index of an element that a state collects.  ``kept_name``: makes the names of
    values that functions keep.  ``gathered``: the text of an element of each row at computed places.
    ``states``: those of the current round.
    """

    operands: Operands
    places: Places
    values: Values
    element: Callable[[int], str]
    column: str
    collected: str
    kept_name: Callable[[str], str] = names.kept
    gathered: Mapping[int, str] = MappingProxyType({})
    states: States = field(default_factory=dict)
    rounded: Set[int] = frozenset()  # the outputs whose elements are first floats

    def call(self, function: Element, variant: str = "") -> Call:
        """``variant``: its template arguments."""
        name = f"{function.context.name}{variant}"
        arguments = [self.argument(a) for a in function.arguments]
        lines = [line[len(name) + 1 :] for line in call_lines(function, arguments, variant)]
        return Call(name, (*lines[:-1], lines[-1].removesuffix(");")))

    def argument(self, argument: Argument) -> str:
        match argument.kind:
            case "read":
                return self.element(int(argument.key))
            case "given":
                return self.given(int(argument.key))
            case "keep":
                return self.kept(int(argument.key))
            case "row":
                return self.values.passed[int(argument.key)]
            case "reciprocal":
                return self.values.reciprocals[int(argument.key)]
            case "is_exact":
                return argument.name
            case "scalar" | "size":
                return self.values.parameters[argument.kind, argument.key]
            case "source":
                return argument.name
            case "index":
                return self.places.coordinate(int(argument.key))
            case "gathered":
                return self.gathered[int(argument.key)]
            case "place":
                return self.places.place
            case "state":
                return target_of(*self.states[int(argument.key)], self.column, self.collected)
            case _:
                return self.written(int(argument.key))

    def written(self, access: int) -> str:
        """The place that an element of an output is written to."""
        several = self.operands.schedule.group > 1
        if self.operands.is_sum(access):
            return f"{self.operands.column_sum(access)}.at[{'j' if several else '0'}]"
        if access in self.rounded:
            return f"{names.floats(self.operands.labels[access])}[j]"
        if self.operands.is_grouped(access) and several:
            return f"{self.operands.written(access)}.at[j]"
        return f"{self.places.base_of(access)}[{self.places.along(access, 'j' if several else '')}]"

    def kept(self, number: int) -> str:
        """A value of an element that is kept."""
        element = ".at[j]" if self.is_packed(number) else "[j]"
        return self.kept_group(number) + (element if self.operands.schedule.group > 1 else "")

    def given(self, number: int) -> str:
        """The same where it is used: bfloat16 values are extracted from words."""
        return f"extract({self.kept_group(number)}, j)" if self.is_picked(number) else self.kept(number)

    def is_picked(self, number: int) -> bool:
        """Whether a kept value is extracted from a word."""
        return self.is_packed(number) and self.operands.step.graph.ops[number].dtype is BFLOAT16

    def kept_group(self, number: int) -> str:
        """The values of a group."""
        return self.kept_array(number) + ("[v]" if self.operands.schedule.vectors > 1 else "")

    def is_packed(self, number: int) -> bool:
        """Whether two values of neighbouring elements share a register."""
        return self.operands.schedule.group > 1 and self.operands.step.graph.ops[number].dtype.size == HALF

    def packed(self, function: Element | None) -> tuple[Read, ...]:
        """The groups of values that share registers, of those that an element function is given."""
        given = (int(a.key) for a in function.arguments if a.kind == "given") if function else ()
        return tuple(Read(self.kept_group(n), is_resident=True) for n in given if self.is_packed(n))

    def copied(self, stores: Sequence[int]) -> tuple[tuple[Stored, ...], Sequence[int]]:
        """The stores of groups of halves as they are kept, none where there are no others; and the others."""
        step, found = self.operands.step, dict[int, Stored]()
        for n in (n for n in stores if isinstance(step.graph.ops[n].attr, IndexMap)):
            kept, access = step.graph.ops[n].args[0], access_of(step, n)
            planned = self.operands.planned(access)
            whole = planned.kind == "vector" and planned.alignment == HALF * self.operands.schedule.group
            if whole and kept in self.values.kept and self.is_packed(kept):
                found[n] = Stored(self.operands.pack(access), self.kept_group(kept), address(self.places, access))
        others = [n for n in stores if n not in found]
        return (tuple(found.values()), others) if others else ((), stores)

    def kept_arrays(self, *, before_rows: bool = False) -> tuple[Declared, ...]:
        """The registers of the values that are kept for one row, or ``before_rows`` for all of a block."""
        vectors, group = self.operands.schedule.vectors, self.operands.schedule.group
        array = (f"[{vectors}]" if vectors > 1 else "") + (f"[{group}]" if group > 1 else "")
        mine = [n for n, made in self.values.kept.items() if (made == BEFORE_ROWS) == before_rows]
        types = {n: register_type(self.operands.step.graph.ops[n].dtype) for n in mine}
        return tuple(
            Declared(f"Pack<{types[n]}, {group}, {HALF * group}>", self.kept_group(n).replace("[v]", f"[{vectors}]"))
            if self.is_packed(n)
            else Declared(types[n], self.kept_array(n) + array)
            for n in mine
        )

    def kept_array(self, number: int) -> str:
        """Its name, which differs from those of other kept values: an indexed ``let`` is computed for each index."""
        unique, step = names.Unique(), self.operands.step
        return {n: unique(self.kept_name(kept_name(step, n))) for n in self.values.kept}[number]


def final_packs(
    operands: Operands,
    places: Places,
    stores: Sequence[int],
    narrow: Mapping[int, int] = MappingProxyType({}),
    floats: Set[int] = frozenset(),
) -> tuple[Stored, ...]:
    """The packs that collect the elements of outputs.  ``narrow``: as of a ``Section``; ``floats``: the stores of
    floats that are rounded to fp8."""
    found: list[Stored] = []
    stores = [n for n in stores if isinstance(operands.step.graph.ops[n].attr, IndexMap)]
    parts = [] if operands.schedule.is_column else _parts_of_one_array(operands, stores)
    for n in stores:
        access = access_of(operands.step, n)
        if operands.is_grouped(access) and operands.schedule.group > 1:
            place, pack = address(places, access), operands.written(access)
            by_words = n in parts or (not operands.schedule.is_column and _stores_bytes(operands, access))
            stored = Stored(operands.pack(access), pack, place, by_words=by_words)
            if n in floats:
                taken = names.floats(operands.labels[access])
                call = rounded(operands.operand(access).dtype, taken, pack)
                stored = replace(stored, floats=taken, rounded=call, is_quotient=n in narrow)
            found.append(stored)
    return tuple(found)


def _stores_bytes(operands: Operands, access: int) -> bool:
    """Whether groups of an output consist of bytes that one access moves."""
    dtype, planned = operands.operand(access).dtype, operands.planned(access)
    return dtype.size == 1 and planned.kind == "vector" and operands.stores_words(dtype, planned.alignment)


def _parts_of_one_array(operands: Operands, stores: Sequence[int]) -> list[int]:
    """The stores of groups of 8- or 16-bit elements that fill the widest access, of which several go to one array."""
    found: dict[int, list[int]] = {}
    for n in stores:
        access, schedule, graph = access_of(operands.step, n), operands.schedule, operands.step.graph
        size, widest = operands.operand(access).dtype.size, schedule.target.vector_bytes
        if size < WORD and operands.planned(access).alignment == schedule.group * size == widest:
            found.setdefault(graph.base(operands.step.accesses[access].operand), []).append(n)
    return [n for those in found.values() if len(those) > 1 for n in those]
