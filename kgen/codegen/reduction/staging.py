"""Rows that a block reads and writes by way of shared memory."""

from __future__ import annotations

from kgen.codegen import names
from kgen.codegen.reduction.context import Declared, Staged, StagedOperand
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.places import RowPlaces
from kgen.schedule.reduction.schedule import WARP, RowSchedule


def staging(operands: Operands, places: RowPlaces) -> Staged | None:
    """How a kernel's rows move by way of shared memory, if they do."""
    schedule, step = operands.schedule, operands.step
    staged = [i for i, t in enumerate(schedule.touches) if t.access == "staged"]
    if not staged:
        return None
    arrays, declared = _arrays(operands, staged)
    moved: list[StagedOperand] = []
    for i in staged:
        reads, writes = step.touches[i].reads, step.touches[i].writes
        each = -(-schedule.rows * schedule.held * operands.operand(i).dtype.size // (16 * schedule.block))
        moved.append(
            StagedOperand(
                f"{'' if writes else 'const '}{operands.type_of(i)}",
                places.base_of(i),
                arrays[i],
                operands.pointer(i),
                f"{_reader(operands, i)}<{schedule.block}, {each}, {_access(operands, i)}>" if reads else "",
                f"write_rows<{schedule.block}, {_access(operands, i)}>" if writes else "",
            )
        )
    warps = schedule.block // WARP
    # So many rows further on, an odd multiple of what the threads of a row take at once lies behind.
    apart = min(schedule.threads if schedule.lead is None else 2 * schedule.threads, warps)
    return Staged(
        tuple(declared), tuple(moved), apart, warps, schedule.repeat > 1
    )  # fmt: skip


def staged_helpers(operands: Operands) -> tuple[str, ...]:
    """The device functions that the lines call."""
    pairs = enumerate(zip(operands.schedule.touches, operands.step.touches, strict=True))
    staged = [(i, touch) for i, (planned, touch) in pairs if planned.access == "staged"]
    readers = dict.fromkeys(_reader(operands, i) for i, touch in staged if touch.reads)
    return (*readers, *(["write_rows"] if any(touch.writes for _, touch in staged) else []))


def moves_packs(schedule: RowSchedule) -> bool:
    """Whether the lines have operands that move by less than words."""
    return any(t.access == "staged" and t.alignment < 16 for t in schedule.touches)


def staged_operands(operands: Operands) -> list[str]:
    """What a kernel asks of its staged operands."""
    touches = enumerate(operands.schedule.touches)
    staged = [(operands.operand(i).name, t.alignment) for i, t in touches if t.access == "staged"]
    if not staged:
        return []
    text = [f"Contiguous rows, staged through shared memory: {names.listed(name for name, _ in staged)}."]
    aligned = [name for name, alignment in staged if alignment == 16]
    return text + ([f"Aligned to 16 bytes: {names.listed(aligned)}."] if aligned else [])


def _reader(operands: Operands, touch: int) -> str:
    return "read_rows_evict_last" if touch in operands.schedule.evict_last else "read_rows"


def _access(operands: Operands, touch: int) -> str:
    """How 16 bytes move: as words where they are aligned, since the compiler takes vectors of halves apart."""
    alignment, size = operands.planned(touch).alignment, operands.operand(touch).dtype.size
    return "uint4" if alignment == 16 else f"Pack<{operands.type_of(touch)}, {16 // size}, {alignment}>"


def _arrays(operands: Operands, staged: list[int]) -> tuple[dict[int, str], list[Declared]]:
    """The array in shared memory that each operand has, and their declarations.

    A row that is only written takes the place of one that is only read: its thread has taken the elements before.
    """
    schedule, touches = operands.schedule, operands.step.touches
    arrays: dict[int, str] = {}
    declared: list[Declared] = []
    free: list[int] = []
    for i in sorted(staged, key=lambda i: not touches[i].reads):
        c_type = operands.type_of(i)
        place = next((f for f in free if operands.type_of(f) == c_type), None)
        if not touches[i].reads and place is not None:
            arrays[i] = arrays[place]
            free.remove(place)
            continue
        arrays[i] = names.shared(operands.labels[i])
        declared.append(Declared(c_type, f"{arrays[i]}[{schedule.rows * schedule.held}]"))
        if not touches[i].writes:
            free.append(i)
    return arrays, declared
