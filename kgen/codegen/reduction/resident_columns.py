"""Kernels that keep columns, rows that are consecutive in memory, in registers: what their template sees.

Threads go across columns with vector loads, and have some elements of each of their columns.  What belongs to a column
is an array with a place for each that a thread has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kgen.codegen import names
from kgen.codegen.context import FieldContext
from kgen.codegen.element import PRIMARY, Argument
from kgen.codegen.expressions import Level
from kgen.codegen.layouts import apart, decomposition
from kgen.codegen.reduction.access import States, part_of, thread_state
from kgen.codegen.reduction.accumulators import directly
from kgen.codegen.reduction.column_access import ColumnAccess
from kgen.codegen.reduction.column_context import HeldContext, HeldRoundContext
from kgen.codegen.reduction.column_values import ValueWriter, lasting
from kgen.codegen.reduction.columns import column_state
from kgen.codegen.reduction.context import Read, Stored
from kgen.codegen.reduction.rows import Described
from kgen.codegen.reduction.sections import RowWriter, label_of, touch_of
from kgen.codegen.reduction.two_steps import TwoSteps, two_steps
from kgen.codegen.spelling import Expr, register_type
from kgen.schedule.reduction.schedule import WARP
from kgen.schedule.target import WORD


def gathered(read: Read, group: int) -> list[str]:
    """Lines that read a group element by element."""
    loop = f"for (int j = 0; j < {group}; ++j) {{"
    return [f"{read.type} {read.name};", "#pragma unroll", loop, f"    {read.name}.at[j] = {read.each};", "}"]


@dataclass(slots=True)
class HeldColumnWriter(ColumnAccess):
    """A kernel that keeps columns.  ``passed``: the values of a column that element functions take, as text."""

    passed: dict[int, str] = field(default_factory=dict)

    # --- text for one touch, or value ---------------------------------------------------------------

    @property
    def width(self) -> str:
        return "layout.height"

    @property
    def is_exact(self) -> bool:
        return self.schedule.threads == 1 == self.schedule.reduced

    @property
    def loads_first(self) -> bool:
        """As in rows (layernorm of 96 bfloat16 1.02 of a copy and 0.88).

        Not single elements of 4 bytes and more: of those all are asked always (softmax of 512 x 1023 float32 0.65 of a
        copy and 0.47).
        """
        schedule = self.schedule
        small = min(self.operand(t).dtype.size for t in schedule.down) < WORD
        return schedule.vectors > 1 and not self.is_exact and (schedule.group > 1 or small)

    @property
    def element_index(self) -> str:
        return self.at

    @property
    def has_many(self) -> bool:
        return self.schedule.group > 1

    @property
    def j(self) -> str:
        """The place of a column in arrays that have one for each."""
        return "[j]" if self.has_many else ""

    def place(self, v: str) -> str:
        threads = self.schedule.threads
        if threads == 1:
            return v or "0"
        return f"{v} * {threads} + down" if v else "down"

    def is_held(self, touch: int) -> bool:
        """Whether an operand's elements stay in registers.  What columns share is near, and read when it is needed."""
        planned = self.planned(touch)
        own = planned.pattern is not None or not self.schedule.patterns
        return touch in self.schedule.down and planned.access != "row" and own

    def held_name(self, touch: int) -> str:
        if self.planned(touch).access == "row":
            return f"{self.labels[touch]}_in"
        return super(HeldColumnWriter, self).held_name(touch)

    def element(self, touch: int, *, held: bool) -> str:
        if self.planned(touch).access == "row":
            return self.held_name(touch)
        return super(ColumnAccess, self).element(touch, held=held)

    def read(self, touch: int, *, held: bool) -> Read:
        if self.planned(touch).access == "row":
            return Read(self.held_name(touch), self.type_of(touch), f"{self.base_of(touch)}[{self.along(touch, '')}]")
        return super(HeldColumnWriter, self).read(touch, held=held)

    def argument(self, argument: Argument, held: bool) -> str:
        match argument.kind:
            case "row":
                return self.passed[int(argument.key)]
            case "inverse":
                return self.inverses[int(argument.key)] + self.j
            case "place":
                return self.at
            case "state":
                mine, state = self.active[int(argument.key)]
                part, thread = names.of_reduction(state, "part"), thread_state(mine, state) + self.j
                return thread if mine.mode == "direct" else part if mine.mode == "part" else f"{part}[0]"
            case _:
                return super(HeldColumnWriter, self).argument(argument, held)

    def coordinate(self, number: int) -> str:
        text = super(HeldColumnWriter, self).coordinate(number)
        return "column" if text == "column + j" and self.schedule.group == 1 else text

    # --- the whole ----------------------------------------------------------------------------------

    def write(self, name: str, parameters: Sequence[str]) -> Described:
        schedule, parts, group = self.schedule, self.parts, self.schedule.group
        writer = ValueWriter(self.step, self.statements, unique=self.unique, group=group, lasting=lasting(parts))
        self.own_names(writer)
        own_loads = self.own_loads(writer)
        writer.wanted = parts.common
        of_columns = self.values(writer, 0)
        arrays = writer.taken()
        rounds = self.held_rounds(writer)
        stores = parts.wide_stores
        final = self.section(len(parts.rounds), f"{self.base}_element", stores) if stores else None
        writer.wanted = writer.lasting = frozenset()
        store_packs, singles = self.column_stores(writer)
        loads = self.loads
        return Described(
            HeldContext(
                template="reduction/resident_columns.cu.j2",
                name=name,
                comment=self.comment(),
                parameters=tuple(parameters),
                block=schedule.block,
                threads=schedule.threads,
                lanes=self.lanes,
                rows=schedule.rows,
                group=group,
                nearest=self.nearest,
                entries=self.entries,
                layout=self.layout(f"{name}_layout"),
                packs=group > 1,
                is_wide=schedule.index_bits == 64,
                coordinates=self.kept_coordinates(),
                number="c0" if schedule.kept > 1 else "number" if schedule.index_bits == 64 else "(int)number",
                pointers=self.pointers_of(range(len(self.wide))),
                own_loads=(*own_loads, *arrays),
                of_columns=tuple(of_columns),
                vectors=schedule.vectors,
                is_exact=self.is_exact,
                end=self.end,
                begin=self.place(""),
                group_start=self.place("v"),
                checks_last=self.fills,
                place_coordinates=self.place_coordinates(),
                held=tuple(map(self.held_declaration, loads)),
                loads=tuple(self.read(t, held=True) for t in loads),
                rounds=rounds,
                final_reads=tuple(self.again(self.reads_of(final))) if final else (),
                final_packs=self.final_packs() if final else (),
                final_call=self.call(final) if final else None,
                store_packs=store_packs,
                stores=tuple(singles),
            ),
            tuple(h for e in self.sections for h in e.headers) + tuple(writer.headers),
            (*self.helpers(writer), *self.loads_of(self.reads_once())),
        )

    def reads_once(self) -> set[int]:
        """Operands of which each column has one element."""
        ops = self.step.kernel.ops
        return {touch_of(self.step, n) for n in self.parts.common if ops[n].name == "load"}

    @property
    def nearest(self) -> int:
        """The distance of the nearest threads of a warp that share columns; 0 where none do."""
        return self.lanes if self.lanes < WARP and WARP % self.lanes == 0 and self.schedule.threads > 1 else 0

    @property
    def entries(self) -> int:
        """How many threads, or warps, leave results of each column for each other."""
        return self.schedule.block // WARP if self.nearest else self.schedule.threads

    def kept_coordinates(self) -> tuple[str, ...]:
        kept = self.schedule.kept
        if kept == 1:
            return ()
        return tuple(decomposition(kept, set(range(kept)), self.schedule.index_bits == 64, "number"))

    def own_names(self, writer: RowWriter) -> None:
        """What a thread's columns are called, and scalars, sizes and indices."""
        if self.is_exact:
            self.at = self.place("v" if self.schedule.vectors > 1 else "")
        for n, op in enumerate(self.step.kernel.ops):
            if op.name in ("scalar", "size"):
                writer.exprs[n] = Expr(self.parameters[op.name, self._key(n)], PRIMARY)
            elif op.name == "index" and not self.parts.wide[n]:
                axis = self.step.places[n][int(str(op.attr))]
                self.row_names[n], self.passed[n] = f"index{axis or 0}", self.coordinate(n)
                code = self.passed[n]
                writer.exprs[n] = Expr(f"(long long){f'({code})' if ' ' in code else code}", Level.UNARY)

    def own_loads(self, writer: RowWriter) -> list[str]:
        """Lines that read what has one element for each column, and is needed before all others."""
        lines: list[str] = []
        for n, op in enumerate(self.step.kernel.ops):
            if op.name != "load" or self.parts.wide[n] or n not in self.parts.common:
                continue
            touch = touch_of(self.step, n)
            value = self.unique(names.value(self.operand(touch).name))
            self.row_names[n] = value
            if self.schedule.group == 1 or self.planned(touch).access == "row":
                self.passed[n] = value
                lines.append(f"const {register_type(op.dtype)} {value} = {self.base_of(touch)}[0];")
            else:
                vector = self.held_name(touch)
                self.passed[n] = f"{vector}.at[j]"
                if self.is_grouped(touch):
                    lines.append(f"const auto {vector} = {self.start_of_load(touch)}{self.base_of(touch)});")
                else:
                    lines += gathered(self.read(touch, held=False), self.schedule.group)
            writer.exprs[n] = Expr(self.passed[n], PRIMARY)
        return lines

    def values(self, writer: ValueWriter, phase: int) -> list[str]:
        """Lines, for each column, of what follows from the first ``phase`` rounds; and inverses of what divides."""
        lines = list(writer.lines(self.parts.of_row(phase)))
        for n in sorted(self.parts.common):
            if n not in writer.exprs or self.step.kernel.ops[n].name in ("const", "scalar", "size"):
                continue
            code = writer.exprs[n].code
            if n not in self.passed:  # loads have their names
                self.passed[n], self.row_names[n] = code, code.removesuffix("[j]")
            if n in self.parts.divisors and n not in self.inverses:
                inverse = self.unique(names.inverse(self.row_names[n]))
                self.inverses[n] = inverse
                value = self.inverted(n, code)
                lines.append(writer.place(inverse, "float", value) if self.j else f"const float {inverse} = {value};")
        return lines

    def results(self, sinks: Sequence[int], writer: ValueWriter) -> list[str]:
        """Lines that say what a round has found of each column."""
        ops = self.step.kernel.ops
        lines: list[str] = []
        for n in sinks:
            by, member = self.known.get(n, (n, ""))
            mine, state = self.states[by]
            state += self.j
            value = self.unique(names.value(label_of(self.step, ops[n])))
            text = f"{state}.{member}" if member else mine.value(state, "layout.height")
            c_type = register_type(ops[n].dtype)
            lasts = self.j and n in writer.lasting
            lines.append(writer.place(value, c_type, text) if lasts else f"const {c_type} {value} = {text};")
            writer.exprs[n] = Expr(value + ("[j]" if lasts else ""), PRIMARY)
            writer.helpers += mine.all_helpers
        return lines

    # --- rounds -------------------------------------------------------------------------------------

    def held_rounds(self, writer: ValueWriter) -> tuple[HeldRoundContext, ...]:
        parts, ops = self.parts, self.step.kernel.ops
        rounds: list[HeldRoundContext] = []
        for number, sinks in enumerate(parts.rounds, 1):
            own = [n for n in sinks if n not in self.known]
            for n in own:
                steps = two_steps(ops[n], self.states[n][0])
                if steps is not None and not parts.is_dear(ops[n].args[0]):  # each element is computed twice
                    rounds.append(self.step_within(number - 1, n, steps, writer))
            suffix = str(number) if len(parts.rounds) > 1 else ""
            found = self.held_round(number - 1, f"{self.base}_pass{suffix}", {n: self.states[n] for n in own})
            results = (*self.results(sinks, writer), *self.values(writer, number))
            rounds.append(replace(found, arrays=writer.taken(), results=results))
        return tuple(rounds)

    def step_within(self, place: int, number: int, steps: TwoSteps, writer: ValueWriter) -> HeldRoundContext:
        """The first of two steps, within a thread; the state of the second starts from its own."""
        _, state = self.states[number]
        name = self.unique(names.of_reduction(state, steps.word))
        writer.helpers += steps.first.helpers
        found = self.held_round(place, f"{self.base}_{steps.word}", {number: (steps.first, name)})
        self.states[number] = steps.after(name + self.j), state
        return replace(found, meets=False)

    def held_round(self, place: int, name: str, states: States) -> HeldRoundContext:
        """A round without its results.  The arguments are those of ``RoundsWriter.round``."""
        states = {n: (directly(mine), state) for n, (mine, state) in states.items()}
        self.active = states
        self.states |= states
        section = self.section(place, name, list(states), states)
        parts = [part_of(mine, state, thread_state(mine, state) + self.j, 1) for mine, state in states.values()]
        word = "of_warps" if self.nearest else "of_threads"
        return HeldRoundContext(
            tuple(column_state(mine, state, names.of_reduction(state, word)) for mine, state in states.values()),
            reads=tuple(self.again(self.reads_of(section))),
            parts=tuple(part for part in parts if part is not None),
            call=self.call(section),
            meets=self.schedule.threads > 1,
        )

    # --- one element a column -----------------------------------------------------------------------

    def column_stores(self, writer: RowWriter) -> tuple[tuple[Stored, ...], list[str]]:
        """Packs of what has one element a column, and lines that fill them or write."""
        ops, last = self.step.kernel.ops, self.parts.last()
        loads = [self.load_one(writer, n) for n in last if ops[n].name == "load" and n not in writer.exprs]
        lines = [f"const {value.type} {value.name} = {value.code};" for value in loads]
        packs = self.store_ones(writer)
        return packs, [*lines, *writer.lines(last)]

    def counted_off(self) -> FieldContext:
        each = f"of {self.schedule.group} neighbouring columns" if self.schedule.group > 1 else "of one column each"
        return FieldContext(f"{'long long' if self.schedule.index_bits == 64 else 'unsigned int'} groups", each)

    def comment(self) -> tuple[str, ...]:
        schedule = self.schedule
        each = f"{schedule.group} a thread, " if schedule.group > 1 else ""
        least = schedule.held - schedule.threads + 1
        up_to = "" if self.is_exact else f"{least} to " if self.fills and schedule.threads > 1 else "up to "
        share = f"{schedule.threads} threads for each" if schedule.threads > 1 else "a thread for each"
        text = [
            f"Columns of {up_to}{schedule.held} elements, kept in registers: {schedule.rows} a block, {each}{share}."
            + (" Indices are 64-bit." if schedule.index_bits == 64 else ""),
            f"Launch: ceil(groups / {self.lanes}) blocks of {schedule.block} threads.",
        ]
        if schedule.index_bits == 32:
            text.append("Limits: fewer than 2^31 columns, and every place within one, in bytes, below 2^31.")
        text += self.alignments()
        return tuple(names.comment(line) for line in [*text, *apart(self.step, schedule)])
