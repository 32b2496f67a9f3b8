"""Kernels that take a box of two or three dimensions a block, for operands that run along different dimensions.

A side of a box is a run of dimensions that are one in memory for the operands that run along this side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from math import prod

from kgen.layout.iterator import IterationSpace
from kgen.layout.kinds import LayoutKind, index_bits
from kgen.records import dataclass
from kgen.schedule.cost import Extents, Traffic, coarse, pieces, run
from kgen.schedule.elementwise.reasons import index_width_reason, listed
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.schedule import AccessKind, AccessSchedule, Schedule
from kgen.schedule.target import LINE, SECTOR, WORD
from kgen.schedule.trace import reaches

#: Stands for a side where an access is read in the outputs' order, but not by one stride along their side.
APART = -1


@dataclass(frozen=True, slots=True)
class BoxSchedule(Schedule):
    """``sides``: how many dimensions of the space each side has, the first ones of the space.  ``box``: elements of a
    block along each side, powers of two.  ``groups``: elements along each side that move at once; the outputs' are
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
        """Groups that a thread takes in an order of sides."""
        return prod(self.box) // self.block // self.groups[order[0]]

    def step(self, order: Sequence[int]) -> int:
        """How far a thread goes along the last side of an order from one of its groups to the next."""
        return self.block * self.groups[order[0]] // prod(self.box[side] for side in order[:-1])

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


