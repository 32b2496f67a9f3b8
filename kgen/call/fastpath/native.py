"""The description of a call that ``kgen/_call.c`` recognises and launches, where that was built with kgen.

The same as the text of ``exact.py``, and a third of its cost.  Nothing needs it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

from kgen.arrays.base import Look
from kgen.call.arguments import ScalarValue
from kgen.call.fastpath.text import Quick, Seen, place_of
from kgen.runtime.scalars import pack
from kgen.runtime.stream import stream_handle


@cache
def extension() -> Any:
    """The compiled module, or None."""
    try:
        return import_module("kgen._call")
    except ImportError:
        return None


def native_call(
    seen: Seen, looked: Look, local: Mapping[str, str], distances: Sequence[tuple[int, int, bool, int, int]]
) -> Quick | None:
    """The call, or None where there is no extension, or where it knows no call that large or no such scalar."""
    module = extension()
    if module is None or isinstance(seen.out, list) or not seen.has_plain_scalars():
        return None
    place = _places(seen)
    slot = {local[name]: place[name] for name in local}  # of each array, by the name that adapters gave back
    image = seen.bound.image()
    variables = _variables(seen, place, image)
    on_cuda = looked.stream is not None
    driver = _driver() if on_cuda else (0, 0, 0)
    if variables is None or driver is None:
        return None
    bound = seen.bound
    try:
        made: Quick = module.Call(
            **_recognised(seen, looked, slot),
            **_memory(seen, looked, place, distances),
            mark_written=looked.mark_written,
            written=tuple(slot[local[o.name]] for o in seen.operands if o.writes and not o.fresh),
            moves=seen.adapter.moves,
            views=looked.views,
            current=looked.stream,
            handle=stream_handle,
            failed=bound.failed,
            engine=seen.engine,
            here=seen.engine.ran_on,
            image=bytes(image),
            variables=variables,
            kernels=bound.native_kernels(),
            scratch=bound.native_scratch(),
            launch=driver[0],
            get_context=driver[1],
            set_context=driver[2],
            context=bound.module.context() if on_cuda and bound.names else 0,
        )
    except OverflowError:  # more arrays or parameters than it has room for
        return None
    return made


def _outs(seen: Seen) -> list[Any]:
    """``out=`` as C counts its arrays, behind the arguments."""
    return [] if seen.out is None else list(seen.out) if isinstance(seen.out, tuple) else [seen.out]


def _places(seen: Seen) -> dict[str, int]:
    """The number of each object that the caller passes."""
    place = {name: i for i, name in enumerate(seen.passed())}
    first = len(place)
    return place | {out.name: first + number for number, out in enumerate(seen.outs) if out is not None}


def _variables(seen: Seen, place: Mapping[str, int], image: bytearray) -> tuple[tuple[int, str, int], ...] | None:
    """Where each pointer and scalar goes in the image, its code, and its number; None for a scalar that C cannot read.

    Defaults, the same in every call, are written into the image.
    """
    passed = seen.passed()
    scalars = {v.name: v for v in seen.values.values() if isinstance(v, ScalarValue)}
    variables: list[tuple[int, str, int]] = []
    for variable, offset in seen.bound.signature.offsets.items():
        if variable.operand is not None:
            variables.append((offset, "P", variable.operand))
            continue
        assert variable.scalar is not None
        assert variable.dtype is not None
        code = variable.dtype.code
        if variable.scalar not in passed:
            data = pack(variable.scalar, scalars[variable.scalar].value, variable.dtype)
            image[offset : offset + len(data)] = data
        elif not code:
            return None
        else:  # "F" and "D" are complex in _call.c
            code = code.upper() if variable.dtype.is_complex else code
            variables.append((offset, code, place[variable.scalar]))
    return tuple(variables)


def _recognised(seen: Seen, looked: Look, slot: Mapping[str, int]) -> dict[str, Any]:
    """What tells a call like this one.  ``slot``: the number of each array, by its name in ``looked``."""
    outs = _outs(seen)
    conditions = [
        (slot[f.array] if isinstance(f.array, str) else f.array, f.path, f.call, f.expected) for f in looked.facts
    ]
    return {
        "args": len(seen.args),
        "names": tuple(seen.named),
        "outs": len(outs),
        "out_is_tuple": isinstance(seen.out, tuple),
        "types": tuple(map(type, [*seen.passed().values(), *outs])),
        "alike": None if looked.alike is None else looked.alike[0],
        "checked": () if looked.alike is None else tuple(slot[name] for name in looked.alike[1]),
        "same": tuple(slot[name] for pair in looked.same for name in pair),
        "conditions": tuple(conditions),
        "unless": looked.unless,
    }


def _memory(
    seen: Seen, looked: Look, place: Mapping[str, int], distances: Sequence[tuple[int, int, bool, int, int]]
) -> dict[str, Any]:
    """Where operands lie, what is allocated (its numbers count down from -1), and what is returned."""
    fresh = [o for o in seen.operands if o.fresh]
    names = {o.name: -1 - i for i, o in enumerate(fresh)} | dict(place)
    results = tuple(names[o.name] for o in seen.engine.program.outputs)
    made = [seen.adapter.allocator(o.array.shape, o.array.strides, o.dtype, seen.like) for o in fresh]
    return {
        "pointer": looked.pointer,
        "pointer_is_method": looked.pointer_call,
        "where": tuple(names[o.name] for o in seen.operands),
        "place": tuple(place_of(o.array.pointer) for o in seen.operands),
        "apart": tuple(distances),
        "fresh": tuple(map(_called, made)),
        "results": results,
        "one_result": len(results) == 1,
    }


def _called(make: Any) -> tuple[Any, ...]:
    """A function without arguments as a function and its arguments: C calls what a partial stands for."""
    return (make.func, *make.args) if isinstance(make, partial) and not make.keywords else (make,)


@cache
def _driver() -> tuple[int, int, int] | None:
    """The addresses of the driver's functions, in the library that the bindings have loaded."""
    try:
        library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        found = [ctypes.cast(library[name], ctypes.c_void_p).value for name in _FUNCTIONS]
    except (OSError, AttributeError):
        return None
    launch, get, put = (int(address or 0) for address in found)
    return launch, get, put


_FUNCTIONS = ("cuLaunchKernelEx", "cuCtxGetCurrent", "cuCtxSetCurrent")
