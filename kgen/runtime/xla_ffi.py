"""Handlers of XLA's foreign function interface, as Python functions: the structs of its C API, read by ctypes.

No compiler is needed.  XLA's threads take Python's lock for a call, as for ``jax.pure_callback``, but arrays stay where
they are, and kernels are queued on XLA's stream.  Where ``kgen/_call.c`` is built, it launches repeated calls without
Python.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

from kgen.records import dataclass

#: The attribute of a call that says which program it is of.
PROGRAM = "kgen.program"

_METADATA = 1  #: the kind of extension with which XLA asks for the version of a handler
_SCALAR = 3  #: the kind of an attribute
_INTERNAL = 13  #: the code of an error
#: C types of scalar attributes, by XLA's number of the dtype.
_SCALARS: dict[int, Any] = {1: ctypes.c_bool, 5: ctypes.c_int64, 12: ctypes.c_double}

_head = (("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p))


def _struct(*fields: tuple[str, Any], head: Any = _head) -> Any:
    return type("Struct", (ctypes.Structure,), {"_fields_": (*head, *fields)})


_Function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_Extension = _struct(("struct_size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", ctypes.c_void_p), head=())
_Version = _struct(("major", ctypes.c_int), ("minor", ctypes.c_int))
_Metadata = _struct(
    ("struct_size", ctypes.c_size_t), ("version", _Version), ("traits", ctypes.c_uint32), head=()
)  # fmt: skip
_MetadataExtension = _struct(("base", _Extension), ("metadata", ctypes.POINTER(_Metadata)), head=())
_Api = _struct(
    ("version", _Version), ("internal", ctypes.c_void_p), ("error_create", _Function),
    ("error_message", ctypes.c_void_p), ("error_destroy", _Function), ("register", ctypes.c_void_p),
    ("stream_get", _Function),
)  # fmt: skip
_Buffer = _struct(
    ("dtype", ctypes.c_int), ("data", ctypes.c_void_p), ("rank", ctypes.c_int64),
    ("dims", ctypes.POINTER(ctypes.c_int64)),
)  # fmt: skip
_Buffers = _struct(
    ("size", ctypes.c_int64), ("types", ctypes.c_void_p), ("items", ctypes.POINTER(ctypes.POINTER(_Buffer)))
)  # fmt: skip
_Span = _struct(("start", ctypes.c_void_p), ("length", ctypes.c_size_t), head=())
_Scalar = _struct(("dtype", ctypes.c_int), ("value", ctypes.c_void_p), head=())
_Attributes = _struct(
    ("size", ctypes.c_int64), ("types", ctypes.POINTER(ctypes.c_int)),
    ("names", ctypes.POINTER(ctypes.POINTER(_Span))), ("items", ctypes.POINTER(ctypes.POINTER(_Scalar))),
)  # fmt: skip
_CallFrame = _struct(
    ("api", ctypes.POINTER(_Api)), ("context", ctypes.c_void_p), ("stage", ctypes.c_int), ("args", _Buffers),
    ("rets", _Buffers), ("attributes", _Attributes), ("future", ctypes.c_void_p),
)  # fmt: skip
_ErrorCreate = _struct(("message", ctypes.c_char_p), ("code", ctypes.c_int))
_StreamGet = _struct(("context", ctypes.c_void_p), ("stream", ctypes.c_void_p))


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array of a call, in C order.  ``dtype``: XLA's number."""

    dtype: int
    address: int
    shape: tuple[int, ...]


class Repeated(NamedTuple):
    """What ``_call.c`` repeats: a call with its arguments, and the buffer of each value, -1 for scalars."""

    again: Any
    buffers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """A call: arguments, results, scalar attributes, and the stream (None on the CPU).

    ``is_new``: whether it is worth while to give back how to repeat it.
    """

    args: list[Buffer]
    rets: list[Buffer]
    attributes: dict[str, Any]
    stream: int | None
    is_new: bool


#: Runs a program.
Called = Callable[[Request], Repeated | None]

_programs: dict[int, Called] = {}


def register(program: int, called: Called) -> None:
    """Calls whose attribute :data:`PROGRAM` is this number are of this program."""
    _programs[program] = called


@cache
def handlers(module: Any) -> tuple[Any, Any]:
    """The C functions that XLA calls, on the host and on devices.  An exception becomes an error of XLA's.

    ``module``: the C extension, or None.
    """
    if module is None:
        on_host, on_device = (partial(_handle, None, on_device=where, is_known=True) for where in (False, True))
    else:
        on_host, on_device = module.xla_handlers(partial(_handle, module))
    return _Function(on_host), _Function(on_device)


def _handle(module: Any, address: int, on_device: bool, is_known: bool) -> int | None:
    """The address of an error, if there is one.  ``is_known``: whether such calls are repeated, or cannot be."""
    frame = _CallFrame.from_address(address)
    try:
        if not _describe(frame):
            attributes = _attributes(frame.attributes)
            called = _programs[attributes.pop(PROGRAM)]
            stream = _stream(frame) if on_device else None
            request = Request(_buffers(frame.args), _buffers(frame.rets), attributes, stream, not is_known)
            repeated = called(request)
            if repeated is not None:
                module.xla_repeat(address, on_device, *repeated)
    except BaseException as problem:  # nothing above could catch it
        return _error(frame, f"{type(problem).__name__}: {problem}")
    return None


def _describe(frame: Any) -> bool:
    """Answers XLA's question for the version, which it asks in place of a call."""
    if not frame.extension or _Extension.from_address(frame.extension).type != _METADATA:
        return False
    metadata = _MetadataExtension.from_address(frame.extension).metadata.contents
    metadata.version.major = frame.api.contents.version.major
    metadata.version.minor = frame.api.contents.version.minor
    metadata.traits = 0
    return True


def _buffers(found: Any) -> list[Buffer]:
    made: list[Buffer] = []
    for i in range(found.size):
        one = found.items[i].contents
        made.append(Buffer(one.dtype, one.data or 0, tuple(one.dims[: one.rank])))
    return made


def _attributes(found: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for i in range(found.size):
        name, scalar = found.names[i].contents, found.items[i].contents
        assert found.types[i] == _SCALAR
        made[ctypes.string_at(name.start, name.length).decode()] = (
            _SCALARS[scalar.dtype].from_address(scalar.value).value
        )
    return made


def _stream(frame: Any) -> int:
    given = _StreamGet(ctypes.sizeof(_StreamGet), None, frame.context, None)
    if frame.api.contents.stream_get(ctypes.addressof(given)):
        raise RuntimeError("XLA has no stream for this call")
    return given.stream or 0


def _error(frame: Any, message: str) -> int:
    given = _ErrorCreate(ctypes.sizeof(_ErrorCreate), None, message.encode(), _INTERNAL)
    made: int = frame.api.contents.error_create(ctypes.addressof(given))
    return made
