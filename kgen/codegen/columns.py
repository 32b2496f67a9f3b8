"""Kernels that reduce along a slow dimension: what their template sees.

Threads go across rows that are consecutive in memory, here called columns, with vector loads; several threads share
each group of columns and meet in shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgen.codegen import names
from kgen.codegen.context import ColumnContext, FieldContext, LayoutContext
from kgen.codegen.element import PRIMARY, Argument
from kgen.codegen.layouts import apart, decomposition, divisor_fields, sum_lines
from kgen.codegen.reductions import Described, RowsWriter
from kgen.codegen.sections import RowWriter, touch_of
from kgen.codegen.spelling import Expr, register_type
from kgen.ir.kernel import Access
from kgen.schedule.reductions import IN_FLIGHT


@dataclass(slots=True)
class ColumnWriter(RowsWriter):
    """``several``: whether the text at hand reads several elements of each column at once."""

    several: bool = False

    # --- where elements are -------------------------------------------------------------------------

    @property
    def lanes(self) -> int:
        """Threads across columns."""
        return self.schedule.block // self.schedule.threads

    @property
    def element_index(self) -> str:
        return (
            f"e + u * {self.schedule.threads}"
            if self.several and self.schedule.threads > 1
            else "e + u"
            if self.several
            else "e"
        )

    def outer(self, touch: int) -> list[str]:
        """The terms of where a group of columns begins."""
        planned, label = self.planned(touch), self.labels[touch]
        found: list[str] = []
        if planned.access != "row":
            across = f"layout.{label}_step[{self.schedule.reduced}]"
            found.append("column" if planned.access == "vector" else f"column * (long long){across}")
        if planned.pattern is not None:
            pattern = self.pattern_label(planned.pattern)
            found += [f"c{d} * layout.{pattern}_stride[{d - 1}]" for d in range(1, self.schedule.kept)]
        return found

    def base_of(self, touch: int) -> str:
        return names.row(self.labels[touch]) if self.outer(touch) else names.pointer(self.operand(touch).name)

    def along(self, touch: int, j: str) -> str:
        """Where an element of a column is, from the first column's start."""
        label, reduced = self.labels[touch], self.schedule.reduced
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
                return [f"{j} * layout.{self.labels[touch]}_step[{self.schedule.reduced}]"] if j else []
            case _:
                return []

    def element(self, touch: int, *, held: bool) -> str:
        array = "[u]" if self.several else ""
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

    def load(self, touch: int) -> list[str]:
        name = names.vector(self.labels[touch]) + ("[u]" if self.several else "")
        base = self.base_of(touch)
        match self.planned(touch).access:
            case "row":
                return [f"{name} = {base}[{self.along(touch, '')}];"]
            case "vector":
                place = f"{base} + {self.along(touch, '')}"
                return [f"{name} = *reinterpret_cast<const {self.pack(touch)}*>(", f"    {place});"]
            case _:
                return [
                    "#pragma unroll",
                    f"for (int j = 0; j < {self.schedule.group}; ++j) {{",
                    f"    {name}.at[j] = {base}[{self.along(touch, 'j')}];",
                    "}",
                ]

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

    def argument(self, argument: Argument, held: bool) -> str:
        match argument.kind:
            case "place":
                return self.element_index
            case "state":
                mine, state = self.states[int(argument.key)]
                if mine.mode == "direct":
                    return f"{self.thread_state(int(argument.key))}[j]"
                part = names.of_reduction(state, "part")
                return part if mine.mode == "part" else f"{part}[{'u' if self.several else '0'}]"
            case _:
                return super(ColumnWriter, self).argument(argument, held)

    def thread_state(self, number: int) -> str:
        mine, state = self.states[number]
        return names.of_reduction(state, "sum") if mine.loop_type else state

    # --- the whole ----------------------------------------------------------------------------------

    def write(self, name: str, parameters: Sequence[str]) -> Described:
        schedule, sinks = self.schedule, list(self.states)
        group, wide = schedule.group, schedule.index_bits == 64
        section = self.section(0, f"{self.base}_pass", sinks, self.states)
        reads = self.reads_of(section)
        writer = RowWriter(self.step, self.statements, unique=self.unique)
        results, packs, writes = self.results(writer)
        touched = sorted(
            {*reads, *(i for i in range(len(self.wide)) if self.base_of(i) in " ".join([*results, *writes]))}
        )
        text = self.accumulating(sinks)
        self.several = True
        several = (self.places(always=True), [line for t in reads for line in self.load(t)])
        call_several = (*self.places(always=False), *self.call(section))
        self.several = False
        types = {t: self.pack_of(t) for t in reads}
        one = [f"{types[t]} {names.vector(self.labels[t])};" for t in reads]
        one += [*self.places(always=True), *(line for t in reads for line in self.load(t))]
        lane = "threadIdx.x" if schedule.threads == 1 else f"threadIdx.x % {self.lanes}"
        index = "long long" if wide else "unsigned"
        mine = [(self.states[n][0], self.states[n][1], self.thread_state(n)) for n in sinks]
        helpers = [h for m, _, _ in mine for h in (*m.helpers, *m.merge_helpers, *m.loop_helpers)]
        return Described(
            ColumnContext(
                template="column_reduce.cu.j2",
                name=name,
                comment=self.comment(),
                parameters=tuple(parameters),
                block=schedule.block,
                threads=schedule.threads,
                rows=schedule.rows,
                group=group,
                at_once=IN_FLIGHT,
                index=index,
                signed=self.signed,
                layout=self.layout(f"{name}_layout"),
                packs=True,
                start=self.start_of(touched),
                first="first" if schedule.split else "0",
                last="last" if schedule.split else "layout.height",
                lane=f"{group} * ({lane})" if group > 1 else lane,
                shared=tuple(f"__shared__ {m.type} {shared(s)}[{group}][{schedule.block}];" for m, s, _ in mine),
                declare=tuple(line for m, s, t in mine for line in self.declared(m.type, s, m.loop_type, t)),
                init=tuple(f"{t}[j] = {f'{m.loop_type}{{}}' if m.loop_type else m.initial};" for m, s, t in mine),
                reads_of_several=tuple(f"{types[t]} {names.vector(self.labels[t])}[{IN_FLIGHT}];" for t in reads),
                loads_of_several=(*several[0], *several[1]),
                loads_of_one=tuple(one),
                parts_of_several=tuple(line.replace("[1]", f"[{IN_FLIGHT}]") for line in text["parts"]),
                parts_of_one=tuple(text["parts"]),
                call_several=call_several,
                call_one=(*self.places(always=False), *self.call(section)),
                fold=tuple(text["fold"]),
                collapse=tuple(f"{s}[j] = {m.collapse.format(a=f'{t}[j]')};" for m, s, t in mine if m.loop_type),
                publish=tuple(f"{shared(s)}[j][threadIdx.x] = {s}[j];" for _, s, _ in mine),
                merge_shared=tuple(
                    line
                    for m, s, _ in mine
                    for line in (
                        m.merge.format(a=f"{s}[j]", b=f"{shared(s)}[j][threadIdx.x + {self.lanes} * s]"),
                        f"{shared(s)}[j][threadIdx.x] = {s}[j];",
                    )
                ),
                split=schedule.split,
                leave=tuple(f"{names.left(s)}[mine + j] = {s}[j];" for _, s, _ in mine),
                reset=tuple(f"{s}[j] = {m.initial};" for m, s, _ in mine),
                take=tuple(m.merge.format(a=f"{s}[j]", b=f"{names.left(s)}[theirs + j]") for m, s, _ in mine),
                result_packs=tuple(packs),
                results=tuple(results),
                writes=tuple(writes),
            ),
            tuple(h for e in self.sections for h in e.headers) + tuple(writer.headers),
            tuple(h for e in self.sections for h in e.helpers) + tuple(writer.helpers) + tuple(helpers),
        )  # fmt: skip

    def declared(self, c_type: str, state: str, loop_type: str, thread: str) -> list[str]:
        group = self.schedule.group
        return [f"{c_type} {state}[{group}];"] + ([f"{loop_type} {thread}[{group}];"] if loop_type else [])

    def accumulating(self, sinks: Sequence[int]) -> dict[str, list[str]]:
        text: dict[str, list[str]] = {"parts": [], "fold": []}
        for n in sinks:
            mine, state = self.states[n]
            part, thread = names.of_reduction(state, "part"), f"{self.thread_state(n)}[j]"
            if mine.mode == "part":
                text["parts"].append(f"{mine.value} {part} = {mine.start};")
                text["fold"].append((mine.loop_fold or mine.fold).format(a=thread, x=part))
            elif mine.mode == "group":
                text["parts"].append(f"{mine.value} {part}[1];")
                text["fold"].append(mine.fold.format(a=thread, x=part))
        return text

    def start_of(self, touched: Sequence[int]) -> tuple[str, ...]:
        schedule = self.schedule
        wide, lanes = schedule.index_bits == 64, self.lanes
        lines = [
            f"const int share = threadIdx.x / {lanes};  // of a group's elements"
            if schedule.threads > 1
            else "const int share = 0;"
        ]
        tile = "blockIdx.x"
        if schedule.kept > 1:
            lines += decomposition(schedule.kept, set(range(schedule.kept)), wide, tile)
            tile = "c0"
        lane = f"threadIdx.x % {lanes}" if schedule.threads > 1 else "threadIdx.x"
        number = f"{schedule.rows} * {'(long long)' if wide and tile != 'c0' else ''}{tile} + "
        number += f"{schedule.group} * ({lane})" if schedule.group > 1 else lane
        lines.append(f"const {self.signed} column = {number};")
        lines.append("const bool live = column < layout.columns;")
        for touch in touched:
            if terms := self.outer(touch):
                read_only = "" if self.step.touches[touch].writes else "const "
                pointer = names.pointer(self.operand(touch).name)
                first = f"{read_only}{self.type_of(touch)}* const {self.base_of(touch)} = {pointer} + "
                lines += sum_lines(first, terms)
        if schedule.split:
            lines.append(
                f"const {self.signed} first = blockIdx.y * layout.span;  // of what this block takes of the columns"
            )
            lines.append(f"const {self.signed} last = first + min(layout.span, layout.height - first);")
        return tuple(lines)

    def results(self, writer: RowWriter) -> tuple[list[str], list[str], list[str]]:
        """What is done with each column's results, the packs that this fills, and their writing."""
        ops = self.step.kernel.ops
        lines: list[str] = []
        for n, (mine, state) in self.states.items():
            value = self.unique(names.value(state.removesuffix("_acc")))
            zero = "0" if self.schedule.index_bits == 32 else "0ll"
            text = mine.result.format(a=f"{state}[j]", count="layout.height", zero=zero)
            lines.append(f"const {register_type(ops[n].dtype)} {value} = {text};")
            writer.exprs[n] = Expr(value, PRIMARY)
        last = self.parts.last()
        for n in last:
            op = ops[n]
            if op.name in ("scalar", "size"):
                writer.exprs[n] = Expr(self.parameters[op.name, self._key(n)], PRIMARY)
            elif op.name == "index":
                name = self.unique("at")
                writer.exprs[n] = Expr(name, PRIMARY)
                lines.append(f"const long long {name} = {self.coordinate(n)};")
            elif op.name == "load":
                touch = touch_of(self.step, n)
                name = self.unique(names.value(self.operand(touch).name))
                writer.exprs[n] = Expr(name, PRIMARY)
                place = " + ".join(self.across(touch, "j")) or "0"
                lines.append(f"const {register_type(op.dtype)} {name} = {self.base_of(touch)}[{place}];")
        packs: list[str] = []
        writes: list[str] = []
        for n in self.parts.row_stores:
            attr, touch = ops[n].attr, touch_of(self.step, n)
            assert isinstance(attr, Access)
            if self.planned(touch).access == "vector":
                name = self.written(touch)
                writer.places[attr.operand] = f"{name}.at[j]"
                packs.append(f"{self.pack(touch)} {name};")
                writes.append(f"*reinterpret_cast<{self.pack(touch)}*>({self.base_of(touch)}) = {name};")
            else:
                place = " + ".join(self.across(touch, "j")) or "0"
                writer.places[attr.operand] = f"{self.base_of(touch)}[{place}]"
        return [*lines, *writer.lines(last)], packs, writes

    # --- comment and layout -------------------------------------------------------------------------

    def comment(self) -> tuple[str, ...]:
        schedule = self.schedule
        blocks = "; several blocks share them" if schedule.split else ""
        text = [
            f"Columns, {schedule.rows} a block: {self.lanes} threads across, {schedule.threads} share a group{blocks}."
            + (" Indices are 64-bit." if schedule.index_bits == 64 else ""),
        ]
        if schedule.split:
            text.append(
                f"Launch: (groups of columns, ceil(height / span)) blocks of {schedule.block} threads; "
                "`arrived` begins as zeros."
            )
        else:
            text.append(f"Launch: a block of {schedule.block} threads for each {schedule.rows} columns.")
        if schedule.index_bits == 32:
            text.append("Limits: fewer than 2^31 columns, and every place within one, in bytes, below 2^31.")
        aligned: dict[int, list[str]] = {}
        for i, t in enumerate(schedule.touches):
            if t.access == "vector":
                aligned.setdefault(t.alignment, []).append(self.operand(i).name)
        needed = "; ".join(f"{b} for {names.listed(of)}" for b, of in sorted(aligned.items(), reverse=True))
        text.append(f"Alignment, in bytes: {needed}.")
        if schedule.group > 1:
            text.append(f"Columns are a multiple of {schedule.group}.")
        return tuple(names.comment(line) for line in [*text, *apart(self.step, schedule)])

    def layout(self, name: str) -> LayoutContext:
        schedule, wide = self.schedule, self.schedule.index_bits == 64
        fields: list[FieldContext] = []
        for pattern in range(schedule.patterns):
            label = f"{self.pattern_label(pattern)}_stride[{max(schedule.kept - 1, 1)}]"
            fields.append(FieldContext(f"long long {label}", "of the other kept dimensions"))
        fields.append(FieldContext(f"{self.signed} height", "elements of a column"))
        fields.append(FieldContext(f"{self.signed} columns", ""))
        if schedule.split:
            fields.append(FieldContext(f"{self.signed} span", "elements of a column that a block takes"))
        for i in range(len(schedule.touches)):
            steps = f"{self.signed} {self.labels[i]}_step[{schedule.reduced + 1}]"
            fields.append(FieldContext(steps, "down a column, then across"))
        fields += divisor_fields(schedule.reduced - 1, wide, "of places in a column", "place_")
        fields += divisor_fields(schedule.kept - 1, wide, "of groups of columns, then of other kept dimensions")
        return LayoutContext(name, "Where the columns lie; strides and steps in elements.", tuple(fields), ())


def shared(state: str) -> str:
    """Where threads that share a group of columns meet."""
    return names.of_reduction(state, "shared")
