"""The base of ``rows`` and ``tiled`` kernels, which go along the fastest dimension by groups of elements."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cached_property

from kgen.codegen import names
from kgen.codegen.arguments import BY_NAME, Argument
from kgen.codegen.bodies import LAYOUT_TYPES
from kgen.codegen.byte_packs import are_words, byte_movers, pack_type
from kgen.codegen.context import LayoutContext
from kgen.codegen.elementwise.context import (
    EitherContext,
    GatheredContext,
    GroupContext,
    OffsetContext,
    OperandContext,
    TransposedContext,
)
from kgen.codegen.elementwise.gathered_rows import GatheredRow, find_rows, merged, movers_of
from kgen.codegen.elementwise.writer import ElementWriter
from kgen.codegen.family import Written
from kgen.codegen.helpers import IS_RUN, LOAD_RUN, LOAD_UNALIGNED
from kgen.codegen.layouts import (
    GROUPS_32,
    OFFSETS_32,
    alignment_comment,
    elements_skipped,
    index_decomposition,
    no_overlap_comment,
    order_comment,
)
from kgen.codegen.spelling import storage_type
from kgen.schedule.elementwise.launch import tile_sides
from kgen.schedule.schedule import Interleaved
from kgen.schedule.target import WORD


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
        runs = self.runs(reads)
        early = {names.vector(self.labels[i]) for i in range(len(self.labels)) if self.prefetched(i)}
        context = GroupContext(
            template=self.template,
            name=self.unit.name,
            comment=self.comment(),
            parameters=self.declared(parameters),
            block=schedule.block,
            group=group,
            side=self.side,
            index=self.index,
            signed=self.counted,
            thread=self.thread(schedule.block),
            along=self.along(0),
            along_second=self.along(1),
            types=self.types,
            layout=self.layout(),
            anchor="" if schedule.anchor is None else self.anchor(schedule.anchor),
            before="" if schedule.anchor is None else self.elements_skipped(schedule.anchor),
            inside=self.inside(),
            scalars=self.once("scalar"),
            columns=self.once("column"),
            early=tuple(t for t in reads if t.value in early),
            reads=tuple(t for t in reads if t.value not in early and t not in runs),
            runs=runs,
            writes=self.vectors(written=True),
            transposed=self.transposed(),
            either=self.either(),
            offsets=self.offsets(),
            conditions=element.conditions,
            packed=self.call_element([self.argument(a, at, packed=True) for a in element.arguments], is_group=True),
            direct=self.call_element([self.argument(a, self.alone, packed=False) for a in element.arguments]),
            gathered=tuple(map(self.gathered, self.rows.values())),
            is_part=self.unit.is_part,
            backward=schedule.backward,
            height=tile_sides(self.schedule)[1],
            blocks_per_sm=self.blocks_per_sm,
        )
        return Written(context, parameters, movers=self.movers())

    @property
    def side(self) -> int:
        """Elements of a tile along the fastest dimension."""
        return tile_sides(self.schedule)[0]

    @property
    def blocks_per_sm(self) -> int:
        """Blocks of an SM for which there have to be registers, if the compiler is not to decide that."""
        return 0

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
            case "gather" | "run" | "either" | "interleaved":
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
            label = self.labels[number]
            return f"layout.{label}_stride[0]" if self.unit.shared_layout else f"layout.{label}_step"
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
            vector = names.vector(name, new=written and access.reads)
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
                vector = names.vector(name, new=written and access.reads)
                group = self.schedule.group
                alignment = group * self.operand(number).dtype.size if is_run else planned.alignment
                pack = pack_type(self.step, self.schedule, number, alignment)
                place = f"{self.pointer(number)} + {self.position(number, 'i')}"
                run = (self.step_of(number), names.start(name)) if is_run else ("", "")
                by_words = self.loads_words(number, alignment)
                found.append(OperandContext(place, type_, vector, pack, planned.kind == "shifted", *run, by_words))
        return tuple(found)

    def runs(self, reads: Sequence[OperandContext]) -> tuple[OperandContext, ...]:
        """Operands of which only the call knows whether groups are consecutive, and that share a branch: several with
        narrow elements, which compilers would else load one operand after another.
        """
        found = tuple(t for t in reads if t.stride)
        accesses = zip(range(len(self.labels)), self.schedule.accesses, strict=True)
        is_narrow = any(t.kind == "run" and self.operand(i).dtype.size < WORD for i, t in accesses)
        return found if len(found) > 1 and is_narrow and self.schedule.group > 1 else ()

    def wide(self, number: int, wide: Interleaved) -> OperandContext:
        """The wide groups of interleaved accesses."""
        type_ = storage_type(self.operand(number).dtype)
        count = wide.step * self.schedule.group
        pack = f"Pack<{type_}, {count}, {wide.alignment}>"
        place = f"{self.pointer(number)} + {self.position(number, 'i')}{f' - {wide.phase}' if wide.phase else ''}"
        by_words = are_words(self.operand(number).dtype, count, wide.alignment)
        return OperandContext(place, type_, names.wide(self.labels[number]), pack, by_words=by_words)

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

    def either(self) -> tuple[EitherContext, ...]:
        """Operands that are transposed in shared memory where a call's strides ask for it."""
        return ()

    def movers(self) -> tuple[str, ...]:
        kinds = {t.kind for t in self.schedule.accesses} if self.schedule.group > 1 else set()
        found = tuple(mover for kind, mover in (("shifted", LOAD_UNALIGNED), ("run", LOAD_RUN)) if kind in kinds)
        reads = self.vectors(written=False)
        runs = self.runs(reads)
        words = self.word_movers(*(t for t in reads if not t.stride or t in runs))  # ``load_run`` reads the others
        own = (*((IS_RUN,) if runs else ()), *found, *byte_movers(self.step, self.schedule), *words)
        return (*self.shared_movers(), *own, *movers_of(self.rows.values()))

    # --- the layout struct, and comments ------------------------------------------------------------

    def layout(self) -> LayoutContext:
        """The struct: extents, magic numbers, strides, steps."""
        rank = self.schedule.rank
        lines = index_decomposition(rank, set(range(rank)), self.schedule.counted, across=self.schedule.across)
        dimensions = "Rank dimensions" if self.unit.is_generic else self.dimensions
        comment = f"Where the elements lie: {dimensions}, the fastest first; strides in elements."
        types = LAYOUT_TYPES if self.unit.shared_layout else self.types
        return LayoutContext(
            self.unit.layout_name,
            comment,
            self.fields(),
            self.decomposition(lines),
            types=types,
            is_declared=self.unit.declares_layout and bool(self.fields()),
        )

    def offsets(self) -> tuple[OffsetContext, ...]:
        found: list[OffsetContext] = []
        for number in range(self.schedule.patterns):
            label = self.pattern(number)
            lines = self.offset_lines(label, self.first, 1)
            if lines and self.schedule.rank >= self.first:
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
        covered = self.covered(note)
        covered = covered[:1] if self.unit.is_part else covered
        text = [*covered, *limits, *alignment_comment(self.step, self.schedule)]
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
        text += [*order_comment(self.schedule), *no_overlap_comment(self.step, self.schedule)]
        return tuple(names.comment(line) for line in text)
