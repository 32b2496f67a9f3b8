"""Writes the context of kernels that reduce along rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kgen.codegen import names
from kgen.codegen.element import Element, Writer
from kgen.codegen.helpers import CLUSTER, KEEP_LOADED, STORE_WORDS
from kgen.codegen.narrow import ROUND_GROUP
from kgen.codegen.reduction.calls import AT_ROW, Calls, Functions, Values, final_packs, reads_of
from kgen.codegen.reduction.comment import row_comment
from kgen.codegen.reduction.context import Batch, Declared, Read, Value, Work
from kgen.codegen.reduction.facts import Described, Facts
from kgen.codegen.reduction.gathered_rows import GatheredRows
from kgen.codegen.reduction.guarded_stores import GuardedStores
from kgen.codegen.reduction.narrow import narrow_stores
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.parts import Parts
from kgen.codegen.reduction.peel import EdgeElements
from kgen.codegen.reduction.places import RowPlaces, place_coordinates, row_coordinates
from kgen.codegen.reduction.registers import Registers, kept_values
from kgen.codegen.reduction.rounds import Rounds
from kgen.codegen.reduction.row_addresses import RowAddresses
from kgen.codegen.reduction.row_context import Division, Final, Halves, Persistent, Round, RowsContext, SegmentValues
from kgen.codegen.reduction.row_groups import (
    blocks_per_sm,
    exchange_lanes,
    few_blocks,
    fills_rows,
    guards_rows,
    is_exact,
    loads_first,
    resident_accesses,
    rounded_groups,
    row_width,
    start_of_group,
    stores_words,
    unrolled_groups,
    walked_at_once,
)
from kgen.codegen.reduction.row_operands import keep_late
from kgen.codegen.reduction.row_values import RowValues
from kgen.codegen.reduction.sections import access_of
from kgen.codegen.reduction.segments import Segments
from kgen.codegen.reduction.staging import staged_helpers, staging
from kgen.codegen.reduction.two_steps import TwoSteps, place_steps, two_steps
from kgen.codegen.short_results import NO_SHORT_RESULTS, ShortResults
from kgen.ir.graph import IndexMap
from kgen.records import dataclass, replace
from kgen.schedule.reduction.schedule import WARP, segment_stores, varying_accesses
from kgen.schedule.target import WORD


def describe_rows(facts: Facts) -> Described:
    """A kernel that goes along rows."""
    return RowKernel.of(facts).describe()


@dataclass(frozen=True, slots=True)
class RowKernel:
    """The parts that write the kernel.  ``writer``: writes values that are computed once a row."""

    facts: Facts
    parts: Parts
    operands: Operands
    places: RowPlaces
    registers: Registers
    gathered: GatheredRows
    values: Values
    functions: Functions
    calls: Calls
    edges: EdgeElements | None
    writer: Writer
    rounds: Rounds
    segments: Segments
    narrow: Mapping[int, int]
    row_values: RowValues

    @staticmethod
    def of(facts: Facts, short: ShortResults = NO_SHORT_RESULTS) -> RowKernel:
        """``short``: the values that need no more than 16 bits."""
        schedule, operands = facts.schedule, facts.operands()
        at = start_of_group(schedule, "v" if schedule.vectors > 1 else "") if is_exact(schedule) else "i"
        places, gathered = RowPlaces(operands, at), GatheredRows.of(operands, at)
        whole = Parts.of(facts.step, rows=gathered.labels)
        narrow = narrow_stores(whole, whole.varying_stores) if stores_words(operands) else {}
        parts = replace(
            whole,
            narrow_divisors=frozenset(whole.step.graph.ops[n].args[1] for n in narrow.values()),
            rounded=rounded_groups(operands, whole.varying_stores, gathered.labels),
        )
        gathered = replace(gathered, rounded=parts.rounded)
        batch = walked_at_once(facts, parts, gathered)
        registers = Registers(operands, places, resident_accesses(schedule), batch=batch)
        values = Values(facts.values)
        values.kept = kept_values(facts, parts, registers.resident)
        grouped = schedule.group > 1
        functions = Functions(
            parts, values, facts.statements, facts.declare, short=short, picks=grouped, by_group=grouped
        )
        calls = Calls(
            operands, places, values, registers.element, "", "j" if grouped else "0", gathered=gathered.elements
        )
        edges = EdgeElements.of(operands, registers.resident, values, places.uses)
        writer = Writer(facts.step, facts.statements, unique=values.unique)
        rounds = Rounds(
            operands, registers, gathered, values, functions, calls, edges, writer, dict(facts.states), facts.known
        )  # fmt: skip
        segments = Segments.of(facts, parts, registers, rounds)
        return RowKernel(
            facts, parts, operands, places, registers, gathered, values, functions, calls, edges, writer, rounds,
            segments, narrow, RowValues(facts.step, parts, operands, places, values, writer),
        )  # fmt: skip

    def describe(self) -> Described:
        fetched = self.row_values.fetched()
        addresses = RowAddresses.of(self.gathered)
        late = addresses.late()
        self.writer.wanted = self.parts.named(late)
        values = self.writer.lines([n for n in self.parts.of_row(0) if n not in late])
        values = (*values, *self.row_values.named())
        sources, targets = addresses.sources(self.writer), addresses.targets(self.writer)
        segment_values = self.segments.values(0)
        halves = self.halves()
        rounds = self.written_rounds()
        final = self.final([n for n in self.parts.varying_stores if n not in addresses.guards])
        if halves is not None and final is not None and self.facts.schedule.stores_first:
            halves, final = replace(halves, copied=final.copied), replace(final, copied=())
        guarded = GuardedStores(
            self.parts, self.registers, self.gathered, addresses, self.functions, self.calls, self.values, self.writer
        ).written(self.facts.base)
        self.writer.wanted = frozenset()
        stores = self.row_values.stores()
        segment_stores, segment_coordinates = self.segments.stores(), self.segments.coordinates()
        context = replace(
            self.context(fetched, values, rounds, final, stores), sources=sources, targets=targets, guarded=guarded,
            segment_values=segment_values, segment_stores=segment_stores, segment_coordinates=segment_coordinates,
            halves=halves, order=self.facts.schedule.order,
        )  # fmt: skip
        return Described(
            context,
            (*self.functions.headers, *self.writer.headers, *self.segments.writer.headers),
            (*self.helpers(), *staged_helpers(self.operands)),
            addresses.without_shape(),
        )

    def helpers(self) -> tuple[str, ...]:
        """The helpers that the kernel and its element functions call."""
        read = (t for function in self.functions.written for t in reads_of(function))
        kept = [t for t in self.reads_anywhere() if self.registers.batch or t in self.registers.loaded_ahead]
        halves = tuple(filter(self.calls.is_packed, self.values.kept))
        packed = any(map(self.operands.is_packed, kept)) or halves
        return (
            *self.functions.helpers,
            *self.writer.helpers,
            *self.segments.writer.helpers,
            *(CLUSTER if self.facts.schedule.cluster > 1 else ()),
            *(["keep_packed"] if packed else []),
            *([KEEP_LOADED] if self.kept_loaded else []),
            *self.registers.extractors(read),
            *(["extract"] if any(map(self.calls.is_picked, halves)) else []),
            *self.operands.loads_of(self.reads_anywhere()),
            *self.gathered.helpers(),
            *(["keep_loads_above"] if self.registers.batch else []),
        )

    @property
    def loads(self) -> list[int]:
        """The accesses that are read into registers once."""
        return [t for t in self.reads_anywhere() if t in self.registers.resident - self.registers.late]

    def reads_anywhere(self) -> list[int]:
        found = {t for f in self.functions.written for t in reads_of(f)} | self.rounds.whole_groups | self.segments.read
        return sorted(found, key=lambda t: self.facts.step.accesses[t].operand)

    def context(
        self, fetched: tuple[Value, ...], values: tuple[str, ...], rounds: tuple[Round, ...], final: Final | None,
        stores: tuple[str, ...],
    ) -> RowsContext:  # fmt: skip
        schedule, uses, resident = self.facts.schedule, self.places.uses, self.loads
        loads, load_coordinates = (*map(self.registers.read, resident), *self.gathered.loads()), uses.in_loop(schedule)
        across = self.loads_across()
        persistent, pointers, warps = self.persistent(), self.pointers(), schedule.row_threads // WARP
        from_row, end = ("", row_width(schedule)) if schedule.anchor is None else ("head + ", "end")
        return RowsContext(
            template="reduction/row_reduce.cu.j2",
            name=self.facts.name,
            comment=row_comment(self.operands, fills=self.fills, walks_once=len(self.functions.written) == 1),
            parameters=tuple(self.facts.parameters),
            block=schedule.block,
            blocks_per_sm=blocks_per_sm(schedule, halves=self.keeps_halves),
            threads=schedule.threads,
            rows=schedule.rows,
            group=schedule.group,
            vectors=schedule.vectors,
            unrolled=unrolled_groups(self.operands),
            cluster=schedule.cluster,
            is_exact=is_exact(schedule),
            is_64bit=schedule.index_bits == 64,
            split=schedule.split,
            layout=self.facts.layout("rows"),
            width=row_width(self.facts.schedule),
            end="" if schedule.exact else end,
            begin=("first + " if schedule.split else from_row) + start_of_group(schedule, ""),
            last="last" if schedule.split else end,
            group_start=from_row + start_of_group(schedule, "v"),
            checks_last=self.fills,
            loads_check_all=self.loads_first,
            entries=warps,
            exchange_lanes=exchange_lanes(warps),
            needs_row=schedule.split or uses.row,
            row_coordinates=row_coordinates(schedule, uses.kept, "row"),
            chunked=f"{schedule.chunk} * c{schedule.kept} + c{schedule.chunked}" if schedule.chunk else "",
            place_coordinates=place_coordinates(schedule, uses.anywhere),
            pointers=(*pointers, *self.operands.policies()),
            peel=None if self.edges is None else self.edges.facts(schedule.group),
            staged=staging(self.operands, self.places),
            guards_rows=guards_rows(self.facts),
            persistent=persistent,
            fetched=fetched,
            values=values,
            resident=self.resident(resident),
            loads=tuple(r for r in loads if r not in across),
            loads_across=across,
            kept_loaded=self.kept_loaded,
            load_coordinates=load_coordinates,
            edge_loads=() if self.edges is None else self.edges.loads(resident),
            rounds=rounds,
            final=final,
            stores=stores,
            segment_threads=schedule.segment_threads,
            segments=schedule.segments,
            segment=schedule.segment,
            few_blocks=few_blocks(schedule),
        )

    # --- rounds, and the outputs of whole rows --------------------------------------------------------

    @property
    def keeps_halves(self) -> bool:
        return AT_ROW in self.values.kept.values() and not self.facts.step.sums

    def halves(self) -> Halves | None:
        """What computes the halves of a row that take the place of what they are computed from."""
        if not self.keeps_halves:
            return None
        function = self.functions.write(AT_ROW, f"{self.facts.base}_begin", ())
        reads = (*self.registers.again(reads_of(function)), *self.gathered.again(function))
        return Halves(Work(reads, (), self.calls.call(function)), self.places.uses.in_loop(self.facts.schedule))

    def written_rounds(self) -> tuple[Round, ...]:
        parts, base = self.parts, self.facts.base
        found: list[Round] = []
        for number, sinks in enumerate(parts.rounds, 1):
            own = [n for n in sinks if n not in self.facts.known]
            over = self.segments.over(sinks)
            for n in own if self.facts.schedule.vectors > 0 and over == "row" else ():
                steps = self.steps(n)
                if steps is not None and self.finds_elements(n, number - 1):
                    found.append(self.rounds.first_step(number - 1, base, n, steps))
            results = tuple(map(self.rounds.result, sinks)) if over != "segment" else ()
            follows, segments = self.after(number - 1)
            suffix = str(number) if len(parts.rounds) > 1 else ""
            states = {n: self.rounds.states[n] for n in own}
            write = {"row": self.rounds.round, "segment": self.segments.reduced, "merged": self.segments.merged}[over]
            one = write(number - 1, f"{base}_pass{suffix}", states)
            found.append(replace(one, results=results, follows=follows, segments=segments))
        first = next((i for i, r in enumerate(found) if r.meets), None)
        return tuple(replace(r, waits=i == first) for i, r in enumerate(found))

    def after(self, number: int) -> tuple[tuple[str, ...], SegmentValues | None]:
        """What is computed once a row, and for each segment, behind a round; nothing ahead of another of its phase."""
        if not self.parts.is_last_of_phase(number):
            return (), None
        phase = self.parts.phase[self.parts.rounds[number][0]]
        follows = (*self.writer.lines(self.parts.of_row(phase)), *self.row_values.named())
        return follows, self.segments.values(phase)

    def finds_elements(self, number: int, place: int) -> bool:
        """Whether both steps of a reduction find its elements: they are computed twice, or kept where that would take
        long.  ``place``: the number of rounds before it."""
        schedule, value = self.facts.schedule, self.facts.step.graph.ops[number].args[0]
        if not self.parts.is_expensive(value):
            return True
        few = schedule.vectors * schedule.group <= schedule.target.tuning.rows.kept_values
        if not few or value in self.values.kept or self.facts.step.graph.ops[value].dtype.size != WORD:
            return False
        self.values.kept = {**self.values.kept, value: place}
        return True

    def steps(self, number: int) -> TwoSteps | None:
        """The two steps of a reduction, if it takes them."""
        op, mine, schedule = self.facts.step.graph.ops[number], self.rounds.states[number][0], self.facts.schedule
        place = place_steps(op, self.facts.step.graph.ops[op.args[0]].dtype, mine)
        if place is None:
            return two_steps(op, mine)
        plain = schedule.anchor is None and schedule.cluster == 1
        return place if plain and self.rounds.at_once(number, place.first) is not None else None

    def final(self, stores: Sequence[int]) -> Final | None:
        """How the elements of outputs of whole rows are written."""
        if not stores:
            return None
        narrow, (copied, stores) = self.narrow, self.calls.copied(stores)
        function = self.functions.write(len(self.parts.rounds), f"{self.facts.base}_element", stores, narrow=narrow)
        whole = [n for n in stores if isinstance(self.facts.step.graph.ops[n].attr, IndexMap)]
        self.calls.rounded = {access_of(self.facts.step, n) for n in whole if n in self.parts.rounded}
        flags = [a.name for a in function.arguments if a.kind == "is_exact"]
        is_exact_division = next(iter(flags), "is_exact" if narrow else "")
        late, ahead = self.late(reads_of(function), quotients=bool(is_exact_division))
        again, packed = self.registers.again(reads_of(function)), self.calls.packed(function)
        reads = (*again, *packed, *self.gathered.again(function))
        own = final_packs(self.operands, self.places, stores, narrow, self.parts.rounded)
        packs = (*own, *self.gathered.stored(stores))
        self.writer.helpers += [ROUND_GROUP] if any(pack.floats for pack in own) else []
        self.writer.helpers += [STORE_WORDS] if any(pack.by_words for pack in packs) else []
        edge = None if self.edges is None else self.edges.writes(function)
        call, divided = self.calls.call(function), self.divided(function, is_exact_division)
        batch = ahead or self.registers.batched(reads_of(function))
        return Final(
            reads, packs, call, divided, edge, self.places.uses.in_loop(self.facts.schedule), is_exact_division,
            tuple(map(self.registers.declared, late)), tuple(map(self.registers.read, late)), batch, copied,
        )  # fmt: skip

    def late(self, reads: Iterable[int], *, quotients: bool) -> tuple[list[int], Batch | None]:
        """What of these is loaded ahead of stores: all groups, or several at a time."""
        used = {t for f in self.functions.written[:-1] for t in reads_of(f)} | self.rounds.whole_groups
        single = len(self.parts.varying_stores) == 1 and not quotients
        return keep_late(self.registers, reads, used, loads=self.loads, single=single)

    def divided(self, function: Element, is_exact_division: str) -> Division | None:
        """How the elements of a group are written where division has a fast path."""
        if not is_exact_division:
            return None
        reciprocals = tuple(self.values.reciprocals[int(a.key)] for a in function.arguments if a.kind == "reciprocal")
        return Division(
            is_exact_division, reciprocals, self.calls.call(function, "<true>"), self.calls.call(function, "<false>")
        )

    # --- facts of a row ---------------------------------------------------------------------------------

    @property
    def fills(self) -> bool:
        """Whether rounds check only a thread's last group against the row's end."""
        return self.facts.schedule.fills or self.loads_first or fills_rows(self.facts)

    @property
    def kept_loaded(self) -> tuple[str, ...]:
        """Nothing where at most a thread's last group is loaded in a branch."""
        one = self.facts.schedule.exact or (self.fills and not self.loads_first)
        return () if one else self.registers.loaded_in_branches(self.loads)

    @property
    def loads_first(self) -> bool:
        """Whether loads check every group, so that all loads are issued before any arithmetic."""
        stores = [n for n in self.parts.varying_stores if not self.facts.step.is_sum(n)]
        written = sum(self.facts.step.graph.ops[n].dtype.size for n in stores)
        return loads_first(self.operands, self.loads, written)

    def loads_across(self) -> tuple[Read, ...]:
        """The loads of operands that run across staged rows, where a thread has one row and no other thread shares it:
        with checks of the row's end, loads would wait for each other (4 threads a row of 100 273 us, not 181)."""
        schedule, planned = self.facts.schedule, self.operands.planned
        if not schedule.crosses or schedule.rows_per_thread > 1 or schedule.threads > 1:
            return ()
        return tuple(map(self.registers.read, (t for t in self.loads if planned(t).kind == "gather")))

    def persistent(self) -> Persistent | None:
        in_smem = self.facts.schedule.shared_operand
        if in_smem is None:
            return None
        kept = names.in_shared(self.operands.labels[in_smem])
        value = self.registers.from_memory(in_smem)
        return Persistent(self.operands.pack(in_smem), kept, value, self.places.uses.in_loop(self.facts.schedule))

    def pointers(self) -> tuple[Value, ...]:
        """The start of a row in each operand."""
        step = self.facts.step
        along = zip(varying_accesses(step), segment_stores(step), strict=True)
        varies = (t for t, (of_element, of_segment) in enumerate(along) if of_element or of_segment)
        return tuple(
            self.operands.start(access, self.places.base_of(access), self.places.row_offset(access))
            for access in varies
            if self.operands.planned(access).pattern is not None and self.operands.planned(access).kind != "spaced"
        )

    def resident(self, loads: Sequence[int]) -> tuple[Declared, ...]:
        """The registers that hold elements of a row."""
        return (
            *map(self.registers.declared, loads),
            *self.gathered.declared(),
            *self.calls.kept_arrays(),
            *(() if self.edges is None else self.edges.declarations(loads)),
        )
