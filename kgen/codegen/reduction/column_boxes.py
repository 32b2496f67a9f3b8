"""Writes the context of column kernels that read some operands through boxes in shared memory, a part of each column at
a time."""

from __future__ import annotations

from dataclasses import fields

from kgen.codegen import names
from kgen.codegen.element import Element
from kgen.codegen.layouts import no_overlap_comment
from kgen.codegen.lines import times
from kgen.codegen.reduction.boxes import Boxes, box_schedule, in_tile
from kgen.codegen.reduction.calls import Calls, reads_of
from kgen.codegen.reduction.column_context import BoxColumnContext, ReadContext
from kgen.codegen.reduction.column_values import alignments, multiples
from kgen.codegen.reduction.columns import Batch, ColumnKernel
from kgen.codegen.reduction.context import Declared
from kgen.codegen.reduction.facts import Described, Facts
from kgen.codegen.reduction.places import ColumnPlaces
from kgen.codegen.reduction.states import part_of, thread_state
from kgen.records import dataclass, replace
from kgen.schedule.reduction.schedule import BoxColumnSchedule


def describe_column_boxes(facts: Facts) -> Described:
    """A kernel that goes down columns, and reads some operands in another order through shared memory."""
    usual = ColumnKernel.of(facts)
    return BoxColumnKernel(*(getattr(usual, f.name) for f in fields(usual))).describe()


@dataclass(frozen=True, slots=True)
class BoxBatch(Batch):
    """``row``: the row of a box in shared memory that has an element."""

    row: str = ""

    def element(self, access: int) -> str:
        schedule = box_schedule(self.operands.schedule)
        if access not in schedule.boxed:
            return Batch.element(self, access)
        return in_tile(self.operands, access, f"column_lane{' + j' if self.places.many else ''}", self.row)

    def arrays(self, accesses: list[int]) -> tuple[Declared, ...]:  # type: ignore[override]
        boxed = box_schedule(self.operands.schedule).boxed
        return Batch.arrays(self, [a for a in accesses if a not in boxed])


@dataclass(frozen=True, slots=True)
class BoxColumnKernel(ColumnKernel):
    """``places``: the place of one element of each column."""

    @property
    def box(self) -> BoxColumnSchedule:
        return box_schedule(self.facts.schedule)

    def describe(self) -> Described:
        described, box, boxes = ColumnKernel.describe(self), self.box, Boxes(self.operands, "begin")
        found = described.context
        usual = {f.name: getattr(found, f.name) for f in fields(found)}
        unread = {self.places.base_of(i) for i in box.boxed}
        context = BoxColumnContext(
            **usual
            | {
                "template": "reduction/column_boxes.cu.j2",
                "starts_next": True,
                "coordinates": boxes.coordinates(),
                "live": boxes.live() + (" && down == 0" if box.threads > 1 else ""),
                "pointers": tuple(p for p in found.pointers if p.name not in unread),
            },
            places=boxes.places(),
            boxed=boxes.contexts(),
            deep=box.deep,
        )
        return replace(described, context=context)

    @property
    def counts(self) -> tuple[int, ...]:
        """Those of whole boxes; and single elements, of what is left below these."""
        return self.schedule.vectors, 1

    def reading(self, count: int, function: Element) -> ReadContext:
        schedule, box = self.schedule, self.box
        accesses = [i for i in reads_of(function) if i in schedule.columnwise]
        step = times(schedule.threads, "u")
        place = f"e + {step}" if count > 1 else "e"
        row = "e - begin" if count == 1 else f"down + {step}" if schedule.threads > 1 else "u"
        many, uses = schedule.group > 1, self.places.uses
        batch = BoxBatch(
            ColumnPlaces(self.operands, place, many, uses), ColumnPlaces(self.operands, "e", many, uses), count, row
        )
        calls = Calls(
            self.operands,
            batch.places,
            self.values,
            batch.element,
            self.j,
            "u" if count > 1 else "0",
            states=self.states,
        )
        parts = (part_of(m, s, f"{thread_state(m, s)}{self.j}", count) for m, s in self.states.values())
        loads = tuple(batch.load(a) for a in accesses if a not in box.boxed)
        return ReadContext(
            count,
            batch.arrays(accesses),
            (),
            (),
            batch.coordinates(),
            loads,
            tuple(part for part in parts if part is not None),
            batch.coordinates(),
            calls.call(function),
        )

    # --- comment ------------------------------------------------------------------------------------

    def comment(self) -> tuple[str, ...]:
        box = self.box
        down = f", {box.threads} threads down each" if box.threads > 1 else ""
        boxed = names.listed(self.operands.operand(i).name for i in box.boxed)
        text = [
            f"Boxes of {box.columns} columns at {box.places} places of the second kept dimension, one a block, "
            f"{box.deep} elements of each at a time{down}.{' Indices are 64-bit.' if box.index_bits == 64 else ''}",
            f"Read along another dimension than across columns, by way of shared memory: {boxed}.",
            f"Launch: a block of {box.block} threads for each box.",
        ]
        if box.index_bits == 32:
            text.append("Limits: fewer than 2^31 columns, and every offset in bytes below 2^31.")
        text += [*alignments(self.operands), *multiples(box)]
        return tuple(names.comment(line) for line in [*text, *no_overlap_comment(self.facts.step, box)])
