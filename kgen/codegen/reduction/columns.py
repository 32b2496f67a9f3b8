"""Kernels that reduce along a slow dimension: what their template sees.

Threads go across rows that are consecutive in memory, here called columns, with vector loads; several threads share
each group of columns and meet in shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgen.codegen import names
from kgen.codegen.context import ColumnContext, ReadContext
from kgen.codegen.element import PRIMARY, Argument, Element
from kgen.codegen.layouts import apart, decomposition
from kgen.codegen.reduction.accumulators import Accumulator, briefly, counted_once
from kgen.codegen.reduction.column_access import ColumnAccess
from kgen.codegen.reduction.rows import Described
from kgen.codegen.reduction.sections import RowWriter
from kgen.codegen.spelling import Expr, register_type

#: Results of other blocks that the last one reads before it merges them, and their bytes at most: 32 registers.
AHEAD, AHEAD_BYTES = 8, 128


@dataclass(slots=True)
class ColumnWriter(ColumnAccess):
    """A kernel that goes across columns."""

    def argument(self, argument: Argument, held: bool) -> str:
        match argument.kind:
            case "place":
                return self.element_index
            case "state":
                mine, state = self.states[int(argument.key)]
                if mine.mode == "direct":
                    return f"{self.thread_state(int(argument.key))}[j]"
                part = names.of_reduction(state, "part")
                return part if mine.mode == "part" else f"{part}[{'u' if self.count > 1 else '0'}]"
            case _:
                return super(ColumnWriter, self).argument(argument, held)

    def thread_state(self, number: int) -> str:
        mine, state = self.states[number]
        return names.of_reduction(state, "sum") if mine.loop_type else state

    # --- the whole ----------------------------------------------------------------------------------

    def write(self, name: str, parameters: Sequence[str]) -> Described:
        schedule, sinks = self.schedule, list(self.states)
        group, wide = schedule.group, schedule.index_bits == 64
        adapted = counted_once if schedule.tall else briefly
        self.states = {n: (adapted(m), state) for n, (m, state) in self.states.items()}
        section = self.section(0, f"{self.base}_pass", sinks, self.states)
        writer = RowWriter(self.step, self.statements, unique=self.unique)
        results, packs, writes = self.results(writer)
        touched = sorted(
            {
                *self.reads_of(section),
                *(i for i in range(len(self.wide)) if self.base_of(i) in " ".join([*results, *writes])),
            }
        )
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
                reads=tuple(self.reading(n, section, sinks) for n in self.counts),
                index="long long" if wide else "unsigned int",
                blocks="(long long)gridDim.y" if wide else "gridDim.y",
                signed=self.signed,
                layout=self.layout(f"{name}_layout"),
                packs=True,
                start=self.start_of(touched),
                loop=schedule.tall,
                first=" + ".join(
                    (["first"] if schedule.split else []) + (["share"] if schedule.threads > 1 else []) or ["0"]
                ),
                last="last" if schedule.split else "layout.height",
                shared=tuple(f"__shared__ {m.type} {shared(s)}[{group * schedule.block}];" for m, s, _ in mine),
                declare=(
                    *(line for m, s, t in mine for line in self.declared(m.type, s, m.loop_type, t)),
                    *([f"{self.counted} seen = 0;  // elements of each column"] if self.counted else []),
                ),
                init=tuple(f"{t}[j] = {f'{m.loop_type}{{}}' if m.loop_type else m.initial};" for m, s, t in mine),
                collapse=tuple(f"{s}[j] = {m.collapse.format(a=f'{t}[j]')};" for m, s, t in mine if m.loop_type),
                publish=tuple(f"{shared(s)}[{self.among('share')}] = {s}[j];" for _, s, _ in mine),
                merge=tuple(
                    m.merge.format(a=f"{shared(s)}[i]", b=f"{shared(s)}[i + s * {schedule.rows}]") for m, s, _ in mine
                ),
                split=schedule.split,
                leave=tuple(f"{names.left(s)}[mine + threadIdx.x] = {shared(s)}[threadIdx.x];" for _, s, _ in mine),
                whole=tuple(self.merged(m, s)[0] for m, s, _ in mine),
                ahead=AHEAD if AHEAD * sum(m.size for m, _, _ in mine) <= AHEAD_BYTES else 1,
                take=tuple(self.merged(m, s)[1] for m, s, _ in mine),
                share=tuple(self.merged(m, s)[2] for m, s, _ in mine),
                result_packs=tuple(packs),
                results=tuple(results),
                writes=tuple(writes),
            ),
            tuple(h for e in self.sections for h in e.headers) + tuple(writer.headers),
            tuple(h for e in self.sections for h in e.helpers) + tuple(writer.helpers) + tuple(helpers)
            + self.loads_of(self.reads_of(section)),
        )  # fmt: skip

    def declared(self, c_type: str, state: str, loop_type: str, thread: str) -> list[str]:
        group = self.schedule.group
        return [f"{c_type} {state}[{group}];"] + ([f"{loop_type} {thread}[{group}];"] if loop_type else [])

    def among(self, share: str) -> str:
        """Where a thread's column ``j`` is in shared memory: what threads side by side write is side by side."""
        first = f"({share} * {self.schedule.group} + j)" if share else "j"
        return f"{first} * {self.lanes} + lane"

    def merged(self, mine: Accumulator, state: str) -> tuple[str, str, str]:
        """Lines that declare what one column has of all blocks, take what one of them left, and share the result."""
        all_of, left, place = (
            names.of_reduction(state, "whole"),
            f"{names.left(state)}[theirs]",
            f"{shared(state)}[threadIdx.x]",
        )
        if mine.loop_fold and not mine.counts:
            take = mine.loop_fold.format(a=all_of, x=left)
            return f"{mine.loop_type} {all_of}{{}};", take, f"{place} = {mine.collapse.format(a=all_of)};"
        take = mine.merge.format(a=all_of, b=left)
        return f"{mine.type} {all_of} = {mine.initial};", take, f"{place} = {all_of};"

    @property
    def counts(self) -> tuple[int, ...]:
        """How many elements a thread reads at once: the most, and then what is left."""
        return tuple(1 << n for n in range(self.schedule.vectors.bit_length() - 1, -1, -1))

    def reading(self, count: int, section: Element, sinks: Sequence[int]) -> ReadContext:
        self.count = count
        touches = self.reads_of(section)
        array = f"[{count}]" if count > 1 else ""
        parts: list[str] = []
        fold: list[str] = []
        for n in sinks:
            mine, state = self.states[n]
            part, thread = names.of_reduction(state, "part"), f"{self.thread_state(n)}[j]"
            if mine.mode == "part":
                parts.append(f"{mine.value} {part} = {mine.start};")
            elif mine.mode == "group":
                parts.append(f"{mine.value} {part}[{count}];")
            if mine.mode != "direct":
                fold.append((mine.loop_fold or mine.fold).format(a=thread, x=part))
        before, after = self.counting()
        return ReadContext(
            count,
            tuple(f"{self.pack_of(t)} {names.vector(self.labels[t])}{array};" for t in touches),
            (*self.places(always=True), *(line for t in touches for line in self.load(t))),
            before,
            tuple(parts),
            (*self.places(always=False), *self.call(section)),
            tuple(fold),
            after,
        )

    def counting(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Lines that know how many elements a thread has seen, where a state has to."""
        number = self.counted
        if not number:
            return (), ()
        count = f"{self.count}.0f" if number == "float" else f"{self.count}.0"
        part = f"__fdividef({count}, seen + {count})" if number == "float" else f"{count} / (seen + {count})"
        return (f"const {number} weight = {part};",), (f"seen += {count};",)

    @property
    def counted(self) -> str:
        """The type of how many elements of each column a thread has seen; empty where nobody asks."""
        found = sorted(m.counts for m, _ in self.states.values() if m.counts)
        return found[0] if found else ""

    def start_of(self, touched: Sequence[int]) -> tuple[str, ...]:
        schedule = self.schedule
        wide = schedule.index_bits == 64
        lines, lane = self.across_lines()
        tile = "blockIdx.x"
        if schedule.kept > 1:
            lines += decomposition(schedule.kept, set(range(schedule.kept)), wide, tile)
            tile = "c0"
        number = f"{schedule.rows} * {'(long long)' if wide and tile != 'c0' else ''}{tile} + "
        number += f"{schedule.group} * {lane}" if schedule.group > 1 else lane
        lines.append(f"const {self.signed} column = {number};")
        lines.append("const bool live = column < layout.columns;")
        lines += self.bases(touched)
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
            total = f"{shared(state)}[{self.among('')}]" if self.schedule.threads > 1 else f"{state}[j]"
            text = mine.result.format(a=total, count="layout.height", zero=zero)
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
                lines.append(self.load_one(writer, n))
        packs, writes = self.store_ones(writer)
        return [*lines, *writer.lines(last)], packs, writes

    # --- comment --------------------------------------------------------------------------------------

    def comment(self) -> tuple[str, ...]:
        schedule = self.schedule
        share = f"{schedule.threads} share a group" if schedule.threads > 1 else "each has a group"
        blocks = "; several blocks share them" if schedule.split else ""
        text = [
            f"Columns, {schedule.rows} a block: {self.lanes} threads across, {share}{blocks}."
            + (" Indices are 64-bit." if schedule.index_bits == 64 else ""),
        ]
        if schedule.split:
            others = "" if schedule.kept == 1 else " * other kept extents"
            text += [
                f"Launch: (ceil(columns / {schedule.rows}){others}, ceil(height / span)) blocks of {schedule.block} "
                "threads; `span`: any.",
                f"Memory: gridDim.x * gridDim.y * {schedule.rows} of each `*_of_blocks`; `arrived` counts for each "
                "blockIdx.x, 0 before and after.",
            ]
        else:
            text.append(f"Launch: a block of {schedule.block} threads for each {schedule.rows} columns.")
        if schedule.index_bits == 32:
            text.append("Limits: fewer than 2^31 columns, and every place within one, in bytes, below 2^31.")
        if not schedule.tall:
            text.append(f"A column has at most {schedule.threads * (2 * schedule.vectors - 1)} elements.")
        text += self.alignments()
        return tuple(names.comment(line) for line in [*text, *apart(self.step, schedule)])


def shared(state: str) -> str:
    """Where threads that share a group of columns meet."""
    return names.of_reduction(state, "shared")
