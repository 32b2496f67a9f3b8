"""Device memory owned by kgen: for NumPy arrays on the GPU, and for libraries without writable arrays.

torch, CuPy and Numba allocate their own arrays, from their own pools and with their own captures.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from kgen.diagnostics import error
from kgen.runtime.cuda import libcuda as driver
from kgen.runtime.cuda.context import on, uncaptured
from kgen.runtime.cuda.device import device_info
from kgen.runtime.cuda.driver import OUT_OF_MEMORY, DriverError, check, explained, launch_failed, require

# The pool keeps this much for the next call, and returns the rest to the system.
_POOLED_BYTES = 64 * 2**20

_lock = threading.Lock()
_streams: dict[int, Any] = {}
_pools: dict[int, Any] = {}


def own_stream(device: int) -> Any:
    """kgen's own stream of a device, which does not synchronise with others."""
    found = _streams.get(device)
    if found is None:
        with _lock, uncaptured(device), explained("making a stream"):
            if device not in _streams:
                flag = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
                _streams[device] = check("cuStreamCreate", driver.cuStreamCreate(flag))
        found = _streams[device]
    return found


def _pool(device: int) -> Any:
    """A pool of kgen's own: the settings of the device's default pool affect other libraries."""
    found = _pools.get(device)
    if found is None:
        with _lock, uncaptured(device), explained("making a memory pool"):
            if device not in _pools:
                wanted = driver.CUmemPoolProps()
                wanted.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
                wanted.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
                wanted.location.id = device
                pool = check("cuMemPoolCreate", driver.cuMemPoolCreate(wanted))
                threshold = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
                kept = driver.cuuint64_t(_POOLED_BYTES)
                check("cuMemPoolSetAttribute", driver.cuMemPoolSetAttribute(pool, threshold, kept))
                _pools[device] = pool
        found = _pools[device]
    return found


def allocate(device: int, size: int, stream: Any = None) -> int:
    """The address of ``size`` bytes, 0 for none; stream-ordered on ``stream`` where one is given.

    Raises :class:`~kgen.KgenError` ("out-of-memory"), after which kgen can still be used.
    """
    if size == 0:
        return 0
    with on(device):
        try:
            if stream is not None and device_info(device).memory_pools:
                call = "cuMemAllocFromPoolAsync"
                return int(check(call, driver.cuMemAllocFromPoolAsync(size, _pool(device), stream)))
            return int(check("cuMemAlloc", driver.cuMemAlloc(size)))
        except DriverError as problem:
            if problem.code != OUT_OF_MEMORY:
                raise launch_failed(f"allocating {size:,} bytes on cuda:{device}", problem) from problem
            free, total = check("cuMemGetInfo", driver.cuMemGetInfo())
            have = f"{free:,} of {total:,} bytes are free"
            raise error("out-of-memory", f"cuda:{device} cannot allocate {size:,} bytes ({have})") from problem


def release(device: int, address: int, stream: Any = None) -> None:
    """Frees memory after the work queued on ``stream``, else after all work on the device."""
    if address == 0:
        return
    with on(device):  # unchecked: after a sticky error nothing can be freed
        if stream is not None and device_info(device).memory_pools:
            driver.cuMemFreeAsync(address, stream)
        else:
            driver.cuMemFree(address)


class DeviceBuffer:
    """Device memory that lives as long as this object."""

    def __init__(self, device: int, size: int) -> None:
        self.device = device
        self.size = size
        self.address = 0
        with uncaptured(device):
            self.address = allocate(device, size)

    def __del__(self) -> None:
        address, self.address = self.address, 0
        if address:
            try:
                with uncaptured(self.device):
                    release(self.device, address)
            except Exception:  # at interpreter exit the bindings may be unloaded
                return


def zeros(device: int, size: int) -> DeviceBuffer:
    """A zeroed buffer.  It may be allocated during a capture, of which it does not become a part."""
    stream = own_stream(device)
    with uncaptured(device), explained("allocating memory for a kernel"):
        buffer = DeviceBuffer(device, size)
        check("cuMemsetD8Async", driver.cuMemsetD8Async(buffer.address, 0, size, stream))
        check("cuStreamSynchronize", driver.cuStreamSynchronize(stream))
    return buffer


class Staging:
    """Device copies of host arrays for one call::

        with Staging(device) as staging:
            x = staging.upload(address, size)
            y = staging.allocate(size)
            module.launch(..., stream=staging.stream)
            staging.download(y, address, size)

    Leaving it waits for its work and frees the memory, also after an error.
    """

    def __init__(self, device: int) -> None:
        self.device = device
        self._handle = own_stream(device)
        self.stream = int(self._handle)
        self._addresses: list[int] = []

    def __enter__(self) -> Staging:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        for address in self._addresses:
            release(self.device, address, self._handle)
        self._addresses.clear()
        try:
            synchronise(self.device, self._handle)
        except Exception:
            if raised is None:  # else the first error is more useful
                raise

    def allocate(self, size: int) -> int:
        address = allocate(self.device, size, self._handle)
        if address:
            self._addresses.append(address)
        return address

    def upload(self, source: int, size: int) -> int:
        """A device copy of ``size`` bytes at a host address."""
        address = self.allocate(size)
        self.copy(address, source, size)
        return address

    def download(self, source: int, target: int, size: int) -> None:
        """Copies device memory to a host address; complete once the ``with`` is left."""
        self.copy(target, source, size)

    def copy(self, target: int, source: int, size: int) -> None:
        """Between any two addresses: unified addressing tells host from device."""
        if size == 0:
            return
        with on(self.device), explained("copying an array"):
            check("cuMemcpyAsync", driver.cuMemcpyAsync(target, source, size, self._handle))


def synchronise(device: int, stream: Any) -> None:
    """Waits for a stream (a handle or its number); faults of kernels are reported here."""
    handle = driver.CUstream(stream) if isinstance(stream, int) else stream
    with on(device), explained("waiting for a kernel"):
        check("cuStreamSynchronize", driver.cuStreamSynchronize(handle))


def order(device: int, before: int, after: int) -> None:
    """Later work on stream ``after`` waits for the work queued on ``before``; the host does not wait."""
    if before == after:
        return
    with on(device), explained("ordering two streams"):
        event = check("cuEventCreate", driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING))
        try:
            check("cuEventRecord", driver.cuEventRecord(event, driver.CUstream(before)))
            check("cuStreamWaitEvent", driver.cuStreamWaitEvent(driver.CUstream(after), event, 0))
        finally:
            driver.cuEventDestroy(event)  # takes effect once the event has completed


def device_of(address: int) -> int:
    """The device that a pointer belongs to."""
    require()
    kind = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    try:
        return int(check("cuPointerGetAttribute", driver.cuPointerGetAttribute(kind, address)))
    except DriverError as problem:
        raise error("bad-array", f"{address:#x} is not an address of CUDA memory: {problem.name}") from problem
