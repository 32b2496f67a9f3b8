"""Elements in registers: what they are called there, and how they get there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kgen.codegen import names
from kgen.codegen.reduction.context import Declared, Read
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.places import Places
from kgen.dtypes import BFLOAT16
from kgen.schedule.reduction.peel import NEAR_BLOCK


@dataclass(frozen=True, slots=True)
class Registers:
    """``held``: the touches whose elements stay in registers.  Others are read when they are needed."""

    operands: Operands
    places: Places
    held: frozenset[int]

    def name(self, touch: int) -> str:
        several = self.operands.schedule.group > 1 and self.operands.planned(touch).access != "row"
        label = self.operands.labels[touch]
        return names.vector(label) if several else f"{label}_in"

    def group(self, touch: int) -> str:
        """A group, or one of those that a thread keeps."""
        several = touch in self.held and self.operands.schedule.vectors > 1
        return f"{self.name(touch)}{'[v]' if several else ''}"

    def element(self, touch: int) -> str:
        """An element, at ``j`` of its group."""
        if self.operands.planned(touch).access == "row":
            return self.name(touch)
        if self.is_picked(touch):
            return f"pick({self.group(touch)}, j)"
        return self.group(touch) + (".at[j]" if self.operands.schedule.group > 1 else "")

    def is_picked(self, touch: int) -> bool:
        """Whether elements are taken from words."""
        return self.operands.schedule.group > 1 and self.operands.operand(touch).dtype is BFLOAT16

    def declared(self, touch: int) -> Declared:
        return self.operands.declared(touch, self.name(touch))

    def read(self, touch: int) -> Read:
        """How a group of elements is read, into registers that are there (``held``) or new ones."""
        operands, schedule, base = self.operands, self.operands.schedule, self.places.base_of(touch)
        name, held = self.group(touch), touch in self.held
        if schedule.group == 1 or operands.planned(touch).access == "row":
            c_type = "" if held else operands.type_of(touch)
            return Read(name, c_type, f"{base}[{self.places.along(touch, '')}]")
        if not operands.is_grouped(touch):
            c_type = "" if held else operands.gather_pack(touch)
            return Read(name, c_type, each=f"{base}[{self.places.along(touch, 'j')}]")
        if operands.planned(touch).access == "shifted":
            blocks, off = names.blocks(operands.labels[touch]), names.off(operands.labels[touch])
            size = self.block_bytes(touch, schedule.group)
            call = f"load_blocks<{operands.type_of(touch)}, {schedule.group}, {size}>"
            value = f"{call}({blocks} + {self.places.along(touch, '')}, {off})"
        elif touch == schedule.near:
            value = f"{names.near(operands.labels[touch])}[v][threadIdx.x]"
        else:
            value = self.from_memory(touch)
        return Read(name, "" if held else "auto", value)

    def from_memory(self, touch: int) -> str:
        """A group of elements that are where one access reads them."""
        operands, place = self.operands, f"{self.places.base_of(touch)} + {self.places.along(touch, '')}"
        if touch in operands.schedule.evict_last and operands.planned(touch).access != "staged":
            return f"load_evict_last<{operands.pack(touch)}>({place})"
        return f"{operands.start_of_load(touch)}{place})"

    def again(self, touches: Iterable[int]) -> tuple[Read, ...]:
        """How a part of the row gets what it needs: read, or held as it was read."""
        reads: list[Read] = []
        for touch in touches:
            if touch not in self.held:
                reads.append(self.read(touch))
            elif self.operands.is_packed(touch):
                reads.append(Read(self.group(touch), is_held=True))
        return tuple(reads)

    def block_bytes(self, touch: int, group: int) -> int:
        """Bytes of the blocks that groups of a shifted operand are read as."""
        operands, schedule = self.operands, self.operands.schedule
        whole = group * operands.operand(touch).dtype.size
        near = touch not in self.held and schedule.vectors and schedule.cluster == 1
        return min(whole, NEAR_BLOCK) if near else whole
