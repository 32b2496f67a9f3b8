"""Row and tile kernels: what their templates see.  Both walk the fastest dimension by groups of elements."""

from __future__ import annotations

from dataclasses import dataclass

from kgen.codegen import names
from kgen.codegen.context import FieldContext, GroupContext, LayoutContext, OffsetContext, TouchContext, TurnedContext
from kgen.codegen.element import Argument, Element
from kgen.codegen.layouts import (
    OFFSETS_32,
    apart,
    before,
    call_lines,
    decomposition,
    divisor_fields,
    placement,
    sum_lines,
    touch_labels,
)
from kgen.codegen.spelling import register_type, storage_type
from kgen.ir.kernel import Operand
from kgen.partition.step import Step, Touch
from kgen.schedule.elementwise.groups import tile_elements
from kgen.schedule.schedule import Schedule, TouchSchedule

#: Registers (4 bytes each) that a tile kernel may fill with other operands before it waits for the tile.
PREFETCH_REGISTERS = 32


@dataclass(frozen=True, slots=True)
class _Writer:
    step: Step
    schedule: Schedule
    element: Element
    labels: tuple[str, ...]

    @property
    def tiled(self) -> bool:
        return self.schedule.template == "tiled"

    @property
    def signed(self) -> str:
        return "int" if self.schedule.index_bits == 32 else "long long"

    def touch(self, number: int) -> tuple[Touch, TouchSchedule, str]:
        """A touch, how it is carried out, and its name."""
        return self.step.touches[number], self.schedule.touches[number], self.labels[number]

    def operand(self, number: int) -> Operand:
        return self.step.kernel.operands[self.step.touches[number].operand]

    def pointer(self, number: int) -> str:
        return names.pointer(self.operand(number).name)

    def label(self, pattern: int) -> str:
        """A stride pattern bears the name of the first touch that has it."""
        return next(self.labels[i] for i, t in enumerate(self.schedule.touches) if t.pattern == pattern)

    def position(self, number: int, p: str, q: str) -> str:
        """The offset of a touch at ``p`` along the fastest dimension and, in a tile, ``q`` along the second."""
        _, planned, name = self.touch(number)
        terms: list[str] = []
        if planned.pattern is not None:
            label = self.label(planned.pattern)
            if not self.tiled or self.schedule.rank > 2:
                terms.append(names.offset(label))
            if self.tiled:
                terms.append(f"{p if planned.access == 'transposed' else q} * layout.{label}_stride[0]")
        match planned.access:
            case "vector" | "shifted":
                terms.append(p.strip("()"))
            case "gather":
                terms.append(f"{p} * layout.{name}_step")
            case "transposed":
                terms.append(q)
            case _:
                pass
        return " + ".join(terms) or "0"

    def argument(self, argument: Argument, p: str, q: str, *, packed: bool) -> str:
        """What a call of the element function passes."""
        if argument.kind in ("scalar", "size"):
            return argument.name
        if argument.kind == "index":
            dimension = dict(self.schedule.coordinates)[int(argument.key)]
            return {0: p.strip("()"), 1: q if self.tiled else "c1"}.get(dimension, f"c{dimension}")
        number = int(argument.key)
        touch, planned, name = self.touch(number)
        if planned.access in ("scalar", "column"):
            return argument.name
        if planned.access == "transposed":
            group = self.schedule.group
            turned = (
                f"{name}_tile[v][(u / {group}) ^ (v / {group})].at[u % {group}]"
                if group > 1
                else f"{name}_tile[v][u ^ v].at[0]"
            )
            return f"{names.vector(name)}.at[j]" if packed else turned
        if packed and planned.is_straight:
            written = argument.kind == "write"
            vector = names.new_vector(name) if written and touch.reads else names.vector(name)
            held = f"{vector}[k]" if not written and self.prefetched(number) else vector
            return f"{held}.at[j]"
        return f"{self.pointer(number)}[{self.position(number, p, q)}]"

    def prefetched(self, number: int) -> bool:
        """Whether a tile kernel loads an operand for all its rows before it waits for the tile."""
        if not self.tiled or self.schedule.touches[number].access != "vector" or self.schedule.lead is not None:
            return False
        sizes = [
            self.step.kernel.operands[t.operand].dtype.size * self.schedule.group**2
            for t, s in zip(self.step.touches, self.schedule.touches, strict=True)
            if t.reads and s.access == "vector"
        ]
        return sum(sizes) <= 4 * PREFETCH_REGISTERS

    def vectors(self, *, written: bool) -> tuple[TouchContext, ...]:
        found: list[TouchContext] = []
        for number in range(len(self.step.touches)):
            touch, planned, name = self.touch(number)
            if planned.is_straight and (touch.writes if written else touch.reads):
                vector = names.new_vector(name) if written and touch.reads else names.vector(name)
                type_ = storage_type(self.step.kernel.operands[touch.operand].dtype)
                pack = f"Pack<{type_}, {self.schedule.group}, {planned.alignment}>"
                place = f"{self.pointer(number)} + {self.position(number, 'i', 'q')}"
                found.append(TouchContext(place, type_, vector, pack, planned.access == "shifted"))
        return tuple(found)

    def lead(self) -> str:
        """The address of a row, where groups begin where an output is aligned."""
        if self.schedule.lead is None:
            return ""
        planned, pointer = self.schedule.touches[self.schedule.lead], self.pointer(self.schedule.lead)
        if self.tiled:
            return f"{pointer} + {self.position(self.schedule.lead, 'p_first', 'q')}"
        return pointer if planned.pattern is None else f"{pointer} + {names.offset(self.label(planned.pattern))}"

    def before(self) -> str:
        """How many elements a row's first group reaches beyond its beginning."""
        if self.schedule.lead is None:
            return ""
        address, size = "lead" if self.tiled else self.lead(), self.operand(self.schedule.lead).dtype.size
        return before(address, size, self.schedule.group)

    def inside(self) -> tuple[str, ...]:
        """For each shifted touch, whether the blocks around a group lie within it."""
        found: list[str] = []
        for number, planned in enumerate(self.schedule.touches):
            if planned.access == "shifted":
                at, bounds = self.position(number, "i", "q"), f"layout.{self.labels[number]}_inside"
                found.append(f"{at} >= {bounds}[0] && {at} <= {bounds}[1]")
        return tuple(found)

    def single(self, access: str) -> tuple[TouchContext, ...]:
        """Operands of one element: for the whole space (scalar), or for a row (column)."""
        found: list[TouchContext] = []
        for argument in self.element.arguments:
            if argument.kind == "read" and self.schedule.touches[int(argument.key)].access == access:
                type_ = register_type(self.operand(int(argument.key)).dtype)
                place = f"{self.pointer(int(argument.key))}[{self.position(int(argument.key), 'i', 'q')}]"
                found.append(TouchContext(place, type_, argument.name, pack=""))
        return tuple(found)

    def turned(self) -> tuple[TurnedContext, ...]:
        found: list[TurnedContext] = []
        group = self.schedule.group
        for number in range(len(self.step.touches)):
            _, planned, name = self.touch(number)
            if planned.access == "transposed":
                size = self.operand(number).dtype.size
                type_ = storage_type(self.operand(number).dtype)
                place = f"{self.pointer(number)} + {self.position(number, 'p', 'q')}"
                whole = min(16, group * size)
                packs = (
                    f"Pack<{type_}, {group}, {planned.alignment}>",
                    f"Pack<{type_}, {group}, {whole}>",
                )
                found.append(
                    TurnedContext(
                        name, place, packs[0], packs[1], f"{name}_in", f"{name}_tile", names.vector(name), size
                    )
                )
        return tuple(found)

    def layout(self, name: str) -> LayoutContext:
        """The struct: sides, what work numbers are divided by, strides, steps."""
        rank, wide = self.schedule.rank, self.schedule.index_bits == 64
        fields = [FieldContext(f"{self.signed} width", "elements along the fastest dimension")]
        if self.tiled:
            fields.append(FieldContext(f"{self.signed} height", "elements along the second"))
        counted = "tiles" if self.tiled else "groups in a row"
        if self.schedule.lead is not None and not self.tiled:
            counted += f", ceil((width + {self.schedule.group - 1}) / {self.schedule.group})"
        if self.schedule.across:
            counted = f"the second dimension, then of {counted}"
        fields += divisor_fields(rank - 1, wide, f"of {counted}, then of the other dimensions")
        for pattern in range(self.schedule.patterns):
            sharers = [self.operand(i).name for i, t in enumerate(self.schedule.touches) if t.pattern == pattern]
            shared = f"of {names.listed(sharers)}" if len(set(sharers)) > 1 else ""
            fields.append(FieldContext(f"{self.signed} {self.label(pattern)}_stride[{rank - 1}]", shared))
        for i, t in enumerate(self.schedule.touches):
            if t.access == "gather":
                fields.append(FieldContext(f"{self.signed} {self.touch(i)[2]}_step", "along the fastest dimension"))
        group = self.schedule.group
        bounds = f"lowest offset + {group}, highest offset - {2 * group - 1}: whole blocks lie between"
        for i, t in enumerate(self.schedule.touches):
            if t.access == "shifted":
                fields.append(FieldContext(f"{self.signed} {self.touch(i)[2]}_inside[2]", bounds))
        lines = decomposition(rank, set(range(rank)), wide, across=self.schedule.across)
        dimensions = f"{rank} dimension{'s' if rank > 1 else ''}"
        comment = f"Where the elements lie: {dimensions}, the fastest first; strides in elements."
        return LayoutContext(name, comment, tuple(fields), tuple(lines))

    def offsets(self) -> tuple[OffsetContext, ...]:
        first = 2 if self.tiled else 1
        found: list[OffsetContext] = []
        for pattern in range(self.schedule.patterns):
            label = self.label(pattern)
            terms = [f"c{d} * layout.{label}_stride[{d - 1}]" for d in range(first, self.schedule.rank)]
            if terms:
                found.append(OffsetContext(sum_lines(f"const {self.signed} {names.offset(label)} = ", terms)))
        return tuple(found)

    def comment(self) -> tuple[str, ...]:
        group, side = self.schedule.group, tile_elements(self.schedule.group)
        wide = "" if self.schedule.index_bits == 32 else " Indices are 64-bit."
        if self.tiled:
            turned = names.listed([t.name for t in self.turned()])
            text = [
                f"Tiles of {side} x {side} elements, one a block; {turned} turned in shared memory.{wide}",
                f"Launch: a block of {self.schedule.block} threads for each tile, the fastest dimension first.",
            ]
        else:
            per = f"{group} elements of a row a thread" if group > 1 else "one element a thread"
            across = ", neighbouring rows by neighbouring threads" if self.schedule.across else ""
            text = [
                f"Rows, {per}{across}.{wide}",
                f"Launch: ceil(n / {self.schedule.block}) blocks of {self.schedule.block} threads (a divisor of every "
                "SM's threads), for n groups.",
            ]
        text += [] if wide else [OFFSETS_32]
        text += placement(self.step, self.schedule)
        for kind, what in (
            ("column", "One element a row"),
            ("scalar", "A single element, the same for all"),
            ("gather", "At a stride along rows"),
        ):
            found = [self.operand(i).name for i, t in enumerate(self.schedule.touches) if t.access == kind]
            text += [f"{what}: {names.listed(found)}."] if found else []
        return tuple(names.comment(line) for line in [*text, *apart(self.step, self.schedule)])


