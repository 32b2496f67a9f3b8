"""What row kernels cost, by how rows are read: staged through shared memory, in place, in which order, by how many
threads."""

from __future__ import annotations

from math import prod

from kgen.schedule.cost import coarse
from kgen.schedule.elementwise.walks import arithmetic
from kgen.schedule.facts import Choice
from kgen.schedule.rates import RowRates
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.schedule import RowSchedule
from kgen.schedule.schedule import AccessSchedule
from kgen.schedule.search import overlapped
from kgen.schedule.target import WARP, WORD
from kgen.schedule.traffic import traffic


def row_seconds(facts: RowFacts, choice: Choice, rates: RowRates) -> float:
    """Seconds of one launch."""
    schedule = choice.schedule
    assert isinstance(schedule, RowSchedule)
    moved = traffic(schedule, facts.step, choice.space, facts.itemsizes)
    parts = (
        moved.memory / rates.memory,
        moved.l2 / rates.l2,
        moved.lines / rates.lines,
        warp_instructions(facts, choice, rates) / rates.issue,
    )
    return rates.launch + overlapped(parts, rates.overlap)


def busy(facts: RowFacts, choice: Choice) -> float:
    """The fraction of the SMs that have blocks."""
    schedule, rows = choice.schedule, prod(coarse(choice.space).shape[facts.reduced :])
    assert isinstance(schedule, RowSchedule)
    blocks = max(1.0, rows / schedule.rows) * schedule.cluster
    return 1 if schedule.split else min(1.0, blocks / facts.tuning.costs.filling)


def warp_instructions(facts: RowFacts, choice: Choice, rates: RowRates) -> float:
    """Of all warps of a launch."""
    assert isinstance(choice.schedule, RowSchedule)
    return _instructions(facts, choice.schedule, rates) * prod(choice.space.shape[facts.reduced :]) / WARP


def _instructions(facts: RowFacts, schedule: RowSchedule, rates: RowRates) -> float:
    """Of all threads that share a row; those without an element have as many as the others."""
    threads, each = schedule.threads, max(schedule.vectors, 1) * schedule.group
    sizes = [(t, facts.itemsizes[i]) for i, t in enumerate(schedule.accesses) if facts.varies[i]]
    loads = sum(_loads(t, size, schedule.group) for t, size in sizes)
    of_element = arithmetic(facts.step) * rates.arithmetic + loads * rates.load
    words = max(1.0, facts.state_bytes / WORD)
    exchanges = (threads.bit_length() - 1) * facts.rounds * words
    of_thread = rates.thread / schedule.rows_per_thread + exchanges * rates.shuffle
    alone = threads * (each * of_element + of_thread)
    if not schedule.stages:
        return float(alone)
    staged = [_staged(t, size, schedule.group, rates) for t, size in sizes]
    block_bytes = schedule.rows * facts.width * sum(size for t, size in sizes if t.kind in ("staged", "spaced"))
    resident = min(rates.threads, rates.shared_bytes // max(block_bytes, 1) * schedule.block)
    return float((alone + facts.width * sum(staged)) * (1 + rates.idle * (rates.threads / max(resident, 1) - 1)))


def _loads(planned: AccessSchedule, size: int, group: int) -> float:
    """Loads or stores for each element."""
    match planned.kind:
        case "staged":
            return 0
        case "vector":
            return max(1.0, group * size / max(planned.alignment, 1)) / group
        case "gather" | "spaced":
            return 1
        case "shifted":
            return 2 / group
        case _:
            return 1 / group


def _staged(planned: AccessSchedule, size: int, group: int, rates: RowRates) -> float:
    """Instructions that move an element through shared memory, whose blocks are copied by 16 bytes where aligned."""
    if planned.kind == "staged":
        return rates.copied * (size / 16 if planned.alignment >= 16 else 1) + rates.staged / group
    return rates.spaced + rates.staged / group if planned.kind == "spaced" else 0
