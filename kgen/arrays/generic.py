"""Arrays of any other library, through ``__cuda_array_interface__`` or DLPack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import index
from typing import Any

import numpy as np

from kgen.arrays.base import CPU, MALFORMED, Defaults, Device, as_python, check_memory, cuda
from kgen.arrays.dlpack import device_of, read_capsule
from kgen.arrays.numpy_ import TO_NUMPY, at_address, dtype_of, empty
from kgen.arrays.owned import OwnedArray
from kgen.diagnostics import error
from kgen.dtypes import DType
from kgen.records import dataclass
from kgen.spec import Spec, c_strides


@dataclass(frozen=True, slots=True)
class View:
    """A foreign array's memory.  ``keep`` keeps it alive; ``stream`` may still be writing it."""

    spec: Spec
    pointer: int
    device: Device
    readonly: bool
    keep: object
    stream: int | None = None


class GenericAdapter(Defaults):
    """``normalise`` reads the protocol; the other methods take its result, or read the protocol again."""

    name = "array"
    waits = True  # an unknown library cannot be told that a kernel still reads its memory

    def normalise(self, x: Any) -> Any:
        if isinstance(x, View | OwnedArray):
            return x
        with explained(x, "__cuda_array_interface__"):
            has_interface = hasattr(x, "__cuda_array_interface__")
        return read_interface(x) if has_interface else read_dlpack(x)

    def spec(self, x: Any) -> Spec:
        found: Spec = self.normalise(x).spec
        return found

    def pointer(self, x: Any) -> int:
        return int(self.normalise(x).pointer)

    def device(self, x: Any) -> Device | None:
        found: Device = self.normalise(x).device
        return found

    def writable(self, x: Any) -> bool:
        view = self.normalise(x)
        return not (isinstance(view, View) and view.readonly)

    def empty(self, shape: Sequence[int], strides: Sequence[int], dtype: DType, like: Any) -> Any:
        device = self.device(like) or CPU
        return OwnedArray(shape, strides, dtype, device) if device.kind == "cuda" else empty(shape, strides, dtype)

    def finish(self, x: Any, stream: int = 0) -> Any:
        if isinstance(x, OwnedArray):
            x.stream = stream
        return x

    def ready(self, x: Any, stream: int) -> None:
        view = self.normalise(x)
        if view.device.kind == "cuda" and view.stream is not None:
            from kgen.runtime.cuda.memory import order

            order(view.device.index, view.stream, stream)

    def item(self, x: Any) -> bool | int | float | complex:
        view = self.normalise(x)
        return item_at(view.pointer, view.spec, view.device, view.stream or 0)


def item_at(address: int, spec: Spec, device: Device, stream: int) -> bool | int | float | complex:
    """The value at an address."""
    kind = TO_NUMPY[spec.dtype]
    if device.kind == "cuda":
        from kgen.runtime.cuda.memory import Staging, synchronise

        synchronise(device.index, stream)
        host = np.empty((), kind)
        with Staging(device.index) as staging:
            staging.download(address, host.ctypes.data, kind.itemsize)
    else:
        bits = at_address(address, (kind.itemsize,), (1,), np.dtype(np.uint8), None, True)
        host = np.frombuffer(bits.tobytes(), kind).reshape(())
    return as_python(host.item(), spec.dtype)


def read_interface(x: Any) -> View:
    """A view from ``__cuda_array_interface__``, version 2 or 3."""
    with explained(x, "__cuda_array_interface__"):
        found = x.__cuda_array_interface__
        if found.get("mask") is not None:
            raise error("not-an-array", "a masked array's mask would be lost", "pass the data without it")
        spec = _interface_spec(found, x)
        address, readonly = found["data"]
        address = index(address or 0)
        stream = found.get("stream")
        stream = None if stream is None else index(stream)
    check_memory(spec, address)
    if stream == 0:
        raise error("not-an-array", "__cuda_array_interface__ names stream 0, which it forbids as ambiguous")
    if address and 0 not in spec.shape:
        from kgen.runtime.cuda.memory import device_of as device_of_pointer

        device = cuda(device_of_pointer(address))
    else:
        device = cuda(0)
    # The protocol's 1 is the legacy default stream, whose raw handle is 0; 2 is the same in both.
    return View(spec, address, device, bool(readonly), x, 0 if stream == 1 else stream)


def _interface_spec(found: Any, x: Any) -> Spec:
    shape = tuple(map(index, found["shape"]))
    try:
        kind = np.dtype(str(found["typestr"]).replace("f1", "V1"))  # NumPy cannot read its own name of float8_e5m2
    except TypeError as problem:
        raise error("unsupported-dtype", f"kgen has no dtype for `{found['typestr']}`") from problem
    dtype = _interface_dtype(kind, x)
    given = found.get("strides")
    steps = tuple(s * dtype.size for s in c_strides(shape)) if given is None else tuple(map(index, given))
    if len(steps) != len(shape) or any(s % dtype.size for s in steps):
        raise error("bad-strides", f"strides of {steps} bytes do not fit {shape} elements of {dtype.size}")
    return Spec(shape, dtype, tuple(s // dtype.size for s in steps))


@contextmanager
def explained(x: Any, protocol: str) -> Iterator[None]:
    """Turns exceptions from reading a foreign object into a diagnostic."""
    try:
        yield
    except MALFORMED as problem:
        what = f"{type(problem).__name__}: {problem}"
        hint = "pass an array of a library that kgen knows, such as numpy.asarray(x)"
        raise error(
            "not-an-array", f"the {type(x).__name__}'s {protocol} cannot be read ({what:.200})", hint
        ) from problem


def _interface_dtype(kind: np.dtype[Any], x: Any) -> DType:
    """A typestr cannot name bfloat16 and fp8 (``<V2``); the object's own dtype may."""
    if kind.kind == "V":
        own = getattr(x, "dtype", None)
        if isinstance(own, np.dtype) and own.itemsize == kind.itemsize:
            return dtype_of(own)
        if isinstance(own, DType) and own.size == kind.itemsize:
            return own
    if not kind.isnative:
        raise error("unsupported-dtype", f"the array has swapped byte order (`{kind.str}`)")
    return dtype_of(kind)


def read_dlpack(x: Any) -> View:
    """A view from ``__dlpack__``; on a GPU, ordered before the legacy default stream, which :meth:`stream` returns."""
    with explained(x, "__dlpack__"):
        kind, number = x.__dlpack_device__()
        on_cuda = device_of(kind, number).kind == "cuda"
        arguments = {"stream": 1} if on_cuda else {}
        try:
            capsule = x.__dlpack__(max_version=(1, 1), **arguments)
        except TypeError:  # a producer from before DLPack 1.0
            capsule = x.__dlpack__(**arguments)
        spec, pointer, device, readonly = read_capsule(capsule)
    return View(spec, pointer, device, readonly, (capsule, x), 0 if on_cuda else None)
