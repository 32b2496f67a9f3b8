"""Where a kernel that goes across columns finds its elements, and how it reads several of each column at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kgen.codegen import names
from kgen.codegen.context import FieldContext, LayoutContext
from kgen.codegen.element import PRIMARY
from kgen.codegen.layouts import decomposition, divisor_fields
from kgen.codegen.reduction.context import Read, Stored, Value
from kgen.codegen.reduction.rows import RowsWriter
from kgen.codegen.reduction.sections import RowWriter, touch_of
from kgen.codegen.spelling import Expr, register_type
from kgen.ir.kernel import Access
from kgen.schedule.reduction.launch import steps_of


@dataclass(slots=True)
class ColumnAccess(RowsWriter):
    """``count``: how many elements of each column the text at hand reads at once."""

    count: int = 1

    @property
    def lanes(self) -> int:
        """Threads across columns."""
        return self.schedule.block // self.schedule.threads

    @property
    def element_index(self) -> str:
        if self.count == 1:
            return "e"
        return f"e + u * {self.schedule.threads}" if self.schedule.threads > 1 else "e + u"

    @property
    def has_many(self) -> bool:
        """Whether a thread's columns are parts of packs and arrays, in loops over ``j``."""
        return True

    def pointers_of(self, touched: Iterable[int]) -> tuple[Value, ...]:
        """Where the thread's columns begin in each operand."""
        return tuple(self.pointer(touch, terms) for touch in touched if (terms := self.outer(touch)))

    def outer(self, touch: int) -> list[str]:
        """The terms of where a group of columns begins."""
        planned = self.planned(touch)
        found: list[str] = []
        if planned.access != "row":
            found.append("column" if planned.access == "vector" else f"column * (long long){self.step_across(touch)}")
        if planned.pattern is not None:
            pattern = self.pattern_label(planned.pattern)
            found += [f"c{d} * layout.{pattern}_stride[{d - 1}]" for d in range(1, self.schedule.kept)]
        return found

    def base_of(self, touch: int) -> str:
        return names.column(self.labels[touch]) if self.outer(touch) else names.pointer(self.operand(touch).name)

    def along(self, touch: int, j: str) -> str:
        """Where an element of a column is, from the first column's start."""
        label, reduced = self.labels[touch], self.schedule.reduced
        if touch not in self.schedule.down:
            return " + ".join(self.across(touch, j)) or "0"
        if reduced == 1:
            index = f"({self.element_index})" if " " in self.element_index else self.element_index
            terms = [f"{index} * layout.{label}_step[0]"]
        else:
            terms = [f"r{d} * layout.{label}_step[{d}]" for d in range(reduced)]
        return " + ".join(terms + self.across(touch, j))

    def across(self, touch: int, j: str) -> list[str]:
        """The term of column ``j`` of a group."""
        match self.planned(touch).access:
            case "vector":
                return [j] if j else []
            case "gather":
                return [f"{j} * {self.step_across(touch)}"] if j else []
            case _:
                return []

    def step_across(self, touch: int) -> str:
        """The stride from one column to the next."""
        return f"layout.{self.labels[touch]}_step[{self.schedule.reduced if touch in self.schedule.down else 0}]"

    def element(self, touch: int, *, held: bool) -> str:
        array = "[u]" if self.count > 1 else ""
        return f"{names.vector(self.labels[touch])}{array}" + ("" if self.planned(touch).access == "row" else ".at[j]")

    def pack_of(self, touch: int) -> str:
        """The type of a group's elements."""
        match self.planned(touch).access:
            case "row":
                return self.type_of(touch)
            case "vector":
                return self.pack(touch)
            case _:
                return self.gather_pack(touch)

    def load(self, touch: int) -> Read:
        name = names.vector(self.labels[touch]) + ("[u]" if self.count > 1 else "")
        base = self.base_of(touch)
        match self.planned(touch).access:
            case "row":
                return Read(name, value=f"{base}[{self.along(touch, '')}]")
            case "vector":
                deeper = "\n" + " " * 12  # than the line that it continues
                return Read(name, value=f"{self.start_of_load(touch)}{deeper}{base} + {self.along(touch, '')})")
            case _:
                return Read(name, each=f"{base}[{self.along(touch, 'j')}]")

    def places(self, *, always: bool) -> list[str]:
        """The coordinates of an element along the reduced dimensions."""
        reduced, wide = self.schedule.reduced, self.schedule.index_bits == 64
        used = always or any(d < reduced for _, d in self.schedule.coordinates)
        if reduced == 1 or not used:
            return []
        index = f"({self.element_index})" if " " in self.element_index else self.element_index
        return decomposition(reduced, set(range(reduced)), wide, index, ("r", "s"), "place_")

    def coordinate(self, number: int) -> str:
        op = self.step.kernel.ops[number]
        assert isinstance(op.attr, int)
        place = self.step.places[number][op.attr]
        if place is None:
            return "0"
        dimension, reduced = dict(self.schedule.coordinates)[place], self.schedule.reduced
        if dimension == reduced:
            return "column + j"
        if dimension > reduced:
            return f"c{dimension - reduced}"
        return self.element_index if reduced == 1 else f"r{dimension}"

    # --- one element a column -----------------------------------------------------------------------

    def load_one(self, writer: RowWriter, number: int) -> Value:
        """A column's element of an operand."""
        touch, dtype = touch_of(self.step, number), self.step.kernel.ops[number].dtype
        value = self.unique(names.value(self.operand(touch).name))
        writer.exprs[number] = Expr(value, PRIMARY)
        return Value(register_type(dtype), value, f"{self.base_of(touch)}[{self.one(touch)}]")

    def store_ones(self, writer: RowWriter) -> tuple[Stored, ...]:
        """Packs that hold a thread's elements of outputs."""
        packs: list[Stored] = []
        for n in self.parts.row_stores:
            attr, touch = self.step.kernel.ops[n].attr, touch_of(self.step, n)
            assert isinstance(attr, Access)
            if self.has_many and self.planned(touch).access == "vector":
                value, pack = self.written(touch), self.pack(touch)
                writer.places[attr.operand] = f"{value}.at[j]"
                packs.append(Stored(pack, value, self.base_of(touch)))
            else:
                writer.places[attr.operand] = f"{self.base_of(touch)}[{self.one(touch)}]"
        return tuple(packs)

    def one(self, touch: int) -> str:
        """Where an operand's element of column ``j`` is."""
        return " + ".join(self.across(touch, "j" if self.has_many else "")) or "0"

    # --- comment and layout -------------------------------------------------------------------------

    def alignments(self) -> list[str]:
        """What the kernel asks of the addresses of vectors, and of the number of columns."""
        schedule = self.schedule
        aligned: dict[int, list[str]] = {}
        for i, t in enumerate(schedule.touches):
            if t.access == "vector":
                aligned.setdefault(t.alignment, []).append(self.operand(i).name)
        needed = "; ".join(f"{b} for {names.listed(of)}" for b, of in sorted(aligned.items(), reverse=True))
        return [
            f"Alignment, in bytes: {needed}.",
            *([f"Columns are a multiple of {schedule.group}."] if schedule.group > 1 else []),
        ]

    def counted_off(self) -> FieldContext:
        """What says whether a thread has columns."""
        return FieldContext(f"{self.signed} columns", "")

    def layout(self, name: str) -> LayoutContext:
        schedule, wide = self.schedule, self.schedule.index_bits == 64
        fields: list[FieldContext] = []
        for pattern in range(schedule.patterns):
            label = f"{self.pattern_label(pattern)}_stride[{max(schedule.kept - 1, 1)}]"
            fields.append(FieldContext(f"long long {label}", "of the other kept dimensions"))
        fields.append(FieldContext(f"{self.signed} height", "elements of a column"))
        fields.append(self.counted_off())
        if schedule.split:
            fields.append(FieldContext(f"{self.signed} span", "elements of a column that a block takes"))
        for i, label in enumerate(self.labels):
            if steps := steps_of(schedule, i):
                ways = (
                    *(["down a column"] if i in schedule.down else []),
                    *(["across"] if schedule.reduced in steps else []),
                )
                fields.append(FieldContext(f"{self.signed} {label}_step[{len(steps)}]", ", then ".join(ways)))
        fields += divisor_fields(schedule.reduced - 1, wide, "of places in a column", "place_")
        fields += divisor_fields(schedule.kept - 1, wide, "of groups of columns, then of other kept dimensions")
        return LayoutContext(name, "Where the columns lie; strides and steps in elements.", tuple(fields), ())
