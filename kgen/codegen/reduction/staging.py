"""Staged rows: a block reads and writes them through shared memory."""

from __future__ import annotations

from kgen.codegen import names
from kgen.codegen.reduction.context import Declared, Staged, StagedOperand
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.places import RowPlaces
from kgen.schedule.reduction.schedule import WARP, RowSchedule


def staging(operands: Operands, places: RowPlaces) -> Staged | None:
    """How a kernel's rows are staged; None if they are not."""
    schedule, step = operands.schedule, operands.step
    staged = [i for i, t in enumerate(schedule.accesses) if t.kind == "staged"]
    if not staged:
        return None
    arrays, declared = _arrays(operands, staged)
    moved: list[StagedOperand] = []
    for i in staged:
        reads, writes = step.accesses[i].reads, step.accesses[i].writes
        each = -(-schedule.rows * schedule.resident * operands.operand(i).dtype.size // (16 * schedule.block))
        moved.append(
            StagedOperand(
                f"{'' if writes else 'const '}{operands.type_of(i)}",
                places.base_of(i),
                arrays[i],
                operands.pointer(i),
                f"{_reader(operands, i)}<{schedule.block}, {each}, {_access_type(operands, i)}>" if reads else "",
                f"store_rows<{schedule.block}, {_access_type(operands, i)}>" if writes else "",
            )
        )
    warps = schedule.block // WARP
    # This many rows are an odd multiple of what the threads of a row access at once, which avoids bank conflicts.
    row_distance = min(schedule.threads if schedule.anchor is None else 2 * schedule.threads, warps)
    return Staged(
        tuple(declared), tuple(moved), row_distance, warps, schedule.rows_per_thread > 1
    )  # fmt: skip


def staged_helpers(operands: Operands) -> tuple[str, ...]:
    """The helpers that move staged rows."""
    pairs = enumerate(zip(operands.schedule.accesses, operands.step.accesses, strict=True))
    staged = [(i, access) for i, (planned, access) in pairs if planned.kind == "staged"]
    readers = dict.fromkeys(_reader(operands, i) for i, access in staged if access.reads)
    return (*readers, *(["store_rows"] if any(access.writes for _, access in staged) else []))


def moves_packs(schedule: RowSchedule) -> bool:
    """Whether some staged operand moves by accesses smaller than words."""
    return any(t.kind == "staged" and t.alignment < 16 for t in schedule.accesses)


def staged_operands(operands: Operands) -> list[str]:
    """What a kernel requires of its staged operands."""
    accesses = enumerate(operands.schedule.accesses)
    staged = [(operands.operand(i).name, t.alignment) for i, t in accesses if t.kind == "staged"]
    if not staged:
        return []
    text = [f"Contiguous rows, staged through shared memory: {names.listed(name for name, _ in staged)}."]
    aligned = [name for name, alignment in staged if alignment == 16]
    return text + ([f"Aligned to 16 bytes: {names.listed(aligned)}."] if aligned else [])


def _reader(operands: Operands, access: int) -> str:
    return "load_rows_evict_last" if access in operands.schedule.evict_last else "load_rows"


def _access_type(operands: Operands, access: int) -> str:
    """The type by which 16 bytes move: words if aligned, since the compiler would unpack vectors of halves."""
    alignment, size = operands.planned(access).alignment, operands.operand(access).dtype.size
    return "uint4" if alignment == 16 else f"Pack<{operands.type_of(access)}, {16 // size}, {alignment}>"


def _arrays(operands: Operands, staged: list[int]) -> tuple[dict[int, str], list[Declared]]:
    """The array in shared memory of each operand, and the arrays' declarations.

    A row that is only written reuses the array of one that is only read, since its thread has read that before.
    """
    schedule, accesses = operands.schedule, operands.step.accesses
    arrays: dict[int, str] = {}
    declared: list[Declared] = []
    free: list[int] = []
    for i in sorted(staged, key=lambda i: not accesses[i].reads):
        c_type = operands.type_of(i)
        place = next((f for f in free if operands.type_of(f) == c_type), None)
        if not accesses[i].reads and place is not None:
            arrays[i] = arrays[place]
            free.remove(place)
            continue
        arrays[i] = names.shared(operands.labels[i])
        declared.append(Declared(c_type, f"{arrays[i]}[{schedule.rows * schedule.resident}]"))
        if not accesses[i].writes:
            free.append(i)
    return arrays, declared
