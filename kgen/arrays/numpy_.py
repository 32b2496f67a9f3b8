"""NumPy arrays, with ml_dtypes for bfloat16 and fp8; also NumPy scalars and buffers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from kgen.arrays.base import (
    MALFORMED,
    Allocator,
    AttributeGuard,
    Defaults,
    Device,
    Guards,
    SpecCache,
    as_python,
    is_c_order,
    span,
    unsupported_dtype,
)  # fmt: skip
from kgen.diagnostics import error
from kgen.dtypes import DTYPES, DType
from kgen.ir.rounding import numpy_dtype
from kgen.spec import Spec, c_strides, known_strides

#: kgen's dtypes to NumPy's, and the reverse (native byte order only).
TO_NUMPY: dict[DType, np.dtype[Any]] = {t: numpy_dtype(t) for t in DTYPES}
FROM_NUMPY: dict[np.dtype[Any], DType] = {n: t for t, n in TO_NUMPY.items()}


def dtype_of(dtype: np.dtype[Any]) -> DType:
    """kgen's dtype, also of a byte-swapped one; raises :class:`~kgen.KgenError` ("unsupported-dtype")."""
    found = FROM_NUMPY.get(dtype)
    if found is None:
        found = FROM_NUMPY.get(dtype.newbyteorder("=")) if dtype.fields is None else None
    if found is None:
        raise unsupported_dtype(dtype)
    return found


class NumpyAdapter(Defaults):
    """A result for arrays that were copied (unaligned, byte-swapped) is an ordinary array."""

    name = "numpy"
    moves = True  # resize(refcheck=False), __setstate__()

    def __init__(self) -> None:
        self._specs = SpecCache()

    def normalise(self, x: Any) -> np.ndarray[Any, Any]:
        real = self._real(x)
        if _is_readable(real):
            return real
        native = real.astype(TO_NUMPY[dtype_of(real.dtype)], copy=False)
        return native if _is_readable(native) else np.array(native, order="C")

    def _real(self, x: Any) -> np.ndarray[Any, Any]:
        """A plain array of the same memory: a subclass may override what is read of it."""
        if type(x) is np.ndarray:
            return x
        if isinstance(x, np.ma.MaskedArray):
            raise error("not-an-array", "a masked array's mask would be lost", "pass x.filled(value) or x.data")
        if not isinstance(x, np.ndarray):
            return np.asarray(x)  # a NumPy scalar: 0-d
        overridden = any(getattr(type(x), name) is not getattr(np.ndarray, name) for name in _BELIEVED)
        return np.ndarray.view(x, np.ndarray) if overridden else x

    def copies(self, x: Any) -> bool:
        return not _is_readable(self._real(x))

    def spec(self, x: Any) -> Spec:
        key = (x.dtype, x.shape, x.strides)
        found = self._specs.get(key)
        if found is None:
            normal = self.normalise(x)
            strides = element_strides(normal.shape, normal.strides, normal.itemsize)
            if strides is None:  # a copy at another address
                strides = c_strides(normal.shape)
            strides = known_strides(normal.shape, strides)
            found = self._specs.keep(key, Spec(normal.shape, FROM_NUMPY[normal.dtype], strides))
        return found

    def pointer(self, x: Any) -> int:
        return address_of(x)

    def device(self, x: Any) -> Device | None:
        return None

    def writable(self, x: Any) -> bool:
        return isinstance(x, np.ndarray) and self._real(x).flags.writeable and not self.copies(x)

    def empty(
        self, shape: Sequence[int], strides: Sequence[int], dtype: DType, like: Any = None
    ) -> np.ndarray[Any, Any]:
        return empty(shape, strides, dtype)

    def guards(self, arrays: Sequence[tuple[str, Any, bool]]) -> Guards | None:
        exact = [
            guard
            for name, x, _ in arrays
            for guard in (AttributeGuard(name, ("shape",), x.shape), AttributeGuard(name, ("strides",), x.strides))
        ]
        return self._guards(arrays, exact)

    def class_guards(self, arrays: Sequence[tuple[str, Any, bool]]) -> Guards | None:
        return self._guards(arrays, [AttributeGuard(name, ("ndim",), x.ndim) for name, x, _ in arrays])

    @staticmethod
    def _guards(arrays: Sequence[tuple[str, Any, bool]], attributes: Sequence[AttributeGuard]) -> Guards:
        dtypes = [AttributeGuard(name, ("dtype",), x.dtype) for name, x, _ in arrays]
        writable = [AttributeGuard(name, ("flags", "writeable"), True) for name, _, written in arrays if written]
        sizes = {name: x.itemsize for name, x, _ in arrays}
        views = _has_known_struct() or None
        return Guards((*dtypes, *attributes, *writable), address_of, False, None, stride_bytes=sizes, views=views)

    def class_allocator(self, dtype: DType, like: Any) -> Allocator:
        return lambda shape, strides: empty(shape, strides, dtype)

    def allocator(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, like: Any) -> Callable[[], Any]:
        return partial(empty, shape, strides, dtype)

    def item(self, x: Any) -> bool | int | float | complex:
        return as_python(x.item(), dtype_of(x.dtype))


