"""Segments of rows in registers: nested reductions, and values that are computed once a segment.

The threads that share a segment are neighbours in a warp, and each has one group of it, for each of its groups of the
row.  So a value of segments is a register of each thread, or an array of them with an element for each group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Literal

from kgen.codegen import names
from kgen.codegen.element import PRIMARY, Writer
from kgen.codegen.reduction.column_values import ColumnArrays, lasting
from kgen.codegen.reduction.facts import Facts
from kgen.codegen.reduction.parts import Parts
from kgen.codegen.reduction.registers import Registers
from kgen.codegen.reduction.rounds import Rounds
from kgen.codegen.reduction.row_context import Round, SegmentValues
from kgen.codegen.reduction.sections import access_of
from kgen.codegen.reduction.states import States, part_of, result_of, value_name
from kgen.codegen.spelling import Expr, register_type
from kgen.ir.graph import IndexMap
from kgen.records import dataclass, replace


@dataclass(slots=True)
class Segments:
    """Writes what a kernel does with segments.

    ``writer``: writes values that are computed once a segment, into ``arrays`` where they are read later.  ``read``:
    the accesses that these need.
    """

    facts: Facts
    parts: Parts
    registers: Registers
    rounds: Rounds
    arrays: ColumnArrays
    writer: Writer
    read: set[int] = field(default_factory=set)

    @staticmethod
    def of(facts: Facts, parts: Parts, registers: Registers, rounds: Rounds) -> Segments:
        arrays = ColumnArrays(facts.schedule.segments, lasting(parts), "v")
        values, exprs = rounds.values, rounds.writer.exprs
        writer = Writer(
            facts.step, facts.statements, unique=values.unique, exprs=exprs, wanted=parts.named(), define=arrays.define
        )
        return Segments(facts, parts, registers, rounds, arrays, writer)

    @property
    def v(self) -> str:
        """The index of a segment in arrays."""
        return "[v]" if self.facts.schedule.segments > 1 else ""

    # --- reductions -----------------------------------------------------------------------------------

    def over(self, sinks: Sequence[int]) -> Literal["row", "segment", "merged"]:
        """What a round reduces: elements of rows, elements of segments, or the values of segments."""
        step = self.facts.step
        return "segment" if step.reduces_segments(sinks[0]) else "merged" if step.merges_segments(sinks[0]) else "row"

    def reduced(self, place: int, name: str, states: States) -> Round:
        """A round that reduces segments."""
        rounds, group = self.rounds, self.facts.schedule.group
        function = rounds.function(place, name, states, {})
        assert function is not None
        direct = {n: (m, f"{s}{self.v}" if m.mode == "direct" else s) for n, (m, s) in states.items()}
        rounds.calls.states = direct
        parts = [part_of(m, s, f"{s}{self.v}", group) for m, s in states.values()]
        work = replace(rounds.work({}, function, {}), parts=tuple(p for p in parts if p is not None))
        found = rounds.merging(place, states, work)
        return replace(found, over="segment", meets=False, coordinates=self.coordinates())

    def merged(self, place: int, name: str, states: States) -> Round:
        """A round that reduces the values of segments."""
        rounds = self.rounds
        self.name_loads([self.facts.step.graph.ops[n].args[0] for n in states])
        function = rounds.function(place, name, states, {})
        assert function is not None
        parts = [part_of(m, s, s, 1) for m, s in states.values()]
        rounds.calls.states = states
        call = replace(rounds.calls, collected="0").call(function)
        work = replace(rounds.work({}, None, {}), parts=tuple(p for p in parts if p is not None), call=call)
        return replace(rounds.merging(place, states, work), over="merged", coordinates=self.coordinates())

    def coordinates(self) -> tuple[str, ...]:
        """The coordinates that the current loop reads."""
        return self.rounds.calls.places.uses.in_loop(self.facts.schedule)

    # --- values ---------------------------------------------------------------------------------------

    def values(self, phase: int) -> SegmentValues | None:
        """What is computed for each segment from the first ``phase`` rounds."""
        numbers = self.parts.of_segments(phase)
        self.name_loads(a for n in numbers for a in self.facts.step.graph.ops[n].args)
        lines = (*self.results(phase), *self.writer.lines(numbers), *self.named())
        return SegmentValues(self.arrays.take(), lines) if lines else None

    def results(self, phase: int) -> list[str]:
        """Lines with the results of the reductions of a phase."""
        ops, writer = self.facts.step.graph.ops, self.writer
        lines: list[str] = []
        for n, op in enumerate(ops):
            if not self.facts.step.reduces_segments(n) or self.parts.phase[n] != phase:
                continue
            by, member = self.facts.known.get(n, (n, ""))
            mine, state = self.rounds.states[by]
            value = self.writer.unique(value_name(self.facts.step, n, self.rounds.states))
            text = result_of(mine, f"{state}{self.v}", member, str(self.facts.schedule.segment), may_be_empty=False)
            line, code = self.arrays.define(n, register_type(op.dtype), value, text)
            lines.append(line)
            writer.exprs[n] = Expr(code, PRIMARY)
            writer.helpers += mine.all_helpers
        return lines

    def named(self) -> list[str]:
        """Register the names of values.  Returns the lines that compute the reciprocals of divisors."""
        values, lines = self.rounds.values, list[str]()
        for n in sorted(self.parts.common):
            if not self.parts.of_segment[n] or n not in self.writer.exprs or n in values.passed:
                continue
            code = self.writer.exprs[n].code
            values.passed[n], values.rows[n] = code, code.removesuffix("[v]")
            if n in self.parts.divisors:
                reciprocal = values.unique(names.reciprocal(values.rows[n]))
                values.reciprocals[n] = reciprocal + self.v
                value = self.parts.inverted(n, code)
                lines.append(
                    self.arrays.assign("float", reciprocal, value) if self.v else f"const float {reciprocal} = {value};"
                )
        return lines

    def name_loads(self, numbers: Iterable[int]) -> None:
        """Register the names of the loaded elements among these values."""
        ops = self.facts.step.graph.ops
        for n in numbers:
            if ops[n].name == "load" and self.facts.step.is_of_segment(n):
                access = access_of(self.facts.step, n)
                self.read.add(access)
                loaded = self.registers.group(access)
                self.writer.exprs[n] = Expr(loaded if self.v else loaded.replace("[v]", "[0]"), PRIMARY)

    def stores(self) -> tuple[str, ...]:
        """The lines that store the outputs with one element a segment."""
        stores, places, ops = self.parts.segment_stores, self.registers.places, self.facts.step.graph.ops
        self.name_loads(a for n in stores for a in ops[n].args)
        for n in stores:
            attr, access = ops[n].attr, access_of(self.facts.step, n)
            assert isinstance(attr, IndexMap)
            self.writer.places[attr.operand] = f"{places.base_of(access)}[{places.along(access, '')}]"
        return self.writer.lines(stores)
