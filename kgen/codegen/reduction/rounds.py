"""Rounds of reductions along rows: a thread's work on each element, and the exchange of states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kgen.codegen import names
from kgen.codegen.element import PRIMARY, Element, Writer
from kgen.codegen.reduction.accumulators import Accumulator
from kgen.codegen.reduction.calls import Calls, Functions, Values, reads_of
from kgen.codegen.reduction.context import Part, State, Value, Work
from kgen.codegen.reduction.gathered_rows import GatheredRows
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.peel import EdgeElements
from kgen.codegen.reduction.registers import Registers
from kgen.codegen.reduction.row_context import Round
from kgen.codegen.reduction.row_groups import is_known
from kgen.codegen.reduction.sections import access_of
from kgen.codegen.reduction.states import States, first_of, part_of, result_of, thread_state, value_name
from kgen.codegen.reduction.two_steps import TwoSteps
from kgen.codegen.spelling import Expr, register_type
from kgen.records import dataclass, replace
from kgen.schedule.reduction.schedule import WARP, is_plain


@dataclass(slots=True)
class Rounds:
    """Writes rounds.

    ``writer``: writes values that are computed once a row.  ``whole_groups``: the accesses whose groups states take
    whole, as loaded.
    """

    operands: Operands
    registers: Registers
    gathered: GatheredRows
    values: Values
    functions: Functions
    calls: Calls
    edges: EdgeElements | None
    writer: Writer
    states: States
    known: Mapping[int, tuple[int, str]]
    whole_groups: set[int] = field(default_factory=set)

    def first_step(self, place: int, base: str, number: int, steps: TwoSteps) -> Round:
        """The first of two steps, within warps; the second step's state starts from the first's."""
        _, state = self.states[number]
        name = self.values.unique(names.of_reduction(state, steps.word))
        self.writer.helpers += steps.first.helpers
        found = self.round(place, f"{base}_{steps.word}", {number: (steps.first, name)})
        self.states[number] = steps.after(name), state
        return replace(found, meets=found.meets and steps.meets)

    def round(self, place: int, name: str, states: States) -> Round:
        """A round of reductions; an element function updates all states but those that take whole groups."""
        schedule = self.operands.schedule
        whole = {n: access for n, (mine, _) in states.items() if (access := self.at_once(n, mine)) is not None}
        function = self.function(place, name, states, whole)
        self.calls.states = states
        work = self.work(states, function, whole)
        return replace(
            self.merging(place, states, work),
            edge=None if self.edges is None else self.edges.into(states, function, whole),
            coordinates=self.calls.places.uses.in_loop(schedule),
        )

    def function(self, place: int, name: str, states: States, whole: Mapping[int, int]) -> Element | None:
        """The element function of a round; None where all states take whole groups (``whole``)."""
        self.whole_groups |= set(whole.values())
        for n, access in whole.items():
            dtype = self.operands.operand(access).dtype
            self.writer.helpers.append(f"{states[n][0].at_once}_{dtype.short}")
        by_element = [n for n in states if n not in whole]
        return self.functions.write(place, name, by_element, {n: states[n] for n in by_element}) if by_element else None

    def merging(self, place: int, states: States, work: Work) -> Round:
        """A round whose states are merged by all threads of a row."""
        sizes = " + ".join(f"sizeof({mine.type})" for mine, _ in states.values())
        return Round(
            tuple(self.state(mine, state) for mine, state in states.values()),
            work,
            None,
            meets=self.operands.schedule.threads > WARP,
            arrived="arrived" if place == 0 else f"arrived{place + 1}",
            bytes=sizes if len(states) == 1 else f"({sizes})",
        )

    def work(self, states: States, function: Element | None, whole: Mapping[int, int]) -> Work:
        """The work on each group; ``whole``: for states that take whole groups, the access."""
        parts: list[Part] = []
        for n, (mine, state) in states.items():
            if n in whole:
                take = mine.takes_group or f"{mine.add}({{at_once}}({{x}}))"
                x, first = self.registers.group(whole[n]), self.calls.places.place.removesuffix("j").removesuffix(" + ")
                parts.append(Part(state, take.format(at_once=mine.at_once, x=x, at=first or "0")))
            elif part := part_of(mine, state, thread_state(mine, state), self.operands.schedule.group):
                kept = names.of_reduction(state, "parts") if self.in_order(mine) else ""
                parts.append(replace(part, kept=kept, type=mine.part or part.type) if kept else part)
        accesses = sorted({*whole.values(), *(reads_of(function) if function else ())})
        again, packed = self.registers.again(accesses), self.calls.packed(function)
        reads = (*again, *packed, *self.gathered.again(function))
        batch = self.registers.batched(accesses)
        return Work(reads, tuple(parts), self.calls.call(function) if function else None, batch)

    def in_order(self, mine: Accumulator) -> bool:
        """Whether a state takes the parts of other threads, too."""
        return self.operands.schedule.order is not None and mine.in_order

    def state(self, mine: Accumulator, state: str) -> State:
        return State(
            state,
            mine.type,
            mine.initial,
            thread_state(mine, state),
            first_of(mine),
            "" if mine.local is None else mine.local.total,
            by_warp=mine.local is not None and mine.local.by_warp,
            lanes=mine.lanes,
            agrees=mine.agrees and not is_plain(self.operands.step),  # else only the first lane's result is written
            shared=names.of_reduction(state, "warp_partials"),
            left=names.block_partials(state),
            in_order=self.in_order(mine),
        )

    def at_once(self, number: int, mine: Accumulator) -> int | None:
        """The access whose groups the state can take whole, as loaded: for extremes of halves, sums of bytes."""
        operands, ops = self.operands, self.operands.step.graph.ops
        if not mine.at_once:
            return None
        value = ops[number].args[0]
        load = ops[value].args[0] if ops[value].name == "cast" else value
        if ops[load].name != "load":
            return None
        access = access_of(operands.step, load)
        dtype = operands.operand(access).dtype
        words = operands.schedule.group * dtype.size % 4 == 0
        return access if dtype.short in mine.at_once_of and words and operands.is_grouped(access) else None

    def result(self, number: int) -> Value:
        """The result of a reduction for a row."""
        step, schedule = self.operands.step, self.operands.schedule
        op = step.graph.ops[number]
        by, member = self.known.get(number, (number, ""))
        mine, state = self.states[by]
        value = self.values.unique(value_name(step, number, self.states))
        may_be_empty = schedule.vectors == 0 or schedule.row_threads * schedule.vectors == 1
        self.writer.exprs[number] = Expr(value, PRIMARY)
        self.writer.helpers += mine.all_helpers
        width = str(schedule.resident) if is_known(schedule) else "layout.width"
        count = f"{width} / {schedule.segment}" if step.merges_segments(number) else width
        text = result_of(mine, state, member, count, may_be_empty=may_be_empty)
        return Value(register_type(op.dtype), value, text)
