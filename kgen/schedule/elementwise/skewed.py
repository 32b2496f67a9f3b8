"""Kernels with tiles whose rows begin at sectors of memory: ``skewed``, for 16-bit operands in two orders."""

from __future__ import annotations

from kgen.partition.step import Step
from kgen.schedule.cost import Traffic, Walk, coarse
from kgen.schedule.elementwise.launch import SKEWED_TILE
from kgen.schedule.elementwise.reasons import index_width_reason, listed
from kgen.schedule.elementwise.rows import by_groups, transposed_operands
from kgen.schedule.elementwise.walks import arithmetic
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.schedule import Schedule
from kgen.schedule.target import SECTOR, WARP
from kgen.schedule.trace import reaches

#: Bytes of an element, and instructions for one at most: others were not measured (*Transposes of an odd
#: number of halves: what bounds them*).
SIZE, FEW = 2, 8
#: Elements of a sector: a row begins so many elements or fewer behind its tile's first one.
SECTOR_ELEMENTS = SECTOR // SIZE


def skewed(facts: Facts) -> Choice | None:
    """One input runs along another dimension, and neither its rows nor the outputs' begin at aligned addresses."""
    if not facts.bounded or facts.coordinates or not _is_simple(facts.step) or len(facts.space.shape) != 2:
        return None
    second, transposed = transposed_operands(facts)
    shortest = facts.tuning.elementwise.shortest_skewed_side
    if len(transposed) != 1 or not all(reaches(n, shortest) for n in facts.space.shape):
        return None
    space = facts.space.with_first([0, second])
    schedule = by_groups(facts, "skewed", space, facts.target.vector_bytes // SIZE, transposed)
    if schedule.anchor is None or not _fits(facts.step, schedule):
        return None
    width, height = SKEWED_TILE
    name = listed([facts.names[i] for i in transposed])
    reason = (
        f"skewed: {name} consecutive along another dimension; rows of tiles of {width} x {height} begin at sectors of "
        "memory"
    )
    return Choice(schedule, space, (reason, index_width_reason(schedule)))


def _is_simple(step: Step) -> bool:
    """Whether little is computed of halves alone: registers are for operands in flight."""
    dtypes = [step.graph.operands[t.operand].dtype for t in step.accesses]
    return all(t.is_float and t.size == SIZE for t in dtypes) and arithmetic(step) <= FEW


def _fits(step: Step, schedule: Schedule) -> bool:
    """Whether all operands but single elements are an output and an input in groups that begin alike, and the input
    that lies across, whose rows begin anywhere; and whether 32 bits suffice: with 64, it takes more instructions.
    """
    accesses = zip(schedule.accesses, step.accesses, strict=True)
    found = sorted((t.kind, t.alignment // SIZE, a.reads, a.writes) for t, a in accesses if t.kind != "scalar")
    across, group = ("transposed", 1, True, False), schedule.group
    return schedule.index_bits == 32 and found == [
        across, ("vector", group, False, True), ("vector", group, True, False)
    ]  # fmt: skip


def skewed_walk(facts: Facts, choice: Choice) -> Walk:
    """Tiles; a warp has two rows of what lies across, and eight groups of four rows of the others."""
    schedule, space = choice.schedule, coarse(choice.space)
    width, height = SKEWED_TILE
    across = (float(WARP // 16), 16.0 * schedule.group)
    traffic = [
        Traffic(
            across if t.kind == "transposed" else (8.0 * schedule.group, 4.0),
            1,
            facts.itemsizes[i],
            space.strides[i],
            t.kind == "transposed",
            facts.step.accesses[i].reads,
        )
        for i, t in enumerate(schedule.accesses)
    ]
    block = (float(width), float(height))
    return Walk(space, block, (0, 1), traffic, arithmetic(facts.step) + 7, 1.0, schedule.block, 2, shared=1.25)
