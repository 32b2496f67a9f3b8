"""Values that are computed once a column, in loops over a thread's columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from kgen.codegen import names
from kgen.codegen.element import PRIMARY, Writer, define_constant
from kgen.codegen.reduction.context import Stored, Value
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.parts import Parts
from kgen.codegen.reduction.places import ColumnPlaces
from kgen.codegen.reduction.sections import access_of
from kgen.codegen.spelling import Expr, register_type
from kgen.ir.graph import IndexMap
from kgen.records import dataclass
from kgen.schedule.reduction.schedule import RowSchedule, are_apart


@dataclass(slots=True)
class ColumnArrays:
    """Arrays of values that are computed in a loop over a thread's columns, or segments of rows, and read after it.

    ``group``: the number of these columns.  ``lasting``: the values.  ``index``: the variable of the loop.
    ``declarations``: of the arrays, so far.
    """

    group: int
    lasting: frozenset[int]
    index: str = "j"
    declarations: list[str] = field(default_factory=list)

    def has(self, number: int) -> bool:
        return self.group > 1 and number in self.lasting

    def define(self, number: int, c_type: str, name: str, value: str) -> tuple[str, str]:
        """A value as an element of its array, or as a constant of the loop's body (a ``Define`` of ``Writer``)."""
        if not self.has(number):
            return define_constant(number, c_type, name, value)
        return self.assign(c_type, name, value), f"{name}[{self.index}]"

    def assign(self, c_type: str, name: str, value: str) -> str:
        """The line that writes a column's value into an array, which this also declares."""
        self.declarations.append(f"{c_type} {name}[{self.group}];")
        return f"{name}[{self.index}] = {value};"

    def take(self) -> tuple[str, ...]:
        """The declarations since the last call."""
        found, self.declarations = tuple(self.declarations), []
        return found


def lasting(parts: Parts) -> frozenset[int]:
    """Values of a column that are read after the loop that computes them."""
    found: set[int] = set()
    for n, op in enumerate(parts.step.graph.ops):
        is_outside = parts.varies[n] or op.name in ("reduce", "store") or n not in parts.common
        mine = {a for a in op.args if not parts.varies[a] and (is_outside or parts.phase[a] != parts.phase[n])}
        found |= {a for a in mine if not parts.divides_scaled(n, a)}
    return frozenset(found)


def load_one(places: ColumnPlaces, writer: Writer, number: int) -> Value:
    """The load of an operand's one element for a column."""
    step = places.operands.step
    access, dtype = access_of(step, number), step.graph.ops[number].dtype
    value = writer.unique(names.value(places.operands.operand(access).name))
    writer.exprs[number] = Expr(value, PRIMARY)
    return Value(register_type(dtype), value, f"{places.base_of(access)}[{places.one(access)}]")


def store_ones(places: ColumnPlaces, writer: Writer, stores: Sequence[int]) -> tuple[Stored, ...]:
    """The packs of a thread's elements of outputs."""
    operands = places.operands
    packs: list[Stored] = []
    for n in stores:
        attr, access = operands.step.graph.ops[n].attr, access_of(operands.step, n)
        assert isinstance(attr, IndexMap)
        if places.many and operands.planned(access).kind == "vector" and not are_apart(operands.schedule):
            value = operands.written(access)
            writer.places[attr.operand] = f"{value}.at[j]"
            packs.append(Stored(operands.pack(access), value, places.base_of(access)))
        else:
            writer.places[attr.operand] = f"{places.base_of(access)}[{places.one(access)}]"
    return tuple(packs)


def alignments(operands: Operands) -> list[str]:
    """The requirement on the addresses of vectors."""
    schedule = operands.schedule
    aligned: dict[int, list[str]] = {}
    for i, t in enumerate(schedule.accesses):
        if t.kind in ("vector", "transposed"):
            aligned.setdefault(t.alignment, []).append(operands.operand(i).name)
    needed = "; ".join(f"{b} for {names.listed(of)}" for b, of in sorted(aligned.items(), reverse=True))
    return [f"Alignment, in bytes: {needed}."]


def multiples(schedule: RowSchedule) -> list[str]:
    """The requirement on the number of columns."""
    return [f"Columns are a multiple of {schedule.group}."] if schedule.group > 1 and not are_apart(schedule) else []
