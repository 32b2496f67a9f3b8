"""Rows that a block reads and writes by way of shared memory."""

from __future__ import annotations

from kgen.codegen import names
from kgen.codegen.reduction.access import RowAccess
from kgen.codegen.reduction.context import Declared, Staged, StagedOperand
from kgen.schedule.reduction.schedule import WARP


def staging(access: RowAccess) -> Staged | None:
    """How a kernel's rows move by way of shared memory, if they do."""
    schedule, step = access.schedule, access.step
    staged = [i for i, t in enumerate(schedule.touches) if t.access == "staged"]
    if not staged:
        return None
    arrays, declared = _arrays(access, staged)
    operands: list[StagedOperand] = []
    for i in staged:
        reads, writes = step.touches[i].reads, step.touches[i].writes
        each = -(-schedule.rows * schedule.held * access.operand(i).dtype.size // (16 * schedule.block))
        operands.append(
            StagedOperand(
                f"{'' if writes else 'const '}{access.type_of(i)}",
                access.base_of(i),
                arrays[i],
                names.pointer(access.operand(i).name),
                f"{_reader(access, i)}<{schedule.block}, {each}, {_access(access, i)}>" if reads else "",
                f"write_rows<{schedule.block}, {_access(access, i)}>" if writes else "",
            )
        )
    warps = schedule.block // WARP
    # So many rows further on, an odd multiple of what the threads of a row take at once lies behind.
    apart = min(schedule.threads if schedule.lead is None else 2 * schedule.threads, warps)
    needs_row = bool(schedule.patterns or schedule.coordinates)
    return Staged(
        tuple(declared), tuple(operands), apart, warps, schedule.repeat > 1,
        needs_row or bool(access.parts.row_stores), needs_row,
    )  # fmt: skip


def staged_helpers(access: RowAccess) -> tuple[str, ...]:
    """The device functions that the lines call."""
    pairs = enumerate(zip(access.schedule.touches, access.step.touches, strict=True))
    staged = [(i, touch) for i, (planned, touch) in pairs if planned.access == "staged"]
    readers = dict.fromkeys(_reader(access, i) for i, touch in staged if touch.reads)
    return (*readers, *(["write_rows"] if any(touch.writes for _, touch in staged) else []))


def moves_packs(access: RowAccess) -> bool:
    """Whether the lines have operands that move by less than words."""
    return any(t.access == "staged" and t.alignment < 16 for t in access.schedule.touches)


def staged_operands(access: RowAccess) -> list[str]:
    """What a kernel asks of its staged operands."""
    touches = enumerate(access.schedule.touches)
    staged = [(access.operand(i).name, t.alignment) for i, t in touches if t.access == "staged"]
    if not staged:
        return []
    text = [f"Contiguous rows, staged through shared memory: {names.listed(name for name, _ in staged)}."]
    aligned = [name for name, alignment in staged if alignment == 16]
    return text + ([f"Aligned to 16 bytes: {names.listed(aligned)}."] if aligned else [])


def _reader(access: RowAccess, touch: int) -> str:
    return "read_rows_evict_last" if touch in access.schedule.evict_last else "read_rows"


def _access(access: RowAccess, touch: int) -> str:
    """How 16 bytes move: as words where they are aligned, since the compiler takes vectors of halves apart."""
    alignment, size = access.planned(touch).alignment, access.operand(touch).dtype.size
    return "uint4" if alignment == 16 else f"Pack<{access.type_of(touch)}, {16 // size}, {alignment}>"


def _arrays(access: RowAccess, staged: list[int]) -> tuple[dict[int, str], list[Declared]]:
    """The array in shared memory that each operand has, and their declarations.

    A row that is only written takes the place of one that is only read: its thread has taken the elements before.
    """
    schedule, touches = access.schedule, access.step.touches
    arrays: dict[int, str] = {}
    declared: list[Declared] = []
    free: list[int] = []
    for i in sorted(staged, key=lambda i: not touches[i].reads):
        c_type = access.type_of(i)
        place = next((f for f in free if access.type_of(f) == c_type), None)
        if not touches[i].reads and place is not None:
            arrays[i] = arrays[place]
            free.remove(place)
            continue
        arrays[i] = names.shared(access.labels[i])
        declared.append(Declared(c_type, f"{arrays[i]}[{schedule.rows * schedule.held}]"))
        if not touches[i].writes:
            free.append(i)
    return arrays, declared
