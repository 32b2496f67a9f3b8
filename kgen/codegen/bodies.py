"""Kernels that differ only in their rank and the width of their indices: one function template has their text.

Files made ahead of time have such kernels.  ``Index`` is the type of offsets and coordinates, ``Count`` the unsigned
type of the same width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgen.codegen.context import FieldContext
from kgen.schedule.launch import Field
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
    if schedule.rank == 1 if has_layout else schedule.anchor is not None:
        return None
    return replace(schedule, rank=2 if has_layout else 1, index_bits=32)


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
