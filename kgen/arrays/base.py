"""The interface of an array library (:class:`Adapter`), and what the adapters share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

from kgen.diagnostics import KgenError, error
from kgen.dtypes import DTYPES, DType
from kgen.spec import Spec


class Device(NamedTuple):
    """The device of an array's data."""

    kind: Literal["cpu", "cuda"]
    index: int = 0  # type: ignore[assignment]  # hides tuple.index, which no caller needs

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


class AttributeGuard(NamedTuple):
    """The attribute at the end of ``path`` of an array, called if ``call``, has to equal ``expected``.

    ``array`` is the name of an array or, if it is not a str, the object itself.
    """

    array: Any
    path: tuple[str, ...]
    expected: Any
    call: bool = False


class Guards(NamedTuple):
    """How a repeated call checks that its arrays are like those of an earlier call, except for data and address.

    Arrays are named; their exact types are always compared.  ``alike`` is a function and the arrays to call it with;
    ``same`` are pairs of names of one object; ``unless`` has to return False.  ``pointer`` is the path of attributes to
    the address, the last one called if ``pointer_call``, or a function.  ``stream`` returns the current stream; None
    on the CPU.  ``strides`` is the source of an array's strides; ``stride_bytes`` has their unit, by array, where it is
    not the element.  ``mark_written`` is called with the arrays that the kernels write.

    ``views`` lets C compare arrays that it has seen: True for arrays with NumPy's struct, or the capsule of a library's
    DLPack functions and the descriptor of an attribute that is False for each array.
    """

    attributes: tuple[AttributeGuard, ...]
    pointer: tuple[str, ...] | Callable[[Any], int]
    pointer_call: bool
    stream: Callable[[], int] | None
    alike: tuple[Callable[..., bool], tuple[str, ...]] | None = None
    same: tuple[tuple[str, str], ...] = ()
    unless: Callable[[], bool] | None = None
    strides: str = "strides"
    stride_bytes: Mapping[str, int] = {}
    mark_written: Callable[[tuple[Any, ...]], None] | None = None
    views: Any = None


#: From extents and strides, in elements, to a new array.
Allocator = Callable[[tuple[int, ...], tuple[int, ...]], Any]


class Adapter(Protocol):
    """One array library.  Stateless: every method takes the array.

    ``spec`` works wherever shape, dtype and strides are known, also without data (torch's meta tensors).  ``pointer``
    is for arrays from ``normalise``, and raises for arrays whose memory cannot be read directly.
    """

    @property
    def name(self) -> str: ...

    @property
    def immutable(self) -> bool:
        """Whether its arrays cannot be ``out=`` or ``inout`` arguments (JAX)."""
        ...

    @property
    def waits(self) -> bool:
        """Whether a call has to wait for its kernels, because the library does not know that they read its arrays."""
        ...

    @property
    def moves(self) -> bool:
        """Whether an array object may change its memory, so that a plan has to read the address at each call."""
        ...

    def normalise(self, x: Any) -> Any:
        """``x``, or an array that a kernel can read instead: a copy of unaligned data, a view of a foreign array.

        An array to be written has to be returned itself, or as a view of the same memory: see :meth:`writable`.
        """
        ...

    def spec(self, x: Any) -> Spec: ...

    def pointer(self, x: Any) -> int:
        """The address of element (0, ..., 0)."""
        ...

    def device(self, x: Any) -> Device | None:
        """None for host memory that is copied to the device: NumPy."""
        ...

    def writable(self, x: Any) -> bool:
        """Whether a kernel may write into ``x`` in place."""
        ...

    def copies(self, x: Any) -> bool:
        """Whether :meth:`normalise` makes a copy of ``x``."""
        ...

    def mark_written(self, arrays: Sequence[Any]) -> None:
        """Tells the library that kernels change these arrays: torch's backward checks it."""
        ...

    def empty(self, shape: Sequence[int], strides: Sequence[int], dtype: DType, like: Any) -> Any:
        """A new array with exactly these strides (in elements), on the device of ``like``.

        The result has a ``spec`` and a ``pointer``; :meth:`finish` turns it into an array of the library.
        """
        ...

    def finish(self, x: Any, stream: int = 0) -> Any:
        """The caller's result from an array of ``empty``, once its kernels are queued on ``stream``."""
        ...

    def stream(self, device: Device) -> int:
        """The caller's current stream, as a raw handle; 0 is the legacy default stream."""
        ...

    def current_stream(self, device: Device) -> Callable[[], int]:
        """:meth:`stream` of one device as a function, as cheap as the library allows."""
        ...

    def allocating_on(self, stream: int, device: Device) -> AbstractContextManager[Any]:
        """A context in which :meth:`empty` allocates in the order of ``stream``."""
        ...

    def ready(self, x: Any, stream: int) -> None:
        """Makes ``stream`` wait for pending writes to ``x``, if the library knows of them."""
        ...

    def item(self, x: Any) -> bool | int | float | complex:
        """The value of a 0-d array; waits for it."""
        ...

    def unmoved(self, arrays: Sequence[Any]) -> Callable[[], bool] | None:
        """A quick test whether these arrays are where and as they are now; None if there is none.

        Where it fails, :meth:`pointer`, :meth:`spec` and :meth:`writable` tell.
        """
        ...

    def guards(self, arrays: Sequence[tuple[str, Any, bool]]) -> Guards | None:
        """Guards for repeated calls with arrays like these; None if every call has to take the full path.

        ``arrays``: for each its name in the text, the array, and whether it is written.
        """
        ...

    def class_guards(self, arrays: Sequence[tuple[str, Any, bool]]) -> Guards | None:
        """The same for arrays of the same rank, with any extents and strides."""
        ...

    def class_allocator(self, dtype: DType, like: Any) -> Allocator:
        """:meth:`empty` as a function of extents and strides; for arrays with :meth:`class_guards`."""
        ...

    def allocator(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, like: Any) -> Callable[[], Any]:
        """:meth:`empty` as a function without arguments; for arrays with a :meth:`guards`."""
        ...


