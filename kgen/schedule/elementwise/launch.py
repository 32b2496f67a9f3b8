"""Launch rules of kernels without reductions."""

from __future__ import annotations

from collections.abc import Sequence
from struct import calcsize
from typing import TYPE_CHECKING

from kgen.records import replace
from kgen.schedule.elementwise.groups import outer_dims
from kgen.schedule.expressions import (
    Expr,
    Int,
    Name,
    ceil_div,
    extent,
    maximum,
    minimum,
    product,
    stride,
    total,
    walked,
)
from kgen.schedule.launch import Field, Labels, Rule, divisor_fields
from kgen.schedule.schedule import Schedule
from kgen.schedule.target import SECTOR

if TYPE_CHECKING:  # the choice of these schedules imports much that others do not need
    from kgen.schedule.elementwise.bins import BinsSchedule
    from kgen.schedule.elementwise.boxes import BoxSchedule
    from kgen.schedule.elementwise.row_pairs import PairSchedule

_ONE = Int(1)

#: Elements of a tile of a ``skewed`` kernel along the fastest dimension and along the second (*Transposes of an odd
#: number of halves: what bounds them*).
SKEWED_TILE = (128, 112)


def _rule(schedule: Schedule, n: Expr, blocks: Expr, fields: Sequence[Field]) -> Rule:
    """``n``: what threads or blocks are numbered through.  ``blocks``: over ``Name("n")``."""
    return Rule((blocks, _ONE, _ONE), schedule.block, Name("n"), tuple(fields), (("n", n),))


def linear_rule(schedule: Schedule, labels: Labels) -> Rule:
    """One thread per group of elements.  The struct: all extents but the slowest, then strides."""
    rank, is_64bit = schedule.rank, schedule.index_bits == 64
    fields = divisor_fields([extent(d) for d in range(rank - 1)], is_64bit, "of all but the slowest dimension")
    for label, access, owners in labels.of_patterns():
        values = tuple(walked(access, d) for d in range(rank))
        fields.append(Field(schedule.signed, f"{label}_stride", values, owners=owners))
    # With an alignment anchor, the first group may begin before the first element.
    reached = Name("n") + (0 if schedule.anchor is None else schedule.group - 1)
    blocks = ceil_div(reached, schedule.block * schedule.group)
    return _rule(schedule, product(extent(d) for d in range(rank)), blocks, fields)


def bins_rule(schedule: BinsSchedule, labels: Labels) -> Rule:
    """As :func:`linear_rule`, with as many blocks as fit the device, and enough updates for each."""
    linear, tuning = linear_rule(schedule, labels), schedule.target.tuning.bins
    room = max(room for _, room in schedule.bins)
    each = ceil_div(Name("n"), tuning.updates_of_block * room)
    blocks = minimum(minimum(linear.grid[0], each), tuning.blocks)
    return replace(linear, grid=(blocks, _ONE, _ONE))


def _row_groups(schedule: Schedule) -> Expr:
    """Groups of a row: one that begins within a group may need one more."""
    return ceil_div(extent(0) + (0 if schedule.anchor is None else schedule.group - 1), schedule.group)


def counted_along(schedule: Schedule) -> list[Expr]:
    """What kernels but linear ones and boxes count along each dimension: groups of rows, tiles, elements."""
    whole: list[Expr] = [extent(d) for d in range(schedule.rank)]
    match schedule.template:
        case "rows":
            return [_row_groups(schedule), *whole[1:]]
        case "tiled" | "skewed":
            width, height = tile_sides(schedule)
            # A row of a skewed kernel begins up to a sector of halves behind its first tile.
            before = SECTOR // 2 if schedule.template == "skewed" else 0
            return [ceil_div(whole[0] + before, width), ceil_div(whole[1], height), *whole[2:]]
        case _:
            return whole


def rows_rule(schedule: Schedule, labels: Labels) -> Rule:
    """One thread per group of a row."""
    group, (groups, *rest) = schedule.group, counted_along(schedule)
    work = [rest[0], groups, *rest[1:]] if schedule.across else [groups, *rest]
    counted = "groups in a row"
    if schedule.anchor is not None:
        counted += f", ceil((width + {group - 1}) / {group})"
    if schedule.across:
        counted = f"the second dimension, then of {counted}"
    fields = _spans(schedule, labels) + _group_fields(schedule, labels, [_width(schedule)], work, counted)
    return _rule(schedule, product(work), ceil_div(Name("n"), schedule.block), fields)


def row_pairs_rule(schedule: PairSchedule, labels: Labels) -> Rule:
    """One thread per group of several rows."""
    groups: list[Expr] = [] if schedule.alone else [ceil_div(extent(0), schedule.group)]
    rest = [ceil_div(extent(d), schedule.rows) if d == schedule.second else extent(d) for d in range(1, schedule.rank)]
    work, counted = [*groups, *rest], "groups in a row" if groups else "rows, or of pairs of them"
    fields = _group_fields(schedule, labels, [], work, counted)
    return _rule(schedule, product(work), ceil_div(Name("n"), schedule.block), fields)


