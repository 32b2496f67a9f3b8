"""How elementwise kernels walk their space, for predictions of their cost."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from kgen.dtypes import FLOAT64
from kgen.ir.ops import EXACT
from kgen.layout.iterator import IterationSpace
from kgen.partition.step import Step
from kgen.schedule.cost import Extents, Traffic, Walk, coarse, run
from kgen.schedule.elementwise.box_shapes import idle_lanes, reach, rough_lengths
from kgen.schedule.elementwise.boxes import BoxSchedule
from kgen.schedule.elementwise.row_pairs import PairSchedule
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.schedule import AccessSchedule
from kgen.schedule.target import WARP, WORD

#: Instructions of an op, and those of a function that is not exact; twice as many in float64.
_FEW = {"load": 0, "store": 0, "const": 0, "scalar": 0, "div": 12, "floordiv": 20, "mod": 20}
_FUNCTION = 16
#: Instructions that find the coordinates of an index for each dimension, with 32 bits and with 64.
DIVISION = {32: 5, 64: 40}

#: Instructions that load or store an element that belongs to no whole group.
_ALONE = 6
#: What tiles of bytes that move a word at once cost more, in instructions an element of each such operand (bytes beside
#: wider operands: 99, 67 and 51 us, by boxes 63, 48 and 43).
_WORD_OF_TILE = 20
_SHARED = frozenset({"scalar", "column"})  # kinds of accesses of which a group reads one element


def arithmetic(step: Step) -> float:
    """Instructions that compute one element."""
    return sum(
        (_FEW.get(op.name, 1) if op.name in EXACT else _FUNCTION) * (2 if op.dtype is FLOAT64 else 1)
        for op in step.graph.ops
    )


def _traffic(
    facts: Facts, space: IterationSpace, access: int, warp: Extents, requests: float, each: int = 1, between: int = 0
) -> Traffic:
    size, reads = facts.itemsizes[access], facts.step.accesses[access].reads
    return Traffic(warp, requests, size, space.strides[access], facts.misaligned[access], reads, each, between)


def _between(width: int, rough: int, group: int) -> int:
    """Elements between the places of a row where groups begin that follow each other through rows of ``width``; 0 where
    a warp has one row.  ``rough``: the coarse width, which does not narrow the class of a layout.
    """
    if rough >= WARP * group:
        return 0
    while width % group:
        group //= 2
    return group


def _requests(planned: AccessSchedule, size: int, group: int) -> float:
    """Accesses of a warp for one group of each lane."""
    if planned.kind in ("scalar", "column"):
        return 1
    if planned.kind in ("shifted", "row"):
        return 2
    if planned.wide is not None:
        return group * planned.wide.step * size / planned.wide.alignment
    if planned.kind == "strided" and planned.alignment:
        return group * size / planned.alignment
    whole = planned.kind == "vector" and planned.alignment >= min(16, group * size)
    return max(1.0, group * size / 16) if whole else group


def linear_walk(facts: Facts, choice: Choice) -> Walk:
    """Groups over all elements in order; in ``strided`` the elements of a thread are a block apart."""
    schedule, space = choice.schedule, coarse(choice.space)
    rank = len(space.shape)
    apart = schedule.template == "strided"
    group, order, start = 1 if apart else schedule.group, range(rank), (1.0,) * rank
    warp = run(start, order, space.shape, WARP * group)
    each, between = schedule.group if apart else 1, _between(choice.space.shape[0], space.shape[0], group)
    traffic = [
        _traffic(facts, space, i, warp, _requests(t, facts.itemsizes[i], group), each, between)
        for i, t in enumerate(schedule.accesses)
    ]
    offsets = DIVISION[schedule.index_bits] * (rank - 1) + 2 * rank * schedule.patterns
    found = sum(t.kind == "strided" for t in schedule.accesses)
    if schedule.two_rows:  # two offsets for a group, of which each unit selects one
        selected = sum(t.kind == "row" for t in schedule.accesses)
        division = (offsets + 3 * rank * schedule.patterns) / group + (3.0 * found + selected) / schedule.unit
    else:
        division = offsets / schedule.unit if found else 0
    instructions = arithmetic(facts.step) + division + sum(t.requests for t in traffic) * 2 / group + 8 / group
    block = run(start, order, space.shape, schedule.block * group)
    return Walk(space, block, order, traffic, instructions, 1.0, schedule.block)


def rows_walk(facts: Facts, choice: Choice) -> Walk:
    """Groups of rows; across: one group of each of neighbouring rows."""
    schedule, space = choice.schedule, coarse(choice.space)
    shape, rank = space.shape, len(space.shape)
    group = min(schedule.group, shape[0])
    order = (1, 0, *range(2, rank)) if schedule.across else tuple(range(rank))
    start = (float(group), *(1.0 for _ in range(rank - 1)))
    warp = run(start, order, shape, WARP * group)
    anchored = schedule.anchor is not None and not schedule.across
    between = _between(choice.space.shape[0], shape[0], group) if anchored else 0
    traffic = [
        _traffic(facts, space, i, warp, _requests(t, facts.itemsizes[i], group), between=between)
        for i, t in enumerate(schedule.accesses)
    ]
    division = DIVISION[schedule.index_bits] * (rank - 1) + 2 * rank * schedule.patterns + 12
    instructions = arithmetic(facts.step) + division / group + sum(t.requests for t in traffic) * 2 / group
    if (
        choice.space.shape[0] % schedule.group or schedule.anchor is not None
    ):  # a warp with the end of a row takes that element by element
        ends = group if schedule.anchor is not None else schedule.group / 2
        alone = arithmetic(facts.step) + _ALONE * len(traffic)
        instructions += min(1.0, WARP * group / shape[0]) * ends * alone / group
    begun = shape[0] if schedule.anchor is None else shape[0] + schedule.group - 1  # groups of a row begin before it
    used = shape[0] / (ceil(begun / schedule.group) * schedule.group)
    block = run(start, order, shape, schedule.block * group)
    return Walk(space, block, order, traffic, instructions, used, schedule.block)


def sets_walk(facts: Facts, choice: Choice) -> Walk:
    """Groups of several rows at once."""
    schedule, space = choice.schedule, coarse(choice.space)
    assert isinstance(schedule, PairSchedule)
    rank, group, rows = len(space.shape), schedule.group, schedule.rows
    start = (float(group), *(float(rows) if d == schedule.second else 1.0 for d in range(1, rank)))
    warp = run(start, range(rank), space.shape, WARP * group * rows)
    times = [1 if i in schedule.shared else rows for i in range(len(schedule.accesses))]
    traffic = [
        _traffic(facts, space, i, warp, _requests(t, facts.itemsizes[i], group) * times[i])
        for i, t in enumerate(schedule.accesses)
    ]
    division = DIVISION[schedule.index_bits] * (rank - 1) + 2 * rank * schedule.patterns + 12
    each = division + 2 * sum(t.requests for t in traffic)
    block = run(start, range(rank), space.shape, schedule.block * group * rows)
    instructions = arithmetic(facts.step) + each / (group * rows)
    return Walk(space, block, range(rank), traffic, instructions, 1.0, schedule.block)


def tiles_walk(facts: Facts, choice: Choice) -> Walk:
    """Square tiles of the first two dimensions."""
    schedule, space = choice.schedule, coarse(choice.space)
    group, side = schedule.group, schedule.target.tuning.elementwise.tile_side * schedule.group
    ends = [min(n, side) for n in space.shape[:2]]
    rest = [1.0] * (len(space.shape) - 2)
    ragged = any(n % group for n in choice.space.shape[:2]) or schedule.anchor is not None
    traffic: list[Traffic] = []
    for i, t in enumerate(schedule.accesses):
        own = 1 if t.kind == "transposed" else 0
        across = min(ends[own], side)
        down = min(ends[1 - own], WARP * group / across)
        warp = (across, down, *rest) if own == 0 else (down, across, *rest)
        requests = group if ragged else _requests(t, facts.itemsizes[i], group)
        traffic.append(_traffic(facts, space, i, warp, requests))
    used = prod(n / (ceil(n / side) * side) for n in rough_lengths(choice.space, [[0], [1]]))
    transposed = [size for size, t in zip(facts.itemsizes, schedule.accesses, strict=True) if t.kind == "transposed"]
    words = sum(size == 1 and group <= WORD for size in transposed)
    instructions = arithmetic(facts.step) + (30 if ragged else 6) + 20 / group + _WORD_OF_TILE * words
    staged = len(transposed) * (group if ragged else 1)
    block = (float(ends[0]), float(ends[1]), *rest)
    return Walk(
        space,
        block,
        range(len(space.shape)),
        traffic,
        instructions,
        used,
        schedule.block,
        waits=2,
        shared=2 * staged / group,
    )


def boxes_walk(facts: Facts, choice: Choice) -> Walk:
    """Boxes; each operand in the order of its own side."""
    schedule, space = choice.schedule, coarse(choice.space)
    assert isinstance(schedule, BoxSchedule)
    shape = space.shape
    dims = [schedule.dims(side) for side in range(len(schedule.sides))]
    lengths = [prod(shape[d] for d in side) for side in dims]

    def first(order: tuple[int, ...]) -> Extents:
        """What a warp has of a box at once, in an order of sides."""
        left, found = float(WARP * schedule.groups[order[0]]), [1.0] * len(dims)
        for side in order:
            found[side] = min(left, schedule.box[side], lengths[side])
            left = max(1.0, left / found[side])
        return reach(dims, shape, found)

    one_by_one = [
        t.kind == "gather" or (t.kind == "linear" and t.alignment == size)
        for t, size in zip(schedule.accesses, facts.itemsizes, strict=True)
    ]
    traffic = [
        _traffic(facts, space, i, first(order), schedule.group if single else 1, schedule.each(order))
        for i, (order, single) in enumerate(zip(schedule.orders, one_by_one, strict=True))
    ]
    used = 1 / idle_lanes(
        _predicted(schedule.box), schedule.groups, range(len(dims)), rough_lengths(choice.space, dims)
    )
    staged = sum(t.kind == "transposed" for t in schedule.accesses)
    alone = 2 * sum(one_by_one) * (1 - 1 / schedule.group)
    instructions = arithmetic(facts.step) + _box_instructions(schedule) + alone + 2 * staged
    order = [d for side in schedule.walk for d in dims[side]] + list(schedule.rest)
    block = reach(dims, shape, schedule.box)
    return Walk(space, block, order, traffic, instructions, used, schedule.block, 2, shared=2 * staged)


def _predicted(box: Sequence[int]) -> tuple[int, ...]:
    """The sides of a box for predictions: a short first one counts as a power of two, since `flat` is faster than
    predicted beside such boxes (209 and 343 us with 3 x 256 elements, 30.3 and 33.6 with 10 x 450).
    """
    first = box[0] if box[0] > WARP // 2 else 1 << (box[0] - 1).bit_length()
    return (first, *box[1:])


def _box_instructions(schedule: BoxSchedule) -> float:
    """Instructions for each element that find it, move it and begin a box."""
    divided = [sum(n - 1 for s, n in enumerate(schedule.sides) if s != own) for own in {*schedule.along, 0}]
    moved = [order[0] for order, t in zip(schedule.orders, schedule.accesses, strict=True) if t.kind not in _SHARED]
    a_group = 2 + DIVISION[schedule.index_bits] * (sum(divided) + divided[0])
    moves = sum(2 / schedule.groups[side] for side in moved)
    return a_group / schedule.group + moves + 60 * schedule.block / prod(schedule.box)
