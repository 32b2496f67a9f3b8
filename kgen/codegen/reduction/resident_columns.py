"""Writes the context of kernels with register-resident columns.

Threads go across columns with vector loads, and each has some elements of each of its columns.  Values of a column are
in arrays with one element for each of a thread's columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from kgen.codegen import names
from kgen.codegen.element import PRIMARY, Writer
from kgen.codegen.expressions import Level
from kgen.codegen.helpers import KEEP_LOADED
from kgen.codegen.layouts import no_overlap_comment
from kgen.codegen.reduction.accumulators import without_partial
from kgen.codegen.reduction.calls import Calls, Functions, Values, final_packs, reads_of
from kgen.codegen.reduction.column_context import ResidentContext, ResidentFinal, ResidentRoundContext
from kgen.codegen.reduction.column_values import (
    ColumnArrays,
    alignments,
    lasting,
    load_one,
    multiples,
    store_ones,
)
from kgen.codegen.reduction.columns import column_state
from kgen.codegen.reduction.context import Read, Stored
from kgen.codegen.reduction.facts import Described, Facts
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.parts import Parts
from kgen.codegen.reduction.places import ColumnPlaces, place_coordinates, row_coordinates
from kgen.codegen.reduction.registers import Registers, kept_values
from kgen.codegen.reduction.sections import access_of
from kgen.codegen.reduction.states import States, part_of, result_of, thread_state, value_name
from kgen.codegen.reduction.two_steps import TwoSteps, two_steps
from kgen.codegen.spelling import Expr, register_type
from kgen.records import dataclass, replace
from kgen.schedule.reduction.schedule import WARP, ColumnSchedule, RowSchedule
from kgen.schedule.target import WORD
from kgen.spec import counted


def describe_resident_columns(facts: Facts) -> Described:
    """A kernel with register-resident columns."""
    return ResidentColumnKernel.of(facts).describe()


def gathered(read: Read, group: int) -> list[str]:
    """Lines that read a group element by element."""
    loop = f"for (int j = 0; j < {group}; ++j) {{"
    return [f"{read.type} {read.name};", "#pragma unroll", loop, f"    {read.name}.at[j] = {read.each};", "}"]


def is_exact(schedule: RowSchedule) -> bool:
    """Whether every column fills its threads' registers exactly."""
    return schedule.threads == 1 == schedule.reduced


def resident_accesses(schedule: RowSchedule) -> set[int]:
    """The register-resident accesses.  Operands that all columns share come from the cache where they are needed."""
    own = {i for i in schedule.columnwise if schedule.accesses[i].pattern is not None}
    return own if schedule.patterns else {i for i in schedule.columnwise if schedule.accesses[i].kind != "row"}


def start_of_group(schedule: RowSchedule, v: str) -> str:
    """The index in its column of a thread's element number ``v``."""
    if schedule.threads == 1:
        return v or "0"
    return f"{v} * {schedule.threads} + down" if v else "down"