def describe_groups(
    step: Step, schedule: Schedule, element: Element, name: str, parameters: tuple[str, ...]
) -> GroupContext:
    """The context of a row or tile kernel; ``parameters`` are the declarations of its parameters."""
    writer = _Writer(step, schedule, element, touch_labels(step))
    group = schedule.group
    inner = ("(i + j)", "q") if group > 1 else ("i", "q")
    alone = "p" if writer.tiled else "e"  # one element at a time, at the edge
    reads = writer.vectors(written=False)
    early = {names.vector(writer.touch(i)[2]) for i in range(len(step.touches)) if writer.prefetched(i)}
    return GroupContext(
        template=f"{schedule.template}.cu.j2",
        name=name,
        comment=writer.comment(),
        parameters=parameters,
        block=schedule.block,
        group=group,
        side=tile_elements(group),
        index="unsigned int" if schedule.index_bits == 32 else "long long",
        signed=writer.signed,
        layout=writer.layout(f"{name}_layout"),
        lead=writer.lead(),
        before=writer.before(),
        inside=writer.inside(),
        scalars=writer.single("scalar"),
        columns=writer.single("column"),
        early=tuple(t for t in reads if t.value in early),
        reads=tuple(t for t in reads if t.value not in early),
        writes=writer.vectors(written=True),
        turned=writer.turned(),
        offsets=writer.offsets(),
        packed=call_lines(element, [writer.argument(a, *inner, packed=True) for a in element.arguments]),
        direct=call_lines(element, [writer.argument(a, alone, "q", packed=False) for a in element.arguments]),
    )
