"""The addresses of rows at computed places in kernels that reduce: a thread computes them once a row.

Parts of one array at the same places lie at one offset.  The places of a row that is written under a condition are
computed where that holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.codegen import names
from kgen.codegen.element import Writer
from kgen.codegen.gathers import needed, row_at
from kgen.codegen.lines import assigned
from kgen.codegen.reduction.gathered_rows import GatheredRows
from kgen.codegen.spelling import storage_type
from kgen.dtypes import INT64
from kgen.ir.graph import Gather, Op, Scatter, to_bits
from kgen.ir.views import WHOLE
from kgen.records import dataclass
from kgen.schedule.elementwise.gathers import row_axis


@dataclass(frozen=True, slots=True)
class RowAddresses:
    """Writes the lines.  ``guards``: for each row that is written under a condition, the op of that."""

    rows: GatheredRows
    guards: Mapping[int, int]

    @staticmethod
    def of(rows: GatheredRows) -> RowAddresses:
        ops, found = rows.operands.step.graph.ops, dict[int, int]()
        for number in rows.labels:
            place = ops[ops[number].places[0]]
            if not rows.is_read(number) and place.name == "where" and _is_nowhere(ops[place.args[2]]):
                found[number] = place.args[0]
        return RowAddresses(rows, found)

    @property
    def ops(self) -> Sequence[Op]:
        return self.rows.operands.step.graph.ops

    def late(self) -> frozenset[int]:
        """The ops that only places of rows need, or what is stored under a condition: they are computed there."""
        step = self.rows.operands.step
        phase = step.phase()
        used = [op.name == "store" or (phase[n] > 0 and not step.varies_along_row(n)) for n, op in enumerate(self.ops)]
        for number in range(len(used) - 1, -1, -1):
            args = self.ops[number].args
            if number in self.rows.labels:
                args = args[: len(args) - len(self.ops[number].places)]
            args = (self.guards[number],) if number in self.guards else args
            for a in args if used[number] else ():
                used[a] = True
        return frozenset(number for number, is_used in enumerate(used) if not is_used)

    def sources(self, writer: Writer) -> tuple[str, ...]:
        """The lines that find the rows that are read.  ``writer``: has written all values of a row but :meth:`late`."""
        return tuple(self.found(self.rows.read, writer))

    def targets(self, writer: Writer) -> tuple[str, ...]:
        """The lines that find the rows that are always written."""
        return tuple(self.found([n for n in self.rows.written if n not in self.guards], writer))

    def found(self, rows: Sequence[int], writer: Writer) -> list[str]:
        """The lines that find these rows, together those that lie at one offset."""
        places = [a for n in rows for a in self._found_places(n)]
        lines = list(writer.lines(needed(self.ops, places, tuple(writer.exprs))))
        return lines + [line for those in self._alike(rows) for line in self._at_one_offset(those, writer)]

    def without_shape(self) -> frozenset[int]:
        """The operands whose shape nothing reads: their rows lie at the offset of another one's."""
        guards, written = self.guards, self.rows.written
        together = [self.rows.read, *([n for n in written if guards.get(n) == g] for g in {None, *guards.values()})]
        first = {those[0] for rows in together for those in self._alike(rows)}
        of = {n: op.attr.operand for n, op in enumerate(self.ops) if isinstance(op.attr, Gather | Scatter)}
        return frozenset(of.values()) - {of[n] for n in of if n in first or n not in self.rows.labels}

    def _alike(self, rows: Sequence[int]) -> list[list[int]]:
        """The rows that lie at one offset, together."""
        found: dict[tuple[object, ...], list[int]] = {}
        for number in rows:
            found.setdefault(self._offset_key(number), []).append(number)
        return list(found.values())

    def _at_one_offset(self, rows: Sequence[int], writer: Writer) -> list[str]:
        first, step = rows[0], self.rows.operands.step
        places, along = self._places(first), row_axis(step, first)
        codes = ["" if axis == along else writer.exprs[a].code for axis, a in enumerate(places)]
        label = self.rows.labels[first]
        at, inside = writer.unique(names.offset(label)), writer.unique(names.inside(label))
        row = row_at(self.rows.operand(first), self.ops[first], [self.ops[a] for a in places], codes, along, at, inside)
        writer.helpers += row.helpers
        lines = list(row.lines)
        for number in rows:
            name = f"const Row<{self._type(number)}> {names.row(self.rows.labels[number])}"
            lines += assigned(name, row.in_array(names.pointer(self.rows.operand(number).name)))
        return lines

    def _offset_key(self, number: int) -> tuple[object, ...]:
        """What rows at one offset have in common: their array, if they are parts along the row's axis, and places."""
        along, of = row_axis(self.rows.operands.step, number), self.rows.operand(number)
        cut = of.view is not None and all(item == WHOLE for axis, item in enumerate(of.view.items) if axis != along)
        array = of.view.of if of.view is not None and cut else of.name
        return array, along, self._found_places(number), getattr(self.ops[number].attr, "outside", None)

    def _places(self, number: int) -> tuple[int, ...]:
        """The places of a row; of one under a condition, those where that holds."""
        places = self.ops[number].places
        return (self.ops[places[0]].args[1], *places[1:]) if number in self.guards else places

    def _found_places(self, number: int) -> tuple[int, ...]:
        """The same without the place along the row."""
        along = row_axis(self.rows.operands.step, number)
        return tuple(a for axis, a in enumerate(self._places(number)) if axis != along)

    def _type(self, number: int) -> str:
        const = "const " if self.rows.is_read(number) else ""
        return f"{const}{storage_type(self.rows.operand(number).dtype)}"


def _is_nowhere(place: Op) -> bool:
    return place.name == "const" and place.attr == to_bits(-1, INT64)
