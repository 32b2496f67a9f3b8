"""Writes the context of kernels that reduce few columns: each vector has elements of several columns.

A block's vectors cover whole rows, so an element of a thread's vectors is always in the same column.  All elements of
a block have states of their own, which merge in shared memory.
"""

from __future__ import annotations

from kgen.codegen import names
from kgen.codegen.element import Element, Writer
from kgen.codegen.layouts import member, no_overlap_comment
from kgen.codegen.reduction.accumulators import (
    with_shared_count,
    without_compensation,
    without_partial,
)
from kgen.codegen.reduction.calls import Calls, Functions, Values, reads_of
from kgen.codegen.reduction.column_context import NarrowContext, ReadContext, SingleContext
from kgen.codegen.reduction.column_values import alignments
from kgen.codegen.reduction.columns import ColumnKernel, column_state, shared
from kgen.codegen.reduction.comment import bound_comment
from kgen.codegen.reduction.context import Declared, Read, Value
from kgen.codegen.reduction.facts import Described, Facts
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.parts import Parts
from kgen.codegen.reduction.places import ColumnPlaces, Uses, dimension_of, row_coordinates
from kgen.codegen.reduction.states import part_of, thread_state
from kgen.records import dataclass
from kgen.schedule.reduction.schedule import NarrowColumnSchedule


def describe_narrow_columns(facts: Facts) -> Described:
    """A kernel whose vectors go across rows of few columns, and that reads each element once."""
    return NarrowKernel.of(facts).describe()


@dataclass(frozen=True, slots=True)
class NarrowPlaces:
    """``row``, ``column``: of an element.  ``flat``: its index, or that of its vector, in a dense operand."""

    operands: Operands
    row: str
    column: str
    flat: str
    uses: Uses

    @property
    def place(self) -> str:
        return self.row

    def is_dense(self, access: int) -> bool:
        schedule = self.operands.schedule
        return self.operands.planned(access).kind == "vector" and access in schedule.columnwise

    def base_of(self, access: int) -> str:
        return names.own(self.operands.labels[access]) if self.is_dense(access) else self.operands.pointer(access)

    def along(self, access: int, j: str) -> str:
        if self.is_dense(access):
            return self.flat
        schedule = self.operands.schedule
        found = list(self.operands.steps(access).values())
        steps = {"vector": "", "gather": f" * {found[-1]}" if found else ""}
        across = steps.get(self.operands.planned(access).kind)
        terms = [f"({self.row}) * {found[0]}"] if access in schedule.columnwise else []
        terms += [] if across is None else [f"({self.column}){across}" if across else self.column]
        return " + ".join(terms) or "0"

    def outer(self, access: int) -> list[str]:
        """The terms of the offset of a block's rows."""
        pattern, kept = self.operands.planned(access).pattern, self.operands.schedule.kept
        if pattern is None:
            return []
        self.uses.kept.update(range(1, kept))
        label = self.operands.pattern_label(pattern)
        return [f"c{d} * {member(f'{label}_stride', d - 1, kept - 1)}" for d in range(1, kept)]

    def coordinate(self, number: int) -> str:
        dimension = dimension_of(self.operands, number)
        if dimension is None or dimension < 2:
            return "0" if dimension is None else self.column if dimension else self.row
        self.uses.kept.add(dimension - 1)
        return f"c{dimension - 1}"


