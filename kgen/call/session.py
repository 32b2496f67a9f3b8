"""The memory of one call: the addresses of its operands, and its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import field
from typing import TYPE_CHECKING, Any

from kgen.call.arguments import ArrayValue, Value
from kgen.diagnostics import error
from kgen.dtypes import DType
from kgen.ir.graph import Operand
from kgen.records import dataclass
from kgen.runtime.stream import stream_handle
from kgen.schedule.step_layout import Array, Extents, sliced
from kgen.spec import known_strides

if TYPE_CHECKING:
    from kgen.arrays.base import Adapter
    from kgen.lowering import Specialised
    from kgen.runtime.backend import CudaBackend, HostBackend


@dataclass(slots=True)
class Session:
    """Operands of one call on one device.  ``adapter`` is the library of the results."""

    backend: HostBackend | CudaBackend
    adapter: Adapter
    like: Any
    stream: int
    is_given: bool = False  # whether the caller passed the stream
    staging: Any = None  # runtime.cuda.memory.Staging, when NumPy arrays run on a GPU
    memory: dict[str, Array] = field(default_factory=dict)  # operands at the caller's addresses, for overlap tests
    _results: dict[str, Any] = field(default_factory=dict)
    _allocated: set[str] = field(default_factory=set)
    _host_copies: list[Any] = field(default_factory=list)  # host arrays that are being copied
    _downloads: list[tuple[int, int, int]] = field(default_factory=list)  # device address, host address, bytes
    _copies_back: list[tuple[Any, Any]] = field(default_factory=list)

    def inputs(self, specialised: Specialised, values: Mapping[str, Value], extents: Extents) -> list[Array | None]:
        """The arrays that the kernels read (or update), one for each operand; None for outputs."""
        arrays: list[Array | None] = []
        operands = specialised.graph.operands
        for operand in operands:
            if operand.view is not None:
                base = arrays[operand.view.of]
                arrays.append(None if base is None else self.view(operands, operand, base, extents))
                continue
            value = values.get(operand.name) if operand.role in ("input", "inout") else None
            if not isinstance(value, ArrayValue):
                arrays.append(None)
                continue
            if operand.role == "inout":
                check_writable(value)
            arrays.append(self._operand(value, operand.role == "inout"))
        return arrays

    def view(self, operands: Sequence[Operand], operand: Operand, base: Array, extents: Extents) -> Array:
        """A view of an operand; ``base``: that operand, in the memory of the device."""
        assert operand.view is not None
        self.memory[operand.name] = sliced(operand.view, self.memory[operands[operand.view.of].name], extents)
        return sliced(operand.view, base, extents)

    def given(self, value: ArrayValue) -> Array:
        """An array of the caller to write into."""
        self._results[value.name] = value.original
        return self._operand(value, True, read=False)

    def allocate(self, name: str, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType) -> Array:
        """A new array of the caller's library."""
        context = self.adapter.allocating_on(self.stream, self.backend.device) if self.is_given else nullcontext()
        with context:
            made = self.adapter.empty(shape, strides, dtype, self.like)
        self._results[name] = made
        self._allocated.add(name)
        # Not every library supports the requested strides.
        return self._operand(
            ArrayValue(name, made, self.adapter.spec(made), self.adapter, self.adapter.device(made)), True, read=False
        )

    def result(self, name: str) -> Any:
        """A result: the caller's ``out=`` array, or a new one."""
        found = self._results[name]
        return self.adapter.finish(found, self.stream) if name in self._allocated else found

    def _operand(self, value: ArrayValue, writes: bool, *, read: bool = True) -> Array:
        adapter, array, spec = value.adapter, value.array, value.spec
        assert adapter is not None
        adapter.ready(array, self.stream)
        pointer = adapter.pointer(array)
        self.memory[value.name] = Array(spec.shape, spec.strides, spec.dtype.size, pointer)
        if self.staging is not None:
            return self._staged(value, writes, read)
        if spec.dtype.size > 1 and pointer % spec.dtype.size and 0 not in spec.shape:
            raise error(
                "misaligned",
                f"`{value.name}` starts at {pointer:#x}, not at a multiple of its elements' {spec.dtype.size} bytes",
                "pass a copy",
            )
        return self.memory[value.name]

    def _staged(self, value: ArrayValue, writes: bool, read: bool) -> Array:
        """A dense copy on the device, in the order of the host array's own strides."""
        import numpy as np

        array = np.asarray(value.array)
        broadcast = tuple(
            slice(0, 1) if s == 0 and n > 1 else slice(None)
            for s, n in zip(value.spec.strides, value.spec.shape, strict=True)
        )
        compact = array[broadcast] if broadcast else array
        dense = compact if compact.flags.forc else np.array(compact, order="K")
        self._host_copies.append(dense)
        size = dense.nbytes
        address = dense.__array_interface__["data"][0]
        pointer = self.staging.upload(address, size) if read else self.staging.allocate(size)
        if writes:
            self._downloads.append((pointer, address, size))
            if dense is not compact:
                self._copies_back.append((array, dense))
        steps = tuple(
            0 if s == 0 and n > 1 else d // dense.itemsize
            for s, n, d in zip(value.spec.strides, value.spec.shape, dense.strides, strict=True)
        )
        return Array(value.spec.shape, known_strides(value.spec.shape, steps), value.spec.dtype.size, pointer)

    def download(self) -> None:
        """Queue the copies to the host."""
        for pointer, address, size in self._downloads:
            self.staging.download(pointer, address, size)

    def copy_back(self) -> None:
        """Copy downloaded results into host arrays that are not dense."""
        import numpy as np

        for array, dense in self._copies_back:
            np.copyto(array, dense)


