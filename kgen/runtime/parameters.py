"""A kernel's parameters in memory, as ``cuLaunchKernel`` and the CPU target take them: an array of addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from kgen.codegen.kernels import Entry, Parameter
from kgen.schedule.launch import Launch

SLOT = 16  # every value starts at a multiple of the strictest alignment


class Parameters:
    """Owns the memory; ``address`` is the ``void*[]``.  One block serves one launch at a time."""

    def __init__(self, entry: Entry, launch: Launch, value_of: Callable[[Parameter], bytes]) -> None:
        """``value_of`` gives the bytes of pointers, by-value scalars and sizes; the launch has the rest."""
        values = [self._value(p, entry, launch, value_of) for p in entry.parameters]
        offsets: list[int] = []
        end = 0
        for value in values:
            offsets.append(end)
            end += -(-max(len(value), 1) // SLOT) * SLOT
        self._memory = ctypes.create_string_buffer(end + SLOT)
        base = -(-ctypes.addressof(self._memory) // SLOT) * SLOT
        self._addresses = (ctypes.c_void_p * len(values))(*(base + o for o in offsets))
        for offset, value in zip(offsets, values, strict=True):
            ctypes.memmove(base + offset, value, len(value))
        self.address = ctypes.addressof(self._addresses)

    @staticmethod
    def _value(parameter: Parameter, entry: Entry, launch: Launch, value_of: Callable[[Parameter], bytes]) -> bytes:
        match parameter.kind:
            case "layout":
                return launch.layout
            case "n":
                return launch.n.to_bytes(entry.schedule.index_bits // 8, "little")
            case "pointer" | "scalar" | "size":
                return value_of(parameter)
