"""The text of ``rows`` and ``tiled`` kernels, which walk the fastest dimension by groups of elements."""

from __future__ import annotations

from kgen.codegen import names
from kgen.codegen.context import GroupContext, LayoutContext, OffsetContext, TouchContext, TurnedContext
from kgen.codegen.element import Argument
from kgen.codegen.elementwise.writer import ElementWriter
from kgen.codegen.family import Unit, Written
from kgen.codegen.helpers import LOAD_SHIFTED, SHIFT_BLOCKS
from kgen.codegen.layouts import (
    OFFSETS_32,
    apart,
    before,
    call_lines,
    decomposition,
    placement,
    struct_fields,
    sum_lines,
)
from kgen.codegen.spelling import storage_type
from kgen.schedule.schedule import Schedule


def write_rows(unit: Unit[Schedule]) -> Written:
    """A kernel that computes where rows begin once for a group."""
    return RowsWriter(unit).write()


def write_tiled(unit: Unit[Schedule]) -> Written:
    """A kernel that transposes tiles in shared memory."""
    return TilesWriter(unit).write()


class GroupWriter(ElementWriter):
    """``first``: the dimension from which on offsets are computed from coordinates.  ``alone``: the place of an
    element along the row that is in no whole group.
    """

    template: str
    first = 1
    alone = "e"

    def write(self) -> Written:
        schedule, group, element, parameters = self.schedule, self.schedule.group, self.element, self.parameters()
        at = "(i + j)" if group > 1 else "i"
        reads = self.vectors(written=False)
        early = {names.vector(self.labels[i]) for i in range(len(self.labels)) if self.prefetched(i)}
        context = GroupContext(
            template=self.template,
            name=self.unit.name,
            comment=self.comment(),
            parameters=tuple(parameters.declarations),
            block=schedule.block,
            group=group,
            side=self.side,
            index=self.index,
            signed=self.schedule.signed,
            layout=self.layout(),
            lead="" if schedule.lead is None else self.lead(schedule.lead),
            before="" if schedule.lead is None else self.before(schedule.lead),
            inside=self.inside(),
            scalars=self.once("scalar"),
            columns=self.once("column"),
            early=tuple(t for t in reads if t.value in early),
            reads=tuple(t for t in reads if t.value not in early),
            writes=self.vectors(written=True),
            turned=self.turned(),
            offsets=self.offsets(),
            packed=call_lines(element, [self.argument(a, at, packed=True) for a in element.arguments]),
            direct=call_lines(element, [self.argument(a, self.alone, packed=False) for a in element.arguments]),
        )
        return Written(context, parameters, movers=self.movers())

    @property
    def side(self) -> int:
        """Elements along each side of a tile."""
        return self.schedule.target.tuning.elementwise.tile_side * self.schedule.group

    # --- places -------------------------------------------------------------------------------------

    def position(self, number: int, p: str) -> str:
        """The offset of a touch at ``p`` along the fastest dimension."""
        planned = self.schedule.touches[number]
        terms = self.row_terms(number, p)
        match planned.access:
            case "vector" | "shifted":
                terms.append(p.strip("()"))
            case "gather":
                terms.append(f"{p} * layout.{self.labels[number]}_step")
            case "transposed":
                terms.append("q")
            case _:
                pass
        return " + ".join(terms) or "0"

    def row_terms(self, number: int, p: str) -> list[str]:
        """What says where a touch's row begins."""
        pattern = self.schedule.touches[number].pattern
        return [] if pattern is None else [names.offset(self.pattern(pattern))]

    def coordinate(self, dimension: int, p: str) -> str:
        return p.strip("()") if dimension == 0 else f"c{dimension}"

    def one(self, touch: int) -> str:
        return f"{self.pointer(touch)}[{self.position(touch, 'i')}]"

    def argument(self, argument: Argument, p: str, *, packed: bool) -> str:
        """What a call of the element function passes."""
        if argument.kind in ("scalar", "size"):
            return argument.name
        if argument.kind == "index":
            return self.coordinate(dict(self.schedule.coordinates)[int(argument.key)], p)
        number = int(argument.key)
        touch, planned, name = self.step.touches[number], self.schedule.touches[number], self.labels[number]
        if planned.access in ("scalar", "column"):
            return argument.name
        if planned.access == "transposed":
            return f"{names.vector(name)}.at[j]" if packed else self.in_tile(name)
        if packed and planned.is_straight:
            written = argument.kind == "write"
            vector = names.new_vector(name) if written and touch.reads else names.vector(name)
            held = f"{vector}[k]" if not written and self.prefetched(number) else vector
            return f"{held}.at[j]"
        return f"{self.pointer(number)}[{self.position(number, p)}]"

    def in_tile(self, name: str) -> str:
        """One element of a tile."""
        group = self.schedule.group
        if group == 1:
            return f"{name}_tile[v][u ^ v].at[0]"
        return f"{name}_tile[v][(u / {group}) ^ (v / {group})].at[u % {group}]"

    def prefetched(self, number: int) -> bool:
        """Whether an operand is loaded for all rows of a tile before the kernel waits for the tile."""
        return False

    def vectors(self, *, written: bool) -> tuple[TouchContext, ...]:
        found: list[TouchContext] = []
        for number, (touch, planned) in enumerate(zip(self.step.touches, self.schedule.touches, strict=True)):
            if planned.is_straight and (touch.writes if written else touch.reads):
                name, type_ = self.labels[number], storage_type(self.operand(number).dtype)
                vector = names.new_vector(name) if written and touch.reads else names.vector(name)
                pack = f"Pack<{type_}, {self.schedule.group}, {planned.alignment}>"
                place = f"{self.pointer(number)} + {self.position(number, 'i')}"
                found.append(TouchContext(place, type_, vector, pack, planned.access == "shifted"))
        return tuple(found)

    def lead(self, lead: int) -> str:
        """The address of a row, where groups begin where an output is aligned."""
        pattern = self.schedule.touches[lead].pattern
        offset = "" if pattern is None else f" + {names.offset(self.pattern(pattern))}"
        return f"{self.pointer(lead)}{offset}"

    def before(self, lead: int) -> str:
        """How many elements a row's first group reaches beyond its beginning."""
        return before(self.lead(lead), self.operand(lead).dtype.size, self.schedule.group)

    def inside(self) -> tuple[str, ...]:
        """For each shifted touch, whether the blocks around a group lie within it."""
        found: list[str] = []
        for number, planned in enumerate(self.schedule.touches):
            if planned.access == "shifted":
                at, bounds = self.position(number, "i"), f"layout.{self.labels[number]}_inside"
                found.append(f"{at} >= {bounds}[0] && {at} <= {bounds}[1]")
        return tuple(found)

    def turned(self) -> tuple[TurnedContext, ...]:
        """Operands that are transposed in shared memory."""
        return ()

    def movers(self) -> tuple[str, ...]:
        return (LOAD_SHIFTED,) if any(t.access == "shifted" for t in self.schedule.touches) else ()

    # --- the layout struct, and comments ------------------------------------------------------------

    def layout(self) -> LayoutContext:
        """The struct: sides, what work numbers are divided by, strides, steps."""
        rank, wide = self.schedule.rank, self.schedule.index_bits == 64
        lines = decomposition(rank, set(range(rank)), wide, across=self.schedule.across)
        dimensions = f"{rank} dimension{'s' if rank > 1 else ''}"
        comment = f"Where the elements lie: {dimensions}, the fastest first; strides in elements."
        return LayoutContext(self.unit.layout_name, comment, struct_fields(self.unit.rule.struct), tuple(lines))

    def offsets(self) -> tuple[OffsetContext, ...]:
        found: list[OffsetContext] = []
        for number in range(self.schedule.patterns):
            label = self.pattern(number)
            terms = [f"c{d} * layout.{label}_stride[{d - 1}]" for d in range(self.first, self.schedule.rank)]
            if terms:
                found.append(OffsetContext(sum_lines(f"const {self.schedule.signed} {names.offset(label)} = ", terms)))
        return tuple(found)

    def covered(self, wide: str) -> list[str]:
        """Which layouts the kernel is for, and its launch; ``wide``: what is said of 64-bit indices."""
        raise NotImplementedError

    def comment(self) -> tuple[str, ...]:
        wide = "" if self.schedule.index_bits == 32 else " Indices are 64-bit."
        text = [*self.covered(wide), *([] if wide else [OFFSETS_32]), *placement(self.step, self.schedule)]
        for kind, what in (
            ("column", "One element a row"),
            ("scalar", "A single element, the same for all"),
            ("gather", "At a stride along rows"),
        ):
            found = self.by_access(kind)
            text += [f"{what}: {names.listed(found)}."] if found else []
        return tuple(names.comment(line) for line in [*text, *apart(self.step, self.schedule)])


