"""A description of each operand of a kernel: its layout, how it is accessed, and which decisions it causes."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.layout.iterator import IterationSpace
from kgen.layout.kinds import LayoutKind, classify, index_bits
from kgen.records import dataclass
from kgen.schedule.elementwise.boxes import BoxSchedule
from kgen.schedule.elementwise.launch import tile_sides
from kgen.schedule.reduction.schedule import BoxColumnSchedule, RowSchedule
from kgen.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Class:
    """``name``: the layout, as the kernel walks it.  ``moves``: how it is read or written.  ``limits``: what would
    differ in the kernel without this operand."""

    name: str
    moves: str
    limits: tuple[str, ...]


#: Names of layouts in kernels with reductions, by access kind.
_WALKS = {
    "vector": "inner contiguous", "shifted": "inner contiguous", "gather": "strided", "row": "the same along a row",
    "column": "the same along the fastest dimension",
    "staged": "contiguous", "spaced": "rows with gaps", "transposed": "transposed",
}  # fmt: skip

#: What elements of interleaved operands are called, by step.
ORDINALS = {2: "second", 3: "third", 4: "fourth"}


def classes(
    schedule: Schedule, space: IterationSpace, itemsizes: Sequence[int], *,
    costs: str = "the kernel cannot walk all elements as one run",
) -> tuple[Class, ...]:  # fmt: skip
    """One for each access of a step without reductions.  ``costs``: what a strided operand costs the kernel."""
    return tuple(
        Class(_name(space, i), _moves(schedule, space, i, size), tuple(_limits(schedule, space, i, itemsizes, costs)))
        for i, size in enumerate(itemsizes)
    )


def row_classes(schedule: RowSchedule, space: IterationSpace, itemsizes: Sequence[int]) -> tuple[Class, ...]:
    """One for each access of a step with reductions."""
    return tuple(
        Class(_WALKS[t.kind], _moves(schedule, space, i, size), ())
        for i, (t, size) in enumerate(zip(schedule.accesses, itemsizes, strict=True))
    )


def _name(space: IterationSpace, access: int) -> str:
    of = classify(space, access)
    if of is not LayoutKind.STRIDED:
        return "contiguous" if of is LayoutKind.CONTIGUOUS else "scalar"
    strides = space.strides[access]
    outer = [s for n, s in zip(space.shape[1:], strides[1:], strict=True) if n > 1]
    inner = strides[0] if space.shape[0] > 1 else 0
    if inner == 0:
        return "column broadcast"
    if inner == 1:
        return "row broadcast" if 0 in outer else "inner contiguous"
    if inner == -1:
        return "reversed"
    return "transposed" if 1 in outer else "strided"


def _moves(schedule: Schedule, space: IterationSpace, access: int, itemsize: int) -> str:
    planned = schedule.accesses[access]
    width = min(16, schedule.group * itemsize)
    unaligned = f"not aligned to {width} bytes"
    through = "" if not planned.alignment or planned.alignment >= width else f"; {unaligned}"
    groups = f"groups of {schedule.group}"
    if isinstance(schedule, BoxColumnSchedule) and access in schedule.boxed:
        return "read in its own order, through shared memory"
    where = "in registers" if isinstance(schedule, RowSchedule) else "through shared memory"
    known = {
        "scalar": "one load into a register",
        "column": "one load for a group",
        "gather": f"element by element, {space.strides[access][0]} apart",
        "transposed": f"transposed {where}{through}",
        "shifted": f"{groups} from aligned blocks, shifted together: {unaligned}",
        "linear": "one element a thread",
        "staged": "all rows of a block at once, by way of shared memory",
        "spaced": "row by row, by way of shared memory",
        "row": "one access for a row",
        "strided": f"{groups}, each {'unit' if planned.alignment else 'element'} at an offset of its own"
        if schedule.group > 1
        else "one element a thread, at an offset of its own",
    }
    if planned.wide is not None:
        every, bytes_ = planned.wide.step, min(planned.wide.alignment, 16)
        return f"{groups}, every {ORDINALS[every]} element, taken out of {bytes_}-byte accesses to all"
    if planned.kind == "vector" or (planned.kind == "linear" and schedule.group > 1):
        whole = planned.alignment >= width
        return f"{groups}, {width}-byte accesses" if whole else f"{groups}, element by element: {unaligned}"
    return known[planned.kind]


def _limits(schedule: Schedule, space: IterationSpace, access: int, itemsizes: Sequence[int], costs: str) -> list[str]:
    found: list[str] = []
    planned = schedule.accesses[access]
    if planned.kind == "transposed" and isinstance(schedule, BoxSchedule):
        found.append(f"makes the kernel work by boxes of {' x '.join(map(str, schedule.box))}")
    elif planned.kind == "transposed":
        width, height = tile_sides(schedule)
        found.append(f"makes the kernel work by tiles of {width} x {height}")
    elif costs and classify(space, access) is LayoutKind.STRIDED:
        found.append(costs)
    if schedule.anchor == access:
        found.append("groups begin where it is aligned")
    # Operands that vary along the row: the widest of them fills one access.
    moving = {i: size for i, size in enumerate(itemsizes) if space.shape[0] > 1 and space.strides[i][0] != 0}
    if schedule.group > 1 and moving.get(access) == max(moving.values(), default=0) > min(moving.values(), default=0):
        found.append(f"being the widest, sets groups of {schedule.group}")
    alone = IterationSpace(space.shape, (space.strides[access],), space.axes)
    if schedule.index_bits == 64 and space.numel < 2**31 and index_bits(alone, [itemsizes[access]]) == 64:
        found.append("makes offsets 64 bits wide")
    return found
