"""Kernels that take a box of two or three dimensions a block, for operands that run along different dimensions.

A side of a box is a run of dimensions that are one in memory for the operands that run along this side.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import prod

from kgen.layout.kinds import index_bits
from kgen.records import dataclass, replace
from kgen.schedule.cost import Traffic, coarse, moved_bytes
from kgen.schedule.elementwise.box_shapes import best_box, groups_of_thread, line_step, reach
from kgen.schedule.elementwise.box_sides import Sides, moves_by, sides_of
from kgen.schedule.elementwise.reasons import index_width_reason, listed
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.schedule import AccessKind, AccessSchedule, Schedule
from kgen.schedule.search import fastest

#: Another order of boxes is taken where it is predicted to move less than this fraction of the bytes.
_FEWER_BYTES = 0.9


@dataclass(frozen=True, slots=True)
class BoxSchedule(Schedule):
    """``sides``: how many dimensions of the space each side has, the first ones of the space.  ``box``: elements of a
    block along each side.  ``groups``: elements along each side that move at once; the outputs' are
    ``group``.  ``along``: the side along which each access runs, or ``APART``.  ``orders``: the order of the sides in
    which each access is read, the fastest first.  ``walk``: the order of the sides in which blocks follow each other.
    """

    sides: tuple[int, ...] = ()
    box: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()
    along: tuple[int, ...] = ()
    orders: tuple[tuple[int, ...], ...] = ()
    walk: tuple[int, ...] = ()

    def each(self, order: Sequence[int]) -> int:
        """Groups that a thread takes in an order of sides, at most."""
        return groups_of_thread(self.box, self.block, self.groups, order)

    def step(self, order: Sequence[int]) -> int:
        """How far a thread goes along the last side of an order from one of its groups to the next."""
        return line_step(self.box, self.block, self.groups, order)

    def working(self, order: Sequence[int]) -> int:
        """Threads that have groups in an order of sides: all, unless these do not divide a block."""
        lines = min(self.step(order), self.box[order[-1]])
        return lines * prod(self.box[side] for side in order[:-1]) // self.groups[order[0]]

    def dims(self, side: int) -> range:
        """The dimensions of the space that a side has."""
        start = sum(self.sides[:side])
        return range(start, start + self.sides[side])

    @property
    def rest(self) -> range:
        """The dimensions that no side has: a block has one element of each."""
        return range(sum(self.sides), self.rank)

    def walked(self, access: int) -> tuple[int, ...]:
        """The dimensions whose strides give the offset of an access; its own side is one dimension."""
        return _walked(self.accesses[access].kind, self.along[access], self.sides, self.rank)


def _walked(kind: AccessKind, along: int, sides: Sequence[int], rank: int) -> tuple[int, ...]:
    found: list[int] = []
    start = 0
    for side, count in enumerate(sides):
        if side != along:
            found += range(start, start + count)
        elif kind in ("gather", "transposed"):
            found.append(start)
        start += count
    return (*found, *range(start, rank))


def boxes(facts: Facts) -> Choice | None:
    """Some inputs run along other dimensions than the outputs: they go through boxes in shared memory."""
    sides = sides_of(facts)
    if sides is None:
        return None
    space, box = sides.space, best_box(sides)
    if box is None:
        return None
    group, counts = sides.groups[0], tuple(map(len, sides.dims))
    schedule = BoxSchedule(
        "boxes", facts.tuning.elementwise.block, group, len(space.shape), index_bits(space, facts.itemsizes),
        _accesses(sides), replace(facts, space=space).coordinates, target=facts.target, sides=counts, box=box,
        groups=sides.groups, along=sides.along, orders=sides.orders, walk=_walk(sides, box),
    )  # fmt: skip
    names, size = listed(sides.named("transposed")), " x ".join(map(str, box))
    reason = f"boxes: {names} consecutive along another dimension, read in that order by boxes of {size}"
    gathered = sides.named("gather")
    more = (f"{listed(gathered)} not consecutive",) if gathered else ()
    return Choice(schedule, space, (reason, *more, index_width_reason(schedule)))


def _accesses(sides: Sides) -> tuple[AccessSchedule, ...]:
    facts, space, group, counts = sides.facts, sides.space, sides.groups[0], tuple(map(len, sides.dims))
    patterns: list[tuple[object, ...]] = []  # no dict: strides may be traced, and hashing takes their value
    found: list[AccessSchedule] = []
    for i, kind in enumerate(sides.kinds):
        dims = _walked(kind, sides.along[i], counts, len(space.shape))
        strides = tuple(space.strides[i][d] if space.shape[d] != 1 else 0 for d in dims)
        has = kind != "scalar" and any(strides)
        if has and (dims, strides) not in patterns:
            patterns.append((dims, strides))
        pattern = patterns.index((dims, strides)) if has else None
        whole = kind == "linear" and moves_by(facts, i, sides.dims[0], group)
        alignment = facts.itemsizes[i] * (group if whole else 1) if kind == "linear" else 0
        found.append(AccessSchedule(kind, alignment, pattern, not facts.aliased[i]))
    return tuple(found)


def _walk(sides: Sides, box: Sequence[int]) -> tuple[int, ...]:
    """The side with the fewest boxes first: sectors that boxes share are then still in the cache.  Another order where
    that is predicted to move fewer bytes, as where one operand runs along several dimensions of a long side."""
    facts, space = sides.facts, coarse(sides.facts.space)
    counts = [prod(space.shape[d] for d in side) // b for side, b in zip(sides.dims, box, strict=True)]
    usual = tuple(sorted(range(len(box)), key=counts.__getitem__))
    block = reach(sides.dims, space.shape, box)
    operands = zip(facts.itemsizes, space.strides, facts.misaligned, facts.step.accesses, strict=True)
    traffic = [Traffic(block, 1, size, strides, misaligned, t.reads) for size, strides, misaligned, t in operands]
    rest = [d for d in range(len(space.shape)) if not any(d in side for side in sides.dims)]

    def moved(order: Sequence[int]) -> float:
        along = [d for side in order for d in sides.dims[side]]
        return moved_bytes(traffic, space.shape, block, (*along, *rest), facts.tuning.costs)

    found = fastest(permutations(range(len(box))), moved, _FEWER_BYTES * moved(usual))
    return usual if found is None else found[1]
