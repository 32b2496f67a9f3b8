"""The launch of each kernel in C: its launch rule over a space, its layout struct and its arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from kgen.codegen import names
from kgen.codegen.arguments import size_name
from kgen.codegen.c_types import index_types
from kgen.codegen.kernels import Entry, Parameter
from kgen.launcher.structs import Loops, loops
from kgen.partition.step import Step
from kgen.records import dataclass
from kgen.schedule.elementwise.launch import counted_along
from kgen.schedule.expressions import Expr, Int, Name, bare, c, ceil_div, extent
from kgen.schedule.launch import CLUSTERS, Field, Rule
from kgen.schedule.scratch import aligned

_BEFORE = "before"  #: the most elements by which the first group of a row begins before it
_LOOPED = 3  #: so many elements of an array have a loop
_LONG, _NEXT = 88, "\n        "  #: expressions of so many characters begin on the next line


@dataclass(frozen=True, slots=True)
class ScratchPart:
    """A scratch array: ``start`` is what to add to the address of scratch memory."""

    name: str
    start: str
    bytes: str
    is_counter: bool


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """What the template of a launch function sees.

    ``function``: its name, with the arguments of its template.  ``lines``: the named values of the launch rule that are
    needed.  ``fields``: the values of the layout struct, or ``loops`` that set them.  ``counted``: instead, of a struct
    that kernels share, what this one counts along the fastest two dimensions.
    ``grid``: blocks along x and y.  ``cluster``: blocks of a persistent cluster, else 0.  ``scratch``: its scratch
    arrays; ``scratch_lines`` and ``scratch_bytes``: what their size is computed from.  ``kernel``: what it launches.
    """

    name: str
    function: str
    lines: tuple[str, ...]
    layout: str
    fields: tuple[str, ...]
    loops: Loops
    grid: tuple[str, str]
    block: int
    cluster: int
    starts_early: bool
    arguments: tuple[str, ...]
    scratch: tuple[ScratchPart, ...]
    scratch_lines: tuple[str, ...]
    scratch_bytes: str
    kernel: str
    counted: tuple[str, ...] = ()

    @property
    def scratch_function(self) -> str:
        return f"scratch_of_{self.name}"

    def uses(self, text: str) -> bool:
        looped = (line for _, lines in self.loops for line in lines)
        return any(
            text in part for part in (*self.lines, *self.counted, *self.fields, *looped, *self.grid, *self.arguments)
        )

    def sizes_by(self, text: str) -> bool:
        """Whether the size of scratch memory is computed from this."""
        return any(text in part for part in (*self.scratch_lines, self.scratch_bytes))

    @property
    def call(self) -> list[str]:
        """The arguments of ``launch``.  Behind a kernel that zeroes its counters, every kernel starts early."""
        early = "true" if self.starts_early or any(part.is_counter for part in self.scratch) else "false"
        return [f"{self.kernel}, {self.grid[0]}, {self.grid[1]}, {self.block}, {early}, a.stream", *self.arguments]


def kernel_launch(entry: Entry, step: Step) -> KernelLaunch:
    rule = entry.rule
    arguments = tuple(_arguments(entry, step))
    has_layout = any(p.kind == "layout" for p in entry.parameters)
    counted = _counted(entry)
    fields, members = _members(rule.struct) if has_layout and not counted else ((), ())
    looped = [line for _, lines in members for line in lines]
    x, y, _ = rule.grid
    grid = bare(c(x)), bare(c(y))
    scratch, total = _scratch(entry)
    parts = [text for s in scratch for text in (s.start, s.bytes if s.is_counter else "")]
    lines = _before(entry, step) if counted else _lines(rule, [*arguments, *fields, *looped, *grid, *parts])
    early = rule.starts_early
    return KernelLaunch(
        entry.name, _function(entry), lines, entry.layout if has_layout else "", fields, members, grid, rule.block,
        _cluster(rule), early, arguments, scratch, _lines(rule, [total]), total, entry.name, counted,
    )  # fmt: skip


def _members(struct: Sequence[Field]) -> tuple[tuple[str, ...], Loops]:
    """The values of a layout struct, or the loops that set its members."""
    if all(len(f.values) < _LOOPED for f in struct):
        return tuple(_values(struct)), ()
    return (), loops((f, f.type, f.length) for f in struct)


def _counted(entry: Entry) -> tuple[str, ...]:
    """What a kernel counts along the fastest two dimensions, whose product over all dimensions is ``n``."""
    if not entry.shared_layout:
        return ()
    first, *rest = counted_along(entry.schedule)
    if _is_peeled(entry):
        first = ceil_div(extent(0) + Name(_BEFORE), entry.schedule.group)
    return bare(c(first)), bare(c(rest[0])) if rest else "1"


def _is_peeled(entry: Entry) -> bool:
    """Whether its first group of a row may begin before the row, as only a call knows."""
    return entry.schedule.template == "rows" and entry.schedule.anchor is not None


def _before(entry: Entry, step: Step) -> tuple[str, ...]:
    """The line that a kernel's count needs."""
    anchor = entry.schedule.anchor
    if anchor is None or not (entry.shared_layout and _is_peeled(entry)):
        return ()
    address = names.pointer(step.graph.operands[step.accesses[anchor].operand].name)
    return (f"const long long {_BEFORE} = most_before<{entry.schedule.group}>(a.{address}, strides[{anchor}]);",)


