"""The parameters of a plan's kernels in memory, as ``cuLaunchKernel`` and the CPU target take them.

What changes between two calls of a plan, pointers and scalars, lies in front, where one ``struct.pack_into`` writes it;
behind it what the plan fixes (extents, strides, counts), and then each kernel's ``void*[]``.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kgen.codegen.kernels import Entry
from kgen.dtypes import DType
from kgen.schedule.launch import Launch
from kgen.schedule.split import Step

SLOT = 16  # every value starts at a multiple of the strictest alignment, that of complex128

_CODES = {
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
    "uint64": "Q", "float16": "e", "float32": "f", "float64": "d", "complex64": "2f", "complex128": "2d",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Variable:
    """One value that a call brings: a pointer (``operand`` is its number) or a scalar (``scalar`` is its name)."""

    operand: int | None
    scalar: str | None = None
    dtype: DType | None = None

    @property
    def code(self) -> str:
        """How ``struct`` writes it; a dtype that it does not know comes as bytes."""
        return "Q" if self.dtype is None else _CODES.get(self.dtype.name, f"{self.dtype.size}s")

    @property
    def is_raw(self) -> bool:
        return self.code.endswith("s")


@dataclass(frozen=True)
class Signature:
    """The variables of all kernels of a module, each once."""

    variables: tuple[Variable, ...]

    @staticmethod
    def of(entries: Sequence[Entry], steps: Sequence[Step]) -> Signature:
        found: dict[Variable, None] = {}
        for entry in entries:
            for parameter in entry.parameters:
                if parameter.kind == "pointer":
                    found[Variable(int(parameter.key))] = None
                elif parameter.kind == "scalar":
                    scalar = steps[entry.step].kernel.scalars[int(parameter.key)]
                    found[Variable(None, scalar.name, scalar.dtype)] = None
        return Signature(tuple(found))

    @cached_property
    def packer(self) -> struct.Struct:
        parts: list[str] = []
        for variable in self.variables:
            size = struct.calcsize(f"<{variable.code}")
            parts.append(f"{variable.code}{SLOT - size}x")
        return struct.Struct("<" + "".join(parts))

    @cached_property
    def offsets(self) -> dict[Variable, int]:
        return {variable: SLOT * i for i, variable in enumerate(self.variables)}


@dataclass(frozen=True, slots=True)
class Frame:
    """What a plan fixes.  ``tables``: for each kernel, the offset of each of its parameters."""

    size: int
    fixed: bytes
    fixed_at: int
    tables: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(
        signature: Signature,
        entries: Sequence[Entry],
        launches: Sequence[Launch],
        extents: Mapping[str, int],
        steps: Sequence[Step],
    ) -> Frame:
        """``entries`` and ``launches`` of the kernels that have anything to do."""
        start = SLOT * len(signature.variables)
        fixed = bytearray()
        tables: list[tuple[int, ...]] = []

        def place(value: bytes) -> int:
            offset = start + len(fixed)
            fixed.extend(value)
            fixed.extend(bytes(-len(fixed) % SLOT))
            return offset

        for entry, launch in zip(entries, launches, strict=True):
            table: list[int] = []
            for parameter in entry.parameters:
                match parameter.kind:
                    case "pointer":
                        table.append(signature.offsets[Variable(int(parameter.key))])
                    case "scalar":
                        scalar = steps[entry.step].kernel.scalars[int(parameter.key)]
                        table.append(signature.offsets[Variable(None, scalar.name, scalar.dtype)])
                    case "size":
                        table.append(place(extents[str(parameter.key)].to_bytes(8, "little")))
                    case "layout":
                        table.append(place(launch.layout))
                    case "n":
                        table.append(place(launch.n.to_bytes(entry.schedule.index_bits // 8, "little")))
            tables.append(tuple(table))
        return Frame(start + len(fixed) + 8 * sum(map(len, tables)), bytes(fixed), start, tuple(tables))

    def memory(self) -> Memory:
        """A copy for one launch at a time."""
        return Memory(self)


class Memory:
    """``buffer``: where a signature's packer writes.  ``addresses``: each kernel's ``void*[]``."""

    __slots__ = ("_raw", "addresses", "buffer")

    def __init__(self, frame: Frame) -> None:
        self._raw = ctypes.create_string_buffer(frame.size + SLOT)
        base = -(-ctypes.addressof(self._raw) // SLOT) * SLOT
        self.buffer = (ctypes.c_char * frame.size).from_address(base)
        at = frame.fixed_at + len(frame.fixed)
        pointers = [base + offset for table in frame.tables for offset in table]
        content = frame.fixed + struct.pack(f"<{len(pointers)}Q", *pointers)
        ctypes.memmove(base + frame.fixed_at, content, len(content))
        addresses: list[int] = []
        for table in frame.tables:
            addresses.append(base + at)
            at += 8 * len(table)
        self.addresses = tuple(addresses)
