"""Text that several kinds of kernel share: layout structs, lines that take an index apart, sums and calls that fit."""

from __future__ import annotations

from collections.abc import Sequence, Set

from kgen.codegen import names
from kgen.codegen.context import FieldContext
from kgen.codegen.element import MAX_COLUMNS, Element
from kgen.schedule.plan import Schedule
from kgen.schedule.split import Step

#: What a kernel with 32-bit indices that computes offsets asks of its operands.
OFFSETS_32 = "Limits: fewer than 2^31 elements, and every offset in bytes below 2^31."
DEEPEST = 16  # columns that the body of a loop is indented by


def touch_labels(step: Step) -> tuple[str, ...]:
    """A name for each touch: its operand's, with a number where an operand is read through several maps."""
    unique = names.Unique()
    return tuple(unique(step.kernel.operands[touch.operand].name) for touch in step.touches)


def divisor_fields(count: int, wide: bool, of: str, prefix: str = "") -> list[FieldContext]:
    """The extents that an index is divided by and, for 32-bit division, their magic numbers."""
    if count == 0:
        return []
    if wide:
        return [FieldContext(f"long long {prefix}extent[{count}]", of)]
    return [
        FieldContext(f"unsigned int {prefix}extent[{count}]", of),
        FieldContext(f"unsigned int {prefix}magic[{count}]", "2^32 * (2^shift - extent) / extent + 1, in integers"),
        FieldContext(
            f"unsigned int {prefix}shift[{count}]",
            "ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31",
        ),
    ]


def decomposition(
    rank: int, wanted: Set[int], wide: bool, index: str = "$i", letters: tuple[str, str] = ("c", "q"), prefix: str = ""
) -> list[str]:
    """The ``wanted`` ones of the coordinates c0 (fastest), c1, ... of an index.

    Divides by each extent but the slowest.  ``letters`` begin the names of coordinates and quotients, ``prefix`` those
    of the struct's fields.
    """
    coordinate_name, quotient_name = letters
    signed = "long long" if wide else "int"
    unsigned = "long long" if wide else "unsigned int"
    lines: list[str] = []

    def coordinate(d: int, value: str) -> None:
        if d in wanted:
            shown = value if wide else f"(int){value}" if value.isalnum() else f"(int)({value})"
            lines.append(f"const {signed} {coordinate_name}{d} = {shown};")

    rest = index
    for d in range(min(max(wanted) + 1, rank - 1)):
        if wide:
            lines.append(f"const {unsigned} {quotient_name}{d} = {rest} / layout.{prefix}extent[{d}];")
        else:
            high = f"__umulhi({rest}, layout.{prefix}magic[{d}])"
            lines.append(f"const {unsigned} {quotient_name}{d} = ({high} + {rest}) >> layout.{prefix}shift[{d}];")
        coordinate(d, f"{rest} - {quotient_name}{d} * layout.{prefix}extent[{d}]")
        rest = f"{quotient_name}{d}"
    coordinate(rank - 1, rest)
    return lines


def sum_lines(start: str, terms: Sequence[str]) -> tuple[str, ...]:
    """``start`` and a sum, broken where a line gets too long."""
    lines, line = [], start + terms[0]
    for term in terms[1:]:
        if len(line) + len(term) + 8 > MAX_COLUMNS:
            lines.append(line)
            line = " " * (len(start) - 2) + f"+ {term}"
        else:
            line += f" + {term}"
    return (*lines, f"{line};")


def call_lines(element: Element, arguments: Sequence[str]) -> tuple[str, ...]:
    """A call of the element function, in as many lines as it takes."""
    start = f"{element.context.name}("
    lines, line = [], start
    for number, argument in enumerate(arguments):
        end = ");" if number == len(arguments) - 1 else ","
        if number and len(line) + 1 + len(argument) + len(end) > MAX_COLUMNS - DEEPEST:
            lines.append(line)
            line = " " * len(start) + argument + end
        else:
            line += f"{' ' if number else ''}{argument}{end}"
    return (*lines, line)


def apart(step: Step, schedule: Schedule) -> list[str]:
    """What ``__restrict__`` asks of the caller."""
    written = [
        step.kernel.operands[t.operand].name
        for t, s in zip(step.touches, schedule.touches, strict=True)
        if t.writes and s.restrict
    ]
    if not written or len(step.touches) == 1:
        return []
    return [f"No other operand may overlap {names.listed(written)} in memory."]
