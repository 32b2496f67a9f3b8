"""How column kernels walk their space, for predictions of their cost."""

from __future__ import annotations

from math import ceil, prod

from kgen.schedule.cost import Extents, Traffic, Walk, coarse, pieces, run
from kgen.schedule.elementwise.walks import DIVISION, arithmetic
from kgen.schedule.facts import Choice
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.schedule import ColumnSchedule
from kgen.schedule.schedule import AccessSchedule
from kgen.schedule.target import L1_OF_THREAD, LINE, WARP

#: Instructions that merge a state into another one, through shared memory; and those of a thread beside its elements.
_MERGE, _THREAD = 20, 40


def columns_walk(facts: RowFacts, choice: Choice) -> Walk:
    """Threads across groups of columns, and down each."""
    schedule, space = choice.schedule, coarse(choice.space)
    assert isinstance(schedule, ColumnSchedule)
    reduced, threads, group = schedule.reduced, schedule.threads, schedule.group
    inner, kept = space.shape[:reduced], space.shape[reduced:]
    height, lanes = prod(inner), schedule.block // threads
    across = max(schedule.in_turn, ceil(WARP / threads)) if schedule.in_turn else min(lanes, WARP)
    warp = _filled(inner, WARP / across) + _kept_box(schedule, kept, across)
    traffic = [
        Traffic(
            warp,
            _requests(t, facts.itemsizes[i], group) / (1 if any(space.strides[i][:reduced]) else height),
            facts.itemsizes[i],
            space.strides[i],
            facts.misaligned[i],
            facts.step.accesses[i].reads,
            schedule.vectors,
        )
        for i, t in enumerate(schedule.accesses)
    ]
    wide = _kept_box(schedule, kept, lanes)
    # What a block has in L1: what it reads at once, and what it reads next.
    deep = float(min(threads * schedule.vectors, height))
    room = L1_OF_THREAD * schedule.block
    while 2 * deep <= height and sum(pieces(t, _filled(inner, 2 * deep) + wide, LINE) for t in traffic) * LINE <= room:
        deep *= 2
    each, merges = ceil(height / threads), _MERGE * facts.rounds * group if threads > 1 else 0
    start = _THREAD + DIVISION[schedule.index_bits] * (len(kept) - 1) + merges
    loads = sum(t.requests for t in traffic) * 2 / group
    groups, rank = prod(kept) / group, len(space.shape)
    used = groups / (ceil(groups / lanes) * lanes) * height / (each * threads)
    then = (*range(reduced + 1, rank), reduced) if schedule.chunk else tuple(range(reduced, rank))
    return Walk(
        space,
        _filled(inner, deep) + wide,
        (*then, *range(reduced)),
        traffic,
        arithmetic(facts.step) + 2 * facts.rounds + loads + start / (each * group),
        min(1.0, used),
        schedule.block,
        waits=1 + (threads > 1) * facts.rounds,
        times=max(1.0, height / deep / _spans(schedule, ceil(groups / lanes))),
    )


def _spans(schedule: ColumnSchedule, tiles: int) -> int:
    """Blocks that share columns."""
    return max(1, schedule.target.tuning.columns.split_blocks // tiles) if schedule.split else 1


def _requests(planned: AccessSchedule, size: int, group: int) -> float:
    """Accesses of a warp for one element of each of its columns."""
    if planned.kind == "row":
        return 1
    return max(1.0, group * size / planned.alignment) if planned.kind == "vector" else group


def _filled(shape: tuple[int, ...], elements: float) -> Extents:
    """The box of so many elements in the order in which they are walked, the fastest dimension first."""
    return run((1.0,) * len(shape), range(len(shape)), shape, max(1.0, elements))


def _kept_box(schedule: ColumnSchedule, kept: tuple[int, ...], lanes: int) -> Extents:
    """What ``lanes`` neighbouring groups of columns cover of the kept dimensions."""
    if not schedule.chunk:
        return _filled(kept, lanes * schedule.group)
    first = (float(min(kept[0], schedule.group * min(schedule.chunk, lanes))), *(1.0 for _ in kept[1:]))
    return run(first, (*range(1, len(kept)), 0), kept, lanes * schedule.group)