class BufferAdapter(NumpyAdapter):
    """``array.array``, ``memoryview`` and other buffers, read in place; results are NumPy's."""

    name = "buffer"

    def _real(self, x: Any) -> np.ndarray[Any, Any]:
        if isinstance(x, np.ndarray):
            return super()._real(x)
        try:
            found = np.asarray(x)
        except MALFORMED as problem:
            raise error(
                "not-an-array", f"NumPy cannot read the {type(x).__name__}: {problem}", "pass a NumPy array"
            ) from problem
        return found

    def spec(self, x: Any) -> Spec:
        return super().spec(self.normalise(x))

    def pointer(self, x: Any) -> int:
        return address_of(self.normalise(x))

    def writable(self, x: Any) -> bool:
        return self._real(x).flags.writeable and not self.copies(x)

    def item(self, x: Any) -> bool | int | float | complex:
        return super().item(self.normalise(x))


def element_strides(shape: Sequence[int], strides: Sequence[int], size: int) -> tuple[int, ...] | None:
    """Strides in elements, or None where one of them splits an element; those of extents of 1 do not matter."""
    if any(s % size for n, s in zip(shape, strides, strict=True) if n > 1):
        return None
    return tuple(s // size for s in strides)


#: Attributes that kgen reads; a subclass that overrides one of them is viewed as a plain array.
_BELIEVED = (
    "__array_interface__", "__getattribute__", "astype", "ctypes", "dtype", "flags", "item", "itemsize", "nbytes",
    "ndim", "shape", "size", "strides",
)  # fmt: skip


def _is_readable(x: np.ndarray[Any, Any]) -> bool:
    """Whether a kernel can read ``x`` in place."""
    return x.dtype in FROM_NUMPY and x.flags.aligned and (x.dtype.kind != "c" or _whole(x))


def _whole(x: np.ndarray[Any, Any]) -> bool:
    """Whether complex numbers are aligned to their size, as kernels need; NumPy aligns only their parts."""
    return address_of(x) % x.itemsize == 0 and element_strides(x.shape, x.strides, x.itemsize) is not None


def empty(shape: Sequence[int], strides: Sequence[int], dtype: DType) -> np.ndarray[Any, Any]:
    """A new array with these strides, over no more memory than they span."""
    kind = TO_NUMPY[dtype]
    if is_c_order(shape, strides):
        return np.empty(shape, kind)
    low, high = span(shape, strides)
    memory = np.empty(high - low + 1, kind)
    steps = tuple(s * kind.itemsize for s in strides)
    return np.ndarray(tuple(shape), kind, memory, -low * kind.itemsize, steps)


def at_address(
    address: int, shape: Sequence[int], strides: Sequence[int], dtype: np.dtype[Any], keep: object, readonly: bool
) -> np.ndarray[Any, Any]:
    """An array over memory that ``keep`` keeps alive; the memory is not accessed, so it may be a device's.

    ``dtype`` has to be one of NumPy's own: an ``__array_interface__`` cannot spell ml_dtypes.
    """
    return np.asarray(_Interface(address, shape, [s * dtype.itemsize for s in strides], dtype.str, keep, readonly))


class _Interface:
    """The base of the array, so it lives as long as the array."""

    def __init__(
        self, address: int, shape: Sequence[int], steps: Sequence[int], typestr: str, keep: object, readonly: bool
    ) -> None:
        self.keep = keep
        self.__array_interface__ = {
            "version": 3,
            "data": (address, readonly),
            "shape": tuple(shape),
            "strides": tuple(steps),
            "typestr": typestr,
        }


class _Struct(ctypes.Structure):
    """An array after its object header: part of NumPy's C ABI."""

    _fields_ = (
        ("data", ctypes.c_size_t),
        ("dimensions", ctypes.c_int),
        ("extents", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("base", ctypes.c_size_t),
        ("dtype", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


@cache
def _has_known_struct() -> bool:
    """Whether arrays have the struct that ``_call.c`` reads, tested on a few: Python does not guarantee it."""
    whole = np.zeros(6)
    frozen = np.zeros((2, 5), np.int8)
    frozen.flags.writeable = False
    for x in (whole, whole[2::2], whole.reshape(2, 3).T, frozen, np.zeros((), np.float16)):
        s = _Struct.from_address(id(x) + object.__basicsize__)
        n = s.dimensions
        if n != x.ndim or (s.data, s.dtype, bool(s.flags & 0x400)) != (x.ctypes.data, id(x.dtype), x.flags.writeable):
            return False
        if n and (tuple(s.extents[:n]), tuple(s.strides[:n])) != (x.shape, x.strides):
            return False
    return True


def _find_address_of() -> Callable[[Any], int]:
    """``x.ctypes.data`` costs 1 us; the struct's ``data`` field, after the object header, 0.25.

    The offset of the field is part of NumPy's C ABI, but Python does not guarantee it, so it is tested first.
    """
    offset = object.__basicsize__
    read = ctypes.c_size_t.from_address

    def direct(x: Any) -> int:
        return read(id(x) + offset).value

    def public(x: Any) -> int:
        return int(x.ctypes.data)

    whole = np.zeros(6)
    trials: tuple[Any, ...] = (whole, whole[2:], whole[::-1], whole.reshape(2, 3).T, np.zeros((), np.int8))
    try:
        works = all(direct(t) == public(t) for t in trials)
    except Exception:
        works = False
    return direct if works else public


#: The address of an array's first element.  Only for ``np.ndarray``: see :func:`_find_address_of`.
address_of: Callable[[Any], int] = _find_address_of()
