"""How a row kernel's threads share the groups of a row."""

from __future__ import annotations

from kgen.codegen.reduction.operands import Operands
from kgen.schedule.reduction.schedule import WARP, RowSchedule


def is_exact(schedule: RowSchedule) -> bool:
    """Whether every row fills its threads' registers exactly."""
    return schedule.stages and schedule.threads == 1


def resident_accesses(schedule: RowSchedule) -> set[int]:
    """The register-resident accesses.  What rows or groups share comes from the cache where used, unless prefetched."""
    if schedule.vectors == 0:
        return set()
    by_group = {i for i, t in enumerate(schedule.accesses) if t.kind == "column" and not schedule.segment_threads}
    others = {*range(len(schedule.accesses))} - by_group
    if schedule.prefetches:
        return others
    of_segments = {i for i, t in enumerate(schedule.accesses) if t.kind == "column" and schedule.segment_threads}
    some_differ = schedule.patterns > 0 or schedule.stages
    shared = [i for i, t in enumerate(schedule.accesses) if t.pattern is None and t.kind != "staged" and some_differ]
    return others - {*shared} | of_segments


def exchange_lanes(entries: int) -> int:
    """The lanes of each warp that merge what so many warps left: a power of two."""
    return min(1 << (entries - 1).bit_length(), WARP)


def stores_words(operands: Operands) -> bool:
    """Whether results of 8 bits are stored by whole words."""
    schedule, written = operands.schedule, (i for i, t in enumerate(operands.step.accesses) if t.writes)
    grouped = all(operands.is_grouped(i) or operands.is_one(i) for i in written)
    return schedule.anchor is None and schedule.group % 4 == 0 and grouped


def start_of_group(schedule: RowSchedule, v: str) -> str:
    """The index of the first element of a thread's group ``v``, counted from the row's first group."""
    threads, group = schedule.row_threads, schedule.group
    if schedule.segment_vectors > 1:
        near, whole = schedule.segment_threads, schedule.segment_threads * schedule.segment_vectors
        place = f"thread / {near} * {whole} + {v} * {near} + thread % {near}" if near > 1 else f"thread * {whole} + {v}"
        return f"{group} * ({place})"
    if threads == 1 and not v:
        return "0"
    number = f"{v} * {threads} + thread" if v and threads > 1 else v or "thread"
    if group == 1:
        return number
    return f"{group} * ({number})" if " " in number else f"{group} * {number}"
