"""The first call of a program, kept on disk as the description of its fast path in C.

A later process that makes the same call neither parses the program nor imports what lowers it: it compares the arrays
with those of the description, loads the kernels, and makes the fast path, which checks the rest.  Any other call takes
the full path.  What is kept are numbers and texts only; the guards are made of the arrays of the new call.
"""

from __future__ import annotations

import hashlib
import marshal
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kgen import resources
from kgen.arrays import adapter_of
from kgen.call import extension as loaded
from kgen.call.extension import called, driver_functions, guarded
from kgen.diagnostics import KgenError
from kgen.dtypes import DTYPES
from kgen.options import Options
from kgen.runtime.code import load_code, place_of
from kgen.runtime.store import entry_name, store

if TYPE_CHECKING:
    from kgen.call.fast_calls import FastCalls
    from kgen.call.fastpath import FastCall, ObservedCall
    from kgen.runtime.code import Module
    from kgen.runtime.launcher import Launcher

_MOST = 4  #: calls of a program

#: What the extension takes as it was kept.
_PLAIN = (
    "args", "names", "outs", "out_is_tuple", "where", "place", "apart", "written", "results", "one_result", "image",
    "variables",
)  # fmt: skip


class StoredArray(NamedTuple):
    """An array of the caller: its number, its name in guards, its layout, and whether kernels write to it."""

    number: int
    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: str
    is_written: bool


class StoredCall(NamedTuple):
    """``base``: the name of the kernel.  ``place``: the device that it was compiled for.

    ``types``: the names of the types of the arguments and of ``out=``.  ``fresh``: shape, strides and dtype of each
    output that is allocated.  ``kernels``: the name of each kernel, and its launch.  ``plain``: see :data:`_PLAIN`.
    """

    base: str
    place: tuple[str, ...]
    text: str
    types: tuple[str, ...]
    arrays: tuple[tuple[Any, ...], ...]
    fresh: tuple[tuple[tuple[int, ...], tuple[int, ...], str], ...]
    kernels: tuple[tuple[Any, ...], ...]
    plain: dict[str, Any]


def key_of(text: str, source: str, name: str | None, device: str | None, options: Options) -> str:
    """The key of a program: a digest of all that its lowering depends on, but for the arrays and the device.

    Empty where ``name`` or ``device`` is no text, which the full path refuses.
    """
    if not all(one is None or isinstance(one, str) for one in (name, device)):
        return ""
    parts = ("call 1", resources.identity(), sys.implementation.cache_tag, text, source, name, device, options)
    return f"{entry_name(name or 'kernel')}.{hashlib.sha256(repr(parts).encode()).hexdigest()[:40]}"


def find(key: str) -> tuple[StoredCall, ...]:
    """The first calls of earlier processes, the last one first."""
    data = store("call").get(key) if key and loaded.extension() is not None else None
    return () if data is None else tuple(StoredCall(*one) for one in marshal.loads(data))


def is_plain(launcher: Launcher) -> bool:
    """Whether the launches hold for every process: kernels share no memory, and no grid is that of the device."""
    if loaded.extension() is None:
        return False
    persistent = any(entry.rule.persistent_cluster for entry in launcher.entries)
    return bool(launcher.names) and not launcher.has_scratch and not persistent


def keep(key: str, base: str, text: str, call: ObservedCall) -> None:
    """Keep a call for later processes, unless its arrays are copied."""
    from kgen.call.fastpath.codegen import caller_arrays
    from kgen.call.fastpath.native import description, numbers_of
    from kgen.call.fastpath.same_layout import pointer_distances

    found = caller_arrays(call)
    guards = None if found is None else call.adapter.guards(found[1])
    if found is None or guards is None:
        return
    described = description(call, guards, found[0], pointer_distances(call))
    if described is None:
        return
    numbers = {found[0][name]: number for name, number in numbers_of(call).items() if name in found[0]}
    arrays = tuple(tuple(_described(numbers[name], name, x, writes)) for name, x, writes in found[1])
    fresh = tuple((o.array.shape, o.array.strides, o.dtype.name) for o in call.operands if o.fresh)
    kernels = tuple((name, *one[1:]) for name, one in zip(call.launcher.names, described["kernels"], strict=True))
    plain = {name: described[name] for name in _PLAIN}
    place = place_of(described["here"])
    kept = StoredCall(base, place, text, _type_names(described["types"]), arrays, fresh, kernels, plain)
    others = [one for one in find(key) if one.arrays != kept.arrays]
    store("call").put(key, marshal.dumps([tuple(one) for one in (kept, *others[: _MOST - 1])]))