class RowsWriter(GroupWriter):
    """A thread has a group of elements of one row."""

    template = "rows.cu.j2"

    def covered(self, wide: str) -> list[str]:
        group, block = self.schedule.group, self.schedule.block
        per = f"{group} elements of a row a thread" if group > 1 else "one element a thread"
        across = ", neighbouring rows by neighbouring threads" if self.schedule.across else ""
        return [
            f"Rows, {per}{across}.{wide}",
            f"Launch: ceil(n / {block}) blocks of {block} threads (a divisor of every SM's threads), for n groups.",
        ]


class TilesWriter(GroupWriter):
    """A block has a tile of two dimensions."""

    template = "tiled.cu.j2"
    first = 2
    alone = "p"

    @property
    def needs_n(self) -> bool:
        return False

    def row_terms(self, number: int, p: str) -> list[str]:
        planned = self.schedule.touches[number]
        if planned.pattern is None:
            return []
        label = self.pattern(planned.pattern)
        offset = [names.offset(label)] if self.schedule.rank > 2 else []
        return [*offset, f"{p if planned.access == 'transposed' else 'q'} * layout.{label}_stride[0]"]

    def coordinate(self, dimension: int, p: str) -> str:
        return "q" if dimension == 1 else super().coordinate(dimension, p)

    def prefetched(self, number: int) -> bool:
        if self.schedule.touches[number].access != "vector" or self.schedule.lead is not None:
            return False
        sizes = [
            self.operand(i).dtype.size * self.schedule.group**2
            for i, (t, s) in enumerate(zip(self.step.touches, self.schedule.touches, strict=True))
            if t.reads and s.access == "vector"
        ]
        return sum(sizes) <= 4 * self.schedule.target.tuning.elementwise.prefetch_registers

    def lead(self, lead: int) -> str:
        return f"{self.pointer(lead)} + {self.position(lead, 'p_first')}"

    def before(self, lead: int) -> str:
        return before("lead", self.operand(lead).dtype.size, self.schedule.group)

    def turned(self) -> tuple[TurnedContext, ...]:
        found: list[TurnedContext] = []
        group = self.schedule.group
        for number, planned in enumerate(self.schedule.touches):
            if planned.access == "transposed":
                name, size = self.labels[number], self.operand(number).dtype.size
                type_ = storage_type(self.operand(number).dtype)
                place = f"{self.pointer(number)} + {self.position(number, 'p')}"
                pack = f"Pack<{type_}, {group}, {planned.alignment}>"
                in_tile = f"Pack<{type_}, {group}, {min(16, group * size)}>"
                found.append(
                    TurnedContext(name, place, pack, in_tile, f"{name}_in", f"{name}_tile", names.vector(name), size)
                )
        return tuple(found)

    def movers(self) -> tuple[str, ...]:
        return () if self.schedule.lead is None else (SHIFT_BLOCKS,)

    def covered(self, wide: str) -> list[str]:
        turned = names.listed([t.name for t in self.turned()])
        return [
            f"Tiles of {self.side} x {self.side} elements, one a block; {turned} turned in shared memory.{wide}",
            f"Launch: a block of {self.schedule.block} threads for each tile, the fastest dimension first.",
        ]
