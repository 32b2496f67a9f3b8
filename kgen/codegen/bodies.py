"""Kernels that differ only in their rank and the width of their indices: one function template has their text.

Files made ahead of time have such kernels.  ``Index`` is the type of offsets and coordinates, ``Count`` the unsigned
type of the same width.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kgen.codegen.context import FieldContext
from kgen.records import replace
from kgen.schedule.elementwise.launch import counted_along
from kgen.schedule.expressions import Int, extent, stride
from kgen.schedule.launch import Field, Labels, Rule, divisor_fields
from kgen.schedule.schedule import Schedule

#: What layout structs are templates over.
LAYOUT_TYPES = "int Rank, typename Index, typename Count"

_TEMPLATES = ("contiguous", "rows", "strided")
_COMMENTS = {"magic": "2^bits * (2^shift - extent) / extent + 1, in integers", "shift": "ceil(log2(extent))"}


def alike(schedule: Schedule) -> Schedule | None:
    """What kernels with one body have in common; None for kernels that have a text of their own."""
    special = schedule.narrow_counts or schedule.across or schedule.coordinates
    if special or schedule.template not in _TEMPLATES or any(t.reaches_beyond for t in schedule.accesses):
        return None
    has_layout = schedule.patterns > 0
    if schedule.rank == 1 and not _takes_any_strides(schedule) if has_layout else schedule.anchor is not None:
        return None
    return replace(schedule, rank=2 if has_layout else 1, index_bits=32)


def share_a_layout(schedules: Iterable[Schedule]) -> bool:
    """Whether the kernels of a step for any strides have one layout struct."""
    return any(schedule.template == "rows" and _takes_any_strides(schedule) for schedule in schedules)


def has_tiles(schedules: Iterable[Schedule]) -> bool:
    """Whether a kernel has tiles whose inputs are consecutive along either dimension."""
    return any(t.kind == "either" for schedule in schedules for t in schedule.accesses)


def has_shared_layout(schedule: Schedule) -> bool:
    """Whether a kernel takes that struct, where there is one."""
    return schedule.template == "strided" or _takes_any_strides(schedule)


def _takes_any_strides(schedule: Schedule) -> bool:
    return any(t.kind in ("run", "either") for t in schedule.accesses)


def shared_rule(rule: Rule, schedule: Schedule, labels: Labels, *, tiles: bool) -> Rule:
    """The launch rule of a kernel with all members of that struct: every extent and stride.

    ``tiles``: whether a kernel of the step has tiles.
    """
    signed = schedule.signed
    sides = [Field(signed, "width", (extent(0),), "elements along the fastest dimension", is_array=False)]
    if tiles:
        second = extent(1) if schedule.rank > 1 else Int(1)
        sides.append(Field(signed, "height", (second,), "elements along the second", is_array=False))
    counted = "of what a kernel counts: elements, groups of a row or tiles"
    divisors = divisor_fields(counted_along(schedule), schedule.index_bits == 64, counted)
    strides = [
        Field(signed, f"{label}_stride", tuple(stride(access, d) for d in range(schedule.rank)))
        for label, access, _ in labels.of_patterns()
    ]
    return replace(rule, struct=(*sides, *divisors, *strides))


def template_fields(fields: Sequence[Field], rank: int) -> tuple[FieldContext, ...]:
    """The members of a layout struct that is a template, from those for a rank."""
    return tuple(FieldContext(template_member(f, rank), _COMMENTS.get(f.name, f.comment)) for f in fields)


def template_member(field: Field, rank: int) -> str:
    """The declaration of a member."""
    length = member_length(field, rank)
    return f"{member_type(field)} {field.name}{f'[{length}]' if length else ''}"


def member_type(field: Field) -> str:
    return "Count" if field.name in ("extent", "magic", "shift") else "Index"


def member_length(field: Field, rank: int) -> str:
    """The elements of an array, from those for a rank; empty for a member that is none."""
    missing = rank - len(field.values)
    return f"Rank{f' - {missing}' if missing else ''}" if field.is_array else ""
