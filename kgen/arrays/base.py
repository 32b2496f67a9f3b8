"""What kgen asks of an array library, and what the adapters share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

from kgen.diagnostics import KgenError, error
from kgen.dtypes import DTYPES, DType
from kgen.spec import Spec


class Device(NamedTuple):
    """Where an array's data is."""

    kind: Literal["cpu", "cuda"]
    index: int = 0  # type: ignore[assignment]  # hides tuple.index, which nobody needs of a device

    def __str__(self) -> str:
        return "cpu" if self.kind == "cpu" else f"cuda:{self.index}"


CPU = Device("cpu", 0)
_CUDA: dict[int, Device] = {}


def cuda(index: int) -> Device:
    """``cuda:index``; the same object every time."""
    found = _CUDA.get(index)
    if found is None:
        found = _CUDA[index] = Device("cuda", index)
    return found


class Fact(NamedTuple):
    """What an array has to say again: the attribute at the end of ``path``, called if ``call``, is ``expected``.

    ``array`` is an array's name or, where it is no str, an object that is looked at itself.
    """

    array: Any
    path: tuple[str, ...]
    expected: Any
    call: bool = False


class Look(NamedTuple):
    """How a repeated call sees that its arrays are like those of an earlier one, in all but data and address.

    Arrays go by the names that they were given; their exact types are looked at anyway.  ``alike`` is a function and
    the arrays that it is called on; ``same`` are pairs that are one object; ``unless`` has to give False.
    ``pointer``: the attributes that lead to an address, the last one called if ``pointer_call``; or a function.
    ``stream`` gives the caller's current stream; None where there is none, on the CPU.  ``numel`` is the attribute that
    counts elements, called if ``numel_call``.  ``mark_written`` is called on the arrays that are written to.

    ``views`` lets C see at once that the very same arrays are as they were: True for arrays with NumPy's own struct, or
    the capsule of a library's DLPack functions and the descriptor of an attribute that is False of each array.
    """

    facts: tuple[Fact, ...]
    pointer: tuple[str, ...] | Callable[[Any], int]
    pointer_call: bool
    stream: Callable[[], int] | None
    alike: tuple[Callable[..., bool], tuple[str, ...]] | None = None
    same: tuple[tuple[str, str], ...] = ()
    unless: Callable[[], bool] | None = None
    numel: str = "size"
    numel_call: bool = False
    mark_written: Callable[[tuple[Any, ...]], None] | None = None
    views: Any = None


class Adapter(Protocol):
    """One array library.  Stateless: every method takes the array.

    ``spec`` works wherever shape, dtype and strides are known, also without data (torch's meta tensors).  ``pointer``
    is for arrays that came out of ``normalise``, and refuses arrays whose memory may not be read as it is.
    """

    @property
    def name(self) -> str: ...

    @property
    def immutable(self) -> bool:
        """Never an ``out=`` or ``inout`` argument (JAX)."""
        ...

    @property
    def waits(self) -> bool:
        """A call has to wait for its kernels: the library cannot be told that they still read its arrays."""
        ...

    @property
    def moves(self) -> bool:
        """The memory of one array object may become another while it lives, so that a plan looks at it every time."""
        ...

    def normalise(self, x: Any) -> Any:
        """``x`` itself, or what a kernel can read in its stead (a copy of unaligned data, a view of a foreign array).

        An array to be written has to come back as itself or as a view of the same memory: see :meth:`writable`.
        """
        ...

    def spec(self, x: Any) -> Spec: ...

    def pointer(self, x: Any) -> int:
        """The address of element (0, ..., 0)."""
        ...

    def device(self, x: Any) -> Device | None:
        """None where the data has no device of its own: NumPy."""
        ...

    def writable(self, x: Any) -> bool:
        """Whether a kernel may write into ``x`` where it is."""
        ...

    def copies(self, x: Any) -> bool:
        """Whether :meth:`normalise` makes a copy of ``x``."""
        ...

    def mark_written(self, arrays: Sequence[Any]) -> None:
        """Tells the library that kernels change these arrays: torch's backward looks for that."""
        ...

    def empty(self, shape: Sequence[int], strides: Sequence[int], dtype: DType, like: Any) -> Any:
        """A new array with exactly these strides (in elements), on the device of ``like``.

        What comes back has a ``spec`` and a ``pointer``; :meth:`finish` makes it the library's own.
        """
        ...

    def finish(self, x: Any, stream: int = 0) -> Any:
        """The caller's result, from what ``empty`` gave, once its kernels are queued on ``stream``."""
        ...

    def stream(self, device: Device) -> int:
        """The caller's current stream, as a raw handle; 0 is the legacy default stream."""
        ...

    def current_stream(self, device: Device) -> Callable[[], int]:
        """:meth:`stream` of one device as a function, as cheap as the library allows."""
        ...

    def allocating_on(self, stream: int, device: Device) -> AbstractContextManager[Any]:
        """Inside it :meth:`empty` gives memory that ``stream`` may write at once, and that is reused in its order."""
        ...

    def ready(self, x: Any, stream: int) -> None:
        """Lets ``stream`` wait for whatever still writes ``x``, where the library says so."""
        ...

    def item(self, x: Any) -> bool | int | float | complex:
        """The value of a 0-d array; waits for it."""
        ...

    def look(self, arrays: Sequence[tuple[str, Any, bool]]) -> Look | None:
        """How calls with arrays like these are told from others; None where every call has to be taken apart.

        ``arrays``: of each its name in the text, the array, and whether it is written to.
        """
        ...

    def look_dense(self, arrays: Sequence[tuple[str, Any, bool]]) -> Look | None:
        """The same for arrays in C order, whatever their extents are (but their rank is the same)."""
        ...

    def dense_allocator(self, dtype: DType, like: Any) -> Callable[[tuple[int, ...]], Any]:
        """A new array in C order, as a function of the shape that an array like ``like`` shows."""
        ...

    def allocator(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, like: Any) -> Callable[[], Any]:
        """What :meth:`empty` does, as a function without arguments; asked for where :meth:`look` gives something."""
        ...


