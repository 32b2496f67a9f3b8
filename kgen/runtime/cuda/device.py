"""Devices as data, for ``kgen doctor`` and for schedules."""

from __future__ import annotations

from functools import cache

from kgen.records import dataclass
from kgen.runtime.cuda import libcuda as driver
from kgen.runtime.cuda.driver import check, require


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """One GPU.  Sizes are in bytes; ``shared_per_block`` is the most that a kernel may use."""

    index: int
    name: str
    capability: tuple[int, int]
    sm_count: int
    memory: int
    l2: int
    shared_per_block: int
    shared_per_sm: int
    threads_per_sm: int
    memory_pools: bool

    @property
    def arch(self) -> str:
        """``sm_90``."""
        return f"sm_{self.capability[0]}{self.capability[1]}"


@cache
def device_info(index: int) -> DeviceInfo:
    """The properties of a device; creates no context."""
    state = require()
    if not 0 <= index < state.device_count:
        from kgen.runtime.cuda.context import primary

        primary(index)  # raises the error for a missing device
    handle = check("cuDeviceGet", driver.cuDeviceGet(index))

    def attribute(name: str) -> int:
        kind = driver.DEVICE_ATTRIBUTES[name]
        return int(check("cuDeviceGetAttribute", driver.cuDeviceGetAttribute(kind, handle)))

    name = check("cuDeviceGetName", driver.cuDeviceGetName(128, handle))
    return DeviceInfo(
        index=index,
        name=name.split(b"\0")[0].decode("utf-8", "replace"),
        capability=(attribute("COMPUTE_CAPABILITY_MAJOR"), attribute("COMPUTE_CAPABILITY_MINOR")),
        sm_count=attribute("MULTIPROCESSOR_COUNT"),
        memory=int(check("cuDeviceTotalMem", driver.cuDeviceTotalMem(handle))),
        l2=attribute("L2_CACHE_SIZE"),
        shared_per_block=attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        shared_per_sm=attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
        threads_per_sm=attribute("MAX_THREADS_PER_MULTIPROCESSOR"),
        memory_pools=bool(attribute("MEMORY_POOLS_SUPPORTED")),
    )


def devices() -> tuple[DeviceInfo, ...]:
    """Every GPU that the driver shows; raises :class:`~kgen.KgenError` when there is none."""
    return tuple(device_info(i) for i in range(require().device_count))
