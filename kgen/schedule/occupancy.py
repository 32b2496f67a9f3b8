"""How long a kernel takes whose registers decide how many warps an SM holds: these hide what others wait for."""

from __future__ import annotations

from math import ceil

from kgen.records import dataclass
from kgen.schedule.cost import Counts
from kgen.schedule.rates import OccupancyRates
from kgen.schedule.search import overlapped
from kgen.schedule.target import REGISTERS, WARP, WORD


@dataclass(frozen=True, slots=True)
class Occupant:
    """``blocks`` of ``block`` threads.  ``kept``: registers of a thread for what it loads at once; ``others``: for
    its states.  ``most``: what the compiler has, at most.
    """

    blocks: float
    block: int
    kept: int
    others: int
    most: int


def seconds(counts: Counts, occupant: Occupant, rates: OccupancyRates) -> float:
    """Seconds of one launch, as predicted."""
    wanted = rates.own_registers + occupant.kept + occupant.others
    all_warps = occupant.blocks * occupant.block / WARP / rates.multiprocessors
    warps = min(resident_warps(occupant.block, min(wanted, occupant.most), rates), all_warps)
    hidden = 1 + rates.hiding_warps / warps
    spilled = 1 + rates.spilled * max(0, wanted - occupant.most)
    flying = 1 + rates.hiding_registers / (warps * max(1, min(occupant.kept, rates.most_flying)))
    parts = (
        max(flying * counts.memory / rates.memory, counts.rounds * rates.latency),
        counts.l2 / rates.l2,
        counts.lines / rates.lines,
        counts.requests / rates.requests,
        hidden * spilled * counts.instructions / rates.issue,
    )
    return rates.launch + overlapped(parts, rates.overlap)


def resident_warps(block: int, registers: int, rates: OccupancyRates) -> int:
    """Warps of an SM."""
    warps = ceil(block / WARP)
    blocks = min(rates.warps // warps, rates.registers // (ceil(registers / 8) * 8 * WARP * warps), rates.blocks)
    return max(1, blocks) * warps


def bytes_of_two_blocks(block: int, others: int) -> int:
    """Bytes of elements that a thread may keep so that two blocks fit an SM: one reads while the other exchanges.

    ``others``: registers of a thread for all else.
    """
    return WORD * (REGISTERS // (2 * block) // 8 * 8 - others)
