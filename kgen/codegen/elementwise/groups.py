"""The text of ``rows`` and ``tiled`` kernels, which go along the fastest dimension by groups of elements."""

from __future__ import annotations

from collections.abc import Container
from functools import cached_property

from kgen.codegen import names
from kgen.codegen.arguments import BY_NAME, Argument
from kgen.codegen.context import (
    GatheredContext,
    GroupContext,
    LayoutContext,
    OffsetContext,
    OperandContext,
    TransposedContext,
    TurnedContext,
)
from kgen.codegen.elementwise.gathered_rows import GatheredRow, find_rows, merged, movers_of
from kgen.codegen.elementwise.writer import ElementWriter
from kgen.codegen.family import Unit, Written
from kgen.codegen.helpers import FUNNEL_SHIFT_BLOCKS, LOAD_RUN, LOAD_UNALIGNED
from kgen.codegen.layouts import (
    GROUPS_32,
    OFFSETS_32,
    alignment_comment,
    elements_skipped,
    index_decomposition,
    no_overlap_comment,
)
from kgen.codegen.spelling import storage_type
from kgen.schedule.elementwise.launch import tile_side
from kgen.schedule.schedule import Interleaved, Schedule


def write_rows(unit: Unit[Schedule]) -> Written:
    """A kernel that computes the offsets of rows once for each group."""
    return RowsWriter(unit).write()


def write_tiled(unit: Unit[Schedule]) -> Written:
    """A kernel that transposes tiles in shared memory."""
    is_any = any(t.kind == "turned" for t in unit.schedule.accesses)
    return (AnyTilesWriter if is_any else TilesWriter)(unit).write()


