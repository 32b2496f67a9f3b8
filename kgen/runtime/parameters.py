"""The parameters of a program's kernels in memory, as ``cuLaunchKernel`` and the CPU target take them.

Pointers and scalars, which change between calls, come first, so that one ``struct.pack_into`` writes them.  Fixed
values (extents, strides, counts) follow, and then each kernel's ``void*[]``.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Literal

from kgen.codegen.kernels import Entry
from kgen.dtypes import DType
from kgen.partition.step import Step
from kgen.records import dataclass
from kgen.schedule.expressions import Expr, evaluate
from kgen.schedule.launch import Launch
from kgen.schedule.scratch import aligned
from kgen.schedule.step_layout import Array

ALIGNMENT = 16  # every value starts at a multiple of the strictest alignment, that of complex128


@dataclass(frozen=True, slots=True)
class Variable:
    """One value that each call provides: a pointer (``operand`` is its number) or a scalar (``scalar`` is its name)."""

    operand: int | None
    scalar: str | None = None
    dtype: DType | None = None

    @property
    def code(self) -> str:
        """Its format in ``struct``: bytes for a dtype that ``struct`` lacks."""
        return "Q" if self.dtype is None else self.dtype.struct_format

    @property
    def is_raw(self) -> bool:
        return self.code.endswith("s")


@dataclass(frozen=True)
class Signature:
    """The variables of all kernels of a module, without repetition."""

    variables: tuple[Variable, ...]

    @staticmethod
    def of(entries: Sequence[Entry], steps: Sequence[Step]) -> Signature:
        found: dict[Variable, None] = {}
        for entry in entries:
            for parameter in entry.parameters:
                if parameter.kind == "pointer":
                    found[Variable(int(parameter.key))] = None
                elif parameter.kind == "scalar":
                    scalar = steps[entry.step].graph.scalars[int(parameter.key)]
                    found[Variable(None, scalar.name, scalar.dtype)] = None
        return Signature(tuple(found))

    @cached_property
    def packer(self) -> struct.Struct:
        parts: list[str] = []
        for variable in self.variables:
            size = struct.calcsize(f"<{variable.code}")
            parts.append(f"{variable.code}{ALIGNMENT - size}x")
        return struct.Struct("<" + "".join(parts))

    @cached_property
    def offsets(self) -> dict[Variable, int]:
        return {variable: ALIGNMENT * i for i, variable in enumerate(self.variables)}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a parameter that depends on extents is in memory; ``kind`` and ``key`` are as in ``Parameter``."""

    kind: Literal["size", "shape", "layout", "n"]
    key: int | str
    offset: int


@dataclass(frozen=True, slots=True)
class Room:
    """Scratch memory of ``size`` bytes.

    ``kernel``: the number of its kernel, None for a buffer between kernels.  ``needed``: the bytes that are used, over
    the named values of the kernel's launch rule, or the program's dimension symbols.
    """

    kernel: int | None
    needed: Expr
    size: int


def exactly(size: int) -> int:
    return size


def with_room(size: int) -> int:
    """Bytes for what may be larger in later calls: four times as much of little memory, no more of much."""
    return max(size, min(4 * size, 1 << 20))


@dataclass(frozen=True, slots=True)
class Kernels:
    """``launched``: the kernels with elements to compute, in order.  ``extents``: by dimension symbol.  ``buffers``:
    the bytes of each, by operand, over dimension symbols.  ``arrays``: by operand.
    """

    launched: Sequence[tuple[Entry, Launch]]
    extents: Mapping[str, int]
    steps: Sequence[Step]
    buffers: Mapping[int, Expr]
    arrays: Sequence[Array]


def pack_shape(array: Array) -> bytes:
    """The extents and strides of an array, as ``ArrayShape`` has them in kernels."""
    return struct.pack(f"<{2 * len(array.shape)}q", *array.shape, *array.strides)


class _Shared:
    """Takes rooms one after another."""

    def __init__(self, room: Callable[[int], int]) -> None:
        self.room = room
        self.rooms: list[Room] = []
        self.end = 0

    def take(self, kernel: int | None, needed: Expr, names: Mapping[str, int]) -> int:
        """Where the memory starts."""
        start = self.end
        size = self.room(evaluate(aligned(needed), names))
        self.rooms.append(Room(kernel, needed, size))
        self.end = start + size
        return start


