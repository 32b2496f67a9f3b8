"""Staged rows: a block reads and writes them through shared memory."""

from __future__ import annotations

from kgen.codegen import names
from kgen.codegen.reduction.context import Declared
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.places import RowPlaces, row_coordinates
from kgen.codegen.reduction.row_context import SpacedOperand, Staged, StagedOperand
from kgen.schedule.reduction.schedule import WARP
from kgen.schedule.target import WORD


def staging(operands: Operands, places: RowPlaces) -> Staged | None:
    """How a kernel's rows are staged; None if they are not."""
    schedule, step = operands.schedule, operands.step
    staged = [i for i, t in enumerate(schedule.accesses) if t.kind == "staged"]
    spaced = [i for i, t in enumerate(schedule.accesses) if t.kind == "spaced"]
    if not schedule.stages:
        return None
    arrays, declared = _arrays(operands, [*staged, *spaced])
    moved: list[StagedOperand] = []
    for i in [*staged, *spaced]:
        reads, writes = step.accesses[i].reads and i in staged, step.accesses[i].writes
        at_once = schedule.block * (1 if _moves_singly(operands, i) else 16 // operands.operand(i).dtype.size)
        each = -(-schedule.rows * schedule.resident // at_once)
        moved.append(
            StagedOperand(
                f"{'' if writes else 'const '}{operands.type_of(i)}",
                places.base_of(i),
                arrays[i],
                _pitch(operands, i),
                operands.pointer(i),
                _reader(operands, i) if reads else "",
                f"store_rows<{schedule.block}, {_access_type(operands, i)}>" if writes else "",
                _access_type(operands, i),
                names.vector(operands.labels[i]),
                each,
                schedule.rows * schedule.shortest // at_once,
            )
        )
    warps = schedule.block // WARP
    # This many rows are an odd multiple of what the threads of a row access at once, which avoids bank conflicts.
    row_distance = min(schedule.threads if schedule.anchor is None else 2 * schedule.threads, warps)
    return Staged(
        tuple(declared), tuple(moved), tuple(_spaced(operands, i, arrays[i]) for i in spaced),
        0 if schedule.crosses else row_distance, warps, schedule.rows_per_thread > 1,
    )  # fmt: skip


def _spaced(operands: Operands, access: int, array: str) -> SpacedOperand:
    """How a block reads an operand with gaps between its rows."""
    schedule = operands.schedule
    places = RowPlaces(operands, "i")
    start = operands.start(access, places.base_of(access), places.row_offset(access))
    coordinates = row_coordinates(schedule, places.uses.kept, "row")
    value = f"{start.name}[i * {operands.steps(access)[0]}]"
    return SpacedOperand(operands.operand(access).name, array, _pitch(operands, access), coordinates, start, value)


def _pitch(operands: Operands, access: int) -> str:
    """The distance of rows in shared memory."""
    schedule = operands.schedule
    if operands.planned(access).kind == "spaced":
        return str(schedule.pitch)
    return str(schedule.resident) if schedule.threads == 1 else "layout.width"


def staged_helpers(operands: Operands) -> tuple[str, ...]:
    """The helpers that move staged rows."""
    pairs = enumerate(zip(operands.schedule.accesses, operands.step.accesses, strict=True))
    staged = [(i, access) for i, (planned, access) in pairs if planned.kind == "staged"]
    readers = dict.fromkeys(_reader(operands, i) for i, access in staged if access.reads)
    moved = (*readers, "stage_rows", "stage_last_rows") if readers else ()
    return (*moved, *(["store_rows"] if any(access.writes for _, access in staged) else []))


def staged_operands(operands: Operands) -> list[str]:
    """What a kernel requires of its staged operands."""
    accesses = [(operands.operand(i).name, t) for i, t in enumerate(operands.schedule.accesses)]
    staged = [(name, t.alignment) for name, t in accesses if t.kind == "staged"]
    spaced = [name for name, t in accesses if t.kind == "spaced"]
    through = "staged through shared memory"
    text = [f"Contiguous rows, {through}: {names.listed(name for name, _ in staged)}."] if staged else []
    text += [f"Rows with gaps, {through}: {names.listed(spaced)}."] if spaced else []
    aligned = [name for name, alignment in staged if alignment == 16]
    return text + ([f"Aligned to 16 bytes: {names.listed(aligned)}."] if aligned else [])


def _reader(operands: Operands, access: int) -> str:
    return "load_rows_evict_last" if access in operands.schedule.evict_last else "load_rows"


def _access_type(operands: Operands, access: int) -> str:
    """The type by which rows move: 16 bytes if aligned, as words, since the compiler would unpack vectors of halves."""
    c_type, alignment = operands.type_of(access), operands.planned(access).alignment
    if _moves_singly(operands, access):
        return c_type
    return "uint4" if alignment == 16 else f"Pack<{c_type}, {16 // operands.operand(access).dtype.size}, {alignment}>"


def _moves_singly(operands: Operands, access: int) -> bool:
    """Whether neighbouring threads take neighbouring elements of an operand that is not aligned to vectors.

    Those of 4 bytes and more are taken by four, one after the other: softmax of 13 float32 304 us, singly 322.
    """
    return operands.planned(access).alignment < 16 and operands.operand(access).dtype.size < WORD


def _arrays(operands: Operands, staged: list[int]) -> tuple[dict[int, str], list[Declared]]:
    """The array in shared memory of each operand, and the arrays' declarations.

    A row that is only written reuses the array of one that is only read, since its thread has read that before.
    """
    schedule, accesses = operands.schedule, operands.step.accesses
    arrays: dict[int, str] = {}
    declared: list[Declared] = []
    free: list[int] = []
    for i in sorted(staged, key=lambda i: not accesses[i].reads):
        c_type, pitch = operands.type_of(i), _pitch(operands, i)
        place = next((f for f in free if (operands.type_of(f), _pitch(operands, f)) == (c_type, pitch)), None)
        if not accesses[i].reads and place is not None:
            arrays[i] = arrays[place]
            free.remove(place)
            continue
        arrays[i] = names.shared(operands.labels[i])
        room = schedule.rows * schedule.resident
        if operands.planned(i).kind == "spaced":
            at_once = schedule.block // (schedule.resident if schedule.threads == 1 else WARP)
            room = -(-schedule.rows // at_once) * at_once * schedule.pitch
        declared.append(Declared(c_type, f"{arrays[i]}[{room}]"))
        if not accesses[i].writes:
            free.append(i)
    return arrays, declared