@dataclass(frozen=True, slots=True)
class NarrowKernel(ColumnKernel):
    """``places``: the place of a column's results."""

    @staticmethod
    def of(facts: Facts) -> NarrowKernel:
        operands, parts, values = facts.operands(), Parts.of(facts.step, is_column=True), Values(facts.values)
        adapted = with_shared_count if facts.schedule.loops else without_compensation
        states = {n: (adapted(m), state) for n, (m, state) in facts.states.items()}
        functions = Functions(parts, values, facts.statements, facts.declare)
        places = ColumnPlaces(operands, "0", False, Uses())
        return NarrowKernel(facts, parts, operands, places, values, functions, states)

    @property
    def columns(self) -> int:
        return self.schedule.rows

    def describe(self) -> Described:
        schedule, tuning = self.schedule, self.schedule.target.tuning.columns
        assert isinstance(schedule, NarrowColumnSchedule)
        function = self.functions.write(0, f"{self.facts.base}_pass", list(self.states), self.states)
        writer = Writer(self.facts.step, self.facts.statements, unique=self.values.unique)
        results, lines, _ = self.results(writer)
        used = " ".join([*(value.code for value in results), *lines])
        accumulators = [mine for mine, _ in self.states.values()]
        result_pointers = self.places.starts(i for i in range(len(schedule.accesses)) if self.places.base_of(i) in used)
        reads, single = tuple(self.reading(count, function) for count in self.counts), self.single(function)
        pointers = self.starts(reads_of(function))
        ahead = tuning.results_ahead
        context = NarrowContext(
            template="reduction/column_narrow.cu.j2",
            name=self.facts.name,
            comment=self.comment(),
            parameters=tuple(self.facts.parameters),
            block=schedule.block,
            starts_next=schedule.block > tuning.small_block,
            blocks_per_sm=schedule.blocks_per_sm,
            rows=schedule.rows,
            down=schedule.down,
            group=schedule.group,
            is_64bit=schedule.index_bits == 64,
            split=schedule.split,
            layout=self.facts.layout("columns"),
            coordinates=row_coordinates(schedule, self.places.uses.kept, "blockIdx.x"),
            pointers=pointers,
            loops=schedule.loops,
            keeps_loads_above=self.keeps_loads_above,
            states=tuple(column_state(mine, state, shared(state)) for mine, state in self.states.values()),
            counted=self.counted,
            reads=reads,
            single=single,
            ahead=ahead if ahead * sum(m.size for m in accumulators) <= tuning.ahead_bytes else 1,
            result_pointers=result_pointers,
            results=results,
            result_lines=lines,
        )
        return Described(
            context,
            (*self.functions.headers, *writer.headers),
            (
                *self.functions.helpers, *writer.helpers, *(h for m in accumulators for h in m.all_helpers),
                *self.operands.loads_of(reads_of(function)), *(["keep_loads_above"] if self.keeps_loads_above else []),
            ),
        )  # fmt: skip

    def starts(self, accesses: list[int]) -> tuple[Value, ...]:
        """The start of the thread's elements in each dense operand."""
        places = self.of_elements("", "")
        dense = [i for i in accesses if places.is_dense(i)]
        return tuple(self.operands.start(i, places.base_of(i), ["own", *places.outer(i)]) for i in dense)

    def of_elements(self, row: str, flat: str) -> NarrowPlaces:
        """``row``: the first row of the block's elements, ``flat``: that row's place in a dense operand."""
        own = "own + j" if self.schedule.group > 1 else "own"
        inside = f"({own})" if " " in own else own
        element = f"{row} + {inside} / {self.columns}"
        return NarrowPlaces(self.operands, element, f"{inside} % {self.columns}", flat, self.places.uses)

    def reading(self, count: int, function: Element) -> ReadContext:
        row = "e" if count == 1 else f"e + u * {self.schedule.down}"
        places = self.of_elements(row, f"{f'({row})' if count > 1 else row} * {self.columns}")
        many = count > 1

        def name(access: int) -> str:
            return names.vector(self.operands.labels[access]) + ("[u]" if many else "")

        def element(access: int) -> str:
            return name(access) + ("" if self.is_single(access) else ".at[j]")

        def declared(access: int) -> Declared:
            single, array = self.is_single(access), f"[{count}]" if many else ""
            c_type = self.operands.type_of(access) if single else self.operands.register_pack(access)
            if not single and not places.is_dense(access):
                c_type = self.operands.gather_pack(access)
            return Declared(c_type, f"{names.vector(self.operands.labels[access])}{array}")

        def load(access: int) -> Read:
            base, along = places.base_of(access), places.along(access, "j")
            type_ = "" if many else declared(access).type
            if places.is_dense(access):
                value = f"{self.operands.start_of_load(access)}{base} + {along})"
                return Read(name(access), "auto" if type_ else "", value)
            if self.is_single(access):
                return Read(name(access), type_, value=f"{base}[{along}]")
            return Read(name(access), type_, each=f"{base}[{along}]")

        accesses = reads_of(function)
        collected = "u" if many else "0"
        calls = Calls(self.operands, places, self.values, element, "[j]", collected, states=self.states)
        parts = (part_of(mine, state, f"{thread_state(mine, state)}[j]", count) for mine, state in self.states.values())
        return ReadContext(
            count,
            tuple(map(declared, accesses)) if many else (),
            (),
            (),
            (),
            tuple(map(load, accesses)),
            tuple(part for part in parts if part is not None),
            (),
            calls.call(function),
        )

    def is_single(self, access: int) -> bool:
        """Whether an operand has one element for all that a block reads."""
        return self.operands.planned(access).kind == "row" and access not in self.schedule.columnwise

    def single(self, function: Element) -> SingleContext | None:
        """How a thread takes one element after the last whole vector."""
        if self.schedule.group == 1:
            return None
        columns = self.columns
        places = NarrowPlaces(self.operands, f"at / {columns}", f"at % {columns}", "at", self.places.uses)
        labels, pointer = self.operands.labels, self.operands.pointer
        states = {
            n: (without_partial(without_compensation(mine)), names.of_reduction(state, "single"))
            for n, (mine, state) in self.states.items()
        }

        def load(access: int) -> Read:
            place = " + ".join([*places.outer(access), places.along(access, "")])
            return Read(names.value(labels[access]), self.operands.type_of(access), f"{pointer(access)}[{place}]")

        calls = Calls(self.operands, places, self.values, lambda i: names.value(labels[i]), "", "0", states=states)
        parts = (part_of(mine, state, state, 1) for mine, state in states.values())
        return SingleContext(
            tuple(Value(mine.type, state, mine.initial) for mine, state in states.values()),
            tuple(map(load, reads_of(function))),
            tuple(part for part in parts if part is not None),
            calls.call(function),
            tuple(shared(state) for _, state in self.states.values()),
        )

    def total(self, state: str) -> str:
        return f"{shared(state)}[threadIdx.x]"

    def comment(self) -> tuple[str, ...]:
        schedule = self.schedule
        assert isinstance(schedule, NarrowColumnSchedule)
        several = "; several blocks share them" if schedule.split else ""
        text = [
            f"{self.columns} columns side by side: the block's vectors cover {schedule.down} rows{several}."
            + (" Indices are 64-bit." if schedule.index_bits == 64 else ""),
        ]
        if schedule.split:
            others = "1" if schedule.kept == 1 else "other kept extents"
            text += [
                f"Launch: ({others}, ceil(height / span)) blocks of {schedule.block} threads; `span`: a multiple of "
                f"{schedule.down}.",
                f"Memory: gridDim.x * gridDim.y * {schedule.rows} of each `*_block_partials`.",
                "Memory: `arrived`, a counter for each blockIdx.x, 0 before and after.",
            ]
        else:
            text.append(f"Launch: a block of {schedule.block} threads for each of the other kept extents.")
        text += bound_comment(schedule, schedule.blocks_per_sm)
        if schedule.index_bits == 32:
            text.append("Limits: every place within a column, in bytes, is below 2^31.")
        if not schedule.loops:
            text.append(f"A column has fewer than {schedule.down * 2 * schedule.vectors} elements.")
        text += alignments(self.operands)
        return tuple(names.comment(line) for line in [*text, *no_overlap_comment(self.facts.step, schedule)])
