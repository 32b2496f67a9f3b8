"""The reasons for a schedule, as text for ``explain`` and the banners of generated files."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.schedule.facts import Facts, group_size
from kgen.schedule.schedule import Schedule
from kgen.spec import counted


def index_width_reason(schedule: Schedule, what: str = "every byte offset") -> str:
    if schedule.index_bits == 32:
        return f"32-bit indices: {what} is below 2^31"
    return f"64-bit {'offsets' if schedule.narrow_counts else 'indices'}: not {what} is below 2^31"


def vector_width_reason(schedule: Schedule, facts: Facts) -> str:
    vectors = [
        (size, name)
        for size, name, t in zip(facts.itemsizes, facts.names, schedule.accesses, strict=True)
        if t.is_vectorised
    ]
    if not vectors:  # everything that varies is at computed places
        return f"contiguous: {schedule.group} elements a thread"
    size, widest = max(vectors)
    if schedule.group < (group := group_size([size], facts.target)):
        elements = f"{schedule.group} elements" if schedule.group > 1 else "one element"
        return (
            f"contiguous: {elements} a thread, not {group}: there are few, which take long, so more threads share them"
        )
    return f"contiguous: {counted(schedule.group, 'element')} a thread, so that `{widest}` moves in 16-byte accesses"


def unvectorised_operands(schedule: Schedule, facts: Facts) -> tuple[str, ...]:
    """Which operands are not read in vectors, and why."""
    found: list[str] = []
    gathered = [n for n, t in zip(facts.names, schedule.accesses, strict=True) if t.kind == "gather"]
    if gathered:
        found.append(f"element by element: {listed(gathered)} not consecutive along rows")
    taken_apart = [n for n, t in zip(facts.names, schedule.accesses, strict=True) if t.kind == "interleaved"]
    if taken_apart:
        found.append(f"interleaved: {listed(taken_apart)} moved with all that lies between, by wide accesses")
    if schedule.anchor is not None:
        found.append(f"groups begin where `{facts.names[schedule.anchor]}` is aligned: its first element is not")
    shifted = [n for n, t in zip(facts.names, schedule.accesses, strict=True) if t.kind == "shifted"]
    if shifted:
        found.append(f"shifted: {listed(shifted)} not aligned to groups of {schedule.group}")
    narrow = _unaligned(schedule, facts)
    if narrow:
        found.append(f"element by element: {listed(narrow)} not aligned to groups of {schedule.group}")
    return tuple(found)


def group_reasons(schedule: Schedule, facts: Facts) -> tuple[str, ...]:
    """How operands are moved other than by vectors, and the width of offsets."""
    return (*unvectorised_operands(schedule, facts), index_width_reason(schedule))


def _unaligned(schedule: Schedule, facts: Facts) -> list[str]:
    return [
        name
        for name, size, t in zip(facts.names, facts.itemsizes, schedule.accesses, strict=True)
        if t.kind in ("vector", "transposed") and t.alignment < min(16, schedule.group * size)
    ]


def listed(names: Sequence[str]) -> str:
    quoted = [f"`{n}`" for n in dict.fromkeys(names)]
    if len(quoted) == 1:
        return f"{quoted[0]} is"
    return ", ".join(quoted[:-1]) + f" and {quoted[-1]} are"
