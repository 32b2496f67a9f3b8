"""The elements of a row before its first group and after its last: one each for the first threads of the row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from kgen.codegen import names
from kgen.codegen.element import Argument, Element
from kgen.codegen.reduction.access import RowAccess, call_of
from kgen.codegen.reduction.context import Blocks, Call, Declared, Part, Peel, Read, Work
from kgen.codegen.reduction.sections import kept_name
from kgen.codegen.spelling import register_type
from kgen.schedule.reduction.peel import margins


@dataclass(slots=True)
class Singles(RowAccess):
    """Such an element, at ``e`` of its row, as the text of a kernel names it."""

    @staticmethod
    def of(access: RowAccess) -> Singles:
        given = {f.name: getattr(access, f.name) for f in fields(RowAccess)}
        one = replace(access.schedule, group=1, vectors=min(access.schedule.vectors, 1))
        return Singles(**{**given, "schedule": one, "at": "e"})

    def facts(self, group: int) -> Peel | None:
        """Where groups of so many elements begin and end."""
        lead = self.schedule.lead
        if lead is None:
            return None
        operand = self.operand(lead)
        shifted = [i for i, t in enumerate(self.schedule.touches) if t.access == "shifted"]
        blocks = [self.blocks(i, group) for i in shifted]
        aligned = [
            (b.bytes // b.size, self.planned(i).alignment >= b.bytes) for i, b in zip(shifted, blocks, strict=True)
        ]
        margin, rest = margins(group, aligned) if shifted else (0, 0)
        size = operand.dtype.size
        return Peel(
            operand.name, self.base_of(lead), group * size, size, margin, rest,
            names.listed(self.operand(i).name for i in shifted) if shifted else "", tuple(blocks),
        )  # fmt: skip

    def blocks(self, touch: int, group: int) -> Blocks:
        """The aligned blocks that groups of a shifted operand are read as."""
        label = self.labels[touch]
        return Blocks(
            self.type_of(touch), self.base_of(touch), names.blocks(label), names.off(label),
            self.block_bytes(touch, group), self.operand(touch).dtype.size,
        )  # fmt: skip

    def loads(self, touches: Sequence[int]) -> tuple[Read, ...]:
        return tuple(self.read(t, held=True) for t in touches) if self.schedule.lead is not None else ()

    def declarations(self, touches: Sequence[int]) -> list[Declared]:
        """Of what is kept of such an element in registers."""
        if self.schedule.lead is None:
            return []
        read = [Declared(self.type_of(t), self.held_name(t)) for t in touches]
        kept = [Declared(register_type(self.step.kernel.ops[n].dtype), self.kept_array(n)) for n in self.kept]
        return read + kept

    def into(self, section: Element | None, whole: Mapping[int, int]) -> Work | None:
        """How such an element goes into the reductions of the round at hand.

        ``whole``: those that need no element function, only the value of a touch.
        """
        if self.schedule.lead is None:
            return None
        parts = [part for n in self.active if n not in whole and (part := self.part(n)) is not None]
        for n, touch in whole.items():
            mine, state = self.active[n]
            one = self.element(touch, held=True)
            one = f"{one} != 0" if self.operand(touch).dtype.is_bool else one  # any byte
            parts.append(Part(state, f"{mine.add}({f'(float){one}' if self.operand(touch).dtype.is_float else one})"))
        reads = self.late([*(self.reads_of(section) if section else ()), *whole.values()])
        return Work(reads, tuple(parts), self.call(section) if section else None)

    def writes(self, section: Element) -> Work | None:
        """How such an element of the outputs is written."""
        if self.schedule.lead is None:
            return None
        variant = "<false>" if any(a.kind == "quick" for a in section.arguments) else ""
        return Work(self.late(self.reads_of(section)), (), self.call(section, variant))

    def call(self, section: Element, variant: str = "") -> Call:
        return call_of(section, [self.argument(a, held=True) for a in section.arguments], variant)

    def late(self, touches: Iterable[int]) -> tuple[Read, ...]:
        """What is not in registers is read when it is needed."""
        return tuple(self.read(t, held=False) for t in sorted(set(touches)) if not self.is_held(t))

    # --- names --------------------------------------------------------------------------------------

    def part(self, number: int) -> Part | None:
        mine, state = self.active[number]
        if mine.places:  # updates take elements in order, and the place of this one may be anywhere
            own = self.found(number)
            return Part(state, f"merge({own})", own, first=mine.initial)
        return super(Singles, self).part(number)

    def argument(self, argument: Argument, held: bool) -> str:
        if argument.kind == "state" and self.active[int(argument.key)][0].places:
            return self.found(int(argument.key))
        return super(Singles, self).argument(argument, held)

    def found(self, number: int) -> str:
        return names.of_reduction(self.active[number][1], "of_single")

    def kept_array(self, number: int) -> str:
        return names.kept_single(kept_name(self.step, number))
