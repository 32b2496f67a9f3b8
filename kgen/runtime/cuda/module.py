"""Loads a CUBIN and launches its kernels.

Not ``cuda.core``'s Kernel and launch, which do not accept structs as parameters and are slower than a prepacked
``void*[]`` with a prepared configuration.
A CUmodule, not a context-free CUlibrary: it is loaded immediately and into one context, so the first launch may be
captured, and a launch on another device's stream is an error, not a second, silent load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgen.records import dataclass
from kgen.runtime.cuda import libcuda as driver
from kgen.runtime.cuda.context import on, primary
from kgen.runtime.cuda.device import device_info
from kgen.runtime.cuda.driver import (
    INVALID_CONTEXT,
    INVALID_HANDLE,
    DriverError,
    check,
    explained,
    launch_failed,
    require,
)

if TYPE_CHECKING:
    from kgen.runtime.cuda.memory import DeviceBuffer
    from kgen.schedule.launch import Launch

Dim3 = tuple[int, int, int]

_DEFAULT_SHARED = 48 * 1024  # more dynamic shared memory has to be requested
_PORTABLE_CLUSTER = 8
_PDL_SINCE = (9, 0)  # the first devices with programmatic dependent launch


@dataclass(frozen=True, slots=True)
class KernelAttributes:
    """The resources of a compiled kernel; ``local_bytes`` above 0 means spilled registers or indexed local arrays."""

    registers: int
    local_bytes: int
    shared_bytes: int
    max_threads: int


class CudaModule:
    """The kernels of one CUBIN on one device.

    Never unloaded: a captured graph may keep a kernel until the process ends, and a CUBIN takes only kilobytes.
    """

    def __init__(self, module: int, device: int) -> None:
        self.start = driver.launch()
        self.device = device
        self._module = module
        self._functions: dict[str, int] = {}
        self._shared: dict[str, int] = {}
        self._active_clusters: dict[str, int] = {}  # clusters that the device has room for
        self._has_pdl = device_info(device).capability >= _PDL_SINCE

    @classmethod
    def load(cls, cubin: bytes, device: int) -> CudaModule:
        """Loads into the device's primary context, which torch and CuPy use too."""
        require()
        with on(device), explained("loading a kernel"):
            module = check("cuModuleLoadData", driver.cuModuleLoadData(cubin))
        return cls(module, device)

    def load_kernel(self, kernel: str) -> KernelAttributes:
        """Loads one kernel, as a capture needs, and returns its resources."""
        with on(self.device), explained(f"loading {kernel}"):
            function = self.function(kernel)

            def attribute(name: str) -> int:
                kind = driver.FUNCTION_ATTRIBUTES[name]
                return int(check("cuFuncGetAttribute", driver.cuFuncGetAttribute(kind, function)))

            return KernelAttributes(
                registers=attribute("NUM_REGS"),
                local_bytes=attribute("LOCAL_SIZE_BYTES"),
                shared_bytes=attribute("SHARED_SIZE_BYTES"),
                max_threads=attribute("MAX_THREADS_PER_BLOCK"),
            )

    def launch_arguments(self, kernel: str, launch: Launch, params: int, stream: int, pdl: bool) -> tuple[Any, ...]:
        """The arguments of :attr:`start` for a launch, which can be reused."""
        config = _config(self._grid(kernel, launch), launch.block, stream, pdl=pdl and self._has_pdl)
        return config, self.function(kernel), params, 0

    status_source = "{result}"
    resize_source = "{launch}[0].gridDimX, {launch}[0].gridDimY, {launch}[0].gridDimZ = {grid}"

    def native_launch(self, kernel: str, launch: Launch, pdl: bool) -> tuple[Any, ...]:
        grid = self._grid(kernel, launch)
        return self.function(kernel), grid, launch.block, 0, 0, (1, 1, 1), False, pdl and self._has_pdl

    def _grid(self, kernel: str, launch: Launch) -> Dim3:
        """The grid of a launch; a persistent kernel has as many clusters as fit the device."""
        return launch.grid_on(self.clusters(kernel, launch)) if launch.rule.persistent_cluster else launch.grid

    def clusters(self, kernel: str, launch: Launch) -> int:
        """How many clusters fit the device at a time; ``ALL_CLUSTERS`` where they are not persistent."""
        cluster = launch.rule.persistent_cluster
        if not cluster:
            from kgen.schedule.launch import ALL_CLUSTERS

            return ALL_CLUSTERS
        found = self._active_clusters.get(kernel)
        if found is None:
            config = _config((1024 * cluster, 1, 1), launch.block, 0, cluster=(cluster, 1, 1))
            with on(self.device), explained(f"{kernel}: how many clusters fit"):
                most = driver.cuOccupancyMaxActiveClusters(self.function(kernel), config)
                found = self._active_clusters[kernel] = check("cuOccupancyMaxActiveClusters", most)
        return found

    def context(self) -> int:
        """The handle of the context of the kernels."""
        return primary(self.device)

    @staticmethod
    def status(result: int) -> int:
        return result

    def scratch(self, size: int) -> DeviceBuffer:
        """Zeroed scratch memory for kernels, also during a capture."""
        from kgen.runtime.cuda.graph_memory import free_dropped
        from kgen.runtime.cuda.memory import zeros

        free_dropped()
        return zeros(self.device, size)

    @staticmethod
    def keep_for_graph(stream: int, scratch: DeviceBuffer) -> None:
        """Keep scratch memory as long as the graph that a stream captures."""
        from kgen.runtime.cuda.graph_memory import keep

        keep(stream, scratch)

    def is_capturing(self, stream: int) -> bool:
        status, capturing = driver.cuStreamIsCapturing(stream)
        return status == 0 and capturing != 0

    def recover(self, kernel: str, arguments: tuple[Any, ...], status: int) -> None:
        """Launches again if the thread had no context or another one; raises for other errors."""
        if arguments and status in (INVALID_CONTEXT, INVALID_HANDLE):
            with on(self.device):
                status = self.start(*arguments)
        if status:
            raise launch_failed(kernel, DriverError("cuLaunchKernelEx", status, driver.error_name(status)))

    # many: the parameters of cuLaunchKernelEx
    def launch(
        self,
        kernel: str,
        grid: Dim3,
        block: Dim3,
        params: int,
        *,
        shared: int = 0,
        stream: int = 0,
        cluster: Dim3 = (1, 1, 1),
        cooperative: bool = False,
    ) -> None:
        """Queues a kernel; does not wait.

        ``params`` is the address of a ``void*[]``, as for ``cuLaunchKernel``, ``stream`` a raw handle (0: the legacy
        default stream), ``grid`` counts blocks, also with a cluster.
        """
        function = self.function(kernel)
        if shared > _DEFAULT_SHARED and shared > self._shared.get(kernel, 0):
            self._allow(kernel, function, "MAX_DYNAMIC_SHARED_SIZE_BYTES", shared)
            self._shared[kernel] = shared
        if cluster[0] * cluster[1] * cluster[2] > _PORTABLE_CLUSTER:
            self._allow(kernel, function, "NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)
        config = _config(grid, block, stream, shared=shared, cluster=cluster, cooperative=cooperative)
        arguments = (config, function, params, 0)
        status = self.start(*arguments)
        if status:
            self.recover(kernel, arguments, status)

    def function(self, kernel: str) -> int:
        """The handle of a kernel."""
        function = self._functions.get(kernel)
        if function is None:
            with explained(f"loading {kernel}"):
                found = driver.cuModuleGetFunction(self._module, kernel.encode())
                function = self._functions[kernel] = check("cuModuleGetFunction", found)
        return function

    def _allow(self, kernel: str, function: int, attribute: str, value: int) -> None:
        kind = driver.FUNCTION_ATTRIBUTES[attribute]
        with on(self.device), explained(f"{kernel} ({attribute.lower()} = {value})"):
            check("cuFuncSetAttribute", driver.cuFuncSetAttribute(function, kind, value))


# many: the parameters of cuLaunchKernelEx
def _config(
    grid: Dim3,
    block: Dim3,
    stream: int,
    *,
    shared: int = 0,
    cluster: Dim3 = (1, 1, 1),
    cooperative: bool = False,
    pdl: bool = False,
) -> driver.LaunchConfig:
    attributes = []
    if cluster != (1, 1, 1):
        attributes.append(driver.LaunchAttribute(driver.CLUSTER_DIMENSION))
        attributes[-1].value.cluster[:] = cluster
    if cooperative:
        attributes.append(driver.LaunchAttribute(driver.COOPERATIVE))
        attributes[-1].value.flag = 1
    if pdl:
        attributes.append(driver.LaunchAttribute(driver.PROGRAMMATIC_STREAM_SERIALIZATION))
        attributes[-1].value.flag = 1
    table = (driver.LaunchAttribute * len(attributes))(*attributes)
    return driver.LaunchConfig(*grid, *block, shared, stream, table, len(attributes))
