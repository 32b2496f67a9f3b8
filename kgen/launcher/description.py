"""A file as data, for build systems and other languages: its C functions, their parameters, and its kernels.

docs/generated-code.md describes the keys.  :data:`SCHEMA` grows when one is removed or means something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kgen.codegen.kernels import Entry
from kgen.launcher.header import Sets, launcher_names
from kgen.launcher.interface import Interface
from kgen.lowering import Covered, Lowered
from kgen.version import VERSION

SCHEMA = 1

Json = dict[str, Any]


def describe(
    base: str, program: str, sets: Sets, entries: Sequence[Entry], usage: Mapping[str, Mapping[str, Any]]
) -> Json:
    """``program``: its file's name.  ``usage``: of kernels that were compiled, by their names."""
    launchers = [
        _launcher(name, [sets[name]] if name in sets else list(sets.values())) for name in launcher_names(base, sets)
    ]
    kernels = [_kernel(entry, usage.get(entry.name)) for entry in entries]
    return {
        "schema": SCHEMA, "kgen": VERSION, "name": base, "program": program, "launchers": launchers, "kernels": kernels,
    }  # fmt: skip


def _launcher(name: str, sets: Sequence[Lowered | Covered]) -> Json:
    interfaces = [Interface.of(name, one.specialised.graph) for one in sets]
    first = interfaces[0]
    arrays = [
        {
            "name": same[0].name, "parameter": same[0].argument, "type": "const kgen_array*", "use": same[0].use,
            "dtypes": [a.of.dtype.name for a in same], "shape": _shape(same[0].of.shape, sets[0]),
        }
        for same in zip(*(i.arrays for i in interfaces), strict=True)
    ]  # fmt: skip
    scalars = [
        {
            "name": same[0].name, "parameters": _typed(same[0].declarations), "dtypes": [s.of.dtype.name for s in same],
        }
        for same in zip(*(i.scalars for i in interfaces), strict=True)
    ]  # fmt: skip
    return {
        "launch": f"{name}_launch", "workspace_size": f"{name}_workspace_size", "error_string": f"{name}_error_string",
        "parameters": _typed([*first.declarations, "cudaStream_t stream"]), "arrays": arrays, "scalars": scalars,
    }  # fmt: skip


def _shape(shape: Sequence[Any], lowered: Lowered | Covered) -> list[int | None] | None:
    """The extents, None for an open one; None instead of all where the file covers a class of layouts."""
    if isinstance(lowered, Covered) or lowered.batch is not None:
        return None
    sizes = lowered.sizes
    return [1 if d == 1 else None if d in sizes.assumed else sizes.extents[d] for d in shape]


def _kernel(entry: Entry, usage: Mapping[str, Any] | None) -> Json:
    found = {
        "name": entry.name, "parameters": _typed(entry.declarations), "launch": list(entry.launch_lines),
        "threads": entry.rule.block, "schedule": entry.schedule.to_dict(),
    }  # fmt: skip
    return found if usage is None else {**found, "usage": dict(usage)}


def _typed(declarations: Sequence[str]) -> list[dict[str, str]]:
    return [{"name": name, "type": type_.strip()} for type_, _, name in (d.rpartition(" ") for d in declarations)]
