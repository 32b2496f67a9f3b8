"""Kernels that reduce along a slow dimension: what their template sees.

Threads go across rows that are consecutive in memory, here called columns, with vector loads; several threads share
each group of columns and meet in shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgen.codegen import names
from kgen.codegen.element import PRIMARY, Argument, Element
from kgen.codegen.layouts import apart, decomposition
from kgen.codegen.reduction.access import first_of, part_of, thread_state
from kgen.codegen.reduction.accumulators import Accumulator, briefly, counted_once
from kgen.codegen.reduction.column_access import ColumnAccess
from kgen.codegen.reduction.column_context import ColumnContext, ColumnState, ReadContext
from kgen.codegen.reduction.context import Declared, Stored, Value
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
                    return f"{thread_state(mine, state)}[j]"
                part = names.of_reduction(state, "part")
                return part if mine.mode == "part" else f"{part}[{'u' if self.count > 1 else '0'}]"
            case _:
                return super(ColumnWriter, self).argument(argument, held)

    # --- the whole ----------------------------------------------------------------------------------

    def write(self, name: str, parameters: Sequence[str]) -> Described:
        schedule, sinks = self.schedule, list(self.states)
        adapted = counted_once if schedule.tall else briefly
        self.states = {n: (adapted(m), state) for n, (m, state) in self.states.items()}
        section = self.section(0, f"{self.base}_pass", sinks, self.states)
        writer = RowWriter(self.step, self.statements, unique=self.unique)
        results, lines, packs = self.results(writer)
        used = " ".join([*(value.code for value in results), *lines, *(pack.place for pack in packs)])
        touched = sorted({*self.reads_of(section), *(i for i in range(len(self.wide)) if self.base_of(i) in used)})
        accumulators = [self.states[n][0] for n in sinks]
        return Described(
            ColumnContext(
                template="reduction/columns.cu.j2",
                name=name,
                comment=self.comment(),
                parameters=tuple(parameters),
                block=schedule.block,
                threads=schedule.threads,
                lanes=self.lanes,
                rows=schedule.rows,
                group=schedule.group,
                is_wide=schedule.index_bits == 64,
                split=schedule.split,
                layout=self.layout(f"{name}_layout"),
                packs=True,
                coordinates=self.kept_coordinates(),
                column=self.first_column(),
                pointers=self.pointers_of(touched),
                tall=schedule.tall,
                states=tuple(column_state(*self.states[n], shared(self.states[n][1])) for n in sinks),
                counted=self.counted,
                reads=tuple(self.reading(n, section, sinks) for n in self.counts),
                ahead=AHEAD if AHEAD * sum(m.size for m in accumulators) <= AHEAD_BYTES else 1,
                results=results,
                result_lines=lines,
                result_packs=packs,
            ),
            tuple(h for e in self.sections for h in e.headers) + tuple(writer.headers),
            tuple(h for e in self.sections for h in e.helpers) + tuple(writer.helpers)
            + tuple(h for m in accumulators for h in m.all_helpers)
            + self.loads_of(self.reads_of(section)),
        )  # fmt: skip

    def among(self, share: str) -> str:
        """Where a thread's column ``j`` is in shared memory: what threads side by side write is side by side."""
        first = f"({share} * {self.schedule.group} + j)" if share else "j"
        return f"{first} * {self.lanes} + across"

    @property
    def counts(self) -> tuple[int, ...]:
        """How many elements a thread reads at once: the most, and then what is left."""
        return tuple(1 << n for n in range(self.schedule.vectors.bit_length() - 1, -1, -1))

    def reading(self, count: int, section: Element, sinks: Sequence[int]) -> ReadContext:
        self.count = count
        touches = self.reads_of(section)
        array = f"[{count}]" if count > 1 else ""
        states = [self.states[n] for n in sinks]
        parts = [part_of(mine, state, f"{thread_state(mine, state)}[j]", count) for mine, state in states]
        return ReadContext(
            count,
            tuple(Declared(self.pack_of(t), f"{names.vector(self.labels[t])}{array}") for t in touches),
            tuple(self.places(always=True)),
            tuple(self.load(t) for t in touches),
            tuple(part for part in parts if part is not None),
            tuple(self.places(always=False)),
            self.call(section),
        )

    @property
    def counted(self) -> str:
        """The type of how many elements of each column a thread has seen; empty where nobody asks."""
        found = sorted(m.local.counts for m, _ in self.states.values() if m.local and m.local.counts)
        return found[0] if found else ""

    def kept_coordinates(self) -> tuple[str, ...]:
        kept = self.schedule.kept
        if kept == 1:
            return ()
        return tuple(decomposition(kept, set(range(kept)), self.schedule.index_bits == 64, "blockIdx.x"))

    def first_column(self) -> str:
        """The first of a thread's columns."""
        schedule = self.schedule
        first = "threadIdx.x" if schedule.threads == 1 else "across"
        tile = "c0" if schedule.kept > 1 else "(long long)blockIdx.x" if schedule.index_bits == 64 else "blockIdx.x"
        return f"{schedule.rows} * {tile} + " + (f"{schedule.group} * {first}" if schedule.group > 1 else first)

    def results(self, writer: RowWriter) -> tuple[tuple[Value, ...], tuple[str, ...], tuple[Stored, ...]]:
        """Each column's results, the lines of what is done with them, and the packs that these fill."""
        ops = self.step.kernel.ops
        found: list[Value] = []
        for n, (mine, state) in self.states.items():
            value = self.unique(names.value(state.removesuffix("_acc")))
            total = f"{shared(state)}[{self.among('')}]" if self.schedule.threads > 1 else f"{state}[j]"
            found.append(Value(register_type(ops[n].dtype), value, mine.value(total, "layout.height")))
            writer.exprs[n] = Expr(value, PRIMARY)
        last = self.parts.last()
        for n in last:
            op = ops[n]
            if op.name in ("scalar", "size"):
                writer.exprs[n] = Expr(self.parameters[op.name, self._key(n)], PRIMARY)
            elif op.name == "index":
                name = self.unique("at")
                writer.exprs[n] = Expr(name, PRIMARY)
                found.append(Value("long long", name, self.coordinate(n)))
            elif op.name == "load":
                found.append(self.load_one(writer, n))
        packs = self.store_ones(writer)
        return tuple(found), writer.lines(last), packs

    # --- comment --------------------------------------------------------------------------------------

    def comment(self) -> tuple[str, ...]:
        schedule = self.schedule
        down = f"{schedule.threads} down each column" if schedule.threads > 1 else "one for each column"
        blocks = "; several blocks share a column" if schedule.split else ""
        text = [
            f"{schedule.rows} columns a block: {self.lanes} threads across, {down}{blocks}."
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


def column_state(mine: Accumulator, state: str, shared: str) -> ColumnState:
    """What one column accumulates in.  Several blocks' results meet in what a thread's loop has, if that takes them."""
    local = mine.local
    by_loop = local if local is not None and not local.counts else None
    return ColumnState(
        state,
        mine.type,
        thread_state(mine, state),
        mine.type if local is None else local.type,
        first_of(mine),
        "" if local is None else local.total,
        shared,
        names.left(state),
        names.of_reduction(state, "whole"),
        mine.initial if by_loop is None else by_loop.init,
        "" if by_loop is None else by_loop.total,
    )


def shared(state: str) -> str:
    """Where threads that share a group of columns meet."""
    return names.of_reduction(state, "shared")
