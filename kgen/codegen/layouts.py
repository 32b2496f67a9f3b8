"""Text for several families: layout structs, lines that decompose an index, sums and calls broken into lines."""

from __future__ import annotations

from collections.abc import Sequence, Set

from kgen.codegen import names
from kgen.codegen.context import FieldContext
from kgen.codegen.element import Element
from kgen.codegen.lines import MAX_COLUMNS
from kgen.partition.step import Step
from kgen.schedule.launch import Field, Labels
from kgen.schedule.schedule import Schedule

#: The limits of a kernel that computes offsets in 32 bits.
OFFSETS_32 = "Limits: fewer than 2^31 elements, and every offset in bytes below 2^31."
#: The limits of a kernel that counts groups in 32 bits.
GROUPS_32 = "Limits: fewer than 2^31 groups, and fewer than 2^31 elements along each dimension."
DEEPEST = 16  # the deepest indentation of a loop's body, in columns


def access_labels(step: Step) -> tuple[str, ...]:
    """A name for each access: its operand's, with a number if the operand has several accesses."""
    unique = names.Unique()
    return tuple(unique(step.graph.operands[access.operand].name) for access in step.accesses)


def labels_of(step: Step, schedule: Schedule) -> Labels:
    """The names that members of the layout struct are made from."""
    return Labels(schedule, access_labels(step), tuple(step.graph.operands[t.operand].name for t in step.accesses))


def struct_fields(fields: Sequence[Field]) -> tuple[FieldContext, ...]:
    """The members of a layout struct, from its launch rule."""

    def comment(field: Field) -> str:
        if len(set(field.owners)) > 1:
            return f"of {names.listed(field.owners)}"
        return field.comment if field.length else field.comment.partition(", then ")[0]

    return tuple(FieldContext(field.declaration, comment(field)) for field in fields)


def member(name: str, d: int, count: int) -> str:
    """Element ``d`` of a member of the layout struct that has ``count`` elements; a number where it has one."""
    return f"layout.{name}" if count == 1 else f"layout.{name}[{d}]"


def index_decomposition(
    rank: int,
    wanted: Set[int],
    type_: str,
    index: str = "$i",
    letters: tuple[str, str] = ("c", "q"),
    prefix: str = "",
    *,
    across: bool = False,
) -> list[str]:
    """Lines that compute the ``wanted`` coordinates, of c0 (fastest), c1, ..., of an index.

    They divide by each extent but the slowest.  ``letters``: the start of the names of coordinates and of quotients;
    ``prefix``: of the struct's fields.  ``type_``: of the coordinates.
    """
    coordinate_name, quotient_name = letters
    is_64bit = type_ == "long long"
    unsigned, multiply = ("unsigned long long", "__umul64hi") if is_64bit else ("unsigned int", "__umulhi")
    lines: list[str] = []

    def coordinate(d: int, value: str) -> None:
        if d in wanted:
            cast = f"({type_}){value}" if value.removeprefix("$").isidentifier() else f"({type_})({value})"
            name = 1 - d if across and d < 2 else d
            lines.append(f"const {type_} {coordinate_name}{name} = {value if type_ == unsigned else cast};")

    rest = index
    for d in range(min(max(wanted) + 1, rank - 1)):
        extent, magic, shift = (member(f"{prefix}{name}", d, rank - 1) for name in ("extent", "magic", "shift"))
        bare = rest[1:-1] if rest.startswith("(") and ")" not in rest[:-1] else rest
        lines.append(f"const {unsigned} {quotient_name}{d} = ({multiply}({bare}, {magic}) + {rest}) >> {shift};")
        coordinate(d, f"{rest} - {quotient_name}{d} * {extent}")
        rest = f"{quotient_name}{d}"
    coordinate(rank - 1, rest)
    return lines


def as_variables(lines: Sequence[str]) -> list[str]:
    """The lines of :func:`index_decomposition` with coordinates that may change."""
    return [line.removeprefix("const ") if " c" in line.partition("=")[0] else line for line in lines]


def next_coordinates(rank: int, last: int, signed: str, start: int = 0, step: int = 1) -> list[str]:
    """Lines that change the coordinates ``c<start>`` to ``c<last>`` to those of the next element or row, or of that
    ``step`` further on, where rows have multiples of as many.
    """
    lines: list[str] = []
    for d in range(start, last + 1):
        indent = "    " * (d - start)
        further = f"(c{d} += {step})" if step > 1 and d == start else f"++c{d}"
        if d == rank - 1:
            lines.append(f"{indent}{further};")
        else:
            extent = f"{'' if signed == 'long long' else '(int)'}{member('extent', d, rank - 1)}"
            lines += [f"{indent}if ({further} == {extent}) {{", f"{indent}    c{d} = 0;"]
    return [*lines, *("    " * d + "}" for d in reversed(range(min(last + 1, rank - 1) - start)))]


