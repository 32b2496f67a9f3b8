"""The lowering of a program's first call, kept on disk for later processes.

A process that finds it neither lowers nor writes text, and does not import what does: two thirds of the time of a first
call.  The compiled kernels are then found by the text, as always.

Lowering is pure, so the key is a digest of what it depends on: kgen's own files, the program, its options, the target,
and the types, layouts and alignment of the operands.  What is found fills the caches of :class:`CachedLowering`, whose
keys are compared in full.  Files are pickles; as for host libraries, nobody but the user can have written them.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
from typing import Any

from kgen import resources
from kgen.codegen.kernels import Module
from kgen.lowering import Lowered, Specialised
from kgen.operands import ArrayOperand, Operands
from kgen.options import Options
from kgen.program import Program
from kgen.records import dataclass, replace
from kgen.runtime.store import entry_name, store
from kgen.schedule.target import Target

_TARGET = "target"  #: stands for the target of the call in a file: targets are compared by identity


@dataclass(frozen=True, slots=True)
class StoredLowering:
    """``typed``: the program for the operands' types, of which ``lowered`` has a variant; ``module``: its text."""

    typed: Specialised
    lowered: Lowered
    module: Module


def key_of(program: Program, name: str, options: Options, operands: Operands, target: Target) -> str:
    """The key of a call: a digest of all that its lowering and its text depend on."""
    arrays = [*operands.arguments.values(), *operands.outputs.values()]
    layouts = [(a.shape, a.strides, a.address % 16) for a in arrays if isinstance(a, ArrayOperand)]
    source = program.source
    parts = (
        "lowering 1", resources.identity(), sys.implementation.cache_tag, target,
        source.name, source.text, program.rewriting, name, options, operands.typing_key, layouts, operands.shape,
    )  # fmt: skip
    return f"{entry_name(name)}.{hashlib.sha256(repr(parts).encode()).hexdigest()[:40]}"


def find(key: str, target: Target) -> StoredLowering | None:
    """What an earlier process lowered, None if there is none."""
    data = store("lowering").get(key)
    if data is None:
        return None
    found: StoredLowering = _Unpickler(data, target).load()
    return found


def keep(key: str, target: Target, lowering: StoredLowering) -> None:
    """Keep a lowering for later processes, without the addresses of its arrays."""
    arrays = tuple(replace(a, pointer=a.pointer % 16) for a in lowering.lowered.arrays)
    file = io.BytesIO()
    _Pickler(file, target).dump(replace(lowering, lowered=replace(lowering.lowered, arrays=arrays)))
    store("lowering").put(key, file.getvalue())


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, target: Target) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._target = target

    def persistent_id(self, value: Any) -> str | None:
        return _TARGET if value is self._target else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, target: Target) -> None:
        super().__init__(io.BytesIO(data))
        self._target = target

    def persistent_load(self, name: str) -> Target:
        assert name == _TARGET
        return self._target