def padding(itemsize: int) -> int:
    """Elements after each row of a box in shared memory, so that neighbouring rows begin in different banks."""
    return max(1, WORD // itemsize)


def tile_shape(box: Sequence[int], itemsize: int) -> tuple[int, int]:
    """Rows of a box in shared memory, and elements a row: all sides but the last, each line of them padded."""
    pad = padding(itemsize)
    pitch = box[0] + pad
    return (box[1], pitch) if len(box) == 2 else (box[2], box[1] * pitch + pad)


@dataclass(frozen=True)
class _Sides:
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
    def groups(self) -> tuple[int, ...]:
        """Elements along each side that move at once."""
        return tuple(_group(self, side) for side in range(len(self.dims)))

    def named(self, kind: AccessKind) -> list[str]:
        """The operands that are accessed in this way."""
        return [self.facts.names[i] for i, own in enumerate(self.kinds) if own == kind]


def boxes(facts: Facts) -> Choice | None:
    """Some inputs run along other dimensions than the outputs: they go through boxes in shared memory."""
    directions = _directions(facts)
    if not any(directions):
        return None
    sides = _sides(facts, directions)
    space, box = sides.space, _best_box(sides)
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


def _best_box(sides: _Sides) -> tuple[int, ...] | None:
    """The box that touches the fewest sectors.

    In every order, threads cover all sides but the last at once, so that each steps along that one.
    """
    facts, tuning = sides.facts, sides.facts.tuning.elementwise
    staged = [size for size, kind in zip(facts.itemsizes, sides.kinds, strict=True) if kind == "transposed"]
    orders, groups = sides.orders, sides.groups
    least, widest = min(groups), max(groups)
    registers = _registers(sides)
    most = _most_elements(facts)
    found = [
        box
        for each in tuning.box_groups
        if widest <= each * least <= most and each * least * registers <= tuning.prefetch_registers
        for box in _boxes(tuning.block * each * least, len(sides.dims), widest)
        if sum(prod(tile_shape(box, size)) * size for size in staged) <= tuning.tile_bytes
        if all(prod(box[side] for side in order[:-1]) <= tuning.block * groups[order[0]] for order in orders)
    ]
    return min(found, key=partial(_sectors, facts, coarse(facts.space), sides.dims), default=None)


def _most_elements(facts: Facts) -> int:
    """Elements of a box for each thread, at most."""
    tuning = facts.tuning.elementwise
    if not reaches(facts.space.numel, tuning.few_boxes * tuning.block * tuning.box_elements):
        return tuning.few_box_elements
    narrow = all(size <= 2 for size, t in zip(facts.itemsizes, facts.step.accesses, strict=True) if t.reads)
    many = reaches(facts.space.numel, tuning.many_boxes * tuning.block * tuning.narrow_box_elements)
    return tuning.narrow_box_elements if narrow and many else tuning.box_elements


def _registers(sides: _Sides) -> float:
    """Registers for each element of what is read in the order of the outputs, and loaded ahead of the barrier."""
    facts = sides.facts
    ahead = [
        facts.itemsizes[i]
        for i, order in enumerate(sides.orders)
        if order[0] == 0 and facts.step.accesses[i].reads and facts.step_along(i, 0) != 0
    ]
    return sum(max(size / WORD, 1 / sides.groups[0]) for size in ahead)


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


def _sides(facts: Facts, directions: Sequence[int]) -> _Sides:
    """The sides, by the dimension that each access is read along.

    A side begins at the dimension that its operands are read along, and goes on with those that continue it.  Of more
    than two dimensions besides the fastest, those with the most bytes an element are sides.  So is the second fastest
    beside one other, where the fastest is short and not all outputs and operands continue it.
    """
    bytes_of: dict[int, int] = {}
    for size, d in zip(facts.itemsizes, directions, strict=True):
        bytes_of[d] = bytes_of.get(d, 0) + size
    most = sorted((d for d in bytes_of if d), key=lambda d: -bytes_of[d])[:2]
    found = _grown(facts, sorted(most), directions)
    length = prod(facts.space.shape[d] for d in found.dims[0])
    if len(most) == 1 and 1 not in most and found.dims[0] == [0] and length < facts.tuning.elementwise.shortest_side:
        return _grown(facts, [1, *most], directions)
    return found


def _grown(facts: Facts, others: Sequence[int], directions: Sequence[int]) -> _Sides:
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
    return _Sides(facts, sides, own)


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


def _accesses(sides: _Sides) -> tuple[AccessSchedule, ...]:
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
        whole = kind == "linear" and _moves_by(facts, i, sides.dims[0], group)
        alignment = facts.itemsizes[i] * (group if whole else 1) if kind == "linear" else 0
        found.append(AccessSchedule(kind, alignment, pattern, not facts.aliased[i]))
    return tuple(found)


def _boxes(elements: int, sides: int, least: int) -> Iterator[tuple[int, ...]]:
    """Boxes of so many elements, of powers of two a side, none below ``least``."""
    if sides == 1:
        yield (elements,)
        return
    side = max(2, least)
    while side <= elements // max(2, least) ** (sides - 1):
        for rest in _boxes(elements // side, sides - 1, least):
            yield (side, *rest)
        side *= 2


def _walk(sides: _Sides, box: Sequence[int]) -> tuple[int, ...]:
    """The side with the fewest boxes first: sectors that boxes share are then still in the cache."""
    shape = coarse(sides.facts.space).shape
    counts = [prod(shape[d] for d in side) // b for side, b in zip(sides.dims, box, strict=True)]
    return tuple(sorted(range(len(box)), key=counts.__getitem__))


def _group(sides: _Sides, side: int) -> int:
    """Elements along a side that move at once: at most those of a word in the narrowest operand, and as many as all
    outputs (or all operands that pass through shared memory) along this side are aligned to.
    """
    facts, along = sides.facts, sides.along
    moved = [i for i, kind in enumerate(facts.classes) if kind is LayoutKind.STRIDED or facts.step_along(i, 0) == 1]
    mine = [i for i in moved if sides.orders[i][0] == side]
    if facts.coordinates or not mine or any(along[i] != side for i in mine):
        return 1
    most = max(1, WORD // min(facts.itemsizes[i] for i in moved))
    return next((n for n in (4, 2) if n <= most and _all_move_by(facts, mine, sides.dims[side], n)), 1)


def _all_move_by(facts: Facts, accesses: Sequence[int], side: Sequence[int], group: int) -> bool:
    """Whether a side is whole groups, by which accesses move: all of them, or the outputs where there are some."""
    whole = prod(facts.space.shape[d] for d in side) % group == 0
    decide = [i for i in accesses if facts.step.accesses[i].writes] or accesses
    return whole and all(_moves_by(facts, i, side, group) for i in decide)


def _moves_by(facts: Facts, access: int, side: Sequence[int], group: int) -> bool:
    """Whether an access moves by aligned groups along its side, or is read element by element anyway."""
    first = facts.step_along(access, side[0])
    if side[0] == 0 and first != 1 and not facts.step.accesses[access].writes:
        return True
    others = [facts.step_along(access, d) for d in range(len(facts.space.shape)) if d not in side]
    aligned = facts.addresses[access] % (group * facts.itemsizes[access]) == 0
    return first == 1 and aligned and not any(step % group for step in others)


def reach(dims: Sequence[Sequence[int]], shape: Sequence[int], box: Sequence[float]) -> Extents:
    """How far a box reaches along each dimension of the space."""
    found: Extents = (1.0,) * len(shape)
    for side, elements in zip(dims, box, strict=True):
        found = run(found, side, shape, prod(found) * min(elements, prod(shape[d] for d in side)))
    return found


def _sectors(facts: Facts, space: IterationSpace, dims: Sequence[Sequence[int]], box: Sequence[int]) -> float:
    """Sectors of memory that boxes touch for each element, with what boxes at the ends lack; and lines, which count
    less.  ``space``: coarse.
    """
    tuning = facts.tuning.elementwise
    extents = reach(dims, space.shape, box)
    touched = 0.0
    for i, (size, strides) in enumerate(zip(facts.itemsizes, space.strides, strict=True)):
        traffic = Traffic(extents, 1, size, strides, misaligned=facts.misaligned[i], reads=True)
        touched += pieces(traffic, extents, SECTOR) + tuning.line_sectors * pieces(traffic, extents, LINE)
    lengths = [prod(space.shape[d] for d in side) for side in dims]
    whole = prod(-(-n // b) * b / n for n, b in zip(lengths, box, strict=True))
    return touched / prod(extents) * whole * (1 + tuning.block_cost / prod(box))
