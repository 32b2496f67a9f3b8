"""The memory traffic of a kernel, predicted from its schedule and from the layouts of its operands.

Memory moves in sectors of 32 bytes.  A kernel that reads an operand across its fastest dimension needs a part of each
sector, and the rest is of use only where the same block, or another that runs at the same time, needs it as well.  So
the traffic is counted over boxes of the iteration space: what a warp, a block, and all blocks at once take.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kgen.layout.iterator import IterationSpace
from kgen.partition.reduction_step import ReductionStep
from kgen.partition.step import Step
from kgen.records import dataclass
from kgen.schedule.reduction.schedule import NarrowColumnSchedule, RowSchedule, goes_along_rows, varying_accesses
from kgen.schedule.schedule import Schedule
from kgen.schedule.search import overlapped
from kgen.schedule.target import L1_OF_THREAD, LINE, SECTOR, WARP
from kgen.schedule.tuning import Tuning

Box = tuple[int, ...]  #: extents along the dimensions of a space


@dataclass(frozen=True, slots=True)
class KernelTraffic:
    """``memory`` and ``l2``: bytes of sectors that move from memory and from L2; ``lines``: cycles of L1;
    ``requests``: to L2, of rows whose elements are gathered."""

    memory: float
    l2: float
    lines: float
    requests: float

    def seconds(self, tuning: Tuning, instructions: float = 0, busy: float = 1) -> float:
        """The predicted time of the kernel, beside other kernels.  ``instructions``: of warps, where they are known.
        ``busy``: the fraction of the device's SMs that have blocks.
        """
        rates = tuning.gathered_rates
        of_l2 = max(self.l2 / rates.l2, self.requests / tuning.traffic.requests)
        of_sms = (part / busy for part in (of_l2, self.lines / rates.lines, instructions / rates.issue))
        return tuning.traffic.launch + overlapped((self.memory / rates.memory, *of_sms), rates.overlap)


def needed_bytes(space: IterationSpace, itemsizes: Sequence[int]) -> int:
    """Bytes that have to move: those of all operands."""
    return sum(size * space.elements_of(i) for i, size in enumerate(itemsizes))


def traffic(schedule: Schedule, step: Step, space: IterationSpace, itemsizes: Sequence[int]) -> KernelTraffic:
    """Of any kernel but ``boxes`` and ``tiled``, whose times :mod:`kgen.schedule.cost` predicts.  ``itemsizes``: of
    each access, in bytes.
    """
    rates = schedule.target.tuning.traffic
    written = [i for i, access in enumerate(step.accesses) if access.writes]
    block, warp = _block_box(schedule, space), _warp_box(schedule, space)
    wave = _wave_box(schedule, space, block, itemsizes)
    # Chunks end anywhere, and what lies beyond is only needed much later.
    burst = rates.burst if goes_along_rows(schedule) and schedule.chunk else SECTOR
    memory = l2 = lines = requests = 0.0
    passes = _passes(schedule, step)
    for i, size in enumerate(itemsizes):
        if i in written:
            l2 += _scattered(schedule, space, i, size, warp)
            lines += _lines(schedule, space, i, size, warp)
        else:
            near = _near_box(schedule, space, i, size, block)
            l2 += passes * _moved(space, i, size, near, SECTOR)
            requests += passes * _requests(schedule, space, i, size, near)
            lines += passes * _lines(schedule, space, i, size, warp)
        own = size * space.elements_of(i)
        kept = own <= rates.kept_bytes
        memory += own if kept else _moved(space, i, size, wave, burst)
    return KernelTraffic(memory, l2, lines, requests)


def _requests(schedule: Schedule, space: IterationSpace, access: int, size: int, block: Box) -> float:
    """Lines of which blocks that go along rows ask L2 for a part."""
    if schedule.accesses[access].kind != "gather" or not goes_along_rows(schedule):
        return 0.0
    return _moved(space, access, size, block, LINE) / LINE


def _passes(schedule: Schedule, step: Step) -> int:
    """How often a kernel reads its rows: once, where threads keep them; else for each round, and for what it writes."""
    walks = goes_along_rows(schedule) and not schedule.vectors
    if not walks or not isinstance(step, ReductionStep):
        return 1
    along = zip(step.accesses, varying_accesses(step), strict=True)
    return max(step.phase()) + any(access.writes and varies for access, varies in along)


def _moved(space: IterationSpace, access: int, size: int, box: Box, unit: int) -> float:
    """Bytes of units that are moved if every box moves its own."""
    boxes = space.numel / max(1, math.prod(box))
    return boxes * touched(box, space.strides[access], size, unit)


def _scattered(schedule: Schedule, space: IterationSpace, access: int, size: int, warp: Box) -> float:
    """Bytes of L2 for what is written: caches near the SMs do not collect what warps write, and sectors that are
    written in part take longer.  Where rows are peeled, neighbouring rows are at different places at a time.
    """
    own = size * space.elements_of(access)
    if schedule.accesses[access].kind != "gather":
        return own
    box = warp if schedule.anchor is None else (1,) * len(warp)
    moved = _moved(space, access, size, box, SECTOR)
    return moved + max(0.0, moved - own) * schedule.target.tuning.traffic.written_in_part


def touched(box: Sequence[int], strides: Sequence[int], size: int, unit: int) -> float:
    """Bytes of the aligned units that the elements of a box lie in, as expected where its runs begin anywhere.
    ``size``: of an element, in bytes."""
    run, runs, even = size, 1, True
    for step, extent in sorted([(abs(s) * size, n) for s, n in zip(strides, box, strict=True) if s and n > 1]):
        if step <= max(run, unit):
            run += (extent - 1) * step
        else:
            runs *= extent
            even = even and step % unit == 0
    return runs * (-(-run // unit) if even else 1 + (run - size) / unit) * unit


def _lines(schedule: Schedule, space: IterationSpace, access: int, size: int, warp: Box) -> float:
    """Cycles in which L1 serves an access, in lines that warps touch with each instruction."""
    group, kind, strides = schedule.group, schedule.accesses[access].kind, space.strides[access]
    along = schedule.reduced if isinstance(schedule, RowSchedule) and schedule.is_column else 0
    if kind in ("staged", "spaced"):
        return space.numel * size / LINE
    if kind in ("vector", "shifted", "linear"):
        return _moved(space, access, size, warp, LINE) / LINE
    if kind == "transposed":
        return space.numel * size / (WARP * 16) * (WARP / 2)
    # One instruction for each element of a group, whose lanes are a group apart.
    apart = tuple(s * group if d == along else s for d, s in enumerate(strides))
    lanes = tuple(-(-n // group) if d == along else n for d, n in enumerate(warp))
    shared = kind == "row" and not any(strides[d] for d, n in enumerate(lanes) if n > 1)
    each = 1 if shared else group
    # Short rows do not fill boxes: the lanes of an instruction then touch one line each at most.
    lines = min(WARP, touched(lanes, apart, size, LINE) / LINE)
    return space.numel / min(math.prod(warp), WARP * group) * each * lines


# --- boxes --------------------------------------------------------------------------------------------------


def _filled(extents: Sequence[int], count: int) -> Box:
    """The box of about ``count`` points in the order in which they are walked, fastest dimension first."""
    box: list[int] = []
    for extent in extents:
        box.append(max(1, min(extent, count)))
        count = -(-count // box[-1])
    return tuple(box)


def _rows(schedule: Schedule, kept: Sequence[int], count: int) -> Box:
    """The box of about ``count`` rows or columns in the order in which they are numbered."""
    if not goes_along_rows(schedule) or not schedule.chunk:
        return _filled(kept, count)
    units = list(kept)
    units[schedule.chunked] = schedule.chunk
    *box, chunks = _filled([*units, -(-kept[schedule.chunked] // schedule.chunk)], count)
    box[schedule.chunked] = min(box[schedule.chunked] * chunks, kept[schedule.chunked])
    return tuple(box)


def _block_box(schedule: Schedule, space: IterationSpace) -> Box:
    """What a block takes at about the same time."""
    if isinstance(schedule, RowSchedule):
        reduced = schedule.reduced
        inner, kept = space.shape[:reduced], space.shape[reduced:]
        if schedule.is_column:
            at_once = schedule.down * schedule.vectors
        else:
            at_once = math.prod(inner) if schedule.vectors else schedule.threads * schedule.group * 4
        return _filled(inner, at_once) + _rows(schedule, kept, schedule.rows)
    return _filled(space.shape, schedule.block * schedule.group)


def _near_box(schedule: Schedule, space: IterationSpace, access: int, size: int, block: Box) -> Box:
    """What a block takes of an operand while L1 has it: all of its rows; or those that its threads take at once, where
    these touch more lines of gathered elements than its share of L1, which are gone when threads take their next rows.
    """
    if not isinstance(schedule, RowSchedule) or schedule.rows_per_thread == 1:
        return block
    inner, kept = space.shape[: schedule.reduced], space.shape[schedule.reduced :]
    once = (*inner, *_rows(schedule, kept, schedule.rows // schedule.rows_per_thread))
    gathered = schedule.accesses[access].kind == "gather"
    lines = touched(once, space.strides[access], size, LINE)
    return once if gathered and lines > L1_OF_THREAD * schedule.block else block


def _warp_box(schedule: Schedule, space: IterationSpace) -> Box:
    """What a warp takes by one instruction, or by one for each element of a group."""
    group = schedule.group
    if not isinstance(schedule, RowSchedule):
        return _filled(space.shape, WARP * group)
    reduced = schedule.reduced
    inner, kept = space.shape[:reduced], space.shape[reduced:]
    if isinstance(schedule, NarrowColumnSchedule):
        return _filled(inner, WARP * group // schedule.columns) + _filled(kept, schedule.columns)
    if schedule.is_column:
        lanes = min(WARP, schedule.block // schedule.threads)
        return _filled(inner, WARP // lanes) + _filled(kept, lanes * group)
    lanes = min(WARP, schedule.threads)
    return _filled(inner, lanes * group) + _rows(schedule, kept, WARP // lanes)


def _wave_box(schedule: Schedule, space: IterationSpace, block: Box, itemsizes: Sequence[int]) -> Box:
    """What all blocks that run at the same time take, as far as L2 holds it."""
    rates = schedule.target.tuning.traffic
    reduced = schedule.reduced if isinstance(schedule, RowSchedule) else 0
    blocks = max(1, rates.threads // schedule.block)
    inner, first = block[:reduced], block[reduced:]
    while True:
        box = inner + _rows(schedule, space.shape[reduced:], math.prod(first) * blocks)
        held = sum(touched(box, space.strides[i], size, SECTOR) for i, size in enumerate(itemsizes))
        if blocks == 1 or held <= rates.held_bytes:
            return box
        blocks //= 2
