"""Devices as data: their limits, and the tuning by which schedules are chosen."""

from __future__ import annotations

import re

from kgen.records import dataclass, replace
from kgen.schedule.tuning import H200, Tuning

WARP = 32  # threads
WORD = 4  # bytes; narrower elements at unaligned addresses are shifted out of words
LONG = 8  # bytes of the widest numbers
SECTOR = 32  # bytes: the unit of transfers between memory and L2
REGISTERS = 65536  # of an SM, of 4 bytes
L1_OF_THREAD = 80  # bytes of L1 for each of an SM's threads: 160 KiB beside shared memory
LINE = 128  # bytes of an L1 line: what one access of a warp reaches at once; each line that it touches takes a cycle


@dataclass(frozen=True, slots=True)
class Target:
    """Limits of a family of devices.

    ``vector_bytes`` is the widest single load or store; ``parameter_bytes`` the limit for all parameters of a kernel
    (CUDA C++ Programming Guide, "Function Parameters": 4,096 bytes on every device and toolkit); ``cluster`` how many
    blocks may form a thread-block cluster, 1 where there are none (8 are portable: "Thread Block Clusters").

    ``evict_last``: row kernels that read at least so many bytes, and write as many, load them with L2's evict-last
    hint; None where this was not measured.  It is more than L2 has (50 MB of an H100 or H200): from there on kernels
    that write and read in turn are no slower with the hint.  ``streaming``: row kernels that read at least so many
    bytes, and write less, load them with the evict-first hint.
    """

    name: str
    vector_bytes: int = 16
    parameter_bytes: int = 4096
    cluster: int = 1
    evict_last: int | None = None
    streaming: int | None = None
    tuning: Tuning = H200


PORTABLE = Target("any GPU from sm_75 up")
HOPPER = Target("sm_90 and later", cluster=8, evict_last=1 << 26, streaming=1 << 28)

#: With 32-byte vectors: ptxas takes packs of ``alignas(32)`` as one 256-bit access (``LDG.E.ENL2.256``).  Not in
#: :data:`TARGETS`: no such device has been measured, and ``place`` keeps addresses modulo 16 bytes.
BLACKWELL = replace(HOPPER, name="sm_100 and later", vector_bytes=32)

#: Targets with the oldest compute capability of each, the newest first.
TARGETS = ((90, HOPPER),)

#: Every generated file has to compile for these.
ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


def target_of(arch: str | None) -> Target:
    """The target for files that run on ``arch`` (such as ``sm_90``) and later; None: on every device."""
    found = re.fullmatch(r"sm_([0-9]+)[af]?", arch or "")
    return next((target for oldest, target in TARGETS if found and int(found[1]) >= oldest), PORTABLE)