def _function(entry: Entry) -> str:
    """What launches it: a function of its own, or an instance of the one for its function template."""
    if not entry.body:
        return f"launch_{entry.name}"
    types = index_types(entry.schedule)
    first = [str(entry.schedule.rank), *types] if entry.rule.struct else [*types[1:]]
    return f"launch_{entry.body}<{', '.join([*first, entry.name])}>"


def _lines(rule: Rule, texts: Sequence[str]) -> tuple[str, ...]:
    """The named values of a rule that these texts need."""
    lets = [(name, c(value)) for name, value in rule.lets]
    needed = _needed(lets, texts)
    found = [(name, bare(value)) for name, value in lets if name in needed]
    return tuple(f"const long long {name} ={_NEXT if len(value) > _LONG else ' '}{value};" for name, value in found)


def _scratch(entry: Entry) -> tuple[tuple[ScratchPart, ...], str]:
    """The scratch arrays of a kernel, one after the other, and their size in all."""
    found: list[ScratchPart] = []
    end: Expr = Int(0)
    for parameter in entry.parameters:
        if parameter.bytes is not None:
            start = "" if end == Int(0) else f" + {bare(c(end))}"
            name = scratch_name(len(found) + 1)
            found.append(ScratchPart(name, start, bare(c(parameter.bytes)), parameter.kind == "counters"))
            end = end + aligned(parameter.bytes)
    return tuple(found), bare(c(end))


def scratch_name(number: int) -> str:
    return f"scratch{number}"


def _cluster(rule: Rule) -> int:
    return rule.persistent_cluster if any(CLUSTERS.of in c(side) for side in rule.grid) else 0


def _needed(lets: Sequence[tuple[str, str]], texts: Iterable[str]) -> set[str]:
    """The named values that these texts use, and those that these are computed from."""
    used = set(re.findall(r"\b[a-z_]\w*\b(?!\()", "\n".join(texts)))
    for name, value in reversed(lets):
        if name in used:
            used |= set(re.findall(r"\b[a-z_]\w*\b(?!\()", value))
    return used


def _values(fields: Sequence[Field]) -> Iterator[str]:
    """The values of the layout struct, a line for each member."""
    for within, found in groupby(fields, key=lambda field: field.within):
        values = [f"{_value(field)}," for field in found]
        yield from [f"{{{' '.join(values)[:-1]}}},"] if within else values


def _value(field: Field) -> str:
    values = ", ".join(_cast(field.type, value) for value in field.values)
    return f"{{{values}}}" if field.length else values


def _cast(type_: str, value: Expr) -> str:
    text = c(value)
    return bare(text) if type_ == "long long" or isinstance(value, Int) else f"({type_}){text}"


def _arguments(entry: Entry, step: Step) -> Iterator[str]:
    scratch = 0
    for parameter in entry.parameters:
        scratch += parameter.bytes is not None
        yield _argument(parameter, entry, step) if parameter.bytes is None else scratch_name(scratch)


def _argument(parameter: Parameter, entry: Entry, step: Step) -> str:
    match parameter.kind:
        case "pointer" | "buffer":
            return f"a.{names.pointer(step.graph.operands[int(parameter.key)].name)}"
        case "scalar":
            return f"a.{names.value(step.graph.scalars[int(parameter.key)].name)}"
        case "size":
            return f"a.{size_name(step.graph.operands, parameter.key)}"
        case "shape":
            return f"a.{names.shape(step.graph.operands[int(parameter.key)].name)}"
        case "layout":
            return "layout"
        case "n":
            return _cast("unsigned int" if entry.schedule.count_bits == 32 else "long long", entry.rule.n)
        case "scratch" | "counters":
            raise AssertionError("scratch arrays have numbers")