def row_batches_rule(schedule: Schedule, labels: Labels) -> Rule:
    """Several groups of rows a thread."""
    from kgen.schedule.elementwise.row_batches import GROUPS

    work = [ceil_div(extent(0), schedule.group), *(extent(d) for d in range(1, schedule.rank))]
    fields = _group_fields(schedule, labels, [], work, "groups in a row")
    return _rule(schedule, product(work), ceil_div(Name("n"), schedule.block * GROUPS), fields)


def tile_sides(schedule: Schedule) -> tuple[int, int]:
    """Elements of a tile along the fastest dimension and along the second."""
    if schedule.template == "skewed":
        return SKEWED_TILE
    side = schedule.target.tuning.elementwise.tile_side * schedule.group
    side *= 2 if any(t.kind == "either" for t in schedule.accesses) else 1
    return side, side


def tiles_rule(schedule: Schedule, labels: Labels) -> Rule:
    """One block per tile."""
    height = Field(schedule.counted, "height", (extent(1),), "elements along the second", is_array=False)
    work = counted_along(schedule)
    fields = _group_fields(schedule, labels, [_width(schedule), height], work, "tiles")
    return _rule(schedule, product(work), Name("n"), fields)


#: The lengths of a box's sides, in the layout struct, and what they are called in comments.
LENGTHS = (("width", "the fastest dimension"), ("height", "the second side"), ("depth", "the third side"))


def boxes_rule(schedule: BoxSchedule, labels: Labels) -> Rule:
    """One block per box."""
    is_64bit = schedule.index_bits == 64
    lengths = [product(extent(d) for d in schedule.dims(side)) for side in range(len(schedule.sides))]
    fields = [
        Field(schedule.signed, name, (length,), f"elements along {what}", is_array=False)
        for (name, what), length in zip(LENGTHS, lengths, strict=False)
    ]
    boxes = list(map(ceil_div, lengths, schedule.box))
    work = [*(boxes[side] for side in schedule.walk), *(extent(d) for d in schedule.rest)]
    fields += divisor_fields(work[:-1], is_64bit, "of boxes, then of the other dimensions")
    for (name, _), side in zip(LENGTHS, range(len(schedule.sides)), strict=False):
        of = f"of the dimensions along the {name}"
        fields += divisor_fields([extent(d) for d in schedule.dims(side)[:-1]], is_64bit, of, f"{name}_")
    for label, access, owners in labels.of_patterns():
        values = tuple(walked(access, d) for d in schedule.walked(access))
        fields.append(Field(schedule.signed, f"{label}_stride", values, owners=owners))
    return _rule(schedule, product(work), Name("n"), fields)


def _width(schedule: Schedule) -> Field:
    return Field(schedule.counted, "width", (extent(0),), "elements along the fastest dimension", is_array=False)


def _group_fields(
    schedule: Schedule, labels: Labels, sides: list[Field], work: list[Expr], counted: str
) -> list[Field]:
    """The fields: extents of rows or tiles, divisors of work-item numbers, outer strides, strides along rows."""
    of = f"of {counted}, then of the other dimensions"
    fields = [*sides, *divisor_fields(work[:-1], schedule.count_bits == 64, of)]
    for label, access, owners in labels.of_patterns():
        values = tuple(walked(access, d) for d in outer_dims(schedule.accesses[access].kind, schedule.rank))
        fields.append(Field(schedule.signed, f"{label}_stride", values, owners=owners))
    for i, t in enumerate(schedule.accesses):
        if t.kind in ("gather", "run", "either"):
            name, along = f"{labels.labels[i]}_step", "along the fastest dimension"
            fields.append(Field(schedule.signed, name, (stride(i, 0),), along, is_array=False))
    return sorted(fields, key=lambda field: -calcsize(field.code[-1]))  # members of 64 bits first: no gaps between them


def _spans(schedule: Schedule, labels: Labels) -> list[Field]:
    """For each operand that is moved by more than its own elements, the first and last offset at which all of them lie
    between its first and its last one.
    """
    fields: list[Field] = []
    for i, t in enumerate(schedule.accesses):
        reach = _reach(schedule, i)
        if reach is not None:
            before, behind = reach
            ends = [(extent(d) - 1) * stride(i, d) for d in range(schedule.rank)]
            lowest, highest = total(minimum(e, 0) for e in ends), total(maximum(e, 0) for e in ends)
            what = "blocks" if t.kind == "shifted" else "groups"
            low, high = f" + {before}" if before else "", f" - {behind}" if behind else ""
            bounds = f"lowest offset{low}, highest offset{high}: whole {what} lie between"
            name = f"{labels.labels[i]}_inside"
            fields.append(Field(schedule.signed, name, (lowest + before, highest - behind), bounds))
    return fields


def _reach(schedule: Schedule, access: int) -> tuple[int, int] | None:
    """How far what is loaded for a group may reach before the group's first element, and behind it.  None where it
    never reaches beyond the operand.
    """
    planned, group = schedule.accesses[access], schedule.group
    if planned.kind == "shifted":
        return group, 2 * group - 1
    wide = planned.wide
    if wide is None or not planned.reaches_beyond or wide.first != access:
        return None
    phases = [t.wide.phase for t in schedule.accesses if t.wide is not None and t.wide.first == access]
    return min(phases), wide.step * group - 1 - max(phases)
