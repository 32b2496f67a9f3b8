"""How many elements boxes have along each side: those that touch the fewest sectors, with few idle lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import prod

from kgen.layout.iterator import IterationSpace
from kgen.schedule.cost import Extents, Traffic, coarse, pieces, run
from kgen.schedule.elementwise.box_sides import Sides
from kgen.schedule.facts import Facts
from kgen.schedule.search import fastest
from kgen.schedule.target import LINE, SECTOR, WARP, WORD
from kgen.schedule.trace import leading, reaches

Box = tuple[int, ...]

#: Sides of fewer elements may be fitted.
_LONG = 512


def pitch(elements: int, itemsize: int) -> int:
    """From one row of a box in shared memory to the next: an odd number of words, so that they begin in different
    banks.
    """
    unit = max(1, WORD // itemsize)
    return (-(-elements // unit) | 1) * unit


def tile_shape(box: Sequence[int], itemsize: int) -> tuple[int, int]:
    """Rows of a box in shared memory, and elements a row: all sides but the last, each line of them padded."""
    row = pitch(box[0], itemsize)
    return (box[1], row) if len(box) == 2 else (box[2], pitch(box[1] * row, itemsize))


def line_step(box: Sequence[int], block: int, groups: Sequence[int], order: Sequence[int]) -> int:
    return block * groups[order[0]] // prod(box[side] for side in order[:-1])


def groups_of_thread(box: Sequence[int], block: int, groups: Sequence[int], order: Sequence[int]) -> int:
    return -(-box[order[-1]] // line_step(box, block, groups, order))


def idle_lanes(box: Sequence[int], groups: Sequence[int], order: Sequence[int], lengths: Sequence[int]) -> float:
    """How many times as many lanes the warps with work have as there are groups, in an order of sides."""
    found, faster = 1.0, 1
    for number, side in enumerate(order):
        group = 1 if number else groups[side]
        lanes, length = box[side] // group, -(-lengths[side] // group)
        unit = max(1, WARP // faster)  # warps that have none of these work
        cut = -(-(length % lanes) // unit) * unit
        found *= (length // lanes * lanes + min(lanes, cut)) / length
        faster *= lanes
    return found


def rough_lengths(space: IterationSpace, dims: Sequence[Sequence[int]]) -> list[int]:
    """The lengths of sides: exact where they are short, else rough."""
    about = coarse(space).shape
    found = [(prod(space.shape[d] for d in side), prod(about[d] for d in side)) for side in dims]
    return [rough if reaches(n, _LONG) else leading(n, _LONG.bit_length() - 1) for n, rough in found]


def reach(dims: Sequence[Sequence[int]], shape: Sequence[int], box: Sequence[float]) -> Extents:
    """How far a box reaches along each dimension of the space."""
    found: Extents = (1.0,) * len(shape)
    for side, elements in zip(dims, box, strict=True):
        found = run(found, side, shape, prod(found) * min(elements, prod(shape[d] for d in side)))
    return found


def best_box(sides: Sides) -> Box | None:
    """The box that touches the fewest sectors."""
    tuning = sides.facts.tuning.elementwise
    least, widest, most = min(sides.groups), max(sides.groups), _most_elements(sides.facts)
    fits = partial(_fits, sides, _registers(sides))
    found = (
        box
        for each in tuning.box_groups
        if widest <= each * least <= most
        for box in _boxes(tuning.block * each * least, len(sides.dims), widest)
        if fits(box)
    )
    lengths = rough_lengths(sides.facts.space, sides.dims)
    cost = partial(_cost, sides, coarse(sides.facts.space), lengths)
    best = _least(found, cost, sides.facts.tuning.doubt)
    if best is None or _idle(sides, lengths, best) < tuning.idle_box:
        return best
    fitted = {box: None for box in _fitted(sides, lengths, prod(best) * 9 // 8) if fits(box)}
    return _least((best, *fitted), cost, sides.facts.tuning.doubt)


def _least(boxes: Iterable[Box], cost: Callable[[Box], float], doubt: int) -> Box | None:
    found = fastest(boxes, cost, doubt=doubt)
    return None if found is None else found[1]


def _fits(sides: Sides, registers: float, box: Sequence[int]) -> bool:
    """Whether shared memory and registers suffice; and whether in every order threads cover all sides but the last at
    once, so that each steps along that one.
    """
    tuning, groups = sides.facts.tuning.elementwise, sides.groups
    if any(prod(box[s] for s in order[:-1]) > tuning.block * groups[order[0]] for order in sides.different_orders):
        return False
    if sum(prod(tile_shape(box, size)) * size for size in sides.staged) > tuning.tile_bytes:
        return False
    each = groups_of_thread(box, tuning.block, groups, range(len(box))) * groups[0]
    return each * registers <= tuning.prefetch_registers


def _most_elements(facts: Facts) -> int:
    """Elements of a box for each thread, at most."""
    tuning = facts.tuning.elementwise
    if not reaches(facts.space.numel, tuning.few_boxes * tuning.block * tuning.box_elements):
        return tuning.few_box_elements
    narrow = all(size <= 2 for size, t in zip(facts.itemsizes, facts.step.accesses, strict=True) if t.reads)
    many = reaches(facts.space.numel, tuning.many_boxes * tuning.block * tuning.narrow_box_elements)
    return tuning.narrow_box_elements if narrow and many else tuning.box_elements


def _registers(sides: Sides) -> float:
    """Registers for each element of what is read in the order of the outputs, and loaded ahead of the barrier."""
    facts = sides.facts
    ahead = [
        facts.itemsizes[i]
        for i, order in enumerate(sides.orders)
        if order[0] == 0 and facts.step.accesses[i].reads and facts.step_along(i, 0) != 0
    ]
    return sum(max(size / WORD, 1 / sides.groups[0]) for size in ahead)


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


def _fitted(sides: Sides, lengths: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """Boxes of up to ``most`` elements, one side of which is as long as the space there, or one of two a part of it."""
    least = max(2, *sides.groups)
    for side, length in enumerate(lengths):
        for parts in range(1, 5 if len(lengths) == 2 else 2):
            own = -(-length // parts // sides.groups[side]) * sides.groups[side]
            if length < _LONG and least <= own <= most // least:
                for rest in _others(sides, side, own, most // own):
                    yield (*rest[:side], own, *rest[side:])


def _others(sides: Sides, side: int, own: int, most: int) -> Iterator[tuple[int, ...]]:
    """The other sides beside one of ``own`` elements: powers of two, or as many lines as threads take at once."""
    groups, least = [n for s, n in enumerate(sides.groups) if s != side], max(2, *sides.groups)
    yield from _boxes(1 << (most.bit_length() - 1), len(groups), least)
    lines = sides.facts.tuning.elementwise.block * sides.groups[side] // own // groups[0] * groups[0]
    if len(groups) == 1 and least <= lines <= most:
        yield (most // lines * lines,)


def _idle(sides: Sides, lengths: Sequence[int], box: Sequence[int]) -> float:
    """The same in all orders, on average."""
    orders = sides.different_orders
    return sum(idle_lanes(box, sides.groups, order, lengths) for order in orders) / len(orders)


def _cost(sides: Sides, space: IterationSpace, lengths: Sequence[int], box: Sequence[int]) -> float:
    """Sectors of memory that boxes touch for each element, with what boxes at the ends lack; and lines, which count
    differently for operands that run along the outputs' side and for others.  ``space``: coarse.
    """
    facts, tuning = sides.facts, sides.facts.tuning.elementwise
    extents, at_once = (reach(sides.dims, space.shape, part) for part in (box, _of_warp(sides, box)))
    touched = 0.0
    for i, (size, strides) in enumerate(zip(facts.itemsizes, space.strides, strict=True)):
        own = max(0, sides.along[i])
        cut = box[own] < lengths[own] and box[own] * size % SECTOR != 0
        # What each warp writes goes to L2 by itself.
        there = at_once if sides.kinds[i] == "gather" and facts.step.accesses[i].writes else extents
        traffic = Traffic(there, 1, size, strides, misaligned=facts.misaligned[i] or cut, reads=True)
        line = tuning.line_sectors if own == 0 else tuning.line_sectors_apart
        touched += (pieces(traffic, there, SECTOR) + line * pieces(traffic, there, LINE)) / prod(there)
    return touched * _idle(sides, lengths, box) * (1 + tuning.block_cost / prod(extents))


def _of_warp(sides: Sides, box: Sequence[int]) -> Box:
    """The part of a box that a warp writes at once."""
    left, found = WARP * sides.groups[0], list[int]()
    for side in box:
        found.append(min(side, left))
        left = max(1, left // found[-1])
    return tuple(found)