def call_lines(element: Element, arguments: Sequence[str], variant: str = "") -> tuple[str, ...]:
    """A call of the element function, in several lines where one is too long.  ``variant``: its template arguments."""
    start = f"{element.context.name}{variant}("
    lines, line = [], start
    for number, argument in enumerate(arguments):
        end = ");" if number == len(arguments) - 1 else ","
        if number and len(line) + 1 + len(argument) + len(end) > MAX_COLUMNS - DEEPEST:
            lines.append(line)
            line = " " * len(start) + argument + end
        else:
            line += f"{' ' if number else ''}{argument}{end}"
    return (*lines, line)


def filled(start: str, items: Sequence[str], end: str) -> tuple[str, ...]:
    """``start``, items and ``end``, as many items a line as fit."""
    lines, line = [], start
    for number, item in enumerate(items):
        text = item + (end if number == len(items) - 1 else ",")
        if number and len(line) + 1 + len(text) > MAX_COLUMNS:
            lines.append(line)
            line = " " * len(start) + text
        else:
            line += f"{' ' if number else ''}{text}"
    return (*lines, line)


def elements_skipped(address: str, size: int, group: int) -> str:
    """The number of elements from the last aligned address, where a group may begin, to ``address``."""
    at = f"reinterpret_cast<unsigned long long>({address})"
    return f"{at} / {size} % {group}" if size > 1 else f"{at} % {group}"


def alignment_comment(step: Step, schedule: Schedule) -> list[str]:
    """The alignment that a kernel requires of operands with vector accesses."""
    if schedule.group == 1:
        return []
    has_anchor = schedule.anchor is not None
    of: dict[int, list[str]] = {}
    shifted: list[str] = []
    begins: list[str] = []
    alike: list[str] = []
    wide: dict[int, list[str]] = {}
    for access, s in zip(step.accesses, schedule.accesses, strict=True):
        operand = step.graph.operands[access.operand]
        if s.kind == "shifted":
            (shifted if s.alignment == operand.dtype.size else begins).append(operand.name)
        elif s.wide is not None:
            wide.setdefault(s.wide.alignment, []).append(operand.name)
        elif s.kind in ("vector", "transposed"):
            whole = min(schedule.group * operand.dtype.size, schedule.target.vector_bytes)
            (alike if s.alignment == whole * has_anchor else of.setdefault(s.alignment, [])).append(operand.name)
        elif s.kind == "strided" and s.alignment:
            of.setdefault(s.alignment, []).append(operand.name)
    text = _anchored(step, schedule, alike)
    if of:
        needed = "; ".join(f"{bytes} for {names.listed(names_)}" for bytes, names_ in sorted(of.items(), reverse=True))
        text.append(f"Alignment, in bytes: {needed}.")
    blocks = "Aligned to 16 bytes at the first element, and read as aligned blocks, shifted"
    text += [f"{blocks}: {names.listed(begins)}."] if begins else []
    for bytes, names_ in wide.items():
        text.append(f"Wide groups are aligned to {bytes} bytes: {names.listed(names_)}.")
    text += [f"Of any alignment, read as aligned blocks: {names.listed(shifted)}."] if shifted else []
    return text


def _anchored(step: Step, schedule: Schedule, alike: Sequence[str]) -> list[str]:
    """The comment about the alignment anchor; ``alike``: the operands that are aligned where it is."""
    if schedule.anchor is None or not alike:
        return []
    anchor = step.graph.operands[step.accesses[schedule.anchor].operand]
    others = [n for n in dict.fromkeys(alike) if n != anchor.name]
    follow = f"; {names.listed(others)} must be aligned there as well" if others else ""
    return [f"Groups begin at multiples of {schedule.group * anchor.dtype.size} bytes in {anchor.name}{follow}."]


def order_comment(schedule: Schedule) -> list[str]:
    """Why blocks take the last elements first."""
    return ["The last elements first: L2 still has what the kernel ahead read last."] if schedule.backward else []


def no_overlap_comment(step: Step, schedule: Schedule) -> list[str]:
    """The comment that says what ``__restrict__`` requires of the caller."""
    written = [
        step.graph.operands[t.operand].name
        for t, s in zip(step.accesses, schedule.accesses, strict=True)
        if t.writes and s.restrict
    ]
    if not written or len(step.accesses) == 1:
        return []
    return [f"No other operand may overlap {names.listed(written)} in memory."]
