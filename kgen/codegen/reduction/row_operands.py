"""Row operands that are loaded ahead of stores: a load behind a store would wait for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from kgen.codegen.reduction.context import Batch
from kgen.codegen.reduction.registers import Registers
from kgen.schedule.occupancy import bytes_of_two_blocks


def keep_late(
    registers: Registers, reads: Iterable[int], used: Collection[int], *, loads: Sequence[int], single: bool
) -> tuple[list[int], Batch | None]:
    """Those of ``reads`` of which all groups are loaded ahead of the first store, or the batches of several groups.

    ``used``: by rounds of reductions.  ``loads``: what threads keep.  ``single``: whether there is one result, and no
    branch for quotients: these take the registers of batches.  Without it, short rows load all, others none.
    """
    schedule, late = registers.operands.schedule, _late(registers, reads, used)
    if not late:
        return [], None
    count = _groups_at_once(registers, late, loads) if single else 0
    if 1 < count < schedule.vectors and all(map(registers.is_loaded_whole, {*late, *loads})):
        return [], registers.ahead_of_stores(late, count)
    if not schedule.fills and count < schedule.vectors:
        return [], None
    registers.resident.update(late)
    registers.late.update(late)
    return late, None


def _late(registers: Registers, reads: Iterable[int], used: Collection[int]) -> list[int]:
    """What a thread does not keep, and no round needs, of rows of several groups a thread."""
    schedule = registers.operands.schedule
    special = schedule.stages or schedule.shared_operand is not None or schedule.anchor is not None
    if special or schedule.vectors < 2 or schedule.rows > 1 or schedule.reduced > 1:
        return []
    return [t for t in reads if t not in registers.resident and t not in used]


def _groups_at_once(registers: Registers, late: Sequence[int], loads: Sequence[int]) -> int:
    """Groups that are loaded at once: all where that leaves registers for two blocks on an SM."""
    schedule, tuning = registers.operands.schedule, registers.operands.schedule.target.tuning.rows
    most = bytes_of_two_blocks(schedule.block, tuning.other_registers)
    if schedule.fills and schedule.vectors * _group_bytes(registers, [*loads, *late]) <= most:
        return schedule.vectors
    return tuning.batch_bytes // _group_bytes(registers, late)


def _group_bytes(registers: Registers, accesses: Iterable[int]) -> int:
    """Bytes of a group of these accesses."""
    return registers.operands.schedule.group * sum(registers.operands.operand(t).dtype.size for t in accesses)