class GroupWriter(ElementWriter):
    """Writes kernels that move groups.

    ``first``: the first dimension whose coordinate goes into offsets of rows.  ``alone``: the index along the row of an
    element that belongs to no whole group.
    """

    template: str
    first = 1
    alone = "e"

    def write(self) -> Written:
        if self.unit.body and not self.unit.is_body:
            return self.entry()
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
            signed=self.counted,
            thread=self.thread(schedule.block),
            along="c[0]" if self.unit.is_body else "c0",
            types=self.types,
            layout=self.layout(),
            anchor="" if schedule.anchor is None else self.anchor(schedule.anchor),
            before="" if schedule.anchor is None else self.elements_skipped(schedule.anchor),
            inside=self.inside(),
            scalars=self.once("scalar"),
            columns=self.once("column"),
            early=tuple(t for t in reads if t.value in early),
            reads=tuple(t for t in reads if t.value not in early),
            writes=self.vectors(written=True),
            transposed=self.transposed(),
            turned=self.turned(),
            offsets=self.offsets(),
            conditions=element.conditions,
            packed=self.call_element([self.argument(a, at, packed=True) for a in element.arguments], is_group=True),
            direct=self.call_element([self.argument(a, self.alone, packed=False) for a in element.arguments]),
            gathered=tuple(map(self.gathered, self.rows.values())),
        )
        return Written(context, parameters, movers=self.movers())

    @property
    def side(self) -> int:
        """Elements along each side of a tile."""
        return tile_side(self.schedule)

    @cached_property
    def rows(self) -> dict[int, GatheredRow]:
        return find_rows(self.unit)

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return merged(self.element, *(row.find for row in self.rows.values()))

    def gathered(self, row: GatheredRow) -> GatheredContext:
        return row.context([self.argument(a, "i", packed=False) for a in row.find.arguments])

    # --- places -------------------------------------------------------------------------------------

    def position(self, number: int, p: str) -> str:
        """The offset of an access at ``p`` along the fastest dimension."""
        planned = self.schedule.accesses[number]
        terms = self.row_terms(number, p)
        match planned.kind:
            case "vector" | "shifted":
                terms.append(p.strip("()"))
            case "gather" | "run" | "turned" | "interleaved":
                terms.append(f"{p} * {self.step_of(number)}")
            case "transposed":
                terms.append("q")
            case _:
                pass
        return " + ".join(terms) or "0"

    def step_of(self, number: int) -> str:
        """The stride of an access along the fastest dimension."""
        wide = self.schedule.accesses[number].wide
        if wide is None:
            return f"layout.{self.labels[number]}_step"
        # Coordinates of 32 bits times a constant would overflow.
        return f"{wide.step}ll" if self.schedule.index_bits > self.schedule.count_bits else str(wide.step)

    def row_terms(self, number: int, p: str) -> list[str]:
        """The terms of the offset of an access's row."""
        pattern = self.schedule.accesses[number].pattern
        return [] if pattern is None else [names.offset(self.pattern(pattern))]

    def coordinate(self, dimension: int, p: str) -> str:
        return p.strip("()") if dimension == 0 else f"c{dimension}"

    def one(self, access: int) -> str:
        return f"{self.pointer(access)}[{self.position(access, 'i')}]"

    def argument(self, argument: Argument, p: str, *, packed: bool) -> str:
        """The text of an argument in a call of the element function."""
        if argument.kind in BY_NAME:
            return argument.name
        if argument.kind == "index":
            return self.coordinate(dict(self.schedule.coordinates)[int(argument.key)], p)
        number = int(argument.key)
        access, planned, name = self.step.accesses[number], self.schedule.accesses[number], self.labels[number]
        if planned.kind in ("scalar", "column"):
            return argument.name
        if planned.kind == "transposed":
            return f"{names.vector(name)}.at[j]" if packed else self.in_tile(name)
        if packed and planned.wide is not None:
            return self.in_wide(planned.wide)
        if packed and (planned.is_vectorised or planned.kind == "run"):
            written = argument.kind == "write"
            vector = names.new_vector(name) if written and access.reads else names.vector(name)
            loaded = f"{vector}[k]" if not written and self.prefetched(number) else vector
            return f"{loaded}.at[j]"
        return f"{self.pointer(number)}[{self.position(number, p)}]"

    def in_wide(self, wide: Interleaved) -> str:
        """Element ``j`` of an interleaved access."""
        phase = f" + {wide.phase}" if wide.phase else ""
        return f"{names.wide(self.labels[wide.first])}.at[{wide.step} * j{phase}]"

    def in_tile(self, name: str) -> str:
        """One element of a tile."""
        group = self.schedule.group
        if group == 1:
            return f"{name}_tile[v][u ^ v].at[0]"
        return f"{name}_tile[v][(u / {group}) ^ (v / {group})].at[u % {group}]"

    def prefetched(self, number: int) -> bool:
        """Whether the kernel loads an operand for all rows of a tile before it waits for the tile."""
        return False

    def vectors(self, *, written: bool, among: Container[int] | None = None) -> tuple[OperandContext, ...]:
        """The operands that move as packs: those that are read, or written.  ``among``: only of these accesses."""
        found: list[OperandContext] = []
        for number, (access, planned) in enumerate(zip(self.step.accesses, self.schedule.accesses, strict=True)):
            if among is not None and number not in among:
                continue
            is_run = planned.kind == "run"
            if planned.wide is not None and planned.wide.first == number and access.writes == written:
                found.append(self.wide(number, planned.wide))
            if (planned.is_vectorised or is_run) and (access.writes if written else access.reads):
                name, type_ = self.labels[number], storage_type(self.operand(number).dtype)
                vector = names.new_vector(name) if written and access.reads else names.vector(name)
                pack = f"Pack<{type_}, {self.schedule.group}, {planned.alignment}>"
                place = f"{self.pointer(number)} + {self.position(number, 'i')}"
                stride = self.step_of(number) if is_run else ""
                found.append(OperandContext(place, type_, vector, pack, planned.kind == "shifted", stride))
        return tuple(found)

    def wide(self, number: int, wide: Interleaved) -> OperandContext:
        """The wide groups of interleaved accesses."""
        type_ = storage_type(self.operand(number).dtype)
        pack = f"Pack<{type_}, {wide.step * self.schedule.group}, {wide.alignment}>"
        place = f"{self.pointer(number)} + {self.position(number, 'i')}{f' - {wide.phase}' if wide.phase else ''}"
        return OperandContext(place, type_, names.wide(self.labels[number]), pack)

    def anchor(self, anchor: int) -> str:
        """The address of a row in the alignment anchor."""
        pattern = self.schedule.accesses[anchor].pattern
        offset = "" if pattern is None else f" + {names.offset(self.pattern(pattern))}"
        return f"{self.pointer(anchor)}{offset}"

    def elements_skipped(self, anchor: int) -> str:
        """The number of elements of a row's first group that lie before the row."""
        return elements_skipped(self.anchor(anchor), self.operand(anchor).dtype.size, self.schedule.group)

    def inside(self) -> tuple[str, ...]:
        """For each access of which a group loads more than its own elements, the condition that all lie within it."""
        found: list[str] = []
        for number, planned in enumerate(self.schedule.accesses):
            if planned.reaches_beyond and (planned.wide is None or planned.wide.first == number):
                at, bounds = self.position(number, "i"), f"layout.{self.labels[number]}_inside"
                found.append(f"{at} >= {bounds}[0] && {at} <= {bounds}[1]")
        return tuple(found)

    def transposed(self) -> tuple[TransposedContext, ...]:
        """Operands that are transposed in shared memory."""
        return ()

    def turned(self) -> tuple[TurnedContext, ...]:
        """Operands that are transposed in shared memory where a call's strides ask for it."""
        return ()

    def movers(self) -> tuple[str, ...]:
        kinds = {t.kind for t in self.schedule.accesses} if self.schedule.group > 1 else set()
        found = tuple(mover for kind, mover in (("shifted", LOAD_UNALIGNED), ("run", LOAD_RUN)) if kind in kinds)
        return (*self.shared_movers(), *found, *movers_of(self.rows.values()))

    # --- the layout struct, and comments ------------------------------------------------------------

    def layout(self) -> LayoutContext:
        """The struct: extents, magic numbers, strides, steps."""
        rank, is_64bit = self.schedule.rank, self.schedule.count_bits == 64
        lines = index_decomposition(rank, set(range(rank)), is_64bit, across=self.schedule.across)
        comment = f"Where the elements lie: {self.dimensions}, the fastest first; strides in elements."
        return LayoutContext(self.unit.layout_name, comment, self.fields(), self.decomposition(lines), types=self.types)

    def offsets(self) -> tuple[OffsetContext, ...]:
        found: list[OffsetContext] = []
        for number in range(self.schedule.patterns):
            label = self.pattern(number)
            lines = self.offset_lines(label, self.first, 1)
            if lines:
                found.append(OffsetContext(lines))
        return tuple(found)

    def covered(self, note: str) -> list[str]:
        """The comment on the layouts that the kernel is for and its launch; ``note``: on 64-bit indices."""
        raise NotImplementedError

    def comment(self) -> tuple[str, ...]:
        note = (
            ""
            if self.schedule.index_bits == 32
            else f" {'Offsets' if self.schedule.narrow_counts else 'Indices'} are 64-bit."
        )
        limits = [GROUPS_32] if self.schedule.narrow_counts else [] if note or self.unit.is_body else [OFFSETS_32]
        text = [*self.covered(note), *limits, *alignment_comment(self.step, self.schedule)]
        for kind, what in (
            ("column", "One element a row"),
            ("scalar", "A single element, the same for all"),
            ("gather", "At a stride along rows"),
            ("interleaved", "At a step along rows, moved with all that lies between"),
            ("run", "At any stride along rows, 0 for one element a row; by vectors where consecutive and aligned"),
        ):
            found = self.by_kind(kind)
            text += [f"{what}: {names.listed(found)}."] if found else []
        rows = [row.operand.name for row in self.rows.values()]
        text += [f"Rows at computed places, whose groups are aligned: {names.listed(rows)}."] if rows else []
        return tuple(names.comment(line) for line in [*text, *no_overlap_comment(self.step, self.schedule)])


