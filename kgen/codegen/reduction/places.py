"""The addresses and coordinates of a kernel's elements, along rows or down columns."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import field
from typing import Protocol

from kgen.codegen import names
from kgen.codegen.layouts import index_decomposition, member
from kgen.codegen.reduction.context import Value
from kgen.codegen.reduction.operands import Operands
from kgen.records import dataclass
from kgen.schedule.reduction.schedule import ColumnSchedule, RowSchedule, are_apart


@dataclass(slots=True)
class Uses:
    """The coordinates that the text so far reads; only these are declared.

    ``reduced``: reduced dimensions in the current loop; ``anywhere``: the same in all loops.  ``kept``: kept
    dimensions.  ``row``: whether the text reads the number of the row.
    """

    reduced: set[int] = field(default_factory=set)
    anywhere: set[int] = field(default_factory=set)
    kept: set[int] = field(default_factory=set)
    row: bool = False

    def in_loop(self, schedule: RowSchedule, index: str = "i") -> tuple[str, ...]:
        """End the current loop: the lines of the coordinates that it reads."""
        found = place_coordinates(schedule, self.reduced, index)
        self.anywhere |= self.reduced
        self.reduced.clear()
        return found


class Places(Protocol):
    """How a kernel finds its elements."""

    @property
    def uses(self) -> Uses: ...

    @property
    def place(self) -> str:
        """The index of an element among those that are reduced."""
        ...

    def base_of(self, access: int) -> str:
        """The name of the start of an operand's row or column."""
        ...

    def along(self, access: int, j: str) -> str:
        """The offset from that start to an element, ``j`` elements after the first of its group."""
        ...

    def coordinate(self, number: int) -> str:
        """The value of an op ``index``: a coordinate of the row or column, or of the element in it."""
        ...


def address(places: Places, access: int) -> str:
    """The address of an element, or of a group's first one."""
    base, place = places.base_of(access), places.along(access, "")
    return base if place == "0" else f"{base} + {place}"


@dataclass(frozen=True, slots=True)
class RowPlaces:
    """Along rows.  ``at``: the index in its row of an element or of a group's first one."""

    operands: Operands
    at: str
    uses: Uses = field(default_factory=Uses)

    @property
    def place(self) -> str:
        return self.plus("j" if self.operands.schedule.group > 1 else "")

    def plus(self, j: str) -> str:
        """The index of the element ``j`` elements after the first."""
        return " + ".join(term for term in (self.at, j) if term not in ("", "0")) or "0"

    def row_offset(self, access: int) -> list[str]:
        """The terms of the offset of an operand's row."""
        pattern = self.operands.planned(access).pattern
        if pattern is None:
            return []
        label, kept = self.operands.pattern_label(pattern), self.operands.schedule.kept
        return [f"{self.of_row(d)} * {member(f'{label}_stride', d, kept)}" for d in range(kept)]

    def of_row(self, dimension: int) -> str:
        """A coordinate of the row."""
        self.uses.row = True
        if self.operands.schedule.kept == 1:
            return "row"
        self.uses.kept.add(dimension)
        schedule = self.operands.schedule
        return "chunked" if schedule.chunk and dimension == schedule.chunked else f"c{dimension}"

    def row_element(self, access: int) -> str:
        """A row's one element of an operand."""
        return f"{self.operands.pointer(access)}[{' + '.join(self.row_offset(access) or ['0'])}]"

    def base_of(self, access: int) -> str:
        planned = self.operands.planned(access)
        if planned.pattern is None and planned.kind != "staged":
            return self.operands.pointer(access)
        return names.row(self.operands.labels[access])

    def along(self, access: int, j: str) -> str:
        schedule, steps = self.operands.schedule, self.operands.steps(access)
        plus = f" + {j}" if j else ""
        if schedule.reduced == 1:
            if self.operands.is_one(access):
                return "0"
            if self.operands.is_grouped(access) or self.operands.planned(access).kind == "spaced":
                return self.plus(j)
            if self.at == "0":
                return f"{j} * {steps[0]}" if j else "0"
            return f"({self.at}{plus}) * {steps[0]}" if j else f"{self.at} * {steps[0]}"
        if access in schedule.dense:
            return self.plus(j)
        if self.operands.is_of_segment(access):
            return f"{self.at} / {schedule.segment} * {next(iter(steps.values()))}"
        repeats = self.operands.planned(access).kind == "column"
        self.uses.reduced.update(range(int(repeats), schedule.reduced))
        terms = {d: f"r{d} * {step}" for d, step in steps.items()}
        if not repeats:
            terms[0] = f"(r0{plus}) * {steps[0]}" if 0 in steps else f"r0{plus}"
        return " + ".join(terms[d] for d in sorted(terms))

    def coordinate(self, number: int) -> str:
        schedule = self.operands.schedule
        dimension, reduced = dimension_of(self.operands, number), schedule.reduced
        if dimension is None:
            return "0"
        if dimension >= reduced:
            return self.of_row(dimension - reduced)
        j = "j" if schedule.group > 1 and dimension == 0 else ""
        if reduced == 1:
            return self.plus(j)
        self.uses.reduced.add(dimension)
        return f"r{dimension}{' + j' if j else ''}"


