"""``kgen/_call.c``, where it is built, and its view of guards."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from importlib import import_module
from typing import Any

from kgen.arrays.base import Guards
from kgen.runtime.stream import stream_handle

#: The functions of the driver that it calls.
DRIVER = ("cuLaunchKernelEx", "cuCtxGetCurrent", "cuCtxSetCurrent")


@cache
def extension() -> Any:
    """The compiled module, or None."""
    try:
        return import_module("kgen._call")
    except ImportError:
        return None


def guarded(guards: Guards, numbers: Mapping[str, int]) -> dict[str, Any]:
    """What a ``Call`` takes of guards.  ``numbers``: of each array, by its name in ``guards``."""
    conditions = [
        (numbers[f.array] if isinstance(f.array, str) else f.array, f.path, f.call, f.expected)
        for f in guards.attributes
    ]
    return {
        "alike": None if guards.alike is None else guards.alike[0],
        "checked": () if guards.alike is None else tuple(numbers[name] for name in guards.alike[1]),
        "same": tuple(numbers[name] for pair in guards.same for name in pair),
        "conditions": tuple(conditions),
        "unless": guards.unless,
        "pointer": guards.pointer,
        "pointer_is_method": guards.pointer_call,
        "mark_written": guards.mark_written,
        "views": guards.views,
        "current": guards.stream,
        "handle": stream_handle,
    }


def called(make: Any) -> tuple[Any, ...]:
    """A function without arguments as a function and its arguments: C calls a partial's function directly."""
    return (make.func, *make.args) if isinstance(make, partial) and not make.keywords else (make,)


def driver_functions(*, on_cuda: bool) -> tuple[int, ...] | None:
    """The addresses of :data:`DRIVER`; 0 on the CPU, and None where the driver has none of these."""
    if not on_cuda:
        return (0,) * len(DRIVER)
    from kgen.runtime.cuda.libcuda import address

    try:
        return tuple(map(address, DRIVER))
    except (OSError, AttributeError):
        return None