class RowsWriter(GroupWriter):
    """Writes kernels in which a thread has a group of elements of one row."""

    template = "rows.cu.j2"

    def argument(self, argument: Argument, p: str, *, packed: bool) -> str:
        if argument.kind in ("gathered", "row"):
            return self.rows[int(argument.key)].argument(argument.kind, p, packed=packed)
        return super().argument(argument, p, packed=packed)

    def covered(self, note: str) -> list[str]:
        group, block = self.schedule.group, self.schedule.block
        per = f"{group} elements of a row a thread" if group > 1 else "one element a thread"
        across = ", neighbouring rows by neighbouring threads" if self.schedule.across else ""
        return [
            f"Rows, {per}{across}.{note}",
            f"Launch: ceil(n / {block}) blocks of {block} threads (a divisor of every SM's threads), for n groups.",
        ]


class TilesWriter(GroupWriter):
    """Writes kernels in which a block has a tile of two dimensions."""

    template = "tiled.cu.j2"
    first = 2
    alone = "p"

    @property
    def needs_n(self) -> bool:
        return False

    def row_terms(self, number: int, p: str) -> list[str]:
        planned = self.schedule.accesses[number]
        if planned.pattern is None:
            return []
        label = self.pattern(planned.pattern)
        offset = [names.offset(label)] if self.schedule.rank > 2 else []
        return [*offset, f"{p if planned.kind == 'transposed' else 'q'} * layout.{label}_stride[0]"]

    def coordinate(self, dimension: int, p: str) -> str:
        return "q" if dimension == 1 else super().coordinate(dimension, p)

    def prefetched(self, number: int) -> bool:
        if self.schedule.accesses[number].kind != "vector" or self.schedule.anchor is not None:
            return False
        sizes = [
            self.operand(i).dtype.size * self.schedule.group**2
            for i, (t, s) in enumerate(zip(self.step.accesses, self.schedule.accesses, strict=True))
            if t.reads and s.kind == "vector"
        ]
        return sum(sizes) <= 4 * self.schedule.target.tuning.elementwise.prefetch_registers

    def anchor(self, anchor: int) -> str:
        return f"{self.pointer(anchor)} + {self.position(anchor, 'p_first')}"

    def elements_skipped(self, anchor: int) -> str:
        return elements_skipped("anchor", self.operand(anchor).dtype.size, self.schedule.group)

    def transposed(self) -> tuple[TransposedContext, ...]:
        found: list[TransposedContext] = []
        group = self.schedule.group
        for number, planned in enumerate(self.schedule.accesses):
            if planned.kind == "transposed":
                name, size = self.labels[number], self.operand(number).dtype.size
                type_ = storage_type(self.operand(number).dtype)
                place = f"{self.pointer(number)} + {self.position(number, 'p')}"
                pack = f"Pack<{type_}, {group}, {planned.alignment}>"
                in_tile = f"Pack<{type_}, {group}, {min(16, group * size)}>"
                found.append(
                    TransposedContext(
                        name, place, pack, in_tile, f"{name}_in", f"{name}_tile", names.vector(name), size
                    )
                )
        return tuple(found)

    def movers(self) -> tuple[str, ...]:
        return () if self.schedule.anchor is None else (FUNNEL_SHIFT_BLOCKS,)

    def covered(self, note: str) -> list[str]:
        transposed = names.listed([t.name for t in self.transposed()])
        return [
            f"Tiles of {self.side} x {self.side} elements, one a block; {transposed} transposed through "
            f"shared memory.{note}",
            f"Launch: a block of {self.schedule.block} threads for each tile, the fastest dimension first.",
        ]