class Defaults:
    """What most libraries answer."""

    immutable = False
    waits = False
    moves = False

    def normalise(self, x: Any) -> Any:
        return x

    def writable(self, x: Any) -> bool:
        return True

    def copies(self, x: Any) -> bool:
        return False

    def mark_written(self, arrays: Sequence[Any]) -> None:
        return

    def finish(self, x: Any, stream: int = 0) -> Any:
        return x

    def stream(self, device: Device) -> int:
        return 0

    def current_stream(self, device: Device) -> Callable[[], int]:
        return partial(self.stream, device)

    def allocating_on(self, stream: int, device: Device) -> AbstractContextManager[Any]:
        return nullcontext()

    def ready(self, x: Any, stream: int) -> None:
        return

    def look(self, arrays: Sequence[tuple[str, Any, bool]]) -> Look | None:
        return None

    def look_dense(self, arrays: Sequence[tuple[str, Any, bool]]) -> Look | None:
        return None

    def dense_allocator(self, dtype: DType, like: Any) -> Callable[[tuple[int, ...]], Any]:
        raise NotImplementedError  # look_dense() has given nothing

    def allocator(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, like: Any) -> Callable[[], Any]:
        raise NotImplementedError  # look() has given nothing


#: What code that pretends to be an array library raises.  Others, such as a signal handler's, are not kgen's.
MALFORMED = (ArithmeticError, AttributeError, BufferError, LookupError, RuntimeError, TypeError, ValueError)


class SpecCache(dict[Any, Spec]):
    """Specs by what a library says of an array: a lookup costs a third of making one.  Emptied when it is large."""

    _MOST = 4096

    def keep(self, key: Any, spec: Spec) -> Spec:
        if len(self) >= self._MOST:
            self.clear()
        self[key] = spec
        return spec


def unsupported_dtype(dtype: object) -> KgenError:
    names = ", ".join(t.short for t in DTYPES)
    return error("unsupported-dtype", f"kgen has no dtype for `{dtype}`", f"it has {names}")


def span(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """The lowest and highest element that an array touches, counted from element (0, ..., 0), in elements.

    ``(0, -1)`` for an array without elements.
    """
    low = high = 0
    for n, step in zip(shape, strides, strict=True):
        if n == 0:
            return 0, -1
        if step < 0:
            low += (n - 1) * step
        else:
            high += (n - 1) * step
    return low, high


def check_memory(spec: Spec, address: int) -> None:
    """Raises :class:`~kgen.KgenError` (``bad-array``) for memory that no array can have; protocols claim anything."""
    if any(n < 0 for n in spec.shape):
        raise error("bad-array", f"the array claims a shape of {spec.shape}")
    low, high = span(spec.shape, spec.strides)
    first, last = address + low * spec.dtype.size, address + (high + 1) * spec.dtype.size
    if high >= low and (address == 0 or first < 0 or last > _MEMORY):
        raise error("bad-array", f"the array claims {last - first} bytes of memory from {max(first, 0):#x} on")


MOST_DIMENSIONS = 64  #: of an array, as in NumPy
_MEMORY = 1 << 63  #: more than any address


def is_c_order(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether elements lie in C order without gaps; strides of extents of 1 do not matter."""
    step = 1
    for n, s in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1:
            if s != step and n != 0:
                return False
            step *= n
    return True


def as_python(value: Any, dtype: DType) -> bool | int | float | complex:
    """A library's scalar as Python's of the same kind."""
    if dtype.is_bool:
        return bool(value)
    if dtype.is_int:
        return int(value)
    return complex(value) if dtype.is_complex else float(value)
