"""Writes the context of kernels that reduce along a slow dimension.

Threads go across columns, which lie side by side in memory, with vector loads.  Several threads share each group of
columns, and merge their states in shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.codegen import names
from kgen.codegen.element import PRIMARY, Element, Writer
from kgen.codegen.layouts import no_overlap_comment
from kgen.codegen.reduction.accumulators import Accumulator, with_shared_count, without_compensation
from kgen.codegen.reduction.calls import Calls, Functions, Values, reads_of
from kgen.codegen.reduction.column_context import ColumnContext, ColumnState, ReadContext
from kgen.codegen.reduction.column_once import Once, fixed_loads
from kgen.codegen.reduction.column_values import alignments, load_one, multiples, store_ones
from kgen.codegen.reduction.comment import bound_comment
from kgen.codegen.reduction.context import Declared, Read, Stored, Value
from kgen.codegen.reduction.facts import Described, Facts
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.parts import Parts
from kgen.codegen.reduction.places import ColumnPlaces, Uses, first_column, group_coordinates
from kgen.codegen.reduction.states import States, first_of, part_of, result_of, thread_state, value_name
from kgen.codegen.spelling import Expr, register_type
from kgen.ir.ops import BRANCHING
from kgen.records import dataclass
from kgen.schedule.reduction.schedule import ColumnSchedule, RowSchedule, are_apart
from kgen.spec import counted


def describe_columns(facts: Facts) -> Described:
    """A kernel that goes down columns, and reads each element once."""
    return ColumnKernel.of(facts).describe()


@dataclass(frozen=True, slots=True)
class Batch:
    """``count`` elements of each column that a thread reads at once.  ``run``: the place of the first of them."""

    places: ColumnPlaces
    run: ColumnPlaces
    count: int

    @staticmethod
    def of(operands: Operands, count: int, uses: Uses, *, is_whole: bool = False) -> Batch:
        """``is_whole``: whether it has all elements of a thread; the last one may be another thread's, once more."""
        step = 1 if transposes(operands.schedule) else operands.schedule.threads
        place = "e" if count == 1 else f"e + u * {step}" if step > 1 else "e + u"
        if is_whole:
            first = "down" if operands.schedule.index_bits == 32 else "(long long)down"
            place = f"min({first} + u * {step}, layout.height - 1)" if step > 1 else "u"
        many, run = operands.schedule.group > 1, "" if is_whole else "e"
        return Batch(ColumnPlaces(operands, place, many, uses), ColumnPlaces(operands, run, many, uses), count)

    @property
    def operands(self) -> Operands:
        return self.places.operands

    def name(self, access: int) -> str:
        """The name of the elements that are read in one row of the batch, or are the same in all rows."""
        each = self.count > 1 and access in column_schedule(self.operands.schedule).columnwise
        return self.variable(access) + ("[u]" if each else "")

    def variable(self, access: int) -> str:
        """The name of all elements that are read."""
        label = self.operands.labels[access]
        return f"{label}_in" if self.is_one(access) else names.vector(label)

    def is_run(self, access: int) -> bool:
        """Whether a thread reads all elements of one column at once, not one element of all its columns."""
        return self.count > 1 and self.operands.planned(access).kind == "transposed"

    def element(self, access: int) -> str:
        if self.is_run(access):
            return f"{names.vector(self.operands.labels[access])}{'[j]' if self.places.many else ''}.at[u]"
        return self.name(access) + ("" if self.is_one(access) else ".at[j]")

    def is_one(self, access: int) -> bool:
        """Whether a thread reads one element for all of its columns."""
        return self.operands.planned(access).kind == "row" or not self.places.many

    def arrays(self, accesses: Sequence[int]) -> tuple[Declared, ...]:
        """What loops fill; the run of a thread's one column is declared where it is read."""
        return tuple(self.declared(a) for a in accesses if self.count > 1 and (self.places.many or not self.is_run(a)))

    def declared(self, access: int) -> Declared:
        if self.is_run(access):
            name = names.vector(self.operands.labels[access])
            return Declared(self.operands.run_pack(access, self.count), f"{name}[{self.operands.schedule.group}]")
        c_type = self.operands.type_of(access) if self.is_one(access) else self.operands.register_pack(access)
        array = f"[{self.count}]" if self.count > 1 else ""
        return Declared(c_type, f"{self.variable(access)}{array}")

    def load(self, access: int) -> Read:
        name, base = self.name(access), self.places.base_of(access)
        type_ = self.declared(access).type if self.count == 1 else ""
        match self.operands.planned(access).kind:
            case _ if self.is_one(access):
                return Read(name, type_, value=f"{base}[{self.places.along(access, '')}]")
            case "vector" if not are_apart(self.operands.schedule):
                start, place = self.operands.start_of_load(access), self.places.along(access, "")
                value = f"{start}{base})" if place == "0" else f"{start}{base} + {place})"
                return Read(name, "auto" if type_ else "", value)
            case _:
                return Read(name, type_, each=f"{base}[{self.places.along(access, 'j')}]")

    def load_run(self, access: int) -> Read:
        name, base = names.vector(self.operands.labels[access]), self.run.base_of(access)
        j = "j" if self.places.many else ""
        place = " + ".join(term for term in (base, self.run.along(access, j)) if term)
        value = self.operands.load_of_run(access, self.count, place)
        return Read(f"{name}[j]" if j else f"const auto {name}", value=value)

    def coordinates(self, places: ColumnPlaces | None = None, above: Sequence[str] = ()) -> tuple[str, ...]:
        """Lines of coordinates that the latest text reads at ``places``; of one element, without those ``above``."""
        found = self.places.uses.in_loop(self.operands.schedule, (places or self.places).factor)
        return tuple(line for line in found if self.count > 1 or line not in above)