@contextmanager
def open_session(backend: HostBackend | CudaBackend, values: Sequence[ArrayValue], stream: Any) -> Iterator[Session]:
    """The memory of one call.  Leaving it waits only if NumPy arrays were copied."""
    import numpy as np

    from kgen.arrays import adapter_of

    first = next((v for v in values if v.adapter is not None), None)
    adapter = first.adapter if first is not None else adapter_of(np.empty(0))
    assert adapter is not None
    like = first.array if first is not None else None
    device = backend.device
    if device.kind == "cpu":
        if stream is not None:
            raise error("bad-call", "stream= is for CUDA, and this call runs on the CPU")
        yield Session(backend, adapter, like, 0)
    elif first is None or first.device is None:
        from kgen.runtime.cuda.memory import Staging

        with Staging(device.index) as staging:
            session = Session(backend, adapter, like, staging.stream, staging=staging)
            yield session
            session.download()
        session.copy_back()
    else:
        if stream is None:
            session = Session(backend, adapter, like, adapter.stream(device))
        else:
            session = Session(backend, adapter, like, stream_handle(stream), is_given=True)
        yield session
        if any(v.adapter is not None and v.adapter.waits for v in values):
            from kgen.runtime.cuda.memory import synchronise

            synchronise(device.index, session.stream)


def check_writable(value: ArrayValue) -> None:
    """Raises :class:`~kgen.KgenError` (``read-only``) for an array that a kernel may not write into."""
    assert value.adapter is not None
    if value.adapter.immutable:
        raise error(
            "read-only",
            f"`{value.name}` is a {value.adapter.name} array, which is immutable",
            "remove out=: the result is then a new array",
        )
    if not value.adapter.writable(value.original):
        _refuse_copied(value)
        raise error(
            "read-only",
            f"`{value.name}` is a {value.adapter.name} array that cannot be written to in place",
            "pass a writable array",
        )


def _refuse_copied(value: ArrayValue) -> None:
    """The errors for arrays that NumPy can write to, but kernels cannot, because they read a copy."""
    assert value.adapter is not None
    array = value.original
    if not value.adapter.copies(array) or not array.flags.writeable:
        return
    if not array.dtype.isnative:
        raise error(
            "unsupported-dtype",
            f"`{value.name}` has the other byte order ({array.dtype.str}), which kernels cannot write",
            "pass an array of this machine's byte order, and copy the result",
        )
    raise error(
        "misaligned",
        f"`{value.name}` has elements that are not aligned to {array.itemsize} bytes",
        "pass an aligned array, and copy the result",
    )
