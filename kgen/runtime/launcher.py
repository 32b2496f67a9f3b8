"""Launches loaded kernels with the pointers and scalars of a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from threading import get_ident
from typing import Any, NamedTuple, Protocol

from kgen.codegen.kernels import Entry
from kgen.records import dataclass
from kgen.runtime.parameters import Kernels, ParameterLayout, ParameterMemory, Place, Room, Signature, with_room
from kgen.schedule.launch import Launch

_MAX_STREAMS = 64  # with parameter buffers that are kept

#: ``cudaStreamPerThread``: one handle for as many streams as there are threads.
PER_THREAD_STREAM = 2


class Module(Protocol):
    """Loaded code: a CudaModule or a CpuModule.

    ``start`` takes the arguments from ``launch_arguments``, runs without the GIL, and returns a result for ``status``.
    ``recover`` handles a failed launch: it raises, or launches again if it gets the arguments.
    """

    @property
    def start(self) -> Any: ...

    def launch_arguments(self, kernel: str, launch: Launch, params: int, stream: int, pdl: bool) -> tuple[Any, ...]: ...

    @staticmethod
    def status(result: Any) -> Any: ...

    status_source: str  # the same as Python source, of ``{result}``
    resize_source: str  # Python source that sets the ``{grid}`` of a ``{launch}``, a tuple

    def recover(self, kernel: str, arguments: tuple[Any, ...], status: Any) -> None: ...

    def scratch(self, size: int) -> Any:
        """Zeroed memory at ``address``, valid as long as the result."""
        ...

    def is_capturing(self, stream: int) -> bool: ...

    def keep_for_graph(self, stream: int, scratch: Any) -> None:
        """Keep scratch memory as long as the graph that a stream captures, and all that is made of it."""
        ...

    def clusters(self, kernel: str, launch: Launch) -> int:
        """How many clusters fit the device at a time; ``ALL_CLUSTERS`` where they are not persistent."""
        ...

    def native_launch(self, kernel: str, launch: Launch, pdl: bool) -> tuple[Any, ...]:
        """The code's address, grid, block, shared bytes, OS threads, cluster, whether it is cooperative, and whether it
        may start before the kernel ahead of it in the stream is complete.
        """
        ...


@dataclass(frozen=True, slots=True)
class LoadedKernels:
    """Compiled kernels, loaded on a device.

    ``pdl``: whether the first one of a call may start before the kernel ahead of it in the stream is complete.
    """

    entries: tuple[Entry, ...]
    signature: Signature
    module: Module
    pdl: bool


class ParameterBuffer(NamedTuple):
    """The parameters of all kernels in memory, with their launches, for one stream; one thread uses it at a time."""

    buffer: Any
    launches: tuple[tuple[Any, ...], ...]
    memory: ParameterMemory
    scratch: Any  # owns the memory that the kernels share
    is_captured: bool


class Owner(Protocol):
    """Keeps count of the scratch memory of a program."""

    def owns(self, scratch: int) -> None:
        """So many bytes were allocated."""


class Launcher:
    """Launches the kernels of one lowered program on one device.  Safe to use from several threads."""

    def __init__(
        self, loaded: LoadedKernels | None, kernels: Kernels, owner: Callable[[], Owner | None] = lambda: None
    ) -> None:
        """``loaded``: None where no kernel is launched.  ``owner``: whom to tell of scratch memory, if it is there."""
        self.module: Any = loaded.module if loaded else None
        # After each other, the kernels of one call start early even without the option.
        self._pdl = tuple(
            launch.rule.starts_early and (number > 0 or (loaded is not None and loaded.pdl))
            for number, (_, launch) in enumerate(kernels.launched)
        )
        self.signature = loaded.signature if loaded else Signature(())
        self.entries = tuple(entry for entry, _ in kernels.launched)
        self.names = tuple(entry.name for entry in self.entries)
        self._launches = tuple(launch for _, launch in kernels.launched)
        self._kernels = kernels
        self._owner = owner
        self._layout = ParameterLayout.of(self.signature, kernels)
        # Free buffers by stream, or by thread for the per-thread stream; `pop` and `append` make this thread-safe.
        self.ready: dict[int, list[ParameterBuffer]] = {}

    def new_parameters(self, stream: int) -> ParameterBuffer:
        """A new buffer; ``ready`` then has a list for its stream."""
        key = self._key(stream)
        if key not in self.ready:
            while len(self.ready) >= _MAX_STREAMS:
                self.ready.popitem()
            self.ready[key] = []
        return self._make_parameters(stream, is_captured=False)

    def _key(self, stream: int) -> int:
        """The key in ``ready``: launches that may run at the same time must not share memory."""
        return -get_ident() if stream == PER_THREAD_STREAM and self.has_scratch else stream

    @property
    def has_scratch(self) -> bool:
        """Whether the kernels use scratch memory, which a graph must not share with other launches."""
        return self._layout.scratch > 0

    def _make_parameters(self, stream: int, *, is_captured: bool) -> ParameterBuffer:
        scratch = self.module.scratch(self._layout.scratch) if self.has_scratch else None
        owner = self._owner() if self.has_scratch else None
        if owner is not None:
            owner.owns(self._layout.scratch)
        memory = self._layout.memory(scratch.address if scratch is not None else 0)
        launches = tuple(
            self.module.launch_arguments(name, launch, address, stream, pdl)
            for name, launch, address, pdl in zip(self.names, self._launches, memory.addresses, self._pdl, strict=True)
        )
        return ParameterBuffer(memory.buffer, launches, memory, scratch, is_captured)

    def acquire(self, stream: int) -> ParameterBuffer:
        """A buffer for exclusive use until it is released."""
        if self.has_scratch and self.module.is_capturing(stream):
            # The graph may run at any time, also concurrently with other launches.
            parameters = self._make_parameters(stream, is_captured=True)
            self.module.keep_for_graph(stream, parameters.scratch)
            return parameters
        try:
            return self.ready[self._key(stream)].pop()
        except (KeyError, IndexError):
            return self.new_parameters(stream)

    def release(self, stream: int, parameters: ParameterBuffer) -> None:
        if not parameters.is_captured:
            self.ready.setdefault(self._key(stream), []).append(parameters)

    def run(self, stream: int, values: Sequence[Any]) -> None:
        """Queue every kernel.  ``values``: one for each variable of the signature, as ``struct`` takes them."""
        if not self.names:
            return
        parameters = self.acquire(stream)
        try:
            self.signature.packer.pack_into(parameters.buffer, 0, *values)
            self.start(parameters)
        finally:
            self.release(stream, parameters)

    def start(self, parameters: ParameterBuffer) -> None:
        """Queue every kernel with the values in a buffer."""
        module = self.module
        for name, arguments in zip(self.names, parameters.launches, strict=True):
            status = module.status(module.start(*arguments))
            if status:
                module.recover(name, arguments, status)

    def roomy(self) -> Launcher:
        """The same kernels with buffers of their own, for a caller that modifies them, and with room for more."""
        made = copy(self)
        made.ready = {}
        made._layout = ParameterLayout.of(self.signature, self._kernels, with_room)
        return made

    @property
    def rooms(self) -> tuple[Room, ...]:
        """The memory that the kernels share."""
        return self._layout.rooms

    def places(self) -> tuple[tuple[Place, ...], ...]:
        """For each kernel, where the parameters are that depend on extents and strides."""
        return tuple(
            tuple(
                Place(p.kind, p.key, offset)
                for p, offset in zip(entry.parameters, table, strict=True)
                if p.kind in ("size", "shape", "layout", "n")
            )
            for entry, table in zip(self.entries, self._layout.tables, strict=True)
        )

    def clusters(self, number: int) -> int:
        """How many clusters of kernel ``number`` run at a time, for its launch rule."""
        found: int = self.module.clusters(self.names[number], self._launches[number])
        return found

    def parameter_image(self) -> bytearray:
        """The bytes of the parameters before any variable is written."""
        return bytearray(self._layout.fixed_at) + bytearray(self._layout.fixed)

    def native_kernels(self) -> tuple[tuple[Any, ...], ...]:
        """The launches for ``kgen/_call.c``, each with the offsets of its parameters in the image."""
        return tuple(
            (*self.module.native_launch(name, launch, pdl), table)
            for name, launch, pdl, table in zip(self.names, self._launches, self._pdl, self._layout.tables, strict=True)
        )

    def native_scratch(self) -> tuple[Any, ...] | None:
        """For ``kgen/_call.c``: functions that acquire and release a buffer, the path to its scratch address, and the
        offsets of pointers to scratch memory in the image.
        """
        if not self.has_scratch:
            return None
        return self.acquire, self.release, ("scratch", "address"), self._layout.scratch_at

    def failed(self, number: int, status: int) -> None:
        """Raises the error for a status of kernel ``number``."""
        self.module.recover(self.names[number], (), status)