@dataclass(frozen=True, slots=True)
class ResidentColumnKernel:
    """The parts that write the kernel.

    ``values.passed``: the values of a column that element functions take.  ``writer``: writes values that are computed
    once a column.  ``arrays``: those of them that are read after the loop.  ``states``: those of the rounds that are
    written so far.
    """

    facts: Facts
    parts: Parts
    operands: Operands
    places: ColumnPlaces
    registers: Registers
    values: Values
    functions: Functions
    calls: Calls
    arrays: ColumnArrays
    writer: Writer
    states: States

    @classmethod
    def of(cls, facts: Facts) -> Self:
        schedule, operands, parts = facts.schedule, facts.operands(), Parts.of(facts.step)
        at = start_of_group(schedule, "v" if schedule.vectors > 1 else "") if is_exact(schedule) else "i"
        several = schedule.group > 1
        places = ColumnPlaces(operands, at, several)
        registers, values = cls.registers_of(operands, places), Values(facts.values)
        values.kept = kept_values(facts, parts, resident_accesses(schedule))
        functions = Functions(parts, values, facts.statements, facts.declare, picks=several)
        calls = Calls(operands, places, values, registers.element, "[j]" if several else "", "0")
        arrays = ColumnArrays(schedule.group, lasting(parts))
        writer = Writer(facts.step, facts.statements, unique=values.unique, define=arrays.define)
        states = dict(facts.states)
        return cls(facts, parts, operands, places, registers, values, functions, calls, arrays, writer, states)

    @staticmethod
    def registers_of(operands: Operands, places: ColumnPlaces) -> Registers:
        return Registers(operands, places, resident_accesses(operands.schedule))

    @property
    def schedule(self) -> ColumnSchedule:
        schedule = self.facts.schedule
        assert isinstance(schedule, ColumnSchedule)
        return schedule

    @property
    def j(self) -> str:
        """The index of a column in arrays with an element for each column."""
        return self.calls.column

    @property
    def lanes(self) -> int:
        """Threads across columns."""
        return self.schedule.block // self.schedule.threads

    @property
    def loads_first(self) -> bool:
        """Whether only loads check every element, as in ``rows.py``.

        Layernorm of 96 bfloat16 runs at 1.02 of a copy, otherwise 0.88.  Not for single elements of 4 bytes and more,
        whose rounds check every element, too: softmax of 512 x 1023 float32 runs at 0.65 of a copy, otherwise 0.47.
        """
        schedule = self.schedule
        small = min(self.operands.operand(t).dtype.size for t in schedule.columnwise) < WORD
        return schedule.vectors > 1 and not is_exact(schedule) and (schedule.group > 1 or small)

    @property
    def fills(self) -> bool:
        """Whether rounds check only a thread's last element against the column's end."""
        return self.schedule.fills or self.loads_first

    def kept_loaded(self, loads: Sequence[int]) -> tuple[str, ...]:
        return () if is_exact(self.schedule) else self.registers.loaded_in_branches(loads)

    # --- the whole ----------------------------------------------------------------------------------

    def describe(self) -> Described:
        schedule, parts, writer = self.schedule, self.parts, self.writer
        self.own_names()
        own_loads = self.own_loads()
        writer.wanted = parts.named()
        of_columns = self.of_columns(0)
        arrays = self.arrays.take()
        rounds = self.rounds()
        final = self.final()
        writer.wanted = self.arrays.lasting = frozenset()
        store_packs, lines = self.column_stores()
        resident = [t for t in self.reads_anywhere() if t in self.registers.resident]
        loads = tuple(map(self.registers.read, resident))
        load_coordinates = self.places.uses.in_loop(schedule)
        pointers = (*self.places.starts(range(len(schedule.accesses))), *self.operands.policies())
        uses = self.places.uses
        context = ResidentContext(
            template="reduction/column_resident.cu.j2",
            name=self.facts.name,
            comment=self.comment(),
            parameters=tuple(self.facts.parameters),
            block=schedule.block,
            starts_next=schedule.block > schedule.target.tuning.columns.small_block,
            threads=schedule.threads,
            lanes=self.lanes,
            rows=schedule.rows,
            group=schedule.group,
            in_turn=schedule.in_turn,
            nearest=self.nearest,
            entries=self.entries,
            layout=self.facts.layout("columns"),
            is_64bit=schedule.index_bits == 64,
            coordinates=row_coordinates(schedule, {0, *uses.kept}, "number"),
            number="c0" if schedule.kept > 1 else "number" if schedule.index_bits == 64 else "(int)number",
            pointers=pointers,
            own_loads=(*own_loads, *arrays),
            of_columns=tuple(of_columns),
            vectors=schedule.vectors,
            is_exact=is_exact(schedule),
            end="layout.height",
            begin=start_of_group(schedule, ""),
            group_start=start_of_group(schedule, "v"),
            checks_last=self.fills,
            place_coordinates=place_coordinates(schedule, uses.anywhere),
            resident=(*map(self.registers.declared, resident), *self.calls.kept_arrays()),
            loads=loads,
            kept_loaded=self.kept_loaded(resident),
            load_coordinates=load_coordinates,
            rounds=rounds,
            final=final,
            store_packs=store_packs,
            stores=tuple(lines),
        )
        return Described(context, (*self.functions.headers, *writer.headers), self.helpers(resident))

    def final(self) -> ResidentFinal | None:
        """How the elements of outputs of whole columns are written."""
        stores = self.parts.varying_stores
        if not stores:
            return None
        function = self.functions.write(len(self.parts.rounds), f"{self.facts.base}_element", stores)
        reads = self.registers.again(reads_of(function))
        packs = final_packs(self.operands, self.places, stores)
        call = self.calls.call(function)
        return ResidentFinal(reads, packs, call, self.places.uses.in_loop(self.schedule))

    def reads_anywhere(self) -> list[int]:
        found = {t for f in self.functions.written for t in reads_of(f)}
        return sorted(found, key=lambda t: self.facts.step.accesses[t].operand)

    def reads_once(self) -> set[int]:
        """The accesses with one element for each column."""
        ops = self.facts.step.graph.ops
        return {access_of(self.facts.step, n) for n in self.parts.common if ops[n].name == "load"}

    def helpers(self, loads: Sequence[int]) -> tuple[str, ...]:
        """The helpers that the kernel and its element functions call."""
        starts = (t for t in range(len(self.schedule.accesses)) if self.places.outer(t))
        return (
            *self.functions.helpers,
            *self.writer.helpers,
            *(["keep_packed"] if any(map(self.operands.is_packed, loads)) else []),
            *(["keep_address"] if any(map(self.operands.keeps_address, starts)) else []),
            *([KEEP_LOADED] if self.kept_loaded(loads) else []),
            *self.registers.extractors(self.reads_anywhere()),
            *self.operands.loads_of(self.reads_anywhere()),
            *self.operands.loads_of(self.reads_once()),
        )

    @property
    def nearest(self) -> int:
        """The distance of the nearest threads of a warp that share columns; 0 if none do."""
        shuffles = self.lanes < WARP and WARP % self.lanes == 0 and not self.schedule.in_turn
        return self.lanes if shuffles and self.schedule.threads > 1 else 0

    @property
    def entries(self) -> int:
        """How many threads or warps exchange states of each column."""
        return self.schedule.block // WARP if self.nearest else self.schedule.threads

    def own_names(self) -> None:
        """Register the names of scalars, sizes and the indices of a thread's columns."""
        rows, passed, exprs = self.values.rows, self.values.passed, self.writer.exprs
        for n, op in enumerate(self.facts.step.graph.ops):
            if op.name in ("scalar", "size"):
                exprs[n] = Expr(self.values.parameter(op), PRIMARY)
            elif op.name == "index" and not self.parts.varies[n]:
                axis = self.facts.step.places[n][int(str(op.attr))]
                rows[n], passed[n] = f"index{axis or 0}", self.places.coordinate(n)
                code = passed[n]
                exprs[n] = Expr(f"(long long){f'({code})' if ' ' in code else code}", Level.UNARY)

    def own_loads(self) -> list[str]:
        """Lines that load the operands with one element for each column, before all others."""
        operands, passed = self.operands, self.values.passed
        lines: list[str] = []
        for n, op in enumerate(self.facts.step.graph.ops):
            if op.name != "load" or self.parts.varies[n] or n not in self.parts.common:
                continue
            access = access_of(self.facts.step, n)
            base = self.places.base_of(access)
            value = self.values.unique(names.value(operands.operand(access).name))
            self.values.rows[n] = value
            if self.schedule.group == 1 or operands.planned(access).kind == "row":
                passed[n] = value
                lines.append(f"const {register_type(op.dtype)} {value} = {base}[0];")
            else:
                vector = self.registers.name(access)
                passed[n] = f"{vector}.at[j]"
                if operands.is_grouped(access):
                    lines.append(f"const auto {vector} = {operands.start_of_load(access)}{base});")
                else:
                    lines += gathered(self.registers.read(access), self.schedule.group)
            self.writer.exprs[n] = Expr(passed[n], PRIMARY)
        return lines

    def of_columns(self, phase: int) -> list[str]:
        """Lines that compute a column's values from the first ``phase`` rounds, and the reciprocals of divisors."""
        writer, values = self.writer, self.values
        lines = list(writer.lines(self.parts.of_row(phase)))
        for n in sorted(self.parts.common):
            if n not in writer.exprs or self.facts.step.graph.ops[n].name in ("const", "scalar", "size"):
                continue
            code = writer.exprs[n].code
            if n not in values.passed:  # loads have their names already
                values.passed[n], values.rows[n] = code, code.removesuffix("[j]")
            if n in self.parts.divisors and n not in values.reciprocals:
                reciprocal = values.unique(names.reciprocal(values.rows[n]))
                values.reciprocals[n] = reciprocal + self.j
                value = self.parts.inverted(n, code)
                lines.append(
                    self.arrays.assign("float", reciprocal, value) if self.j else f"const float {reciprocal} = {value};"
                )
        return lines

    def results(self, sinks: Sequence[int]) -> list[str]:
        """Lines that compute the results of a round for each column."""
        ops, writer = self.facts.step.graph.ops, self.writer
        lines: list[str] = []
        height = f"{self.schedule.resident}" if is_exact(self.schedule) else "layout.height"
        for n in sinks:
            by, member = self.facts.known.get(n, (n, ""))
            mine, state = self.states[by]
            state += self.j
            value = self.values.unique(value_name(self.facts.step, n, self.states))
            text = result_of(mine, state, member, height, may_be_empty=False)
            c_type = register_type(ops[n].dtype)
            line, code = self.arrays.define(n, c_type, value, text)
            lines.append(line)
            writer.exprs[n] = Expr(code, PRIMARY)
            writer.helpers += mine.all_helpers
        return lines

    # --- rounds -------------------------------------------------------------------------------------

    def rounds(self) -> tuple[ResidentRoundContext, ...]:
        parts, ops, base = self.parts, self.facts.step.graph.ops, self.facts.base
        rounds: list[ResidentRoundContext] = []
        for number, sinks in enumerate(parts.rounds, 1):
            own = [n for n in sinks if n not in self.facts.known]
            for n in own:
                steps = two_steps(ops[n], self.states[n][0])
                if steps is not None and not parts.is_expensive(ops[n].args[0]):  # each element is computed twice
                    rounds.append(self.first_step(number - 1, n, steps))
            suffix = str(number) if len(parts.rounds) > 1 else ""
            found = self.round(number - 1, f"{base}_pass{suffix}", {n: self.states[n] for n in own})
            results = (*self.results(sinks), *self.of_columns(number))
            rounds.append(replace(found, arrays=self.arrays.take(), results=results))
        return tuple(rounds)

    def first_step(self, place: int, number: int, steps: TwoSteps) -> ResidentRoundContext:
        """The first of two steps, within a thread; the second step's state starts from the first's."""
        _, state = self.states[number]
        name = self.values.unique(names.of_reduction(state, steps.word))
        self.writer.helpers += steps.first.helpers
        found = self.round(place, f"{self.facts.base}_{steps.word}", {number: (steps.first, name)})
        self.states[number] = steps.after(name + self.j), state
        return replace(found, meets=False)

    def round(self, place: int, name: str, states: States) -> ResidentRoundContext:
        """A round without its results.  ``place``: the number of rounds before it."""
        states = {n: (without_partial(mine), state) for n, (mine, state) in states.items()}
        self.calls.states = states
        self.states.update(states)
        function = self.functions.write(place, name, list(states), states)
        parts = [part_of(mine, state, thread_state(mine, state) + self.j, 1) for mine, state in states.values()]
        word = "warp_partials" if self.nearest else "thread_partials"
        reads, call = self.registers.again(reads_of(function)), self.calls.call(function)
        return ResidentRoundContext(
            tuple(column_state(mine, state, names.of_reduction(state, word)) for mine, state in states.values()),
            coordinates=self.places.uses.in_loop(self.schedule),
            reads=reads,
            parts=tuple(part for part in parts if part is not None),
            call=call,
            meets=self.schedule.threads > 1,
        )

    # --- one element a column -----------------------------------------------------------------------

    def column_stores(self) -> tuple[tuple[Stored, ...], list[str]]:
        """The packs of outputs with one element a column, and the lines that fill them or store directly."""
        ops, last = self.facts.step.graph.ops, self.parts.last()
        loads = [
            load_one(self.places, self.writer, n)
            for n in last
            if ops[n].name == "load" and n not in self.writer.exprs
        ]  # fmt: skip
        lines = [f"const {value.type} {value.name} = {value.code};" for value in loads]
        packs = store_ones(self.places, self.writer, self.parts.row_stores)
        return packs, [*lines, *self.writer.lines(last)]

    def comment(self) -> tuple[str, ...]:
        schedule = self.schedule
        each = f"{schedule.group} a thread, " if schedule.group > 1 else ""
        least = schedule.resident - schedule.threads + 1
        up_to = "" if is_exact(schedule) else f"{least} to " if self.fills and schedule.threads > 1 else "up to "
        share = f"{schedule.threads} threads for each" if schedule.threads > 1 else "a thread for each"
        text = [
            f"Columns of {up_to}{counted(schedule.resident, 'element')}, kept in registers: {schedule.rows} a block, "
            f"{each}{share}." + (" Indices are 64-bit." if schedule.index_bits == 64 else ""),
            f"Launch: ceil(groups / {self.lanes}) blocks of {schedule.block} threads.",
        ]
        if schedule.in_turn:
            text.insert(1, f"Neighbouring threads go along {counted(schedule.in_turn, 'group')} of columns, then down.")
        if schedule.index_bits == 32:
            text.append("Limits: fewer than 2^31 columns, and every place within one, in bytes, below 2^31.")
        text += [*alignments(self.operands), *multiples(schedule)]
        return tuple(names.comment(line) for line in [*text, *no_overlap_comment(self.facts.step, schedule)])
