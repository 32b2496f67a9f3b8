"""A fast path in C: the description of a call for ``kgen/_call.c``, where that is built.

It does the same as the functions of ``same_layout.py`` and ``same_class.py`` in a third of the time; kgen works without
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kgen.arrays.base import Guards
from kgen.call import extension as loaded
from kgen.call.arguments import ScalarValue
from kgen.call.extension import called, driver_functions, guarded
from kgen.call.fastpath.codegen import FastCall, ObservedCall, alignment_of
from kgen.runtime.scalars import pack

if TYPE_CHECKING:
    from kgen.call.fastpath.layout_class import LayoutClass
    from kgen.runtime.launcher import Launcher


def native_call(
    call: ObservedCall,
    guards: Guards,
    local: Mapping[str, str],
    distances: Sequence[tuple[int, int, bool, int, int]],
    layouts: LayoutClass | None = None,
) -> FastCall | None:
    """The call, or None without the extension, and for calls of more arrays, or other scalars, than it supports.

    ``layouts``: what to recognise instead of one layout.
    """
    module = loaded.extension()
    described = None if module is None else description(call, guards, local, distances, layouts)
    try:
        return None if described is None else module.Call(**described)
    except OverflowError:  # too many arrays or parameters
        return None


def description(
    call: ObservedCall,
    guards: Guards,
    local: Mapping[str, str],
    distances: Sequence[tuple[int, int, bool, int, int]],
    layouts: LayoutClass | None = None,
) -> dict[str, Any] | None:
    """What a ``Call`` of the extension takes; None for calls that it does not support."""
    if isinstance(call.out, list) or not call.has_plain_scalars():
        return None
    numbers = numbers_of(call)
    array_numbers = {local[name]: numbers[name] for name in local}
    image = call.launcher.parameter_image()
    variables = _variables(call, numbers, image, layouts)
    launches = _launches(call.launcher, on_cuda=guards.stream is not None)
    memory = _memory(call, numbers, distances)
    if layouts is not None:
        memory |= _any_layout(call, guards, layouts, {local[name]: name for name in local}, numbers)
    if variables is None or launches is None or memory["rules"] is NotImplemented:
        return None
    return {
        **_conditions(call),
        **guarded(guards, array_numbers),
        **memory,
        "written": tuple(numbers[o.name] for o in call.operands if o.writes and not o.fresh),
        "moves": call.adapter.moves,
        "engine": call.engine.fast,
        "here": call.engine.fast.ran_on,
        "image": bytes(image),
        "variables": variables,
        **launches,
    }


def _outs(call: ObservedCall) -> list[Any]:
    """``out=`` as C counts its arrays, behind the arguments."""
    return [] if call.out is None else list(call.out) if isinstance(call.out, tuple) else [call.out]


def numbers_of(call: ObservedCall) -> dict[str, int]:
    """The number of each object that the caller passes."""
    numbers = {name: i for i, name in enumerate(call.passed())}
    first = len(numbers)
    return numbers | {out.name: first + number for number, out in enumerate(call.outs) if out is not None}


def _variables(
    call: ObservedCall, numbers: Mapping[str, int], image: bytearray, layouts: LayoutClass | None
) -> tuple[tuple[int, str, int, int], ...] | None:
    """The offset in the image, code and number of each pointer and scalar, and what is added to it.

    What a class stores at the offset is added to a pointer with the code "V".  None for a scalar that C cannot read.
    Defaults, the same in every call, are written into the image.
    """
    passed = call.passed()
    scalars = {v.name: v for v in call.values.values() if isinstance(v, ScalarValue)}
    variables: list[tuple[int, str, int, int]] = []
    for variable, offset in call.launcher.signature.offsets.items():
        if variable.operand is not None:
            if variable.operand < len(call.operands):
                variables.append((offset, "P", variable.operand, 0))
            elif layouts is None:
                view = call.views[variable.operand - len(call.operands)]
                variables.append((offset, "P", view.base, view.offset))
            elif (base := layouts.bases.get(variable.operand - len(call.operands))) is not None:
                variables.append((offset, "V", base, 0))
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
            variables.append((offset, code, numbers[variable.scalar], 0))
    return tuple(variables)


def _conditions(call: ObservedCall) -> dict[str, Any]:
    """The number and the types of the arguments."""
    outs = _outs(call)
    return {
        "args": len(call.args),
        "names": tuple(call.named),
        "outs": len(outs),
        "out_is_tuple": isinstance(call.out, tuple),
        "types": tuple(map(type, [*call.passed().values(), *outs])),
    }


def _memory(
    call: ObservedCall, numbers: Mapping[str, int], distances: Sequence[tuple[int, int, bool, int, int]]
) -> dict[str, Any]:
    """Addresses of operands, allocations (their numbers count down from -1), and results."""
    fresh = [o for o in call.operands if o.fresh]
    names = {o.name: -1 - i for i, o in enumerate(fresh)} | dict(numbers)
    results = tuple(names[o.name] for o in call.engine.program.outputs)
    made = [call.adapter.allocator(o.array.shape, o.array.strides, o.dtype, call.like) for o in fresh]
    return {
        "where": tuple(names[o.name] for o in call.operands),
        "place": tuple(alignment_of(o.array.pointer) for o in call.operands),
        "apart": tuple(distances),
        "fresh": tuple(map(called, made)),
        "results": results,
        "one_result": len(results) == 1,
        "rules": None,
    }


def _any_layout(
    call: ObservedCall, guards: Guards, layouts: LayoutClass, names: Mapping[str, str], numbers: Mapping[str, int]
) -> dict[str, Any]:
    """What :func:`_memory` has for one layout; no ``rules`` (NotImplemented) where C cannot compute them."""
    units = {names[local]: size for local, size in guards.stride_bytes.items()}
    addresses = {
        v.operand - len(call.operands): at for v, at in call.launcher.signature.offsets.items() if v.operand is not None
    }
    views = [(addresses[n], node) for n, node in enumerate(layouts.views) if n in addresses]
    from kgen.call.fastpath.native_rules import native_rules

    rules = native_rules(layouts, numbers, guards.strides, units, views)
    makes = [call.adapter.class_allocator(o.dtype, call.like) for o in call.operands if o.fresh]
    return {"rules": NotImplemented if rules is None else rules, "fresh": tuple((make,) for make in makes)}


def _launches(launcher: Launcher, *, on_cuda: bool) -> dict[str, Any] | None:
    """The kernels, and the functions that launch them; None where the driver has none of these."""
    driver = driver_functions(on_cuda=on_cuda)
    if driver is None:
        return None
    return {
        "failed": launcher.failed,
        "kernels": launcher.native_kernels(),
        "scratch": launcher.native_scratch(),
        "launch": driver[0],
        "get_context": driver[1],
        "set_context": driver[2],
        "context": launcher.module.context() if on_cuda and launcher.names else 0,
    }
