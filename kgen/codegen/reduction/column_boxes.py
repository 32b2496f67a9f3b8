"""Writes the context of column kernels that read some operands through boxes in shared memory.

Threads that read a box go along its operand's own lines; those that reduce it go across columns.
"""

from __future__ import annotations

from dataclasses import fields

from kgen.codegen import names
from kgen.codegen.element import Element
from kgen.codegen.layouts import index_decomposition, member, no_overlap_comment
from kgen.codegen.lines import sum_lines, times
from kgen.codegen.reduction.calls import Calls, reads_of
from kgen.codegen.reduction.column_context import BoxColumnContext, ColumnBoxContext, ReadContext
from kgen.codegen.reduction.column_values import alignments, multiples
from kgen.codegen.reduction.columns import Batch, ColumnKernel
from kgen.codegen.reduction.context import Declared
from kgen.codegen.reduction.facts import Described, Facts
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.places import ColumnPlaces
from kgen.codegen.reduction.states import part_of, thread_state
from kgen.records import dataclass, replace
from kgen.schedule.elementwise.box_shapes import pitch, tile_shape
from kgen.schedule.reduction.schedule import BoxColumnSchedule, RowSchedule


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
        described, box = ColumnKernel.describe(self), self.box
        found = described.context
        usual = {f.name: getattr(found, f.name) for f in fields(found)}
        unread = {self.places.base_of(i) for i in box.boxed}
        context = BoxColumnContext(
            **usual
            | {
                "template": "reduction/column_boxes.cu.j2",
                "starts_next": True,
                "coordinates": self.coordinates(),
                "live": self.live(),
                "pointers": tuple(p for p in found.pointers if p.name not in unread),
            },
            places=self.lines_of_places(),
            boxed=tuple(map(self.boxed, box.boxed)),
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

    # --- where threads are --------------------------------------------------------------------------

    def coordinates(self) -> tuple[str, ...]:
        """Which box a block has."""
        kept = self.box.kept
        return tuple(index_decomposition(kept, {*range(kept)}, self.box.signed, "blockIdx.x", ("b", "q")))

    def lines_of_places(self) -> tuple[str, ...]:
        """Which columns a thread has."""
        box, signed = self.box, self.box.signed
        lane = f"across % {box.lanes}"
        return (
            f"const {signed} columns_begin = {box.columns} * b0;",
            f"const int column_lane = {times(box.group, f'({lane})') if box.group > 1 else lane};",
            f"const {signed} column = min(columns_begin + column_lane, layout.columns - {box.group});",
            f"const {signed} beside_begin = {box.places} * b1;",
            f"const int beside_lane = across / {box.lanes};",
            f"const {signed} c1 = min(beside_begin + beside_lane, layout.beside - 1);",
            *(f"const {signed} c{d} = b{d};" for d in range(2, box.kept)),
        )

    def live(self) -> str:
        found = ["columns_begin + column_lane < layout.columns", "beside_begin + beside_lane < layout.beside"]
        return " && ".join([*found, *(["down == 0"] if self.box.threads > 1 else [])])

    # --- boxes --------------------------------------------------------------------------------------

    def boxed(self, access: int) -> ColumnBoxContext:
        """How an operand goes through shared memory."""
        box, label, operands = self.box, self.operands.labels[access], self.operands
        dtype = operands.operand(access).dtype
        rows, row = tile_shape((box.columns, box.places, box.deep), dtype.size)
        line, lines = box.line(access), box.block // box.line(access)
        is_beside = access in box.beside
        of_line, own = names.line(label), names.own(label)
        column, other = _apart(of_line, lines, box.columns, box.group * box.vectors)
        down, place = (other, own) if is_beside else (own, other)
        steps = operands.steps(access)
        at = [f"const {box.signed} x = min(columns_begin + {column}, layout.columns - 1);"]
        start = self.starts(access)
        terms = [f"x * {steps[box.reduced]}"]
        if not is_beside and operands.planned(access).pattern is not None:
            at.append(f"const {box.signed} y = min(beside_begin + {place}, layout.beside - 1);")
            terms.append(f"y * {self.stride(access, 1)}")
        at.append(f"const {box.signed} d = min(begin + {down}, layout.height - 1);")
        terms.append(f"d * {steps[0]}" if 0 in steps else "d")
        words = "alignas(4) " if dtype.size < 4 else ""
        c_type = operands.type_of(access)
        return ColumnBoxContext(
            f"{words}__shared__ {c_type} {label}_tile[{rows}][{row}]",
            (
                f"const int {own} = threadIdx.x % {line};",
                f"const int {of_line} = threadIdx.x / {line};",
                *sum_lines(f"const {c_type}* const {names.box(label)} = ", start),
            ),
            c_type,
            f"{label}_in",
            box.group * box.vectors,
            tuple(at),
            f"{names.box(label)}[{' + '.join(terms)}]",
            in_tile(operands, access, column, down, place),
        )

    def starts(self, access: int) -> list[str]:
        """The terms of where a thread begins to read an operand's boxes."""
        box = self.box
        found = [self.operands.pointer(access)]
        if access in box.beside:
            place = f"min(beside_begin + {names.own(self.operands.labels[access])}, layout.beside - 1)"
            found.append(f"{place} * {self.stride(access, 1)}")
        if self.operands.planned(access).pattern is not None:
            found += [f"c{d} * {self.stride(access, d)}" for d in range(2, box.kept)]
        return found

    def stride(self, access: int, dimension: int) -> str:
        """The stride along a kept dimension."""
        pattern = self.operands.planned(access).pattern
        assert pattern is not None
        return member(f"{self.operands.pattern_label(pattern)}_stride", dimension - 1, self.box.kept - 1)

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


def box_schedule(schedule: RowSchedule) -> BoxColumnSchedule:
    assert isinstance(schedule, BoxColumnSchedule)
    return schedule


def in_tile(operands: Operands, access: int, column: str, row: str, place: str = "beside_lane") -> str:
    """An element of a box in shared memory: of a column at a place of the second kept dimension."""
    schedule, label = box_schedule(operands.schedule), operands.labels[access]
    apart = pitch(schedule.columns, operands.operand(access).dtype.size)
    return f"{label}_tile[{row}][{apart} * {f'({place})' if ' ' in place else place} + {column}]"


def _apart(line: str, lines: int, columns: int, each: int) -> tuple[str, str]:
    """Line ``k * lines + line``, of ``each`` that a thread reads, as its column and its number beside that."""
    if lines % columns == 0:
        more = lines // columns
        first = f"{line} / {columns}" if more > 1 else ""
        column = f"{line} % {columns}" if more > 1 else line
        later = times(more, "k") if each > 1 else ""
        return column, " + ".join(filter(None, (first, later))) or "0"
    of_column = columns // lines
    column = f"{line} + {lines} * (k % {of_column})" if each > of_column else f"{line} + {times(lines, 'k')}"
    return column, f"k / {of_column}" if each > of_column else "0"