def _described(number: int, name: str, x: Any, is_written: bool) -> StoredArray:
    adapter = adapter_of(x)
    assert adapter is not None
    spec = adapter.spec(x)
    return StoredArray(number, name, spec.shape, spec.strides, spec.dtype.name, str(adapter.device(x)), is_written)


def _type_names(types: Sequence[type]) -> tuple[str, ...]:
    return tuple(f"{one.__module__}.{one.__qualname__}" for one in types)


# many: what a call has
def restore(
    stored: Sequence[StoredCall],
    fast: FastCalls,
    args: tuple[Any, ...],
    out: Any,
    named: Mapping[str, Any],
    options: Options,
) -> FastCall | None:
    """The fast path for this call; None for another call than those that were kept."""
    for one in stored:
        values = _values_of(one, args, out, named)
        try:
            if values is not None and _are_alike(one, values):
                return _made(one, fast, values, options)
        except KgenError:  # the full path says why
            return None
    return None


def _values_of(stored: StoredCall, args: tuple[Any, ...], out: Any, named: Mapping[str, Any]) -> list[Any] | None:
    """The arguments and the outputs as C counts them; None where their number or types are others."""
    plain = stored.plain
    values = [*args, *named.values(), *(out if isinstance(out, tuple) else [] if out is None else [out])]
    counts = len(args), tuple(named), len(values) - len(args) - len(named), isinstance(out, tuple)
    same = counts == tuple(plain[name] for name in ("args", "names", "outs", "out_is_tuple"))
    return values if same and _type_names([type(x) for x in values]) == stored.types else None


def _are_alike(stored: StoredCall, values: Sequence[Any]) -> bool:
    """Whether the arrays have the layouts that were kept, in memory that kernels can read."""
    for one in stored.arrays:
        kept = StoredArray(*one)
        x = values[kept.number]
        if _described(kept.number, kept.name, x, kept.is_written) != kept:
            return False
        adapter = adapter_of(x)
        assert adapter is not None
        if adapter.normalise(x) is not x:
            return False
        adapter.pointer(x)  # raises for what has no memory
    return place_of(stored.place[0]) == stored.place


def _made(stored: StoredCall, fast: FastCalls, values: Sequence[Any], options: Options) -> FastCall | None:
    arrays = [StoredArray(*one) for one in stored.arrays]
    like = values[arrays[0].number]
    adapter = adapter_of(like)
    assert adapter is not None
    guards = adapter.guards([(one.name, values[one.number], one.is_written) for one in arrays])
    device = stored.place[0]
    functions = driver_functions(on_cuda=device != "cpu")
    if guards is None or functions is None:
        return None
    code: Module = load_code(device, stored.text, [kernel[0] for kernel in stored.kernels], stored.base, options)
    dtypes = {one.name: one for one in DTYPES}

    def failed(number: int, status: int) -> None:
        code.recover(stored.kernels[number][0], (), status)

    made: FastCall = loaded.extension().Call(
        **stored.plain,
        **guarded(guards, {one.name: one.number for one in arrays}),
        types=tuple(map(type, values)),
        fresh=tuple(
            called(adapter.allocator(shape, strides, dtypes[name], like)) for shape, strides, name in stored.fresh
        ),
        moves=adapter.moves,
        engine=fast,
        here=device,
        kernels=tuple((code.function(name), *launch) for name, *launch in stored.kernels),
        scratch=None,
        failed=failed,
        launch=functions[0],
        get_context=functions[1],
        set_context=functions[2],
        context=code.context(),
    )
    return made
