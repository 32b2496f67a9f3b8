"""Chooses the schedule of a step: an ordered table of rules, the first that applies wins, each with its reason.

Pure: from the step, the layouts of what it touches, and pointer alignments, to a :class:`Schedule`.  The figures
behind the rules are in ``docs/performance.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kgen.layout.access import Access, classify, index_bits, stride_patterns
from kgen.layout.iterator import IterationSpace
from kgen.partition.step import Step
from kgen.schedule.elementwise.groups import SHARED_BYTES, outer_strides, patterns, tile_elements
from kgen.schedule.elementwise.reasons import bits_reason, group_reason, listed, spoilers
from kgen.schedule.schedule import AccessKind, Schedule, TouchSchedule
from kgen.schedule.target import PORTABLE, Target

#: Threads a block: enough blocks for each SM to hide latency, and few enough registers each for 8 of them.
BLOCK = 256
STRIDED_BLOCK = 128

#: Elements of a tile that a thread holds along each side when it also reads operands that are not turned: squares of 8
#: of both spill registers, and 4 are as fast.
WIDEST_BESIDE = 4

#: Bytes of what is shifted at once.  Elements as wide are moved one by one where they are not aligned: a group has few.
WORD = 4

#: Rows of a narrow operand that can be shifted are shifted from this length on, rather than read element by element:
#: in shorter ones, parts of groups at both ends cost more.
SHORTEST_SHIFTED_ROW = 256

#: Tiles of which less than a quarter is filled cost more than they save.
SHORTEST_SIDE = 16

#: Shorter rows than this waste most of their last group, and are walked element by element.
SHORTEST_ROW = 16


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a step's operands, one entry for each of its touches.

    ``itemsizes`` in bytes; ``addresses`` modulo what the widest access needs; ``aliased`` whether another touch may
    reach the same memory.
    """

    step: Step
    space: IterationSpace
    itemsizes: Sequence[int]
    addresses: Sequence[int]
    aliased: Sequence[bool]
    classes: Sequence[Access]
    target: Target

    @property
    def names(self) -> list[str]:
        return [self.step.kernel.operands[t.operand].name for t in self.step.touches]

    def step_along(self, touch: int, dimension: int) -> int:
        """The stride of a touch along a dimension, 0 where the dimension is not walked."""
        return self.space.strides[touch][dimension] if self.space.shape[dimension] > 1 else 0


@dataclass(frozen=True, slots=True)
class Choice:
    """A schedule, the space in the order in which it walks it, and the decisions with their reasons."""

    schedule: Schedule
    space: IterationSpace
    reasons: tuple[str, ...]


Rule = Callable[[Facts], Choice | None]


def choose(
    step: Step,
    space: IterationSpace,
    itemsizes: Sequence[int],
    addresses: Sequence[int],
    aliased: Sequence[bool],
    target: Target = PORTABLE,
) -> Choice:
    """The schedule of ``step`` over ``space``: the first of :data:`RULES` that applies.  See :class:`Facts`."""
    classes = [classify(space, i) for i in range(len(step.touches))]
    facts = Facts(step, space, itemsizes, addresses, aliased, classes, target)
    for rule in RULES:
        choice = rule(facts)
        if choice is not None:
            return Choice(choice.schedule, choice.space, (*choice.reasons, bits_reason(choice.schedule)))
    raise AssertionError("the last rule covers every layout")


