"""The device functions that find gathered rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kgen.codegen import names
from kgen.codegen.arguments import Argument, used
from kgen.codegen.atomics import group_update_of, update_of
from kgen.codegen.context import ElementContext
from kgen.codegen.element import Element, Writer
from kgen.codegen.element_function import rounded_rows
from kgen.codegen.elementwise.context import GatheredContext
from kgen.codegen.family import Unit
from kgen.codegen.gathers import needed, row_at
from kgen.codegen.helpers import GATHER, LOAD_GATHERED
from kgen.codegen.layouts import call_lines
from kgen.codegen.lines import MAX_COLUMNS, assigned
from kgen.codegen.narrow import ROUND_GROUP, rounded
from kgen.codegen.spelling import storage_type
from kgen.codegen.statements import Statement
from kgen.ir.graph import Gather, Op, Operand, Scatter
from kgen.partition.step import Step
from kgen.records import dataclass
from kgen.schedule.elementwise.gathers import ops_of_rows, row_axis
from kgen.schedule.schedule import Schedule
from kgen.syntax.tree import Combine


@dataclass(frozen=True, slots=True)
class GatheredRow:
    """A row at a computed place.

    ``find``: the function that finds it.  ``name``: the row.  ``pack``: the type of a group of it, and ``vector``
    its name.  ``element``: the name of one that is written, or None where it is read; ``combine``: how it is written.
    ``floats``: the name of a group of it before it is rounded to fp8, if it is.
    """

    find: Element
    operand: Operand
    name: str
    pack: str
    vector: str
    element: str | None
    combine: Combine
    floats: str = ""

    def argument(self, kind: str, p: str, *, packed: bool) -> str:
        """The text of an argument: an element, at ``p`` in memory or of a group; or the row."""
        if kind == "row":
            return self.name
        if packed:
            return f"{self.floats}[j]" if self.floats else f"{self.vector}.at[j]"
        if self.element is None:
            return f"gather({self.name}.start, {p}, {self.name}.inside)"
        return self.element

    @property
    def helpers(self) -> tuple[str, ...]:
        """What moves its groups and elements."""
        if self.element is None:
            return LOAD_GATHERED, GATHER
        dtype = self.operand.dtype
        element = () if self.combine == "set" else update_of(self.combine, dtype).helpers
        rounding = (ROUND_GROUP,) if self.floats else ()
        return *rounding, *element, *group_update_of(self.combine, dtype).helpers

    def context(self, arguments: Sequence[str]) -> GatheredContext:
        """``arguments``: of ``find``."""
        dtype, element = self.operand.dtype, self.element or ""
        update = "" if self.combine == "set" else update_of(self.combine, dtype).function
        find, mover = call_lines(self.find, arguments), group_update_of(self.combine, dtype).function
        call = rounded(dtype, self.floats, self.vector) if self.floats else ""
        return GatheredContext(
            storage_type(dtype), self.name, find, self.pack, self.vector, element, mover, update, self.floats, call
        )


@dataclass(slots=True)
class RowWriter(Writer):
    """Writes what finds the row of op ``number``.

    Rows at the same places share the ops of these, which have the names and the statement of the first one.
    """

    number: int = 0

    @property
    def moved(self) -> int | None:
        attr = self.step.graph.ops[self.number].attr
        return attr.operand if isinstance(attr, Gather | Scatter) else None

    def comment(self, statement: Statement | None) -> None:
        """The function has a comment of its own."""

    def _unnamed(self, op: Op) -> str:
        ops, row = self.step.graph.ops, self.step.graph.ops[self.number]
        axis = next((axis for axis, a in enumerate(row.places) if ops[a] is op), None)
        if axis is None or not isinstance(row.attr, Gather | Scatter):
            return Writer._unnamed(self, op)
        return names.place(self.step.graph.operands[row.attr.operand].name, axis)


def movers_of(rows: Iterable[GatheredRow]) -> tuple[str, ...]:
    """The helpers that move groups and elements of rows."""
    return tuple(h for row in rows for h in row.helpers)


def merged(*functions: Element) -> tuple[Argument, ...]:
    """The arguments of several functions, each once."""
    return tuple({(a.kind, a.key, a.declaration): a for f in functions for a in f.arguments}.values())


def find_rows(unit: Unit[Schedule]) -> dict[int, GatheredRow]:
    """For each op of a kernel that moves rows at computed places, the function that finds one, and names."""
    found: dict[int, GatheredRow] = {}
    unique, step, schedule = names.Unique(), unit.step, unit.schedule
    rows = ops_of_rows(step, schedule)
    narrow = rounded_rows(step, schedule, rows)
    for number in rows:
        attr = step.graph.ops[number].attr
        assert isinstance(attr, Gather | Scatter)
        operand = step.graph.operands[attr.operand]
        label = unique(operand.name)
        find = unit.declare(_write_row(step, number, f"{unit.base}_{names.row(label)}", unit.statements))
        alignment = dict(schedule.gathered)[attr.operand]
        pack = f"Pack<{storage_type(operand.dtype)}, {schedule.group}, {alignment}>"
        element = names.element(label) if isinstance(attr, Scatter) else None
        combine = attr.combine if isinstance(attr, Scatter) else "set"
        floats = names.floats(label) if number in narrow else ""
        found[number] = GatheredRow(
            find, operand, names.row(label), pack, names.gathered(label), element, combine, floats
        )
    return found


def _write_row(step: Step, number: int, name: str, statements: Sequence[Statement]) -> Element:
    """The function that finds the row that a gather reads: its last parameter becomes the address."""
    ops = step.graph.ops
    op = ops[number]
    assert isinstance(op.attr, Gather | Scatter)
    operand = step.graph.operands[op.attr.operand]
    writer = RowWriter(step, statements, number=number)
    arguments = writer.declare()
    along = row_axis(step, number)
    writer.write(needed(ops, [a for axis, a in enumerate(op.places) if axis != along]))
    places = writer.places_of(number)
    out = writer.unique(names.row(operand.name))
    at, inside = writer.unique(names.offset(operand.name)), writer.unique(names.inside(operand.name))
    found = row_at(operand, op, [ops[a] for a in op.places], places, along, at, inside)
    for line in (*found.lines, *assigned(out, found.in_array(names.pointer(operand.name)))):
        writer.put(line, number)
    const = "" if isinstance(op.attr, Scatter) else "const "
    row = Argument("row", number, f"Row<{const}{storage_type(operand.dtype)}>& {out}")
    parameters = (*used(arguments, writer.body), row)
    declared = tuple(a.declaration for a in parameters)
    one_line = len(name) + 2 + len(", ".join(declared)) <= MAX_COLUMNS
    comment = (f"The row of {operand.name} at a computed place.",)
    context = ElementContext(name, comment, declared, one_line, tuple(writer.body))
    helpers = dict.fromkeys((*writer.helpers, *found.helpers))
    return Element(context, parameters, tuple(dict.fromkeys(writer.headers)), tuple(helpers))