class AnyTilesWriter(TilesWriter):
    """Writes kernels for tiles whose inputs run along either dimension, as the strides of a call say."""

    template = "tiled_any.cu.j2"

    def argument(self, argument: Argument, p: str, *, packed: bool) -> str:
        is_turned = argument.kind == "read" and self.schedule.accesses[int(argument.key)].kind == "turned"
        return self.value(int(argument.key)) if is_turned else super().argument(argument, p, packed=packed)

    def value(self, number: int) -> str:
        return f"{self.labels[number]}_one"

    def turned(self) -> tuple[TurnedContext, ...]:
        found: list[TurnedContext] = []
        for number, planned in enumerate(self.schedule.accesses):
            if planned.kind == "turned" and planned.pattern is not None:
                name, step = self.labels[number], self.step_of(number)
                condition = f"layout.{self.pattern(planned.pattern)}_stride[0] == 1 && {step} != 1"
                place = f"{self.pointer(number)}[{self.position(number, 'p')}]"
                type_ = storage_type(self.operand(number).dtype)
                names_ = self.value(number), f"{name}_read", f"{name}_tile", f"{name}_is_turned"
                found.append(TurnedContext(place, type_, *names_, condition))
        return tuple(found)

    def covered(self, note: str) -> list[str]:
        turned = names.listed(self.by_kind("turned"))
        return [
            f"Tiles of {self.side} x {self.side} elements, one a block.{note}",
            f"Through shared memory where consecutive along the second dimension: {turned}.",
            f"Launch: a block of {self.schedule.block} threads for each tile, the fastest dimension first.",
        ]