def group_size(itemsizes: Sequence[int], target: Target = PORTABLE) -> int:
    """Consecutive elements a thread: the widest operand fills one vector access, the others take part of one."""
    return max(1, target.vector_bytes // max(itemsizes, default=1))


def is_shifted(itemsize: int, group: int) -> bool:
    """Whether groups of an input that are not aligned are read as blocks and shifted."""
    return itemsize < WORD <= group * itemsize


def coordinates_of(step: Step, space: IterationSpace) -> tuple[tuple[int, int], ...]:
    """Which merged dimension each ``index()`` of the step reads, by axis from the right."""
    rank = len(step.shape)
    return tuple((axis - rank, space.dim_of(axis)) for axis in sorted(kept_axes(step)))


def kept_axes(step: Step) -> frozenset[int]:
    """The logical axes that ``index()`` reads, so that merging must leave them whole."""
    rank = len(step.shape)
    return frozenset(op.attr + rank for op in step.kernel.ops if op.name == "index" and isinstance(op.attr, int))


# --- the rules, in order ----------------------------------------------------------------------------


def contiguous(facts: Facts) -> Choice | None:
    """Every operand is dense in one order, or a single element."""
    if Access.STRIDED in facts.classes:
        return None
    schedule = _linear(facts, "contiguous")
    return Choice(schedule, facts.space, (group_reason(schedule, facts), *spoilers(schedule, facts)))


def tiled(facts: Facts) -> Choice | None:
    """Some operand is consecutive along a dimension other than the outputs': through shared memory, by tiles."""
    second, turned = _turned(facts)
    if not turned:
        return None
    space = _tile_order(facts.space, second, min(turned))
    group = _group(facts)
    if len(turned) < sum(t.reads for t in facts.step.touches):
        group = min(group, WIDEST_BESIDE)
    while group > 1 and sum(tile_elements(group) ** 2 * facts.itemsizes[i] for i in turned) > SHARED_BYTES:
        group //= 2
    if sum(tile_elements(group) ** 2 * facts.itemsizes[i] for i in turned) > SHARED_BYTES:
        return None
    if min(space.shape[:2]) < SHORTEST_SIDE:
        return None
    schedule = _grouped(facts, "tiled", space, group, turned)
    side = tile_elements(group)
    names = [facts.names[i] for i in sorted(turned)]
    reason = (
        f"tiled: {listed(names)} consecutive along another dimension, turned in {side} x {side} tiles of shared memory"
    )
    return Choice(schedule, space, (reason, *spoilers(schedule, facts)))


def flat(facts: Facts) -> Choice | None:
    """Outputs dense, in rows that are short, or no multiple of a group: the others element by element."""
    dense = all(c is Access.CONTIGUOUS for c, t in zip(facts.classes, facts.step.touches, strict=True) if t.writes)
    width, group = facts.space.shape[0], _group(facts)
    if not dense or (width >= SHORTEST_ROW and width % group == 0) or _shifts_long_rows(facts, group):
        return None
    schedule = _linear(facts, "flat")
    offenders = [n for n, c in zip(facts.names, facts.classes, strict=True) if c is Access.STRIDED]
    why = "short" if width < SHORTEST_ROW else f"no multiple of {group}"
    reason = f"flat: {listed(offenders)} not dense, and found element by element: rows of {width} elements are {why}"
    return Choice(schedule, facts.space, (reason, *spoilers(schedule, facts)))


def rows(facts: Facts) -> Choice | None:
    """Rows of some length: where they begin is computed once for a group of elements."""
    if facts.space.shape[0] < SHORTEST_ROW:
        return None
    offenders = [n for n, c in zip(facts.names, facts.classes, strict=True) if c is Access.STRIDED]
    reason = f"rows: {listed(offenders)} not dense in the order in which the outputs are walked"
    second, turned = _turned(facts)
    across = bool(turned) and facts.space.shape[second] < SHORTEST_SIDE
    space = _tile_order(facts.space, second, min(turned)) if across else facts.space
    schedule = _grouped(facts, "rows", space, _group(facts), set())
    if across:
        schedule = replace(schedule, across=True)
        names = [facts.names[i] for i in sorted(turned)]
        reason += f"; {space.shape[1]} rows side by side, along which {listed(names)} consecutive"
    return Choice(schedule, space, (reason, *spoilers(schedule, facts)))


def strided(facts: Facts) -> Choice:
    """Everything else: one element a thread, its offsets computed from its coordinates."""
    numbers = [i for i, c in enumerate(facts.classes) if c is Access.STRIDED]
    _, found = stride_patterns(facts.space, numbers)
    pattern_of = dict(zip(numbers, found, strict=True))
    touches: list[TouchSchedule] = []
    for i, (c, alias) in enumerate(zip(facts.classes, facts.aliased, strict=True)):
        if pattern_of.get(i) is not None:
            touches.append(TouchSchedule("strided", pattern=pattern_of[i], restrict=not alias))
        else:
            touches.append(TouchSchedule("linear" if c is Access.CONTIGUOUS else "scalar", restrict=not alias))
    bits = index_bits(facts.space, facts.itemsizes)
    coordinates = coordinates_of(facts.step, facts.space)
    rank = len(facts.space.shape)
    schedule = Schedule("strided", STRIDED_BLOCK, 1, rank, bits, tuple(touches), coordinates)
    offenders = [facts.names[i] for i in numbers]
    length = facts.space.shape[0]
    reason = f"strided: {listed(offenders)} not dense, and rows have only {length} element{'s' if length != 1 else ''}"
    return Choice(schedule, facts.space, (reason,))


RULES: tuple[Rule, ...] = (contiguous, tiled, flat, rows, strided)


# --- what the rules share ---------------------------------------------------------------------------


def _shifts_long_rows(facts: Facts, group: int) -> bool:
    """Whether some input has long rows of its own, of narrow elements."""
    return facts.space.shape[0] >= SHORTEST_SHIFTED_ROW and any(
        c is Access.STRIDED
        and facts.step_along(i, 0) == 1
        and is_shifted(facts.itemsizes[i], group)
        # Broadcast over all rows, it is read from the cache.
        and any(facts.step_along(i, d) for d in range(1, len(facts.space.shape)))
        for i, c in enumerate(facts.classes)
    )


def _group(facts: Facts) -> int:
    """Elements of a row a thread, for the operands that move along it."""
    return group_size([s for i, s in enumerate(facts.itemsizes) if facts.step_along(i, 0) != 0], facts.target)


def _grouped(
    facts: Facts, template: Literal["rows", "tiled"], space: IterationSpace, group: int, turned: set[int]
) -> Schedule:
    """A schedule that walks the fastest dimension by groups."""
    kinds = [_kind(space, i, facts.classes[i], i in turned) for i in range(len(facts.step.touches))]
    _, pattern_of = patterns(kinds, space)
    rows_of = [outer_strides(kind, space, i) for i, kind in enumerate(kinds)]
    lead = _lead(facts, kinds, group, rows_of)
    if template == "tiled" and any(group * facts.itemsizes[i] < WORD for i in turned):
        lead = None
    touches = [
        TouchSchedule(
            # What all rows read again is in the cache, and its ends are met in every row.
            *_access(facts, i, kind, group, rows_of, lead, shifts=template == "rows" and any(rows_of[i])),
            pattern_of[i],
            not facts.aliased[i],
        )
        for i, kind in enumerate(kinds)
    ]
    bits = index_bits(space, facts.itemsizes)
    coordinates = coordinates_of(facts.step, space)
    return Schedule(template, BLOCK, group, len(space.shape), bits, tuple(touches), coordinates, lead)


def _kind(space: IterationSpace, touch: int, of: Access, turned: bool) -> AccessKind:
    if of is Access.SCALAR:
        return "scalar"
    if turned:
        return "transposed"
    step = space.strides[touch][0]
    return "vector" if step == 1 else "column" if step == 0 else "gather"


Rows = Sequence[Sequence[int]]  # of each touch, the strides that say where rows begin


def _linear(facts: Facts, template: Literal["contiguous", "flat"]) -> Schedule:
    """A schedule that walks memory in order by groups; what is not dense is found element by element."""
    group = group_size([s for s, c in zip(facts.itemsizes, facts.classes, strict=True) if c is Access.CONTIGUOUS])
    kind_of: dict[Access, AccessKind] = {
        Access.CONTIGUOUS: "vector",
        Access.SCALAR: "scalar",
        Access.STRIDED: "strided",
    }
    kinds = [kind_of[c] for c in facts.classes]
    numbers = [i for i, kind in enumerate(kinds) if kind == "strided"]
    pattern_of = dict(zip(numbers, stride_patterns(facts.space, numbers)[1], strict=True))
    one_row: Rows = [()] * len(kinds)
    lead = _lead(facts, kinds, group, one_row)
    touches = [
        TouchSchedule(
            *_access(facts, i, kind, group, one_row, lead, shifts=True), pattern_of.get(i), not facts.aliased[i]
        )
        for i, kind in enumerate(kinds)
    ]
    coordinates = coordinates_of(facts.step, facts.space)
    # Addresses are formed from pointers, in 64 bits: the number of elements counts, and offsets that are computed.
    # Groups that begin elsewhere than at the first element need some room beside it.
    room = 0 if lead is None else beyond(group)
    bits = index_bits(facts.space, [facts.itemsizes[i] if i in numbers else 0 for i in range(len(kinds))])
    bits = 32 if bits == 32 and facts.space.numel + room < 2**31 else 64
    rank = len(facts.space.shape) if coordinates or numbers else 1
    return Schedule(template, BLOCK, group, rank, bits, tuple(touches), coordinates, lead)


def beyond(group: int) -> int:
    """How far beyond the last element threads count whose groups begin where memory is aligned."""
    return (BLOCK + 2) * group


def _lead(facts: Facts, kinds: Sequence[AccessKind], group: int, rows_of: Rows) -> int | None:
    """The output at whose aligned addresses groups begin: the first that needs it."""
    written = (i for i, t in enumerate(facts.step.touches) if t.writes and kinds[i] == "vector")
    return next((i for i in written if not _aligned(facts, i, group, rows_of)), None)


def _access(
    facts: Facts, touch: int, kind: AccessKind, group: int, rows_of: Rows, lead: int | None, *, shifts: bool
) -> tuple[AccessKind, int]:
    """How a touch moves, and the bytes that each of its groups is aligned to: its whole width, or one element.

    Few states make few variants: where an address lies between aligned ones is found out by the kernel.  Wide elements
    cost little one by one, since a group has few of them and the first-level cache puts them together.
    """
    if kind not in ("vector", "transposed"):
        return kind, 0
    itemsize = facts.itemsizes[touch]
    if lead is None or kind == "transposed":
        fits = _aligned(facts, touch, group, rows_of)
    else:
        fits = _alike(facts, touch, lead, group, rows_of)
    if fits:
        return kind, group * itemsize
    shifted = shifts and kind == "vector" and not facts.step.touches[touch].writes and is_shifted(itemsize, group)
    return ("shifted" if shifted else kind), itemsize


def _aligned(facts: Facts, touch: int, group: int, rows_of: Rows) -> bool:
    """Whether every row of a touch begins where a group can."""
    return _phase(facts, touch, group) == 0 and _even(touch, group, rows_of)


def _alike(facts: Facts, touch: int, lead: int, group: int, rows_of: Rows) -> bool:
    """Whether the rows of two touches lie alike between addresses where a group can begin."""
    both_even = _even(touch, group, rows_of) and _even(lead, group, rows_of)
    same = both_even or tuple(rows_of[touch]) == tuple(rows_of[lead])
    return same and _phase(facts, touch, group) == _phase(facts, lead, group)


def _phase(facts: Facts, touch: int, group: int) -> int:
    """Elements from the last address where a group can begin to the first of a touch."""
    return facts.addresses[touch] // facts.itemsizes[touch] % group


def _even(touch: int, group: int, rows_of: Rows) -> bool:
    return all(s % group == 0 for s in rows_of[touch])


def _turned(facts: Facts) -> tuple[int, set[int]]:
    """The inputs that are consecutive along a dimension other than the outputs', and the dimension that most are."""
    candidates = [
        (i, d)
        for i, touch in enumerate(facts.step.touches)
        if not touch.writes and facts.step_along(i, 0) not in (0, 1)
        for d in range(1, len(facts.space.shape))
        if facts.step_along(i, d) == 1
    ]
    if not candidates:
        return 0, set()
    second, _ = Counter(d for _, d in candidates).most_common(1)[0]
    return second, {i for i, d in candidates if d == second}


def _tile_order(space: IterationSpace, dimension: int, turned: int) -> IterationSpace:
    """The space with one dimension moved to second place: the other side of the tiles.

    The rest is walked in the order in which the turned operand lies: of the two sides of a tile, that is the one that
    is read in short pieces, and neighbouring pieces should follow each other.
    """
    rest = [d for d in range(1, len(space.shape)) if d != dimension]
    order = [0, dimension, *sorted(rest, key=lambda d: abs(space.strides[turned][d]))]
    return IterationSpace(
        tuple(space.shape[d] for d in order),
        tuple(tuple(strides[d] for d in order) for strides in space.strides),
        tuple(space.axes[d] for d in order),
    )
