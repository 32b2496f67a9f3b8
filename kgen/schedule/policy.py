"""Chooses the schedule of a step: an ordered table of rules, each with its reason.

Pure: from the step, the layouts of what it touches, and pointer alignments, to a :class:`Schedule`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kgen.layout.access import Access, classify, index_bits, stride_patterns
from kgen.layout.iterator import IterationSpace
from kgen.schedule.plan import Schedule, TouchSchedule
from kgen.schedule.split import Step
from kgen.schedule.target import PORTABLE, Target

#: Threads a block.  256 fills an SM's 2,048 threads with 8 blocks; the sketches in docs/performance.md used it.
CONTIGUOUS_BLOCK = 256
STRIDED_BLOCK = 128


@dataclass(frozen=True, slots=True)
class Choice:
    """A schedule and, in the order they were taken, the decisions with their reasons."""

    schedule: Schedule
    reasons: tuple[str, ...]


def choose(
    step: Step,
    space: IterationSpace,
    itemsizes: Sequence[int],
    alignments: Sequence[int],
    aliased: Sequence[bool],
    target: Target = PORTABLE,
) -> Choice:
    """The schedule of ``step`` over ``space``.

    One entry for each touch of the step: ``itemsizes`` in bytes, ``alignments`` the largest power of two up to 16
    that divides its address, ``aliased`` whether another touch may reach the same memory.
    """
    names = [step.kernel.operands[t.operand].name for t in step.touches]
    classes = [classify(space, i) for i in range(len(step.touches))]
    coordinates = coordinates_of(step, space)
    offenders = [name for name, c in zip(names, classes, strict=True) if c is Access.STRIDED]
    if not offenders:
        bits: Literal[32, 64] = 32 if space.numel < 2**31 else 64  # addresses are formed from pointers, in 64 bits
        schedule = _contiguous(step, space, classes, itemsizes, alignments, aliased, bits, coordinates, target)
        reason = _group_reason(schedule, names, itemsizes)
    else:
        bits = index_bits(space, itemsizes)
        schedule = _strided(step, space, classes, aliased, bits, coordinates)
        reason = f"strided: {_list(offenders)} not contiguous in the order in which the outputs are walked"
    return Choice(schedule, (reason, _bits_reason(schedule)))


def group_size(itemsizes: Sequence[int], target: Target = PORTABLE) -> int:
    """Consecutive elements a thread: the widest operand fills one vector access, the others take part of one."""
    return max(1, target.vector_bytes // max(itemsizes, default=1))


def coordinates_of(step: Step, space: IterationSpace) -> tuple[tuple[int, int], ...]:
    """Which merged dimension each ``index()`` of the step reads, by axis from the right."""
    rank = len(step.shape)
    wanted = sorted({op.attr for op in step.kernel.ops if op.name == "index" and isinstance(op.attr, int)})
    found: list[tuple[int, int]] = []
    for right in wanted:
        axis = right + rank
        found.append((right, next(d for d, axes in enumerate(space.axes) if axis in axes)))
    return tuple(found)


def kept_axes(step: Step) -> frozenset[int]:
    """The logical axes that ``index()`` reads, so that merging must leave them whole."""
    rank = len(step.shape)
    return frozenset(op.attr + rank for op in step.kernel.ops if op.name == "index" and isinstance(op.attr, int))


def _contiguous(
    step: Step,
    space: IterationSpace,
    classes: Sequence[Access],
    itemsizes: Sequence[int],
    alignments: Sequence[int],
    aliased: Sequence[bool],
    bits: Literal[32, 64],
    coordinates: tuple[tuple[int, int], ...],
    target: Target,
) -> Schedule:
    walked = [size for size, c in zip(itemsizes, classes, strict=True) if c is Access.CONTIGUOUS]
    group = group_size(walked, target)
    touches: list[TouchSchedule] = []
    for c, itemsize, alignment, alias in zip(classes, itemsizes, alignments, aliased, strict=True):
        if c is Access.SCALAR:
            touches.append(TouchSchedule("scalar", restrict=not alias))
            continue
        width = min(target.vector_bytes, group * itemsize)
        # Two states only, the full width or element by element: few variants, and a half-aligned base is rare.
        touches.append(TouchSchedule("vector", width if alignment >= width else itemsize, restrict=not alias))
    rank = len(space.shape) if coordinates else 1
    return Schedule("contiguous", CONTIGUOUS_BLOCK, group, rank, bits, tuple(touches), coordinates)


def _strided(
    step: Step,
    space: IterationSpace,
    classes: Sequence[Access],
    aliased: Sequence[bool],
    bits: Literal[32, 64],
    coordinates: tuple[tuple[int, int], ...],
) -> Schedule:
    strided = [i for i, c in enumerate(classes) if c is Access.STRIDED]
    _, pattern_of = stride_patterns(space, strided)
    patterns = dict(zip(strided, pattern_of, strict=True))
    touches: list[TouchSchedule] = []
    for i, (c, alias) in enumerate(zip(classes, aliased, strict=True)):
        if patterns.get(i) is not None:
            touches.append(TouchSchedule("strided", pattern=patterns[i], restrict=not alias))
        elif c is Access.CONTIGUOUS:
            touches.append(TouchSchedule("linear", restrict=not alias))
        else:
            touches.append(TouchSchedule("scalar", restrict=not alias))
    return Schedule("strided", STRIDED_BLOCK, 1, len(space.shape), bits, tuple(touches), coordinates)


def _bits_reason(schedule: Schedule) -> str:
    what = "every element number" if schedule.template == "contiguous" else "every byte offset"
    if schedule.index_bits == 32:
        return f"32-bit indices: {what} is below 2^31"
    return f"64-bit indices: not {what} is below 2^31"


def _group_reason(schedule: Schedule, names: Sequence[str], itemsizes: Sequence[int]) -> str:
    widest = max((s, n) for s, n, t in zip(itemsizes, names, schedule.touches, strict=True) if t.access == "vector")
    narrow = [
        n
        for n, t, s in zip(names, schedule.touches, itemsizes, strict=True)
        if t.access == "vector" and t.alignment == s and s < 16 and schedule.group > 1
    ]
    text = f"contiguous: {schedule.group} elements a thread, so that `{widest[1]}` moves in 16-byte accesses"
    return text + (f"; element by element for {_list(narrow)}, not aligned to 16 bytes" if narrow else "")


def _list(names: Sequence[str]) -> str:
    quoted = [f"`{n}`" for n in dict.fromkeys(names)]
    if len(quoted) == 1:
        return f"{quoted[0]} is" if not quoted[0].startswith("is") else quoted[0]
    return ", ".join(quoted[:-1]) + f" and {quoted[-1]} are"
