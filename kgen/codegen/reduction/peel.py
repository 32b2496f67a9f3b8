"""The elements of a row before its first group and after its last: one each for the first threads of the row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from kgen.codegen import names
from kgen.codegen.element import Argument, Element
from kgen.codegen.layouts import call_lines
from kgen.codegen.reduction.access import RowAccess
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

    def start(self, group: int) -> list[str]:
        """Where groups of so many elements begin and end, and which single element is this thread's."""
        lead, signed, width = self.schedule.lead, self.signed, self.width
        shifted = [i for i, t in enumerate(self.schedule.touches) if t.access == "shifted"]
        if lead is None:
            return []
        operand = self.operand(lead)
        size = operand.dtype.size
        address = f"-reinterpret_cast<unsigned long long>({self.base_of(lead)})"
        ahead = f"{address} / {size} % {group}" if size > 1 else f"{address} % {group}"
        count = f"head + {width} - end"
        head, end = f"({signed})({ahead})", f"{width} - ({width} - head) % {group}"
        apart: list[str] = []
        if shifted:
            blocks = [(i, self.block_bytes(i, group)) for i in shifted]
            start, rest = margins(
                group, [(b // self.operand(i).dtype.size, self.planned(i).alignment >= b) for i, b in blocks]
            )
            head += f" + {start}" if start else ""
            end = f"max({width} - {rest} - ({width} - {rest} - head) % {group}, head)"
            inside = names.listed(self.operand(i).name for i in shifted)
            apart = [f"// So are some more, so that the blocks around all groups are inside {inside}."]
        return [
            f"// Groups begin at multiples of {group * size} bytes in {operand.name};"
            " what lies before and after them in a row are single elements.",
            *apart,
            f"const {signed} head = min({head}, {width});",
            f"const {signed} end = {end};",
            f"const {signed} singles = {f'blockIdx.y == 0 ? {count} : 0' if self.schedule.split else count};",
            f"const {signed} e = lane < head ? lane : end + lane - head;",
            *(line for i in shifted for line in self.blocks(i, group)),
        ]

    def blocks(self, touch: int, group: int) -> list[str]:
        """How far groups of a shifted operand are off aligned blocks."""
        base, label, size = self.base_of(touch), self.labels[touch], self.operand(touch).dtype.size
        blocks, off = names.blocks(label), names.off(label)
        at = f"reinterpret_cast<unsigned long long>({base} + head)"
        return [
            f"const unsigned int {off} = {at} % {self.block_bytes(touch, group)};  // bytes",
            f"const {self.type_of(touch)}* const {blocks} = {base} - {off}{f' / {size}' if size > 1 else ''};",
        ]

    def loads(self, touches: Sequence[int]) -> tuple[str, ...]:
        return self.block([line for t in touches for line in self.read(t, held=True)])

    def declarations(self, touches: Sequence[int]) -> list[str]:
        """Of what is kept of such an element in registers."""
        if self.schedule.lead is None:
            return []
        read = [f"{self.type_of(t)} {self.held_name(t)};" for t in touches]
        return read + [f"{register_type(self.step.kernel.ops[n].dtype)} {self.kept_array(n)};" for n in self.kept]

    def into(self, section: Element | None, whole: Mapping[int, int]) -> tuple[str, ...]:
        """Lines that take such an element into the reductions of the round at hand.

        ``whole``: those that need no element function, only the value of a touch.
        """
        called = self.reads_of(section) if section else []
        lines = self.late([*called, *whole.values()])
        folded = [self.folding(n) for n in self.active if n not in whole]
        lines += [line for before, _ in folded for line in before]
        lines += self.call(section) if section else ()
        lines += [line for _, after in folded for line in after]
        for n, touch in whole.items():
            mine, state = self.active[n]
            one = self.element(touch, held=True)
            one = f"({one} != 0)" if self.operand(touch).dtype.is_bool else one  # any byte
            lines.append(mine.take.format(a=state, x=f"({mine.value or mine.type}){one}"))
        return self.block(lines)

    def writes(self, section: Element) -> tuple[str, ...]:
        """Lines that write such an element of the outputs."""
        quick = [f"bool {a.name} = false;" for a in section.arguments if a.kind == "quick"]
        variant = "<false>" if quick else ""
        return self.block([*self.late(self.reads_of(section)), *quick, *self.call(section, variant)])

    def call(self, section: Element, variant: str = "") -> tuple[str, ...]:
        return call_lines(section, [self.argument(a, held=True) for a in section.arguments], variant)

    def late(self, touches: Iterable[int]) -> list[str]:
        """Lines that read what is not in registers."""
        return [line for t in sorted(set(touches)) if not self.is_held(t) for line in self.read(t, held=False)]

    def block(self, lines: Sequence[str]) -> tuple[str, ...]:
        if self.schedule.lead is None or not lines:
            return ()
        return ("if (lane < singles) {", *(f"    {line}" for line in lines), "}")

    # --- names --------------------------------------------------------------------------------------

    def folding(self, number: int) -> tuple[list[str], list[str]]:
        mine, state = self.active[number]
        if mine.places:  # updates take elements in order, and the place of this one may be anywhere
            own = self.found(number)
            return [f"{mine.type} {own} = {mine.init};"], [mine.merge.format(a=state, b=own)]
        return super(Singles, self).folding(number)

    def argument(self, argument: Argument, held: bool) -> str:
        if argument.kind == "state" and self.active[int(argument.key)][0].places:
            return self.found(int(argument.key))
        return super(Singles, self).argument(argument, held)

    def found(self, number: int) -> str:
        return names.of_reduction(self.active[number][1], "of_single")

    def kept_array(self, number: int) -> str:
        return names.kept_single(kept_name(self.step, number))
