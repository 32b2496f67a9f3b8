"""How long a kernel takes whose registers decide how many warps an SM holds: these hide what others wait for."""

from __future__ import annotations

from math import ceil

from kgen.records import dataclass
from kgen.schedule.cost import Counts
from kgen.schedule.rates import OccupancyRates
from kgen.schedule.target import WARP


@dataclass(frozen=True, slots=True)
class Occupant:
    """``blocks`` of ``block`` threads, and the ``registers`` of each thread."""

    blocks: float
    block: int
    registers: int


def seconds(counts: Counts, occupant: Occupant, rates: OccupancyRates) -> float:
    """Seconds of one launch, as predicted."""
    launched = occupant.blocks * occupant.block / WARP / rates.multiprocessors
    hidden = 1 + rates.hiding_warps / min(resident_warps(occupant, rates), launched)
    parts = (
        counts.memory / rates.memory,
        counts.l2 / rates.l2,
        counts.lines / rates.lines,
        hidden * counts.instructions / rates.issue,
    )
    return rates.launch + float(sum(part**rates.overlap for part in parts) ** (1 / rates.overlap))


def resident_warps(occupant: Occupant, rates: OccupancyRates) -> int:
    """Warps of an SM."""
    warps = ceil(occupant.block / WARP)
    of_block = ceil(occupant.registers / 8) * 8 * WARP * warps
    return max(1, min(rates.warps // warps, rates.registers // of_block, rates.blocks)) * warps
