"""The launch of kernels that share a function template: one function template of the host, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kgen.codegen.bodies import LAYOUT_TYPES, member_length, member_type
from kgen.codegen.c_types import index_types
from kgen.codegen.kernels import Entry
from kgen.launcher.kernels import KernelLaunch, bare, kernel_launch
from kgen.partition.step import Step
from kgen.records import dataclass
from kgen.schedule.expressions import Expr, Int, Name, Op, c, extent
from kgen.schedule.launch import Field

#: The values by which indices are divided, from the extents.
_DIVIDES = {"magic": "magic_of<Count>(layout.extent[d])", "shift": "(Count)kgen_shift(layout.extent[d])"}


@dataclass(frozen=True, slots=True)
class BodyLaunch:
    """What the template of a launch function for several kernels sees.

    ``one``: the launch of one of them, over ``kernel``.  ``types``: what the function is a template over.  ``loops``:
    lines that set the members of the layout struct, with a bound of ``d``, or empty for those that are no arrays.
    """

    one: KernelLaunch
    types: str
    loops: tuple[tuple[str, tuple[str, ...]], ...]

    def uses(self, text: str) -> bool:
        return self.one.uses(text) or any(text in line for _, lines in self.loops for line in lines)


def body_launches(entries: Sequence[Entry], steps: Sequence[Step]) -> Iterator[BodyLaunch]:
    """One for each function template of the file."""
    for body in dict.fromkeys(e.body for e in entries if e.body):
        yield _body_launch(max((e for e in entries if e.body == body), key=lambda e: e.schedule.rank), steps)


def instance(entry: Entry) -> str:
    """The arguments of the launch function's template for one kernel."""
    types = index_types(entry.schedule)
    return ", ".join([str(entry.schedule.rank), *types] if entry.rule.struct else types[1:])


def _body_launch(entry: Entry, steps: Sequence[Step]) -> BodyLaunch:
    """``entry``: the kernel of the most dimensions, whose launch rule shows how those of all dimensions are."""
    rank = entry.schedule.rank
    has_layout = bool(entry.rule.struct)
    lets = tuple((name, _all_extents(n, rank) if has_layout else n) for name, n in entry.rule.lets)
    made = kernel_launch(replace(entry, rule=replace(entry.rule, lets=lets), body=""), steps[entry.step])
    arguments = tuple("(Count)n" if p.kind == "n" else a for p, a in zip(entry.parameters, made.arguments, strict=True))
    layout = f"{entry.body}_layout<Rank, Index, Count>" if has_layout else ""
    one = replace(made, name=entry.body, kernel="kernel", layout=layout, fields=(), arguments=arguments)
    return BodyLaunch(one, LAYOUT_TYPES if layout else "typename Count", tuple(_loops(entry.rule.struct, rank).items()))


def _loops(fields: Sequence[Field], rank: int) -> Mapping[str, tuple[str, ...]]:
    """The lines for the members of each length."""
    found: dict[str, tuple[str, ...]] = {}
    for field in fields:
        length = member_length(field, rank)
        place = f"layout.{field.name}{'[d]' if length else ''}"
        value = _DIVIDES.get(field.name) or f"({member_type(field)}){_value(field)}"
        line = f"{place} = {value};"
        found[length] = (*found.get(length, ()), line)
    return found


def _value(field: Field) -> str:
    """The value of a member; of element ``d`` where it is an array, whose first may be another than the rest."""
    values = field.values
    if not field.is_array or len(values) == 1:
        return c(values[0])
    rest = c(_from(values[-1], len(values) - 1))
    if _from(values[-1], len(values) - 1) == _from(values[0], 0):
        return rest
    return f"(d == 0 ? {bare(c(values[0]))} : {bare(rest)})"


def _from(value: Expr, d: int) -> Expr:
    """An expression over dimension ``d`` and later ones as one over ``d``, a variable in C."""
    if isinstance(value, Op):
        return replace(value, args=tuple(_from(a, d) for a in value.args))
    if isinstance(value, Name):
        *access, dimension = value.indices
        place = f"d + {dimension - d}" if dimension > d else "d"
        return Name(f"{value.of}{''.join(f'[{a}]' for a in access)}[{place}]")
    return value


def _all_extents(value: Expr, rank: int) -> Expr:
    """A product whose last factors are the extents up to the slowest, for any rank."""
    first = rank
    while isinstance(value, Op) and value.operator == "*" and value.args[1] == extent(first - 1):
        value, first = value.args[0], first - 1
    if value == extent(first - 1):
        value, first = Int(1), first - 1
    return value * Name(f"extents_from<Rank>(shape, {first})")
