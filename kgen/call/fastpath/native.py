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
    passed = seen.passed()
    outs = [] if seen.out is None else list(seen.out) if isinstance(seen.out, tuple) else [seen.out]
    values = [*passed.values(), *outs]
    place = {name: i for i, name in enumerate(passed)}
    for number, out in enumerate(seen.outs):
        if out is not None:
            place[out.name] = len(passed) + number
    slot = {local[name]: place[name] for name in local}  # of each array, by the name that adapters gave back
    scalars = {v.name: v for v in seen.values.values() if isinstance(v, ScalarValue)}
    image = seen.bound.image()
    variables: list[tuple[int, str, int]] = []
    for variable, offset in seen.bound.signature.offsets.items():
        if variable.operand is not None:
            variables.append((offset, "P", variable.operand))
            continue
        assert variable.scalar is not None
        assert variable.dtype is not None
        if variable.scalar in passed:
            code = variable.dtype.code
            if not code:
                return None
            code = code.upper() if variable.dtype.is_complex else code  # "F" and "D" are complex in _call.c
            variables.append((offset, code, place[variable.scalar]))
        else:  # a default, the same in every call
            data = pack(variable.scalar, scalars[variable.scalar].value, variable.dtype)
            image[offset : offset + len(data)] = data
    fresh = [o for o in seen.operands if o.fresh]
    names = {o.name: -1 - i for i, o in enumerate(fresh)} | place
    results = tuple(names[o.name] for o in seen.engine.program.outputs)
    bound = seen.bound
    on_cuda = looked.stream is not None
    driver = _driver() if on_cuda else (0, 0, 0)
    if driver is None:
        return None
    try:
        made: Quick = module.Call(
            args=len(seen.args),
            names=tuple(seen.named),
            outs=len(outs),
            out_is_tuple=isinstance(seen.out, tuple),
            types=tuple(map(type, values)),
            alike=None if looked.alike is None else looked.alike[0],
            checked=() if looked.alike is None else tuple(slot[name] for name in looked.alike[1]),
            same=tuple(slot[name] for pair in looked.same for name in pair),
            conditions=tuple(
                (slot[f.array] if isinstance(f.array, str) else f.array, f.path, f.call, f.expected)
                for f in looked.facts
            ),
            unless=looked.unless,
            pointer=looked.pointer,
            pointer_is_method=looked.pointer_call,
            where=tuple(names[o.name] for o in seen.operands),
            place=tuple(place_of(o.array.pointer) for o in seen.operands),
            apart=tuple(distances),
            fresh=tuple(
                _called(seen.adapter.allocator(o.array.shape, o.array.strides, o.dtype, seen.like)) for o in fresh
            ),
            mark_written=looked.mark_written,
            written=tuple(slot[local[o.name]] for o in seen.operands if o.writes and not o.fresh),
            results=results,
            one_result=len(results) == 1,
            moves=seen.adapter.moves,
            views=looked.views,
            current=looked.stream,
            handle=stream_handle,
            failed=bound.failed,
            engine=seen.engine,
            here=seen.engine.ran_on,
            image=bytes(image),
            variables=tuple(variables),
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
