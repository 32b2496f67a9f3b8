"""Devices as data: their limits, and the tuning that schedules are chosen by."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from kgen.schedule.tuning import H200, Tuning

WARP = 32  # threads
WORD = 4  # bytes: what is narrower is shifted out of words where it is not aligned
SECTOR = 32  # bytes of memory that move at once


@dataclass(frozen=True, slots=True)
class Target:
    """Limits of a family of devices.

    ``vector_bytes`` is the widest single load or store; ``parameter_bytes`` what a kernel's parameters may take in all
    (CUDA C++ Programming Guide, "Function Parameters": 4,096 bytes on every device and toolkit); ``cluster`` how many
    blocks may form a thread-block cluster, 1 where there are none (8 are portable: "Thread Block Clusters").

    ``evict_last``: bytes that a row kernel reads, from which on L2 is told to evict them last; None where that was not
    measured.  Several times what L2 holds: 128 MiB, written and read in turn, lose 0.6% by it, 256 MiB gain 1.7%.
    """

    name: str
    vector_bytes: int = 16
    parameter_bytes: int = 4096
    cluster: int = 1
    evict_last: int | None = None
    tuning: Tuning = H200


PORTABLE = Target("any GPU from sm_75 up")
HOPPER = Target("sm_90 and later", cluster=8, evict_last=1 << 28)

#: With 32-byte vectors: ptxas takes packs of ``alignas(32)`` as one 256-bit access (``LDG.E.ENL2.256``).  No row of
#: :data:`TARGETS`: such a device has not been measured, and ``place`` keeps addresses modulo 16 bytes.
BLACKWELL = replace(HOPPER, name="sm_100 and later", vector_bytes=32)

#: The oldest compute capability that each is for, the newest first.
TARGETS = ((90, HOPPER),)

#: What every generated file has to compile for.
ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


def target_of(arch: str | None) -> Target:
    """What may be relied on where files run on ``arch`` (``sm_90``) and later; None: everywhere."""
    found = re.fullmatch(r"sm_([0-9]+)[af]?", arch or "")
    return next((target for oldest, target in TARGETS if found and int(found[1]) >= oldest), PORTABLE)
