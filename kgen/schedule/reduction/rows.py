"""Schedules of kernels that go along rows: how many threads share one, and whether they keep it in registers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from kgen.layout.iterator import IterationSpace
from kgen.partition.cut import RowStep
from kgen.schedule.elementwise.policy import Choice
from kgen.schedule.reduction.access import Walk, touches_of, walk_of
from kgen.schedule.reduction.evict_last import evicted_last, exceeds_l2
from kgen.schedule.reduction.peel import NEAR_BLOCK, margins, most_singles
from kgen.schedule.reduction.persistent import kept_near
from kgen.schedule.reduction.reasons import row_reasons
from kgen.schedule.reduction.schedule import ENOUGH_BLOCKS, WARP, RowSchedule, coordinate_axes, is_plain, is_small
from kgen.schedule.reduction.streaming import streamed
from kgen.schedule.reduction.threads import HELD_BYTES, Share, few_share, filled, share
from kgen.schedule.target import PORTABLE, Target


def choose_rows(
    step: RowStep,
    reduced: int,
    space: IterationSpace,
    itemsizes: Sequence[int],
    addresses: Sequence[int],
    aliased: Sequence[bool],
    *,
    bounded: bool = True,
    along: bool = True,
    target: Target = PORTABLE,
) -> Choice:
    """The schedule of a kernel with reductions.

    ``addresses``: of the operands, modulo the widest access.  ``bounded``: whether the extents are known; ``along``:
    whether those that are reduced are.
    """
    walk = walk_of(step, reduced, space, itemsizes, addresses, bounded=bounded, along=along, target=target)
    width, rows = math.prod(space.shape[:reduced]), math.prod(space.shape[reduced:])
    held, group = sum(itemsizes[i] for i in walk.own), walk.group
    shared = _share(step, walk, width, held, itemsizes, along=along, target=target)
    stored = rows * width * sum(itemsizes[i] for i in walk.written)
    # Rows that are slow by shared operands, which begin elsewhere in each, would lose by it.
    large = bounded and exceeds_l2(target, rows * width * held, stored) and (walk.lead is None or walk.weights < 2)
    # More in flight for each exchange: layernorm of 2048 bfloat16 1.03 of a copy and not 1.00, of 8192 1.02 and 0.95.
    roomy = shared.cluster == 1 and 0 < 2 * shared.vectors * group * held <= HELD_BYTES
    if large and walk.weights > 1 and shared.threads > WARP and roomy:
        shared = shared.halved(-(-width // group))
    threads, vectors, cluster = shared.threads, shared.vectors, shared.cluster
    plain = is_plain(step)
    touches = touches_of(walk, space, itemsizes, addresses, aliased, target.vector_bytes)
    bits: Literal[32, 64] = 32 if is_small(space, reduced, itemsizes, walk.wide) else 64
    stays = cluster > 1 and walk.lead is None and bits == 32 and reduced == 1
    near = kept_near(step, touches, itemsizes, threads, cluster, vectors * group) if stays else None
    lasts = large and vectors > 0 and near is None
    once = bounded and not walk.written and (vectors > 0 or plain)
    short = vectors > 0 and threads <= WARP
    schedule = RowSchedule(
        "row_reduce",
        shared.block,
        group,
        len(space.shape),
        bits,
        touches,
        tuple((axis, space.dim_of(axis)) for axis in sorted(coordinate_axes(step))),
        walk.lead,
        threads=threads,
        vectors=vectors,
        reduced=reduced,
        split=bounded and not vectors and plain and -(-rows // (shared.block // threads)) < ENOUGH_BLOCKS,
        cluster=cluster,
        repeat=shared.repeat,
        near=near,
        evict_last=evicted_last(step, touches, itemsizes, walk.own, group, target.vector_bytes) if lasts else (),
        streamed=streamed(step, space, touches, itemsizes, group, target, short=short) if once else (),
    )
    return Choice(schedule, space, row_reasons(schedule, step, width if along else None, plain=plain))


def _share(
    step: RowStep, walk: Walk, width: int, held: int, itemsizes: Sequence[int], *, along: bool, target: Target
) -> Share:
    """Who shares a row of ``width`` elements.  ``held``: bytes of one of them, of all operands."""
    flat, group, lead = walk.flat, walk.group, walk.lead
    if flat is not None:
        return Share(flat.threads, flat.vectors, 1, flat.block, flat.repeat)
    as_much = max((itemsizes[i] for i in walk.written), default=0) >= held
    row_bytes = width * (held + sum(itemsizes[i] for i in walk.written))
    if along and walk.whole and lead is None and (few := few_share(width // group, as_much=as_much)):
        return filled(few, row_bytes)
    largest = 1 if is_plain(step) else target.cluster
    near = [(NEAR_BLOCK // itemsizes[i], True) if i in walk.aligned else (group, False) for i in walk.shifted]
    least = 1 if lead is None else most_singles(group, margins(group, near))  # one for each
    grouped = width if lead is None else width // group * group
    rounds = max(step.phase())
    return filled(share(grouped, group, held, rounds, least, largest, along=along, as_much=as_much), row_bytes)
