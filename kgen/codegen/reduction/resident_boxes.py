"""Writes the context of kernels with register-resident columns that read some operands through boxes in shared memory,
whole columns at a time."""

from __future__ import annotations

from collections.abc import Iterable

from kgen.codegen import names
from kgen.codegen.layouts import no_overlap_comment
from kgen.codegen.reduction.boxes import Boxes, box_schedule, in_tile
from kgen.codegen.reduction.column_context import ResidentContext
from kgen.codegen.reduction.column_values import alignments, multiples
from kgen.codegen.reduction.context import Read
from kgen.codegen.reduction.facts import Described, Facts
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.places import ColumnPlaces
from kgen.codegen.reduction.registers import Registers
from kgen.codegen.reduction.resident_columns import ResidentColumnKernel, resident_accesses
from kgen.records import dataclass, replace
from kgen.spec import counted


def describe_resident_boxes(facts: Facts) -> Described:
    """A kernel with register-resident columns, some of whose operands go through shared memory."""
    return BoxResidentKernel.of(facts).describe()


@dataclass(frozen=True, slots=True)
class BoxRegisters(Registers):
    """Elements in registers; those of boxed accesses are in shared memory."""

    @property
    def boxed(self) -> tuple[int, ...]:
        return box_schedule(self.operands.schedule).boxed

    def element(self, access: int) -> str:
        if access not in self.boxed:
            return Registers.element(self, access)
        column = f"column_lane{' + j' if self.operands.schedule.group > 1 else ''}"
        return in_tile(self.operands, access, column, self.places.place or "0")

    def is_picked(self, access: int) -> bool:
        return access not in self.boxed and Registers.is_picked(self, access)

    def again(self, accesses: Iterable[int]) -> tuple[Read, ...]:
        return Registers.again(self, [access for access in accesses if access not in self.boxed])


@dataclass(frozen=True, slots=True)
class BoxResidentKernel(ResidentColumnKernel):
    """A block has whole columns, those of one box."""

    @staticmethod
    def registers_of(operands: Operands, places: ColumnPlaces) -> Registers:
        schedule = box_schedule(operands.schedule)
        return BoxRegisters(operands, places, resident_accesses(schedule) - {*schedule.boxed})

    def describe(self) -> Described:
        described = ResidentColumnKernel.describe(self)
        found, boxes = described.context, Boxes(self.operands)
        assert isinstance(found, ResidentContext)
        unread = {self.places.base_of(i) for i in boxes.box.boxed}
        pointers = tuple(p for p in found.pointers if p.name not in unread)
        return replace(
            described, context=replace(found, starts_next=True, coordinates=(), pointers=pointers, boxes=boxes.whole())
        )

    def reads_anywhere(self) -> list[int]:
        boxed = box_schedule(self.schedule).boxed
        return [access for access in ResidentColumnKernel.reads_anywhere(self) if access not in boxed]

    def comment(self) -> tuple[str, ...]:
        box = box_schedule(self.schedule)
        share = f"{box.threads} threads for each" if box.threads > 1 else "a thread for each"
        places = f" at {box.places} places of the second kept dimension" if box.places > 1 else ""
        boxed = names.listed(self.operands.operand(i).name for i in box.boxed)
        text = [
            f"Boxes of {box.columns} columns{places}, one a block, up to {counted(box.resident, 'element')} of each, "
            f"kept in registers: {share}." + (" Indices are 64-bit." if box.index_bits == 64 else ""),
            f"Read along another dimension than across columns, by way of shared memory: {boxed}.",
            f"Launch: a block of {box.block} threads for each box.",
        ]
        if box.index_bits == 32:
            text.append("Limits: fewer than 2^31 columns, and every offset in bytes below 2^31.")
        text += [*alignments(self.operands), *multiples(box)]
        return tuple(names.comment(line) for line in [*text, *no_overlap_comment(self.facts.step, box)])
