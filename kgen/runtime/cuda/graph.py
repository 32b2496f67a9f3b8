"""A plan's launches as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kgen.dynamo import opaque
from kgen.runtime.cuda import libcuda as driver
from kgen.runtime.cuda.context import on, primary, uncaptured
from kgen.runtime.cuda.driver import check, explained
from kgen.runtime.stream import stream_handle


class CudaGraph:
    """An instantiated graph.

    ``check_arrays`` is called before every launch.  ``owner`` keeps the kernels' memory alive as long as the graph.
    """

    def __init__(
        self, device: int, handle: Any, current: Callable[[], int], check_arrays: Callable[[], None], owner: object
    ) -> None:
        self._device = device
        self._context = primary(device)
        self._handle = handle
        self._current = current
        self._check_arrays = check_arrays
        self._owner = owner

    @staticmethod
    def capture(
        device: int,
        queue: Callable[[int], None],
        current: Callable[[], int],
        check_arrays: Callable[[], None],
        owner: object,
    ) -> CudaGraph:
        """Captures what ``queue`` launches on the stream that it gets; nothing runs."""
        with on(device), explained("capturing a graph"):
            flag = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
            stream = check("cuStreamCreate", driver.cuStreamCreate(flag))
            try:
                mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
                check("cuStreamBeginCapture", driver.cuStreamBeginCapture(stream, mode))
                try:
                    queue(int(stream))
                finally:
                    graph = check("cuStreamEndCapture", driver.cuStreamEndCapture(stream))
                handle = check("cuGraphInstantiate", driver.cuGraphInstantiate(graph, 0))
                driver.cuGraphDestroy(graph)
            finally:
                driver.cuStreamDestroy(stream)
        return CudaGraph(device, handle, current, check_arrays, owner)

    @opaque
    def __call__(self, *, stream: Any = None) -> None:
        """Launch on ``stream``, by default the current stream of the arrays' library."""
        self._check_arrays()
        at = self._current() if stream is None else stream_handle(stream)
        if driver.cuCtxGetCurrent()[1] == self._context:
            result = driver.cuGraphLaunch(self._handle, driver.CUstream(at))
        else:
            with on(self._device), explained("launching a graph"):
                result = driver.cuGraphLaunch(self._handle, driver.CUstream(at))
        if result[0]:
            with explained("launching a graph"):
                check("cuGraphLaunch", result)

    def __del__(self) -> None:
        try:
            with uncaptured(self._device):
                driver.cuGraphExecDestroy(self._handle)
        except Exception:  # at interpreter exit the bindings may be unloaded
            return
