"""Elements at computed places: their parameters, and the text that reads one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from kgen.codegen import names
from kgen.codegen.arguments import Argument
from kgen.codegen.atomics import update_of
from kgen.codegen.c_types import storage_type
from kgen.codegen.expressions import Expr, Level
from kgen.codegen.helpers import ROW
from kgen.codegen.lines import MAX_COLUMNS, assigned
from kgen.dtypes import DType
from kgen.ir.graph import Gather, Graph, Op, Operand, Scatter, is_within
from kgen.partition.step import Step
from kgen.records import dataclass
from kgen.syntax.tree import Combine, Outside

#: No operand is updated elsewhere than in memory.
NO_ACCUMULATORS: Mapping[int, DType] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ElementAt:
    """The text of an element, the lines before it, and the helpers that it calls."""

    expr: Expr
    lines: tuple[str, ...]
    helpers: tuple[str, ...]


def element_at(
    of: Operand, places: Sequence[Op], codes: Sequence[str], at: str, inside: str, outside: Outside = "zero"
) -> ElementAt:
    """The element of an operand at these places.  ``codes``: their text.  ``at`` and ``inside``: names for its offset,
    and for whether it is inside of the operand.
    """
    shape, pointer = names.shape(of.name), names.pointer(of.name)
    walked = [(axis, code) for axis, code in enumerate(codes) if not _is_zero(places[axis])]
    terms = [f"{code} * {shape}.stride[{axis}]" for axis, code in walked] or ["0"]
    checked = [
        axis for axis, place in enumerate(places) if outside != "promise" and not is_within(place, of.shape[axis])
    ]
    if checked:
        tests = [f"is_inside({codes[axis]}, {shape}.extent[{axis}])" for axis in checked]
        lines = _broken(f"const bool {inside} = ", " && ", tests)
        lines += _broken(f"const long long {at} = !{inside} ? 0 : ", " + ", terms)  # signed products could overflow
        code = f"gather({pointer}, {at}, {inside})"
    else:
        lines = _broken(f"const long long {at} = ", " + ", terms)
        code = f"{pointer}[{at}]"
    expr = Expr(f"{code} != 0", Level.EQUALITY) if of.dtype.is_bool else Expr(code, Level.POSTFIX)
    return ElementAt(expr, tuple(lines), ("is_inside", "gather") if checked else ())


@dataclass(frozen=True, slots=True)
class StoreAt:
    """The lines that store an element, and the helpers that they call."""

    lines: tuple[str, ...]
    helpers: tuple[str, ...]


def store_at(
    of: Operand, dtype: DType, combine: Combine, places: Sequence[Op], codes: Sequence[str], inside: str, value: str
) -> StoreAt:
    """Lines that store a value at these places of an operand, or combine it, if they are inside of it.

    ``dtype``: in which it is combined.
    """
    shape, pointer = names.shape(of.name), names.pointer(of.name)
    terms = [f"{code} * {shape}.stride[{axis}]" for axis, code in enumerate(codes) if not _is_zero(places[axis])]
    element, helpers = f"{pointer}[{' + '.join(terms or ['0'])}]", tuple[str, ...]()
    store = f"{element} = {value};"
    if combine != "set":
        update = update_of(combine, dtype)
        store, helpers = f"{update.function}(&{element}, {value});", update.helpers
    checked = [axis for axis, place in enumerate(places) if not is_within(place, of.shape[axis])]
    tests = [f"is_inside({codes[axis]}, {shape}.extent[{axis}])" for axis in checked]
    if not tests:
        return StoreAt((store,), helpers)
    lines = _broken(f"const bool {inside} = ", " && ", tests)
    return StoreAt((*lines, f"if ({inside}) {{", f"    {store}", "}"), ("is_inside", *helpers))


@dataclass(frozen=True, slots=True)
class RowAt:
    """The text of where a row lies: its ``offset``, and whether it is ``inside`` of the operand, after ``lines``."""

    offset: str
    inside: str
    lines: tuple[str, ...]
    helpers: tuple[str, ...]

    def in_array(self, pointer: str) -> str:
        """The text of the ``Row`` at this place of an array."""
        return f"{{{pointer}{f' + {self.offset}' if self.offset else ''}, {self.inside}}}"


def row_at(
    of: Operand, op: Op, places: Sequence[Op], codes: Sequence[str], along: int | None, at: str, inside: str
) -> RowAt:
    """As :func:`element_at`, of the row along one axis, which an op reads or writes."""
    shape = names.shape(of.name)
    others = [axis for axis in range(len(codes)) if axis != along]
    terms = tuple(f"{codes[axis]} * {shape}.stride[{axis}]" for axis in others if not _is_zero(places[axis]))
    promised = isinstance(op.attr, Gather) and op.attr.outside == "promise"
    checked = [axis for axis in others if not promised and not is_within(places[axis], of.shape[axis])]
    offset, total = at if terms else "", " + ".join(terms)
    if not checked:
        return RowAt(offset, "true", assigned(f"const long long {at}", total) if terms else (), (ROW,))
    tests = [f"is_inside({codes[axis]}, {shape}.extent[{axis}])" for axis in checked]
    lines = tuple(_broken(f"const bool {inside} = ", " && ", tests))
    if terms:  # signed products could overflow
        lines += assigned(f"const long long {at}", f"{inside} ? {total} : 0")
    return RowAt(offset, inside, lines, ("is_inside", ROW))


def place_name(graph: Graph, op: Op) -> str | None:
    """A name for an op that is a place of a gather or scatter; None for others."""
    for user in graph.ops:
        if isinstance(user.attr, Gather | Scatter):
            for axis, a in enumerate(user.places):
                if graph.ops[a] is op:
                    return names.place(graph.operands[user.attr.operand].name, axis)
    return None


def needed(ops: Sequence[Op], sinks: Iterable[int], given: Sequence[int] = ()) -> list[int]:
    """The ops that these depend on, themselves included, in order; without those given, and what only they need.

    Of stores that are given, only their places are not needed.
    """
    found, stack = set[int](), list(sinks)
    while stack:
        number = stack.pop()
        is_store = ops[number].name == "store"
        if number not in found and (is_store or number not in given):
            found.add(number)
            stack.extend(ops[number].args[:1] if is_store and number in given else ops[number].args)
    return sorted(found)


def _is_zero(place: Op) -> bool:
    return place.name == "const" and place.attr == 0


def sources(step: Step, selected: Iterable[int], accumulators: Mapping[int, DType] = NO_ACCUMULATORS) -> list[Argument]:
    """Parameters for the operands that some of a step's ops read or write at computed places.

    ``accumulators``: by operand, the dtypes in which updates are combined that first go elsewhere than to memory.
    """
    attrs = (step.graph.ops[number].attr for number in selected)
    found: list[Argument] = []
    for number in sorted({attr.operand for attr in attrs if isinstance(attr, Gather | Scatter)}):
        operand = step.graph.operands[number]
        pointer, shape = names.pointer(operand.name), names.shape(operand.name)
        type_ = storage_type(accumulators.get(number, operand.dtype))
        const = "" if number in step.graph.scattered else "const "
        found.append(Argument("source", number, f"{const}{type_}* {pointer}"))
        if operand.shape:
            found.append(Argument("source", number, f"const ArrayShape<{len(operand.shape)}>& {shape}"))
    return found


def extents_of_sources(step: Step, first: int | None) -> Mapping[object, str]:
    """The text of the extents of operands that a step reads or writes at computed places, by dimension symbol.

    ``first``: the operand whose extents are taken where several have a dimension.
    """
    found: dict[object, str] = {}
    for number in sorted(step.graph.gathered | step.graph.scattered, key=lambda number: (number != first, number)):
        operand = step.graph.operands[number]
        for axis, dim in enumerate(operand.shape):
            found.setdefault(dim, f"{names.shape(operand.name)}.extent[{axis}]")
    return found


def _broken(start: str, between: str, parts: Sequence[str]) -> list[str]:
    """``start`` and the parts as a statement, in several lines where one is too long."""
    lines, line = [], start + parts[0]
    for part in parts[1:]:
        if len(line) + len(between) + len(part) > MAX_COLUMNS:
            lines.append(line + between.rstrip())
            line = f"    {part}"
        else:
            line += between + part
    return [*lines, f"{line};"]
