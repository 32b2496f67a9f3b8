"""In which orders of their axes a step's operands could lie: candidates for copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kgen.partition.reduction_step import ReductionStep
from kgen.partition.step import Access, Step
from kgen.records import dataclass
from kgen.schedule.reduction.schedule import is_plain
from kgen.schedule.step_layout import Array, Extents, concrete, view

Axes = tuple[int, ...]  #: an operand's axes in memory, the slowest first

#: Shorter axes do not fill the tiles through which copies are transposed, and shorter runs not a sector.
FEWEST = 16


def lie_alike(arrays: Sequence[Array | None]) -> bool:
    """Whether all arrays are in C order, without gaps between fewer than :data:`FEWEST` elements."""
    return all(array is None or _has_long_runs(array) for array in arrays)


def _has_long_runs(array: Array) -> bool:
    run, before = 1, 0
    for extent, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if extent == 1 or not stride:
            continue
        if stride < before or (stride != run and run < FEWEST):
            return False
        run, before = run * extent if stride == run else run, stride
    return True


def writes_across(step: Step, extents: Extents, arrays: Sequence[Array | None]) -> bool:
    """Whether a kernel writes elements of rows, or reads them again, that lie across in memory: a kept axis is the
    fastest of an array."""
    return (
        isinstance(step, ReductionStep)
        and not is_plain(step)
        and any(_lies_across(step, extents, access, arrays[access.operand]) for access in step.accesses)
    )


def _lies_across(step: ReductionStep, extents: Extents, access: Access, array: Array | None) -> bool:
    """Whether an array that varies along rows is consecutive along another axis."""
    if array is None:
        return False
    shape = concrete(step.shape, extents)
    strides = view(access, array, shape).strides
    own = [(abs(s), a < step.kept) for a, (n, s) in enumerate(zip(shape, strides, strict=True)) if n > 1 and s]
    return any(not kept for _, kept in own) and min(own)[1]


def copies(step: ReductionStep, extents: Extents, arrays: Sequence[Array | None]) -> Iterator[Mapping[int, Axes]]:
    """Operands that could be copied, with the order of their axes in the copy.

    For the order of each operand that varies along all axes, these are the ones that lie otherwise, or have gaps.
    Their copies lie in that order, or have only its fastest axis in common with it.  ``arrays``: None for those that do
    not exist yet.  Only operands that the program never writes are copied.
    """
    shape = concrete(step.shape, extents)
    read = _reads(step, shape, arrays)
    found: dict[tuple[tuple[int, Axes], ...], None] = {}
    moving = sum(n > 1 for n in shape)
    for wanted in dict.fromkeys(r.order for r in read.values() if r.order and len(r.order) == moving):
        fastest = _fastest(wanted, shape)
        for gaps in (False, True):
            moved = {o: r for o, r in read.items() if r.lies_otherwise(wanted) or (gaps and r.has_gaps)}
            found[_copied(moved, {o: r.like(wanted) for o, r in moved.items()}, gaps)] = None
            found[_copied(moved, {o: r.with_fastest(fastest) for o, r in moved.items()}, gaps)] = None
    yield from (dict(chosen) for chosen in found if chosen)


def _copied(moved: Mapping[int, _Read], orders: Mapping[int, Axes], gaps: bool) -> tuple[tuple[int, Axes], ...]:
    """Operands with the axes of their copies, without those that would be copied as they are."""
    changed = ((o, r) for o, r in moved.items() if orders[o] != r.order or (gaps and r.has_gaps))
    return tuple((o, r.own_axes(orders[o])) for o, r in changed)


def _fastest(order: Axes, shape: tuple[int, ...]) -> int:
    """The fastest axis with enough elements, or else the fastest one."""
    return next((a for a in reversed(order) if shape[a] >= FEWEST), order[-1])


def _reads(step: ReductionStep, shape: tuple[int, ...], arrays: Sequence[Array | None]) -> dict[int, _Read]:
    """The operands that could be copied; none where one of them is read at two places, which its copy would serve."""
    found: dict[int, _Read] = {}
    for access in step.accesses:
        array = arrays[access.operand]
        if array is None or step.graph.operands[access.operand].role != "input":
            continue
        if access.operand in found:
            return {}
        found[access.operand] = _Read(access, array, shape)
    return found


@dataclass(frozen=True)
class _Read:
    """How a step reads an operand.  ``shape``: of the step's space."""

    access: Access
    array: Array
    shape: tuple[int, ...]

    @property
    def order(self) -> Axes:
        """The axes of the space along which it varies, the slowest first."""
        strides = view(self.access, self.array, self.shape).strides
        return tuple(
            sorted((a for a, n in enumerate(self.shape) if n > 1 and strides[a]), key=lambda a: -abs(strides[a]))
        )

    @property
    def has_gaps(self) -> bool:
        """Whether there are elements between those that are read."""
        moving = sorted((abs(s), n) for n, s in zip(self.array.shape, self.array.strides, strict=True) if n > 1 and s)
        filled = 1
        for step, extent in moving:
            if step != filled:
                return True
            filled *= extent
        return False

    def like(self, wanted: Axes) -> Axes:
        """The order of its axes in that of another operand."""
        return tuple(a for a in wanted if a in self.order)

    def lies_otherwise(self, wanted: Axes) -> bool:
        return self.order != self.like(wanted)

    def with_fastest(self, fastest: int) -> Axes:
        """Its own order, but for the fastest axis: a copy into that is a transposition of two axes."""
        own = self.order
        return (*(a for a in own if a != fastest), fastest) if fastest in own else own

    def own_axes(self, order: Axes) -> Axes:
        """The operand's axes in the order of the space's.  Those of one element come first."""
        moved = [self.access.axes[a - len(self.shape)] for a in order]
        own = [a for a in moved if a is not None]
        return (*(a for a in range(len(self.array.shape)) if a not in own), *own)
