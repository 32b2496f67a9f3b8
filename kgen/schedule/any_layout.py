"""Schedules that cover a class of layouts, for files that are generated ahead of time, before any array is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from kgen.partition.step import Access, Step
from kgen.schedule.elementwise.groups import is_shifted
from kgen.schedule.elementwise.strided import elements_a_thread
from kgen.schedule.facts import group_size
from kgen.schedule.schedule import AccessKind, AccessSchedule, Schedule
from kgen.schedule.target import PORTABLE

LayoutClass = Literal["any", "contiguous", "rows", "strided"]
MAX_RANK = 8  #: dimensions after merging
LAYOUTS: tuple[LayoutClass, ...] = ("any", "contiguous", "rows", "strided")


def cover_contiguous(step: Step, layout: LayoutClass, rank: int) -> Iterator[Schedule]:
    """Kernels for operands aligned to 16 bytes, with 32-bit indices and with 64-bit ones.

    Between them one for any alignment, where that reads narrow inputs as aligned blocks; others are a row.
    """
    if layout != "strided":
        yield _contiguous(step, aligned=True)
    if layout in ("any", "rows") and _reads_blocks(step):
        yield _contiguous(step, aligned=False)
    if layout != "strided":
        yield _contiguous(step, aligned=True, bits=64)


def cover_rows(step: Step, layout: LayoutClass, rank: int) -> Iterator[Schedule]:
    """Kernels for outputs that are consecutive along the fastest dimension: with 32-bit offsets for up to two
    dimensions and for up to ``rank``, and with 64-bit ones.  Missing dimensions have extent 1.
    """
    if layout in ("any", "rows"):
        most = max(rank, 2)
        for few in dict.fromkeys((2, most)):
            yield _rows(step, few, 32)
        yield _rows(step, most if layout == "any" else MAX_RANK, 64)


def _reads_blocks(step: Step) -> bool:
    return any(t.kind == "shifted" for t in _contiguous(step, aligned=False).accesses)


def cover_tiles(step: Step, layout: LayoutClass, rank: int) -> Iterator[Schedule]:
    """A kernel for inputs that are consecutive along another dimension than the outputs; none where tiles of all inputs
    are too large for shared memory.
    """
    inputs = [t for t in step.accesses if not t.writes and not _is_single(step, t)]
    tuning = PORTABLE.tuning.elementwise
    side = 2 * tuning.tile_side
    fits = side * (side + 1) * sum(_itemsize(step, t) for t in inputs) <= tuning.tile_bytes
    if layout in ("any", "rows") and inputs and fits:
        kinds = [_kind_in_tiles(step, t) for t in step.accesses]
        patterns = [None if kind == "scalar" else i for i, kind in enumerate(kinds)]
        accesses = tuple(AccessSchedule(k, 0, p) for k, p in zip(kinds, patterns, strict=True))
        yield Schedule("tiled", tuning.block, 1, max(rank, 2), 32, accesses)


def _kind_in_tiles(step: Step, access: Access) -> AccessKind:
    return "scalar" if _is_single(step, access) else "vector" if access.writes else "either"


def cover_strided(step: Step, layout: LayoutClass, rank: int) -> Iterator[Schedule]:
    """Kernels with 32-bit offsets for up to two dimensions and for up to ``rank``, and one with 64-bit offsets for all.
    Missing dimensions have extent 1.
    """
    if layout in ("any", "strided"):
        for most in dict.fromkeys((min(rank, 2), rank)):
            yield _strided(step, most, 32)
        yield _strided(step, MAX_RANK, 64)


def _itemsize(step: Step, access: Access) -> int:
    return step.graph.operands[access.operand].dtype.size


def _is_single(step: Step, access: Access) -> bool:
    """Whether an operand is known to have one element where the space has more."""
    return all(dim == 1 for dim in step.graph.operands[access.operand].shape) and any(dim != 1 for dim in step.shape)


def _contiguous(step: Step, *, aligned: bool, bits: Literal[32, 64] = 32) -> Schedule:
    group = group_size([_itemsize(step, t) for t in step.accesses if not _is_single(step, t)])
    anchor = None if aligned or group == 1 else next(i for i, t in enumerate(step.accesses) if t.writes)
    accesses: list[AccessSchedule] = []
    for i, access in enumerate(step.accesses):
        size = _itemsize(step, access)
        if _is_single(step, access):
            accesses.append(AccessSchedule("scalar"))
        elif aligned or i == anchor:
            accesses.append(AccessSchedule("vector", group * size))
        else:
            shifted = not access.writes and is_shifted(size, group)
            accesses.append(AccessSchedule("shifted" if shifted else "vector", size))
    return Schedule("contiguous", PORTABLE.tuning.elementwise.block, group, 1, bits, tuple(accesses), anchor=anchor)


def _rows(step: Step, rank: int, bits: Literal[32, 64]) -> Schedule:
    """Groups begin where the first output is aligned; other operands have any alignment, inputs any stride."""
    group = group_size([_itemsize(step, t) for t in step.accesses if not _is_single(step, t)])
    anchor = None if group == 1 else next(i for i, t in enumerate(step.accesses) if t.writes)
    accesses: list[AccessSchedule] = []
    pattern = 0
    for i, access in enumerate(step.accesses):
        if _is_single(step, access):
            accesses.append(AccessSchedule("scalar"))
            continue
        size = _itemsize(step, access)
        alignment = (group * size if i == anchor else size) if access.writes else 0
        accesses.append(AccessSchedule("vector" if access.writes else "run", alignment, pattern))
        pattern += 1
    block = PORTABLE.tuning.elementwise.block
    return Schedule("rows", block, group, rank, bits, tuple(accesses), anchor=anchor)


def _strided(step: Step, rank: int, bits: Literal[32, 64]) -> Schedule:
    """Every operand has its own stride pattern, except for single elements."""
    accesses: list[AccessSchedule] = []
    pattern = 0
    for access in step.accesses:
        if _is_single(step, access):
            accesses.append(AccessSchedule("scalar"))
        else:
            accesses.append(AccessSchedule("strided", pattern=pattern))
            pattern += 1
    group = elements_a_thread([_itemsize(step, t) for t in step.accesses])
    return Schedule("strided", PORTABLE.tuning.elementwise.strided_block, group, rank, bits, tuple(accesses))