@dataclass(frozen=True, slots=True)
class ParameterLayout:
    """Offsets of parameters, and fixed values.  ``tables``: for each kernel, the offset of each parameter."""

    size: int
    fixed: bytes
    fixed_at: int
    tables: tuple[tuple[int, ...], ...]
    scratch: int  # bytes of memory that the kernels share
    scratch_at: tuple[tuple[int, int], ...]  # offset of a pointer, and its offset into that memory
    rooms: tuple[Room, ...]  # the parts of that memory

    @staticmethod
    def of(signature: Signature, kernels: Kernels, room: Callable[[int], int] = exactly) -> ParameterLayout:
        """``room``: the bytes to take for memory of so many bytes."""
        shared, extents = _Shared(room), kernels.extents
        starts = {operand: shared.take(None, size, extents) for operand, size in kernels.buffers.items()}
        patches: list[tuple[int, int]] = []
        start = ALIGNMENT * len(signature.variables)
        fixed = bytearray()
        tables: list[tuple[int, ...]] = []

        def place(value: bytes) -> int:
            offset = start + len(fixed)
            fixed.extend(value)
            fixed.extend(bytes(-len(fixed) % ALIGNMENT))
            return offset

        for number, (entry, launch) in enumerate(kernels.launched):
            table: list[int] = []
            for parameter in entry.parameters:
                match parameter.kind:
                    case "pointer":
                        table.append(signature.offsets[Variable(int(parameter.key))])
                    case "buffer":
                        patches.append((place(bytes(8)), starts[int(parameter.key)]))
                        table.append(patches[-1][0])
                    case "scratch" | "counters":
                        assert parameter.bytes is not None
                        patches.append((place(bytes(8)), shared.take(number, parameter.bytes, launch.lets)))
                        table.append(patches[-1][0])
                    case "scalar":
                        scalar = kernels.steps[entry.step].graph.scalars[int(parameter.key)]
                        table.append(signature.offsets[Variable(None, scalar.name, scalar.dtype)])
                    case "size":
                        table.append(place(extents[str(parameter.key)].to_bytes(8, "little")))
                    case "shape":
                        table.append(place(pack_shape(kernels.arrays[int(parameter.key)])))
                    case "layout":
                        table.append(place(launch.layout))
                    case "n":
                        table.append(place(launch.n.to_bytes(entry.schedule.count_bits // 8, "little")))
            tables.append(tuple(table))
        size = start + len(fixed) + 8 * sum(map(len, tables))
        rooms = tuple(shared.rooms)
        return ParameterLayout(size, bytes(fixed), start, tuple(tables), shared.end, tuple(patches), rooms)

    def memory(self, scratch: int) -> ParameterMemory:
        """Memory for one launch at a time; ``scratch`` is the address of the kernels' scratch memory."""
        return ParameterMemory(self, scratch)


class ParameterMemory:
    """``buffer``: where a signature's packer writes.  ``addresses``: each kernel's ``void*[]``."""

    __slots__ = ("_raw", "addresses", "buffer")

    def __init__(self, layout: ParameterLayout, scratch: int) -> None:
        self._raw = ctypes.create_string_buffer(layout.size + ALIGNMENT)
        base = -(-ctypes.addressof(self._raw) // ALIGNMENT) * ALIGNMENT
        self.buffer = (ctypes.c_char * layout.size).from_address(base)
        at = layout.fixed_at + len(layout.fixed)
        pointers = [base + offset for table in layout.tables for offset in table]
        content = layout.fixed + struct.pack(f"<{len(pointers)}Q", *pointers)
        ctypes.memmove(base + layout.fixed_at, content, len(content))
        for offset, start in layout.scratch_at:
            struct.pack_into("<Q", self.buffer, offset, scratch + start)
        addresses: list[int] = []
        for table in layout.tables:
            addresses.append(base + at)
            at += 8 * len(table)
        self.addresses = tuple(addresses)