class Defaults:
    """Defaults that suit most libraries."""

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

    def unmoved(self, arrays: Sequence[Any]) -> Callable[[], bool] | None:
        return None

    def guards(self, arrays: Sequence[tuple[str, Any, bool]]) -> Guards | None:
        return None

    def class_guards(self, arrays: Sequence[tuple[str, Any, bool]]) -> Guards | None:
        return None

    def class_allocator(self, dtype: DType, like: Any) -> Allocator:
        raise NotImplementedError  # not called where class_guards() returns None

    def allocator(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, like: Any) -> Callable[[], Any]:
        raise NotImplementedError  # not called where guards() returns None


#: Exceptions of objects with a faulty array protocol.  Others, such as those of a signal handler, pass through.
MALFORMED = (ArithmeticError, AttributeError, BufferError, LookupError, RuntimeError, TypeError, ValueError)


class SpecCache(dict[Any, Spec]):
    """Specs by dtype, shape and strides: a lookup takes a third of the time of a new one.  Cleared when it is full."""

    _MAX_ENTRIES = 4096

    def keep(self, key: Any, spec: Spec) -> Spec:
        if len(self) >= self._MAX_ENTRIES:
            self.clear()
        self[key] = spec
        return spec


def unsupported_dtype(dtype: object) -> KgenError:
    names = ", ".join(t.short for t in DTYPES)
    return error("unsupported-dtype", f"kgen has no dtype for `{dtype}`", f"it has {names}")


def span(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """The lowest and highest offset of an array's elements from element (0, ..., 0), in elements.

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
    """Raises :class:`~kgen.KgenError` (``bad-array``) for an address and extents that no array can have."""
    if any(n < 0 for n in spec.shape):
        raise error("bad-array", f"the array claims a shape of {spec.shape}")
    low, high = span(spec.shape, spec.strides)
    first, last = address + low * spec.dtype.size, address + (high + 1) * spec.dtype.size
    if high >= low and (address == 0 or first < 0 or last > _MEMORY):
        raise error("bad-array", f"the array claims {last - first} bytes of memory from {max(first, 0):#x} on")


MAX_DIMENSIONS = 64  #: of an array, as in NumPy
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
    """A library's scalar as a Python scalar of the same kind."""
    if dtype.is_bool:
        return bool(value)
    if dtype.is_int:
        return int(value)
    return complex(value) if dtype.is_complex else float(value)
