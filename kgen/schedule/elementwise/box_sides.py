"""The sides of boxes: runs of dimensions that are one in memory for the operands that run along them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from math import prod

from kgen.layout.iterator import IterationSpace
from kgen.layout.kinds import LayoutKind
from kgen.records import dataclass
from kgen.schedule.facts import Facts
from kgen.schedule.schedule import AccessKind
from kgen.schedule.target import SECTOR, WORD
from kgen.schedule.trace import reaches

#: Stands for a side where an access is read in the outputs' order, but not by one stride along their side.
APART = -1


@dataclass(frozen=True)
class Sides:
    """The sides of boxes.  ``dims``: the dimensions of the space that each side has, the outputs' side first.
    ``along``: the side along which each access runs, or ``APART``.
    """

    facts: Facts
    dims: Sequence[Sequence[int]]
    along: tuple[int, ...]

    @cached_property
    def space(self) -> IterationSpace:
        """The space in the order of the sides."""
        return self.facts.space.with_first([d for side in self.dims for d in side])

    @cached_property
    def kinds(self) -> tuple[AccessKind, ...]:
        """How each access is read or written."""
        return tuple(_kind(self.facts, i, side) for i, side in enumerate(self.along))

    @cached_property
    def staged(self) -> tuple[int, ...]:
        """The sizes of elements that pass through shared memory."""
        return tuple(n for n, kind in zip(self.facts.itemsizes, self.kinds, strict=True) if kind == "transposed")

    @cached_property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """The sides in the order in which each access is read: by its strides where it runs along another side."""
        found: list[tuple[int, ...]] = []
        for i, own in enumerate(max(0, side) for side in self.along):
            steps = [abs(self.facts.step_along(i, side[0])) for side in self.dims]
            first = [0] if own and 0 < steps[0] < steps[own] else []
            rest = (s for s in range(len(self.dims)) if s != own and s not in first)
            found.append((*first, own, *rest) if own else tuple(range(len(self.dims))))
        return tuple(found)

    @cached_property
    def different_orders(self) -> set[tuple[int, ...]]:
        """That of the outputs, and the others."""
        return {tuple(range(len(self.dims))), *self.orders}

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """Elements along each side that move at once."""
        return tuple(_group(self, side) for side in range(len(self.dims)))

    def named(self, kind: AccessKind) -> list[str]:
        """The operands that are accessed in this way."""
        return [self.facts.names[i] for i, own in enumerate(self.kinds) if own == kind]


def sides_of(facts: Facts) -> Sides | None:
    """The sides of boxes; None where all operands run along the fastest dimension of the outputs."""
    directions = _directions(facts)
    return _sides(facts, directions) if any(directions) else None


def _directions(facts: Facts) -> tuple[int, ...]:
    """For each access the dimension that it is read along: the fastest one of the outputs, or its own fastest.

    Where the fastest has less than a sector of elements, the next one counts.  None where extents are open: a few
    kernels serve all of these, and a box is for those that it was predicted for.
    """
    if not facts.bounded:
        return ()
    found: list[int] = []
    for i, access in enumerate(facts.step.accesses):
        steps = [abs(facts.step_along(i, d)) for d in range(len(facts.space.shape))]
        own = sorted((d for d, s in enumerate(steps) if s), key=steps.__getitem__)
        if len(own) > 1 and own[0] == 0 and not reaches(facts.space.shape[0] * facts.itemsizes[i], SECTOR):
            own = [own[1] if own[1] > 1 else 0]
        found.append(0 if access.writes or steps[0] == 0 else own[0])
    return tuple(found)


def _sides(facts: Facts, directions: Sequence[int]) -> Sides:
    """The sides, by the dimension that each access is read along.

    A side begins at the dimension that its operands are read along, and goes on with those that continue it.  Of more
    than two dimensions besides the fastest, those with the most bytes an element are sides.  So is the second fastest
    beside one other, where not all outputs and operands continue the fastest, and that is short, or both sides together
    are too short to fill a box (*Boxes of two short sides*).
    """
    bytes_of: dict[int, int] = {}
    for size, d in zip(facts.itemsizes, directions, strict=True):
        bytes_of[d] = bytes_of.get(d, 0) + size
    most = sorted((d for d in bytes_of if d), key=lambda d: -bytes_of[d])[:2]
    found = _grown(facts, sorted(most), directions)
    if len(most) == 1 and 1 not in most and found.dims[0] == [0] and reaches(facts.space.numel, 1):
        tuning, (length, other) = facts.tuning.elementwise, (prod(facts.space.shape[d] for d in s) for s in found.dims)
        if length < tuning.shortest_side or not reaches(length * other, tuning.block * tuning.few_box_elements):
            return _grown(facts, [1, *most], directions)
    return found


def _grown(facts: Facts, others: Sequence[int], directions: Sequence[int]) -> Sides:
    """The sides that begin at the fastest dimension and at ``others``, in the order of the outputs; see above."""
    sides = [[d] for d in (0, *others)]
    along = tuple(others.index(d) + 1 if d in others else 0 for d in directions)
    grown = True
    while grown:
        grown = False
        for number, side in enumerate(sides):
            more = _next(facts, sides, number, along)
            side += more
            grown = grown or bool(more)
    own = tuple(s if s or _is_one_run(facts, i, sides[0]) else APART for i, s in enumerate(along))
    return Sides(facts, sides, own)


def _is_one_run(facts: Facts, access: int, side: Sequence[int]) -> bool:
    """Whether an access has one stride along the dimensions of a side."""
    step, before = facts.step_along(access, side[0]), 1
    for d in side:
        if facts.step_along(access, d) != step * before:
            return False
        before *= facts.space.shape[d]
    return True


def _next(facts: Facts, sides: Sequence[list[int]], number: int, along: Sequence[int]) -> list[int]:
    """A dimension that continues a side for the accesses that have to go on with it, if there is one."""
    side, shape = sides[number], facts.space.shape
    length = prod(shape[d] for d in side)
    if reaches(length, facts.tuning.elementwise.longest_side):
        return []
    members = _continued(facts, number, along, length)
    if not members:
        return []
    taken = {d for one in sides for d in one}
    continues = (
        d
        for d in range(len(shape))
        if d not in taken and all(facts.step_along(i, d) == facts.step_along(i, side[0]) * length for i in members)
    )
    return list(islice(continues, 1))


def _continued(facts: Facts, number: int, along: Sequence[int], length: int) -> list[int]:
    """The accesses that have to go on with a side: all that run along it; only the outputs where their side is short
    and odd, so that nothing moves by groups anyway.
    """
    members = [i for i, side in enumerate(along) if side == number]
    if number or reaches(length, facts.tuning.elementwise.shortest_width) or length % 2 == 0:
        return members
    return [i for i in members if facts.step.accesses[i].writes]


def _kind(facts: Facts, access: int, side: int) -> AccessKind:
    if facts.classes[access] is LayoutKind.SCALAR:
        return "scalar"
    if side > 0:
        return "transposed"
    if side == APART:
        return "gather"
    step = facts.step_along(access, 0)
    return "linear" if step == 1 else "column" if step == 0 else "gather"


def _group(sides: Sides, side: int) -> int:
    """Elements along a side that move at once: at most those of a word in the narrowest operand and of one access that
    stores, and as many as all outputs (or all operands that pass through shared memory) along this side are aligned to.
    """
    facts, along = sides.facts, sides.along
    moved = [i for i, kind in enumerate(facts.classes) if kind is LayoutKind.STRIDED or facts.step_along(i, 0) == 1]
    mine = [i for i in moved if sides.orders[i][0] == side]
    if facts.coordinates or not mine or any(along[i] != side for i in mine):
        return 1
    most = min(max(1, WORD // min(facts.itemsizes[i] for i in moved)), _stored_at_once(facts, mine))
    return next((n for n in (4, 2) if n <= most and _all_move_by(facts, mine, sides.dims[side], n)), 1)


def _stored_at_once(facts: Facts, accesses: Sequence[int]) -> int:
    """Elements of the widest output that one access stores."""
    stored = (facts.itemsizes[i] for i in accesses if facts.step.accesses[i].writes)
    return facts.target.vector_bytes // max(stored, default=1)


def _all_move_by(facts: Facts, accesses: Sequence[int], side: Sequence[int], group: int) -> bool:
    """Whether a side is whole groups, by which accesses move: all of them, or the outputs where there are some."""
    whole = prod(facts.space.shape[d] for d in side) % group == 0
    decide = [i for i in accesses if facts.step.accesses[i].writes] or accesses
    return whole and all(moves_by(facts, i, side, group) for i in decide)


def moves_by(facts: Facts, access: int, side: Sequence[int], group: int) -> bool:
    """Whether an access moves by aligned groups along its side, or is read element by element anyway."""
    first = facts.step_along(access, side[0])
    if side[0] == 0 and first != 1 and not facts.step.accesses[access].writes:
        return True
    others = [facts.step_along(access, d) for d in range(len(facts.space.shape)) if d not in side]
    aligned = facts.addresses[access] % (group * facts.itemsizes[access]) == 0
    return first == 1 and aligned and not any(step % group for step in others)
