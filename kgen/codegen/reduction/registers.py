"""Elements in registers: what they are called there, and how they get there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kgen.codegen import names
from kgen.codegen.reduction.context import Declared, Read
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.places import Places
from kgen.dtypes import BFLOAT16
from kgen.schedule.reduction.peel import CACHED_BLOCK_BYTES


@dataclass(frozen=True, slots=True)
class Registers:
    """``resident``: the accesses whose elements stay in registers.  Others are read when they are needed."""

    operands: Operands
    places: Places
    resident: frozenset[int]

    def name(self, access: int) -> str:
        several = self.operands.schedule.group > 1 and self.operands.planned(access).kind != "row"
        label = self.operands.labels[access]
        return names.vector(label) if several else f"{label}_in"

    def group(self, access: int) -> str:
        """A group, or one of those that a thread keeps."""
        several = access in self.resident and self.operands.schedule.vectors > 1
        return f"{self.name(access)}{'[v]' if several else ''}"

    def element(self, access: int) -> str:
        """An element, at ``j`` of its group."""
        if self.operands.planned(access).kind == "row":
            return self.name(access)
        if self.is_picked(access):
            return f"extract({self.group(access)}, j)"
        return self.group(access) + (".at[j]" if self.operands.schedule.group > 1 else "")

    def is_picked(self, access: int) -> bool:
        """Whether elements are taken from words."""
        return self.operands.schedule.group > 1 and self.operands.operand(access).dtype is BFLOAT16

    def declared(self, access: int) -> Declared:
        return self.operands.declared(access, self.name(access))

    def read(self, access: int) -> Read:
        """How a group of elements is read, into registers that are there (``resident``) or new ones."""
        operands, schedule, base = self.operands, self.operands.schedule, self.places.base_of(access)
        name, resident = self.group(access), access in self.resident
        if schedule.group == 1 or operands.planned(access).kind == "row":
            c_type = "" if resident else operands.type_of(access)
            return Read(name, c_type, f"{base}[{self.places.along(access, '')}]")
        if not operands.is_grouped(access):
            c_type = "" if resident else operands.gather_pack(access)
            return Read(name, c_type, each=f"{base}[{self.places.along(access, 'j')}]")
        if operands.planned(access).kind == "shifted":
            blocks, off = names.blocks(operands.labels[access]), names.misalignment(operands.labels[access])
            size = self.block_bytes(access, schedule.group)
            call = f"load_aligned_blocks<{operands.type_of(access)}, {schedule.group}, {size}>"
            value = f"{call}({blocks} + {self.places.along(access, '')}, {off})"
        elif access == schedule.shared_operand:
            value = f"{names.in_shared(operands.labels[access])}[v][threadIdx.x]"
        else:
            value = self.from_memory(access)
        return Read(name, "" if resident else "auto", value)

    def from_memory(self, access: int) -> str:
        """A group of elements that are where one access reads them."""
        operands, place = self.operands, f"{self.places.base_of(access)} + {self.places.along(access, '')}"
        if access in operands.schedule.evict_last and operands.planned(access).kind != "staged":
            return f"load_evict_last<{operands.pack(access)}>({place})"
        return f"{operands.start_of_load(access)}{place})"

    def again(self, accesses: Iterable[int]) -> tuple[Read, ...]:
        """How a part of the row gets what it needs: read, or resident as it was read."""
        reads: list[Read] = []
        for access in accesses:
            if access not in self.resident:
                reads.append(self.read(access))
            elif self.operands.is_packed(access):
                reads.append(Read(self.group(access), is_resident=True))
        return tuple(reads)

    def block_bytes(self, access: int, group: int) -> int:
        """Bytes of the blocks that groups of a shifted operand are read as."""
        operands, schedule = self.operands, self.operands.schedule
        whole = group * operands.operand(access).dtype.size
        in_smem = access not in self.resident and schedule.vectors and schedule.cluster == 1
        return min(whole, CACHED_BLOCK_BYTES) if in_smem else whole