@dataclass(frozen=True, slots=True)
class ColumnPlaces:
    """Down columns.  ``place``: the index of an element in its column, empty for the first.

    ``many``: whether a thread has several columns, with their values in packs and arrays, and loops over them by ``j``.
    """

    operands: Operands
    place: str
    many: bool
    uses: Uses = field(default_factory=Uses)

    def starts(self, accesses: Iterable[int]) -> tuple[Value, ...]:
        """The start of the thread's columns in each operand."""
        starts = {t: terms for t in accesses if (terms := self.outer(t))}
        if any(self.operands.planned(t).pattern is not None for t in starts):
            self.uses.kept.update(range(1, self.operands.schedule.kept))
        return tuple(self.operands.start(t, self.base_of(t), terms) for t, terms in starts.items())

    def outer(self, access: int) -> list[str]:
        """The terms of the offset of a group of columns."""
        planned = self.operands.planned(access)
        found: list[str] = []
        if planned.kind != "row":
            found.append("column" if planned.kind == "vector" else f"column * (long long){self.step_across(access)}")
        if planned.pattern is not None:
            pattern = self.operands.pattern_label(planned.pattern)
            kept = self.operands.schedule.kept
            found += [f"c{d} * {member(f'{pattern}_stride', d - 1, kept - 1)}" for d in range(1, kept)]
        return found

    def base_of(self, access: int) -> str:
        return names.column(self.operands.labels[access]) if self.outer(access) else self.operands.pointer(access)

    def along(self, access: int, j: str) -> str:
        schedule, steps = self.operands.schedule, self.operands.steps(access)
        if access not in schedule.columnwise:
            return " + ".join(self.across(access, j)) or "0"
        if schedule.reduced == 1:
            terms = [f"{self.factor} * {steps[0]}" if 0 in steps else self.place] if self.place else []
        else:
            self.uses.reduced.update(range(schedule.reduced))
            found = (f" * {steps[d]}" if d in steps else "" for d in range(schedule.reduced))
            terms = [f"r{d}{step}" for d, step in enumerate(found)]
        return " + ".join(terms + self.across(access, j))

    @property
    def factor(self) -> str:
        """``place`` as a factor of a product, in parentheses if needed."""
        return f"({self.place})" if " " in self.place else self.place

    def across(self, access: int, j: str) -> list[str]:
        """The term of the offset from a group's first column to column ``j``."""
        j = "beside[j]" if j and are_apart(self.operands.schedule) else j
        match self.operands.planned(access).kind:
            case "vector":
                return [j] if j else []
            case "gather" | "transposed":
                return [f"{j} * {self.step_across(access)}"] if j else []
            case _:
                return []

    def step_across(self, access: int) -> str:
        """The stride from one column to the next."""
        return self.operands.steps(access)[self.operands.schedule.reduced]

    def one(self, access: int) -> str:
        """The one element of an operand for column ``j``."""
        return " + ".join(self.across(access, "j" if self.many else "")) or "0"

    def coordinate(self, number: int) -> str:
        dimension, reduced = dimension_of(self.operands, number), self.operands.schedule.reduced
        if dimension is None:
            return "0"
        if dimension == reduced:
            return f"column + {'beside[j]' if are_apart(self.operands.schedule) else 'j'}" if self.many else "column"
        if dimension > reduced:
            self.uses.kept.add(dimension - reduced)
            return f"c{dimension - reduced}"
        if reduced == 1:
            return self.place
        self.uses.reduced.add(dimension)
        return f"r{dimension}"


def dimension_of(operands: Operands, number: int) -> int | None:
    """The dimension of the iteration space whose coordinate op ``number`` gives; None if the coordinate is always 0."""
    op = operands.step.graph.ops[number]
    assert isinstance(op.attr, int)
    place = operands.step.places[number][op.attr]
    return None if place is None else dict(operands.schedule.coordinates)[place]


def row_coordinates(schedule: RowSchedule, wanted: Set[int], index: str) -> tuple[str, ...]:
    """Lines that decompose the number of a row, or group of columns, into the coordinates that are ``wanted``."""
    if schedule.kept == 1 or not wanted:
        return ()
    of_chunk = {schedule.chunked, schedule.kept} if schedule.chunk and not schedule.is_column else set()
    rank = schedule.kept + (1 if of_chunk else 0)
    # Products of unsigned coordinates with 64-bit strides take three instructions, of others five.
    type_ = "unsigned int" if schedule.index_bits == 32 and not of_chunk else schedule.signed
    return tuple(index_decomposition(rank, {*wanted, *of_chunk}, type_, index))


def place_coordinates(schedule: RowSchedule, wanted: Set[int], index: str = "i") -> tuple[str, ...]:
    """Lines that decompose the place of an element into the coordinates that are ``wanted``."""
    if schedule.reduced == 1 or not wanted:
        return ()
    return tuple(index_decomposition(schedule.reduced, wanted, schedule.signed, index, ("r", "s"), "place_"))


def group_coordinates(schedule: ColumnSchedule, wanted: Set[int]) -> tuple[str, ...]:
    """Lines that decompose the number of a group of columns.

    With chunks, c0 is the place of a group in its chunk, and the last coordinate the number of the chunk.
    """
    if not schedule.chunk:
        return row_coordinates(schedule, wanted, "number")
    rank = schedule.kept + 1
    return tuple(index_decomposition(rank, {*wanted, schedule.kept}, schedule.signed, "number"))


def first_column(schedule: ColumnSchedule) -> str:
    """The first of a thread's columns."""
    group = "c0" if schedule.kept > 1 or schedule.chunk else "number" if schedule.index_bits == 64 else "(int)number"
    if schedule.chunk:
        group = f"({schedule.chunk} * c{schedule.kept} + c0)"
    several = schedule.group > 1 and not schedule.apart
    return f"{schedule.group} * {group}" if several else group.strip("()") if schedule.chunk else group
