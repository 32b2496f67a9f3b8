"""One adapter for each array library, found by the object's type without importing any library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kgen.arrays.base import MALFORMED, Adapter, Device
from kgen.diagnostics import KgenError, error

__all__ = ["Adapter", "Device", "adapter_of"]


def _numpy() -> Adapter:
    from kgen.arrays.numpy_ import NumpyAdapter

    return NumpyAdapter()


def _buffer() -> Adapter:
    from kgen.arrays.numpy_ import BufferAdapter

    return BufferAdapter()


def _torch() -> Adapter:
    from kgen.arrays.torch_ import TorchAdapter

    return TorchAdapter()


def _cupy() -> Adapter:
    from kgen.arrays.cupy_ import CupyAdapter

    return CupyAdapter()


def _jax() -> Adapter:
    from kgen.arrays.jax_ import JaxAdapter

    return JaxAdapter()


def _numba() -> Adapter:
    from kgen.arrays.numba_ import NumbaAdapter

    return NumbaAdapter()


def _xla() -> Adapter:
    from kgen.arrays.xla import XlaAdapter

    return XlaAdapter()


def _generic() -> Adapter:
    from kgen.arrays.generic import GenericAdapter

    return GenericAdapter()


# (top package, class in the type's MRO, or None for any of that package) -> adapter
_LIBRARIES: tuple[tuple[str, tuple[str, ...], Callable[[], Adapter]], ...] = (
    ("numpy", ("ndarray", "generic"), _numpy),
    ("torch", ("Tensor",), _torch),
    ("cupy", ("ndarray",), _cupy),
    ("jaxlib", ("ArrayImpl", "Array"), _jax),
    ("jax", ("Array", "ArrayImpl", "Tracer"), _jax),
    ("kgen", ("XlaArray",), _xla),
    ("numba_cuda", ("DeviceNDArray", "DeviceNDArrayBase", "MappedNDArray", "ManagedNDArray"), _numba),
    ("numba", ("DeviceNDArray", "DeviceNDArrayBase", "MappedNDArray", "ManagedNDArray"), _numba),
)

# Objects that are often passed instead of arrays: (top package, class or "" for any) -> hint.
_HINTS = {
    ("pandas", ""): "pass x.to_numpy()",
    ("polars", ""): "pass x.to_numpy()",
    ("scipy", ""): "pass x.toarray(): sparse arrays have no strides",
    ("builtins", "list"): "pass numpy.asarray(x)",
    ("builtins", "tuple"): "pass numpy.asarray(x)",
    ("builtins", "range"): "pass numpy.arange(...)",
    ("builtins", "str"): "pass an array of numbers",
    ("builtins", "bytes"): "pass numpy.frombuffer(x, dtype)",
    ("builtins", "bytearray"): "pass numpy.frombuffer(x, dtype)",
    ("builtins", "NoneType"): "check that the variable is set",
}

_adapters: dict[Callable[[], Adapter], Adapter] = {}
_of_type: dict[type, Adapter | None] = {bool: None, int: None, float: None, complex: None}


def adapter_of(x: Any) -> Adapter | None:
    """The adapter of an array's library, or None for a Python scalar.

    Raises :class:`~kgen.KgenError` ("not-an-array") for anything else.
    """
    try:
        return _of_type[type(x)]
    except KeyError:
        return _find(x)


def _find(x: Any) -> Adapter | None:
    kind = type(x)
    make = _library(kind)
    if make is None:
        make = _protocol(x)
    if make is None:
        if isinstance(x, bool | int | float | complex):  # a subclass, such as an IntEnum
            return None
        raise _not_an_array(kind)
    found = _adapters.get(make)
    if found is None:
        found = _adapters[make] = make()
    _of_type[kind] = found
    return found


def _library(kind: type) -> Callable[[], Adapter] | None:
    """By the names of the base classes: a subclass of torch.Tensor may be defined in any package."""
    for base in kind.__mro__:
        top = _package(base)
        for package, names, make in _LIBRARIES:
            if top == package and base.__name__ in names:
                return make
    return None


def _package(kind: type) -> str:
    """The top package of a class; ``__module__`` may be anything."""
    return str(getattr(kind, "__module__", "")).partition(".")[0]


def _protocol(x: Any) -> Callable[[], Adapter] | None:
    try:
        return _by_protocol(x)
    except MALFORMED as problem:
        message = f"the {type(x).__name__} does not say which protocol it has ({type(problem).__name__}: {problem})"
        raise error("not-an-array", message, "pass an array of a library that kgen knows") from problem


def _by_protocol(x: Any) -> Callable[[], Adapter] | None:
    """By the protocols that an object has."""
    if hasattr(x, "__cuda_array_interface__") or (hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")):
        return _generic
    if hasattr(x, "__array_interface__"):
        return _buffer
    if isinstance(x, str | bytes | bytearray):
        return None
    try:
        memoryview(x)
    except TypeError:
        return None
    return _buffer


def _not_an_array(kind: type) -> KgenError:
    top = _package(kind)
    hint = _HINTS.get((top, kind.__name__)) or _HINTS.get((top, ""))
    name = kind.__qualname__ if top == "builtins" else f"{top}.{kind.__name__}"
    accepted = (
        "arrays of torch, CuPy, JAX, Numba and NumPy, and other libraries with DLPack or __cuda_array_interface__"
    )
    return error("not-an-array", f"a {name} is not an array", hint or f"pass {accepted}")