@dataclass(frozen=True, slots=True)
class ColumnKernel:
    """The parts that write the kernel.  ``places``: the place of one element of each column."""

    facts: Facts
    parts: Parts
    operands: Operands
    places: ColumnPlaces
    values: Values
    functions: Functions
    states: States

    @staticmethod
    def of(facts: Facts) -> ColumnKernel:
        operands, values = facts.operands(), Values(facts.values)
        parts = Parts.of(facts.step, is_column=True, fixed=fixed_loads(facts))
        adapted = with_shared_count if facts.schedule.loops else without_compensation
        states = {n: (adapted(m), state) for n, (m, state) in facts.states.items()}
        functions = Functions(parts, values, facts.statements, facts.declare)
        return ColumnKernel(facts, parts, operands, Batch.of(operands, 1, Uses()).places, values, functions, states)

    @property
    def schedule(self) -> ColumnSchedule:
        return column_schedule(self.facts.schedule)

    @property
    def j(self) -> str:
        """The index of a column in arrays."""
        return "[j]" if self.schedule.group > 1 else ""

    @property
    def height(self) -> str:
        """The number of elements of a column: in the text where all columns of the kernel have as many."""
        return str(self.schedule.vectors) if self.is_whole and self.schedule.threads == 1 else "layout.height"

    @property
    def lanes(self) -> int:
        """Threads across columns."""
        return self.schedule.block // self.schedule.threads

    def describe(self) -> Described:
        schedule, tuning = self.schedule, self.schedule.target.tuning.columns
        once = Once.of(self.facts, self.parts, self.values, Batch.of(self.operands, 1, Uses()).element)
        function = self.functions.write(0, f"{self.facts.base}_pass", list(self.states), self.states)
        writer = Writer(self.facts.step, self.facts.statements, unique=self.values.unique)
        results, lines, packs = self.results(writer)
        used = " ".join([*(value.code for value in results), *lines, *(pack.place for pack in packs)])
        anywhere = (i for i in range(len(schedule.accesses)) if self.places.base_of(i) in used)
        accumulators = [mine for mine, _ in self.states.values()]
        read = sorted({*reads_of(function), *once.reads})
        pointers = self.places.starts(sorted({*read, *anywhere}))
        reads, ahead = tuple(self.reading(count, function) for count in self.counts), tuning.results_ahead
        context = ColumnContext(
            template="reduction/column_reduce.cu.j2",
            name=self.facts.name,
            comment=self.comment(),
            parameters=tuple(self.facts.parameters),
            block=schedule.block,
            starts_next=schedule.block > tuning.small_block,
            threads=schedule.threads,
            lanes=self.lanes,
            rows=schedule.rows,
            group=schedule.group,
            many=schedule.group > 1,
            is_64bit=schedule.index_bits == 64,
            split=schedule.split,
            layout=self.facts.layout("columns"),
            coordinates=group_coordinates(schedule, {0, *self.places.uses.kept}),
            column=first_column(schedule),
            live="number < layout.groups" + (" && column < layout.columns" if schedule.chunk else ""),
            apart=schedule.apart,
            at_once=self.is_whole,
            pointers=pointers,
            loops=schedule.loops,
            keeps_loads_above=self.keeps_loads_above,
            takes_runs=transposes(schedule) and not schedule.at_once,
            blocks_per_sm=blocks_per_sm(schedule),
            states=tuple(column_state(mine, state, shared(state)) for mine, state in self.states.values()),
            counted=self.counted,
            invariant=self.invariant(read),
            once_arrays=once.arrays,
            once=once.lines,
            reads=reads,
            ahead=ahead if ahead * sum(m.size for m in accumulators) <= tuning.ahead_bytes else 1,
            results=results,
            result_lines=lines,
            result_packs=packs,
        )
        return Described(
            context,
            (*self.functions.headers, *once.headers, *writer.headers),
            (
                *self.functions.helpers, *once.helpers, *writer.helpers,
                *(h for m in accumulators for h in m.all_helpers), *self.operands.loads_of(read),
                *(["keep_loads_above"] if self.keeps_loads_above else []),
            ),
        )  # fmt: skip

    @property
    def keeps_loads_above(self) -> bool:
        """Whether elements take divisions or functions, which have branches."""
        ops = self.facts.step.graph.ops
        return any(self.parts.varies[n] and op.name in BRANCHING for n, op in enumerate(ops))

    @property
    def counts(self) -> tuple[int, ...]:
        """How many elements a thread reads at once: the largest batch first, then smaller ones for the rest, or for
        threads that have one element fewer than others.
        """
        vectors = self.schedule.vectors
        if self.schedule.at_once:
            return (vectors,) if self.is_whole else (vectors, vectors - 1)
        if transposes(self.schedule):
            # Threads share what is left behind the last whole run; columns of several dimensions are whole runs.
            alone = self.schedule.threads == 1 and self.schedule.reduced == 1
            return tuple(dict.fromkeys((*(vectors >> n for n in range(vectors.bit_length() if alone else 1)), 1)))
        return tuple(1 << n for n in range(vectors.bit_length() - 1, -1, -1))

    @property
    def is_whole(self) -> bool:
        """Whether a thread has one batch, of which it may leave out the last element; no state takes a whole batch."""
        taken = [mine for mine, _ in self.states.values() if mine.mode == "group" or "{group}" in mine.take]
        return self.schedule.at_once and (self.schedule.threads == 1 or not taken)

    def reading(self, count: int, function: Element) -> ReadContext:
        threads, is_whole = self.schedule.threads, self.is_whole
        accesses = [i for i in reads_of(function) if i in self.schedule.columnwise]
        batch = Batch.of(self.operands, count, self.places.uses, is_whole=is_whole)
        collected = "u" if count > 1 else "0"
        calls = Calls(self.operands, batch.places, self.values, batch.element, self.j, collected, states=self.states)
        parts = (part_of(m, s, f"{thread_state(m, s)}{self.j}", count) for m, s in self.states.values())
        runs = tuple(batch.load_run(access) for access in accesses if batch.is_run(access))
        run_coordinates = batch.coordinates(batch.run)
        loads = tuple(batch.load(access) for access in accesses if not batch.is_run(access))
        above = run_coordinates if runs else ()
        coordinates = batch.coordinates(above=above)
        call = calls.call(function)
        return ReadContext(
            count,
            batch.arrays(accesses),
            runs,
            run_coordinates,
            coordinates,
            loads,
            tuple(part for part in parts if part is not None),
            batch.coordinates(above=(*above, *coordinates)),
            call,
            f"u < {count - 1} || down + u * {threads} < layout.height" if is_whole and threads > 1 else "",
        )

    def invariant(self, read: Sequence[int]) -> tuple[Read, ...]:
        """What is read ahead of all batches, of the accesses that are ``read``."""
        one = Batch.of(self.operands, 1, Uses())
        return tuple(one.load(i) for i in read if i not in self.schedule.columnwise)

    @property
    def counted(self) -> str:
        """The type of the number of elements of each column that a thread has seen; empty if no state needs it."""
        found = sorted(m.local.counts for m, _ in self.states.values() if m.local and m.local.counts)
        return found[0] if found else ""

    def results(self, writer: Writer) -> tuple[tuple[Value, ...], tuple[str, ...], tuple[Stored, ...]]:
        """Each column's results, the lines that use them, and the packs that these lines fill."""
        ops = self.facts.step.graph.ops
        found: list[Value] = []
        own = {n: (n, "") for n in self.states}
        for n, (by, member) in sorted({**own, **self.facts.known}.items()):
            mine, state = self.states[by]
            value = self.values.unique(value_name(self.facts.step, n, self.states))
            text = result_of(mine, self.total(state), member, self.height, may_be_empty=True)
            found.append(Value(register_type(ops[n].dtype), value, text))
            writer.exprs[n] = Expr(value, PRIMARY)
        last = self.parts.last()
        for n in last:
            op = ops[n]
            if op.name in ("scalar", "size"):
                writer.exprs[n] = Expr(self.values.parameter(op), PRIMARY)
            elif op.name == "index":
                name = self.values.unique("at")
                writer.exprs[n] = Expr(name, PRIMARY)
                found.append(Value("long long", name, self.places.coordinate(n)))
            elif op.name == "load":
                found.append(load_one(self.places, writer, n))
        packs = store_ones(self.places, writer, self.parts.row_stores)
        return tuple(found), writer.lines(last), packs

    def total(self, state: str) -> str:
        """The state of a whole column."""
        if self.schedule.threads == 1:
            return f"{state}{self.j}"
        return f"{shared(state)}[j * {self.lanes} + across]" if self.j else f"{shared(state)}[across]"

    # --- comment --------------------------------------------------------------------------------------

    def comment(self) -> tuple[str, ...]:
        schedule = self.schedule
        down = f"{schedule.threads} down each column" if schedule.threads > 1 else "one for each column"
        if transposes(schedule):
            down += f", {schedule.vectors} x {schedule.group} elements each at once"
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
                f"Memory: gridDim.x * gridDim.y * {schedule.rows} of each `*_block_partials`.",
                "Memory: `arrived`, a counter for each blockIdx.x, 0 before and after.",
            ]
        else:
            text.append(f"Launch: a block of {schedule.block} threads for each {schedule.rows} columns.")
        text += bound_comment(schedule, blocks_per_sm(schedule))
        if schedule.chunk:
            each = f"Columns go by chunks of {schedule.chunk * schedule.group} neighbours"
            text.append(f"{each}: one for all other places, then the next. The last one counts as whole.")
        if schedule.index_bits == 32:
            one = "a thread's" if transposes(schedule) else "one"
            text.append(f"Limits: fewer than 2^31 columns, and every place within {one}, in bytes, below 2^31.")
        if schedule.at_once:
            fewest, most = (schedule.threads * n for n in (self.counts[-1], self.counts[0]))
            text.append(f"A column has {most if fewest == most else f'{fewest} to {most}'} elements.")
        elif not schedule.loops:
            text.append(f"A column has at most {counted(schedule.threads * (2 * schedule.vectors - 1), 'element')}.")
        text += [*alignments(self.operands), *multiples(schedule)]
        return tuple(names.comment(line) for line in [*text, *no_overlap_comment(self.facts.step, schedule)])


def transposes(schedule: RowSchedule) -> bool:
    """Whether some operand is transposed in registers, so that threads take runs of consecutive elements."""
    return any(t.kind == "transposed" for t in schedule.accesses)


def column_schedule(schedule: RowSchedule) -> ColumnSchedule:
    assert isinstance(schedule, ColumnSchedule)
    return schedule


def blocks_per_sm(schedule: RowSchedule) -> int:
    """Blocks that an SM has registers for."""
    tuning = schedule.target.tuning
    resident = (tuning.column_tiles if transposes(schedule) else tuning.columns).resident_threads
    return max(resident // schedule.block, 1)


def column_state(mine: Accumulator, state: str, shared: str) -> ColumnState:
    """The variables of one column.  The last block merges partials in a thread's local accumulator if that can."""
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
        names.of_reduction(state, "merged"),
        names.block_partials(state),
        names.of_reduction(state, "whole"),
        mine.initial if by_loop is None else by_loop.init,
        "" if by_loop is None else by_loop.total,
    )


def shared(state: str) -> str:
    """The shared array in which threads that share a group of columns merge their states."""
    return names.of_reduction(state, "shared")
