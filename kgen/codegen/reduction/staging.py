"""Rows that a block reads and writes by way of shared memory: the lines around the work on them."""

from __future__ import annotations

from kgen.codegen import names
from kgen.codegen.context import Staging
from kgen.codegen.reduction.access import RowAccess
from kgen.schedule.reduction.schedule import WARP


def staging(access: RowAccess) -> Staging:
    """The lines for a kernel's staged operands, if it has any."""
    schedule, step = access.schedule, access.step
    staged = [i for i, t in enumerate(schedule.touches) if t.access == "staged"]
    if not staged:
        return Staging()
    rows, threads, block, width = schedule.rows, schedule.threads, schedule.block, access.width
    wide = schedule.index_bits == 64
    index, many = ("long long", f"{rows}ll") if wide else ("unsigned int", f"{rows}u")
    arrays, declared = _arrays(access, staged)
    at = "rows_before" if wide else "(long long)rows_before"
    before = [
        *declared,
        f"const {index} rows_before = blockIdx.x * {many};  // those of other blocks",
        f"const int elements = (int)min({many}, n - rows_before) * layout.width;  // of this block's rows",
    ]
    after = ["__syncthreads();"]
    for i in staged:
        pointer = f"{names.pointer(access.operand(i).name)} + {at} * layout.width"
        if step.touches[i].reads:
            each = -(-rows * schedule.held * access.operand(i).dtype.size // (16 * block))
            read = f"{_reader(access, i)}<{block}, {each}, {_access(access, i)}>"
            before.append(f"{read}({arrays[i]}, {pointer}, elements, {rows} * {width});")
        if step.touches[i].writes:
            after.append(f"write_rows<{block}, {_access(access, i)}>({pointer}, {arrays[i]}, elements);")
    before.append("__syncthreads();")
    start = [f"const int lane = threadIdx.x % {threads};"] if threads > 1 else []
    loop = ""
    if schedule.repeat > 1:
        loop = f"for (int mine = threadIdx.x; mine < {rows}; mine += {block}) {{"
    else:
        start += _row(access)
    if schedule.patterns or schedule.coordinates or access.parts.row_stores:
        start.append("const bool live = rows_before + mine < n;  // the last block may have fewer rows")
    if schedule.patterns or schedule.coordinates:
        start.append(f"const {index} row = live ? rows_before + mine : 0;")
    for i in staged:
        read_only = "" if step.touches[i].writes else "const "
        start.append(f"{read_only}{access.type_of(i)}* const {access.base_of(i)} = {arrays[i]} + mine * {width};")
    writes = any(step.touches[i].writes for i in staged)
    return Staging(tuple(before), tuple(start), loop, tuple(after) if writes else ())


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
    text = [f"One row after the other, by way of shared memory: {names.listed(name for name, _ in staged)}."]
    aligned = [name for name, alignment in staged if alignment == 16]
    return text + ([f"Aligned to 16 bytes: {names.listed(aligned)}."] if aligned else [])


def _row(access: RowAccess) -> list[str]:
    """Lines that say which of its block's rows a thread works on."""
    schedule = access.schedule
    threads, warps = schedule.threads, schedule.block // WARP
    if threads == 1:
        return ["const int mine = threadIdx.x;  // of the block's rows"]
    # So many rows further on, an odd multiple of what the threads of a row take at once lies behind.
    apart = min(threads if schedule.lead is None else 2 * threads, warps)
    row = f"threadIdx.x / {WARP}{f' % {apart}' if apart < warps else ''} + {apart} * (threadIdx.x % {WARP} / {threads})"
    if apart < warps:
        row += f" + {apart * WARP // threads} * (threadIdx.x / {WARP * apart})"
    comment = "// Of the block's rows; those that a warp has are apart, so that they are in different banks."
    return [comment, f"const int mine = {row};"]


def _reader(access: RowAccess, touch: int) -> str:
    return "read_rows_evict_last" if touch in access.schedule.evict_last else "read_rows"


def _access(access: RowAccess, touch: int) -> str:
    """How 16 bytes move: as words where they are aligned, since the compiler takes vectors of halves apart."""
    alignment, size = access.planned(touch).alignment, access.operand(touch).dtype.size
    return "uint4" if alignment == 16 else f"Pack<{access.type_of(touch)}, {16 // size}, {alignment}>"


def _arrays(access: RowAccess, staged: list[int]) -> tuple[dict[int, str], list[str]]:
    """The array in shared memory that each operand has, and their declarations.

    A row that is only written takes the place of one that is only read: its thread has taken the elements before.
    """
    schedule, touches = access.schedule, access.step.touches
    arrays: dict[int, str] = {}
    declared: list[str] = []
    free: list[int] = []
    for i in sorted(staged, key=lambda i: not touches[i].reads):
        c_type = access.type_of(i)
        place = next((f for f in free if access.type_of(f) == c_type), None)
        if not touches[i].reads and place is not None:
            arrays[i] = arrays[place]
            free.remove(place)
            continue
        arrays[i] = names.shared(access.labels[i])
        declared.append(f"alignas(16) __shared__ {c_type} {arrays[i]}[{schedule.rows * schedule.held}];")
        if not touches[i].writes:
            free.append(i)
    return arrays, declared
