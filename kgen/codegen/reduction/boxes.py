"""Boxes of columns in shared memory: where a block's boxes are, and how operands are read into them.

Threads that read a box go along its operand's own lines; those that reduce it go across columns.
"""

from __future__ import annotations

from kgen.codegen import names
from kgen.codegen.layouts import index_decomposition, member
from kgen.codegen.lines import sum_lines, times
from kgen.codegen.reduction.column_context import BoxesContext, ColumnBoxContext
from kgen.codegen.reduction.operands import Operands
from kgen.records import dataclass
from kgen.schedule.elementwise.box_shapes import pitch, tile_shape
from kgen.schedule.reduction.schedule import BoxColumnSchedule, RowSchedule


def box_schedule(schedule: RowSchedule) -> BoxColumnSchedule:
    assert isinstance(schedule, BoxColumnSchedule)
    return schedule


def in_tile(operands: Operands, access: int, column: str, row: str, place: str = "beside_lane") -> str:
    """An element of a box in shared memory: of a column at a place of the second kept dimension."""
    schedule, label = box_schedule(operands.schedule), operands.labels[access]
    if schedule.places == 1:
        return f"{label}_tile[{row}][{column}]"
    apart = pitch(schedule.columns, operands.operand(access).dtype.size)
    return f"{label}_tile[{row}][{apart} * {f'({place})' if ' ' in place else place} + {column}]"


@dataclass(frozen=True, slots=True)
class Boxes:
    """``begin``: the first element of its columns that a box has; empty where a box has whole columns."""

    operands: Operands
    begin: str = ""

    @property
    def box(self) -> BoxColumnSchedule:
        return box_schedule(self.operands.schedule)

    @property
    def first(self) -> int:
        """The first kept dimension of which a block has one place."""
        return 2 if self.box.places > 1 else 1

    def coordinates(self) -> tuple[str, ...]:
        """Which box a block has."""
        kept = self.box.kept
        return tuple(index_decomposition(kept, {*range(kept)}, self.box.signed, "blockIdx.x", ("b", "q")))

    def places(self) -> tuple[str, ...]:
        """Which columns a thread has."""
        box, signed = self.box, self.box.signed
        lane = f"across % {box.lanes}" if box.places > 1 else "across"
        beside = (
            f"const {signed} beside_begin = {box.places} * b1;",
            f"const int beside_lane = across / {box.lanes};",
            f"const {signed} c1 = min(beside_begin + beside_lane, layout.beside - 1);",
        )
        group = times(box.group, f"({lane})" if " " in lane else lane) if box.group > 1 else lane
        return (
            f"const {signed} columns_begin = {box.columns} * b0;",
            f"const int column_lane = {group};",
            f"const {signed} column = min(columns_begin + column_lane, layout.columns - {box.group});",
            *(beside if box.places > 1 else ()),
            *(f"const {signed} c{d} = b{d};" for d in range(self.first, box.kept)),
        )

    def live(self) -> str:
        """Whether a thread's columns are its own."""
        beside = " && beside_begin + beside_lane < layout.beside" if self.box.places > 1 else ""
        return f"columns_begin + column_lane < layout.columns{beside}"

    def contexts(self) -> tuple[ColumnBoxContext, ...]:
        return tuple(map(self.context, self.box.boxed))

    def whole(self) -> BoxesContext:
        return BoxesContext(self.coordinates(), self.places(), self.live(), self.contexts())

    def context(self, access: int) -> ColumnBoxContext:
        """How an operand goes through shared memory."""
        box, label, operands = self.box, self.operands.labels[access], self.operands
        dtype = operands.operand(access).dtype
        rows, row = tile_shape((box.columns, box.places, box.tile_rows), dtype.size)
        line, lines, along = box.line(access), box.block // box.line(access), box.steps_along(access)
        is_beside = access in box.beside
        of_line, own = names.line(label), names.own(label)
        each = box.columns * (box.deep if is_beside else box.places) // lines
        column, other = _apart(of_line, lines, box.columns, each, "k" if along == 1 else f"(k / {along})")
        down, place = (other, own) if is_beside else (own, other)
        if along > 1:
            down = f"{own} + {line} * (k % {along})" if each > 1 else f"{own} + {times(line, 'k')}"
        steps = operands.steps(access)
        at = [f"const {box.signed} x = min(columns_begin + {column}, layout.columns - 1);"]
        terms = [f"x * {steps[box.reduced]}"]
        if not is_beside and box.places > 1 and operands.planned(access).pattern is not None:
            at.append(f"const {box.signed} y = min(beside_begin + {place}, layout.beside - 1);")
            terms.append(f"y * {self.stride(access, 1)}")
        whole = down if box.index_bits == 32 else f"(long long)({down})"
        from_begin = f"{self.begin} + {down}" if self.begin else whole
        at.append(f"const {box.signed} d = min({from_begin}, layout.height - 1);")
        terms.append(f"d * {steps[0]}" if 0 in steps else "d")
        words = "alignas(4) " if dtype.size < 4 else ""
        c_type = operands.type_of(access)
        return ColumnBoxContext(
            f"{words}__shared__ {c_type} {label}_tile[{rows}][{row}]",
            (
                f"const int {own} = threadIdx.x % {line};",
                f"const int {of_line} = threadIdx.x / {line};",
                *sum_lines(f"const {c_type}* const {names.box(label)} = ", self.starts(access)),
            ),
            c_type,
            f"{label}_in",
            along * each,
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
            found += [f"c{d} * {self.stride(access, d)}" for d in range(self.first, box.kept)]
        return found

    def stride(self, access: int, dimension: int) -> str:
        """The stride along a kept dimension."""
        pattern = self.operands.planned(access).pattern
        assert pattern is not None
        return member(f"{self.operands.pattern_label(pattern)}_stride", dimension - 1, self.box.kept - 1)


def _apart(line: str, lines: int, columns: int, each: int, k: str) -> tuple[str, str]:
    """Line ``k * lines + line``, of ``each`` that a thread reads, as its column and its number beside that."""
    if lines % columns == 0:
        more = lines // columns
        first = f"{line} / {columns}" if more > 1 else ""
        column = f"{line} % {columns}" if more > 1 else line
        later = times(more, k) if each > 1 else ""
        return column, " + ".join(filter(None, (first, later))) or "0"
    of_column = columns // lines
    if each > of_column:
        return f"{line} + {lines} * ({k} % {of_column})", f"{k} / {of_column}"
    return f"{line} + {times(lines, k)}" if each > 1 else line, "0"
