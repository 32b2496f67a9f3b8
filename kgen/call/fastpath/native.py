"""The description of a call that ``kgen/_call.c`` recognises and write_launches, where that was built with kgen.

The same as the text of ``exact.py``, and a third of its cost.  Nothing needs it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

from kgen.arrays.base import Guards
from kgen.call.arguments import ScalarValue
from kgen.call.fastpath.codegen import FastCall, ObservedCall, alignment_of
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
    call: ObservedCall, guards: Guards, local: Mapping[str, str], distances: Sequence[tuple[int, int, bool, int, int]]
) -> FastCall | None:
    """The call, or None where there is no extension, or where it knows no call that large or no such scalar."""
    module = extension()
    if module is None or isinstance(call.out, list) or not call.has_plain_scalars():
        return None
    place = _places(call)
    slot = {local[name]: place[name] for name in local}  # of each array, by the name that adapters gave back
    image = call.launcher.parameter_image()
    variables = _variables(call, place, image)
    on_cuda = guards.stream is not None
    driver = _driver() if on_cuda else (0, 0, 0)
    if variables is None or driver is None:
        return None
    launcher = call.launcher
    try:
        made: FastCall = module.Call(
            **_conditions(call, guards, slot),
            **_memory(call, guards, place, distances),
            mark_written=guards.mark_written,
            written=tuple(slot[local[o.name]] for o in call.operands if o.writes and not o.fresh),
            moves=call.adapter.moves,
            views=guards.views,
            current=guards.stream,
            handle=stream_handle,
            failed=launcher.failed,
            engine=call.engine,
            here=call.engine.ran_on,
            image=bytes(image),
            variables=variables,
            kernels=launcher.native_kernels(),
            scratch=launcher.native_scratch(),
            launch=driver[0],
            get_context=driver[1],
            set_context=driver[2],
            context=launcher.module.context() if on_cuda and launcher.names else 0,
        )
    except OverflowError:  # more arrays or parameters than it has room for
        return None
    return made


def _outs(call: ObservedCall) -> list[Any]:
    """``out=`` as C counts its arrays, behind the arguments."""
    return [] if call.out is None else list(call.out) if isinstance(call.out, tuple) else [call.out]


def _places(call: ObservedCall) -> dict[str, int]:
    """The number of each object that the caller passes."""
    place = {name: i for i, name in enumerate(call.passed())}
    first = len(place)
    return place | {out.name: first + number for number, out in enumerate(call.outs) if out is not None}


def _variables(
    call: ObservedCall, place: Mapping[str, int], image: bytearray
) -> tuple[tuple[int, str, int], ...] | None:
    """Where each pointer and scalar goes in the image, its code, and its number; None for a scalar that C cannot read.

    Defaults, the same in every call, are written into the image.
    """
    passed = call.passed()
    scalars = {v.name: v for v in call.values.values() if isinstance(v, ScalarValue)}
    variables: list[tuple[int, str, int]] = []
    for variable, offset in call.launcher.signature.offsets.items():
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


def _conditions(call: ObservedCall, guards: Guards, slot: Mapping[str, int]) -> dict[str, Any]:
    """What tells a call like this one.  ``slot``: the number of each array, by its name in ``guards``."""
    outs = _outs(call)
    conditions = [
        (slot[f.array] if isinstance(f.array, str) else f.array, f.path, f.call, f.expected) for f in guards.attributes
    ]
    return {
        "args": len(call.args),
        "names": tuple(call.named),
        "outs": len(outs),
        "out_is_tuple": isinstance(call.out, tuple),
        "types": tuple(map(type, [*call.passed().values(), *outs])),
        "alike": None if guards.alike is None else guards.alike[0],
        "checked": () if guards.alike is None else tuple(slot[name] for name in guards.alike[1]),
        "same": tuple(slot[name] for pair in guards.same for name in pair),
        "conditions": tuple(conditions),
        "unless": guards.unless,
    }


def _memory(
    call: ObservedCall, guards: Guards, place: Mapping[str, int], distances: Sequence[tuple[int, int, bool, int, int]]
) -> dict[str, Any]:
    """Where operands lie, what is allocated (its numbers count down from -1), and what is returned."""
    fresh = [o for o in call.operands if o.fresh]
    names = {o.name: -1 - i for i, o in enumerate(fresh)} | dict(place)
    results = tuple(names[o.name] for o in call.engine.program.outputs)
    made = [call.adapter.allocator(o.array.shape, o.array.strides, o.dtype, call.like) for o in fresh]
    return {
        "pointer": guards.pointer,
        "pointer_is_method": guards.pointer_call,
        "where": tuple(names[o.name] for o in call.operands),
        "place": tuple(alignment_of(o.array.pointer) for o in call.operands),
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
