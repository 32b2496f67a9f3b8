"""The edge elements of a row: those before its first group and after its last one.  Each is one thread's work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kgen.codegen import names
from kgen.codegen.conversions import CONVERSIONS
from kgen.codegen.element import PRIMARY, Element
from kgen.codegen.reduction.calls import Calls, Values, reads_of
from kgen.codegen.reduction.context import Declared, Part, Read, Work
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.places import RowPlaces, Uses
from kgen.codegen.reduction.registers import Registers
from kgen.codegen.reduction.row_context import Blocks, Peel
from kgen.codegen.reduction.states import States, part_of, thread_state
from kgen.codegen.spelling import Expr, register_type
from kgen.records import dataclass, replace
from kgen.schedule.reduction.peel import margins


@dataclass(frozen=True, slots=True)
class EdgeElements:
    """Writes the work on an edge element, which is at index ``e`` of its row."""

    operands: Operands
    registers: Registers
    calls: Calls

    @staticmethod
    def of(operands: Operands, resident: set[int], values: Values, uses: Uses) -> EdgeElements | None:
        """None if all elements belong to groups."""
        schedule = operands.schedule
        if schedule.anchor is None:
            return None
        alone = replace(operands, schedule=replace(schedule, group=1, vectors=min(schedule.vectors, 1)))
        places = RowPlaces(alone, "e", uses)
        registers = Registers(alone, places, resident)
        calls = Calls(alone, places, values, registers.element, "", "0", kept_name=names.kept_edge)
        return EdgeElements(alone, registers, calls)

    def facts(self, group: int) -> Peel:
        """Where groups of ``group`` elements begin and end."""
        operands, anchor = self.operands, self.operands.schedule.anchor
        assert anchor is not None
        operand = operands.operand(anchor)
        shifted = [i for i, t in enumerate(operands.schedule.accesses) if t.kind == "shifted"]
        blocks = [self.blocks(i, group) for i in shifted]
        aligned = [
            (b.bytes // b.size, operands.planned(i).alignment >= b.bytes) for i, b in zip(shifted, blocks, strict=True)
        ]
        margin, rest = margins(group, aligned) if shifted else (0, 0)
        size = operand.dtype.size
        return Peel(
            operand.name, self.calls.places.base_of(anchor), group * size, size, margin, rest,
            names.listed(operands.operand(i).name for i in shifted) if shifted else "", tuple(blocks),
        )  # fmt: skip

    def blocks(self, access: int, group: int) -> Blocks:
        """The aligned blocks by which groups of a shifted operand are loaded."""
        operands, label = self.operands, self.operands.labels[access]
        return Blocks(
            operands.type_of(access), self.calls.places.base_of(access), names.blocks(label), names.misalignment(label),
            self.registers.block_bytes(access, group), operands.operand(access).dtype.size,
        )  # fmt: skip

    def loads(self, accesses: Sequence[int]) -> tuple[Read, ...]:
        return tuple(map(self.registers.read, accesses))

    def declarations(self, accesses: Sequence[int]) -> list[Declared]:
        """The registers of an edge element and of its kept values."""
        ops = self.operands.step.graph.ops
        read = [Declared(self.operands.type_of(t), self.registers.name(t)) for t in accesses]
        kept = [Declared(register_type(ops[n].dtype), self.calls.kept_array(n)) for n in self.calls.values.kept]
        return read + kept

    def into(self, states: States, function: Element | None, whole: Mapping[int, int]) -> Work:
        """The update of a round's reductions with an edge element.

        ``whole``: the reductions that need no element function, each with the access whose value it takes.
        """
        # States with an index take elements in order, and an edge element may come anywhere: it has its own state.
        own = {n: names.of_reduction(state, "of_edge") for n, (mine, state) in states.items() if mine.places}
        self.calls.states = {n: (mine, own.get(n, state)) for n, (mine, state) in states.items()}
        parts: list[Part] = []
        for n, (mine, state) in states.items():
            if n in own:
                parts.append(Part(state, f"merge({own[n]})", own[n], first=mine.initial))
            elif n not in whole and (part := part_of(mine, state, thread_state(mine, state), 1)) is not None:
                parts.append(part)
        for n, access in whole.items():
            mine, state = states[n]
            one, dtype = self.registers.element(access), self.operands.operand(access).dtype
            one = CONVERSIONS[dtype].widen(Expr(one, PRIMARY)).expr.code if dtype.is_float else one
            one = f"{one} != 0" if dtype.is_bool else one  # any byte
            parts.append(Part(state, f"{mine.add}({one})"))
        reads = self.late([*(reads_of(function) if function else ()), *whole.values()])
        return Work(reads, tuple(parts), self.calls.call(function) if function else None)

    def writes(self, function: Element) -> Work:
        """How an edge element of the outputs is written."""
        variant = "<false>" if any(a.kind == "is_exact" for a in function.arguments) else ""
        return Work(self.late(reads_of(function)), (), self.calls.call(function, variant))

    def late(self, accesses: Iterable[int]) -> tuple[Read, ...]:
        """The loads of elements that are not register-resident, where they are needed."""
        return tuple(self.registers.read(t) for t in sorted(set(accesses)) if t not in self.registers.resident)
