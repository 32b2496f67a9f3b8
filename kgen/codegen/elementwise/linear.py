"""The text of ``contiguous``, ``flat`` and ``strided`` kernels, which walk all elements in one order."""

from __future__ import annotations

from collections.abc import Callable

from kgen.codegen import names
from kgen.codegen.arguments import BY_NAME, Argument
from kgen.codegen.byte_packs import byte_movers, pack_type
from kgen.codegen.context import LayoutContext
from kgen.codegen.elementwise.context import (
    KernelContext,
    OffsetContext,
    OperandContext,
    ResultContext,
    UnitContext,
)
from kgen.codegen.elementwise.writer import ElementWriter
from kgen.codegen.family import Unit, Written
from kgen.codegen.helpers import LOAD_UNALIGNED
from kgen.codegen.layouts import (
    OFFSETS_32,
    alignment_comment,
    as_variables,
    elements_skipped,
    index_decomposition,
    member,
    next_coordinates,
    no_overlap_comment,
    order_comment,
)
from kgen.codegen.spelling import storage_type
from kgen.records import dataclass
from kgen.schedule.elementwise.linear import beyond
from kgen.schedule.schedule import Schedule


def write_linear(unit: Unit[Schedule]) -> Written:
    """A kernel that moves groups of consecutive elements."""
    return LinearWriter(unit, IN_GROUPS).write()


def write_strided(unit: Unit[Schedule]) -> Written:
    """A kernel that computes the offsets of each element."""
    return LinearWriter(unit, ONE_BY_ONE).write()


@dataclass(frozen=True)
class Walk:
    """How a kernel walks all elements.

    ``in_groups``: whether a thread's elements are consecutive; otherwise they are a block apart.  ``covered``: the
    comment on the layouts that the kernel is for.
    """

    template: str
    in_groups: bool
    covered: Callable[[LinearWriter], list[str]]


@dataclass(frozen=True)
class LinearWriter(ElementWriter):
    """Writes kernels that walk all elements in one order."""

    walk: Walk

    @property
    def index(self) -> str:
        """The type of element numbers: signed with an alignment anchor, as a group may begin before element 0."""
        return super().index if self.schedule.anchor is None else self.schedule.signed

    def write(self) -> Written:
        if self.unit.body and not self.unit.is_body:
            return self.entry()
        schedule, element, parameters = self.schedule, self.element, self.parameters()
        layout = self.layout() if self.has_layout else None
        reads = self.packs(written=False)
        context = KernelContext(
            template=self.walk.template,
            name=self.unit.name,
            types=self.types,
            comment=self.comment(),
            parameters=tuple(parameters.declarations),
            block=schedule.block,
            group=schedule.group,
            index=self.index,
            first=self.first(),
            before="" if schedule.anchor is None else self.elements_skipped(schedule.anchor),
            layout=layout,
            needs_index=layout is None and any(a.kind == "index" for a in element.arguments),
            once=self.once("scalar"),
            reads=reads,
            writes=self.packs(written=True),
            offsets=self.offsets(),
            offsets_at_j=self.offsets_in_two_rows() if schedule.two_rows else self.offsets(),
            conditions=element.conditions,
            packed=self.call("packed", "j" if schedule.unit == 1 else "j + k"),
            direct_at_i=self.call("direct", "i"),
            direct_at_e=self.call("direct", "e"),
            signed=self.signed,
            results=self.results(),
            last=(schedule.group - 1) * schedule.block,
            into_results=self.call("kept", "e"),
            backward=schedule.backward,
            unit=schedule.unit,
            in_units=self.in_units(),
        )
        shifts = any(t.kind == "shifted" for t in schedule.accesses)
        movers = (LOAD_UNALIGNED,) if shifts else self.shared_movers()
        movers = (*movers, *byte_movers(self.step, schedule), *self.word_movers(*reads))
        return Written(context, parameters, movers=movers)

    def call(self, mode: str, at: str) -> tuple[str, ...]:
        return self.call_element(
            [self.argument(a, mode, at) for a in self.element.arguments], is_group=mode == "packed"
        )

    def first(self) -> str:
        """The number of a thread's first element."""
        group = self.schedule.group
        if not self.walk.in_groups:
            return self.thread(self.schedule.block * group)
        thread = self.thread(self.schedule.block)
        if self.schedule.anchor is not None:
            return f"{group} * ({self.index})({thread}) - before"
        return thread if group == 1 else f"{group}{'u' if self.index == 'unsigned int' else ''} * ({thread})"

    def elements_skipped(self, anchor: int) -> str:
        return elements_skipped(self.pointer(anchor), self.operand(anchor).dtype.size, self.schedule.group)

    def packs(self, *, written: bool) -> tuple[OperandContext, ...]:
        """The operands that move as packs: those that are read, or those that are written."""
        found: list[OperandContext] = []
        for i, (t, s) in enumerate(zip(self.step.accesses, self.schedule.accesses, strict=True)):
            if s.is_vectorised and (t.writes if written else t.reads):
                type_, label = storage_type(self.operand(i).dtype), self.labels[i]
                name = names.vector(label, new=written and t.reads)
                pack = pack_type(self.step, self.schedule, i, s.alignment)
                by_words = self.loads_words(i, s.alignment)
                found.append(OperandContext(self.pointer(i), type_, name, pack, s.kind == "shifted", by_words=by_words))
        return tuple(found)

    def argument(self, argument: Argument, mode: str, at: str) -> str:
        """The text of an argument in a call of the element function.

        ``mode``: from and to the packs, directly from and to memory, or from memory to what is kept.  ``at``: the index
        within the pack, or in memory.
        """
        if argument.kind in BY_NAME:
            return argument.name
        if argument.kind == "index":
            # Without a layout struct there is one dimension: the index is the coordinate.
            position = "e" if mode == "packed" else at
            return f"c{dict(self.schedule.coordinates)[int(argument.key)]}" if self.has_layout else position
        number = int(argument.key)
        access, planned, label = self.step.accesses[number], self.schedule.accesses[number], self.labels[number]
        if planned.kind == "scalar":
            return argument.name
        if mode == "kept" and argument.kind == "write":
            return f"{self.result(number)}[j]"
        if planned.pattern is not None and mode == "packed":
            return self.at_offset(number)
        if planned.pattern is not None:
            return f"{self.pointer(number)}[{names.offset(self.pattern(planned.pattern))}]"
        if mode in ("direct", "kept") or planned.kind == "linear":
            return f"{self.pointer(number)}[{at}]"
        return f"{names.vector(label, new=argument.kind == 'write' and access.reads)}.at[{at}]"

    def at_offset(self, number: int) -> str:
        """An element of a group that is found by an offset: its own, that of its row, or that of its unit."""
        planned, label = self.schedule.accesses[number], self.labels[number]
        pattern = self.pattern(planned.pattern or 0)
        if planned.kind == "row":
            in_row = names.in_row(label)
            return f"j < left ? {in_row} : {names.in_next_row(label)}" if self.schedule.two_rows else in_row
        if planned.alignment:
            return f"{names.in_unit(label)}.at[k]"
        further = "" if self.schedule.unit == 1 else f" + k * layout.{pattern}_stride[0]"
        return f"{self.pointer(number)}[{names.offset(pattern)}{further}]"

    def in_units(self) -> tuple[UnitContext, ...]:
        """What is read of each unit at once."""
        schedule, found = self.schedule, list[UnitContext]()
        for number, planned in enumerate(schedule.accesses if schedule.unit > 1 else ()):
            label, at = self.labels[number], names.offset(self.pattern(planned.pattern or 0))
            if planned.kind == "strided" and planned.alignment:
                pack = f"Pack<{storage_type(self.operand(number).dtype)}, {schedule.unit}, {planned.alignment}>"
                read = f"*reinterpret_cast<const {pack}*>({self.pointer(number)} + {at})"
                found.append(UnitContext(names.in_unit(label), read))
            elif planned.kind == "row" and not schedule.two_rows:
                found.append(UnitContext(names.in_row(label), f"{self.pointer(number)}[{at}]"))
        return tuple(found)

    def result(self, number: int) -> str:
        """The array that keeps an output's elements until everything is read."""
        return names.vector(self.labels[number], new=self.step.accesses[number].reads)

    def results(self) -> tuple[ResultContext, ...]:
        """The results of a thread whose elements are a block apart."""
        found: list[ResultContext] = []
        for number, (access, planned) in enumerate(zip(self.step.accesses, self.schedule.accesses, strict=True)):
            if access.writes:
                place = f"i + {self.schedule.block} * j"
                if planned.pattern is not None:
                    place = f"{names.kept(names.offset(self.pattern(planned.pattern)))}[j]"
                type_ = storage_type(self.operand(number).dtype)
                found.append(ResultContext(self.pointer(number), type_, self.result(number), place))
        return tuple(found)

    def layout(self) -> LayoutContext:
        """The struct of extents and strides."""
        rank, patterns, signed = self.schedule.rank, self.schedule.patterns, self.schedule.signed
        if rank == 1:
            comment = "Where the operands lie: strides in elements along the only dimension."
        else:
            strides = "; strides in elements" if patterns else ""
            comment = f"Where the elements lie: {self.dimensions}, the fastest first{strides}."
        wanted = set(range(rank)) if patterns else {d for _, d in self.schedule.coordinates}
        decomposition, to_last = index_decomposition(rank, wanted, signed), set(range(max(wanted) + 1))
        found = index_decomposition(rank, to_last, signed)
        first, advance = as_variables(found), next_coordinates(rank, max(wanted), signed, step=self.schedule.unit)
        if self.schedule.two_rows:
            in_row = 2  # lines that find c0, which stays
            first, advance = [*found[:in_row], *first[in_row:], *self.two_rows()], []
        return LayoutContext(
            self.unit.layout_name,
            comment,
            self.fields(),
            self.decomposition(decomposition),
            tuple(first),
            tuple(advance),
            self.types,
            self.unit.declares_layout,
        )

    def two_rows(self) -> list[str]:
        """Lines that find where a group's elements of two rows begin."""
        schedule = self.schedule
        labels = [self.pattern(pattern) for pattern in range(schedule.patterns)]
        same = {self.pattern(self.schedule.accesses[i].pattern or 0) for i in self.rows}
        extent = f"{'' if schedule.signed == 'long long' else '(int)'}{member('extent', 0, schedule.rank - 1)}"
        lines = [f"const {self.signed} left = {extent} - c0;  // elements up to the end of the row"]
        for label in labels:
            lines += self.offset_lines(label, int(label in same), 0, names.first_row(label))
        lines += next_coordinates(schedule.rank, schedule.rank - 1, schedule.signed, 1)
        for label in labels:
            found = self.offset_lines(label, 1, 0, names.next_row(label))
            lines += found if label in same else [*found[:-1], f"{found[-1][:-1]} - left * layout.{label}_stride[0];"]
        for i in self.rows:
            pointer, first, following = self.pointer(i), *self.ends(i)
            lines.append(f"const auto {names.in_row(self.labels[i])} = {pointer}[{first}];")
            at = f"left < {schedule.group} ? {following} : {first}"
            lines.append(f"const auto {names.in_next_row(self.labels[i])} = {pointer}[{at}];")
        return lines

    @property
    def rows(self) -> list[int]:
        """The accesses of which a group reads one element for each of its two rows."""
        return [i for i, t in enumerate(self.schedule.accesses) if t.kind == "row"]

    def ends(self, access: int) -> tuple[str, str]:
        """The offsets of an access in both rows of a group."""
        label = self.pattern(self.schedule.accesses[access].pattern or 0)
        return names.first_row(label), names.next_row(label)

    def offsets_in_two_rows(self) -> tuple[OffsetContext, ...]:
        """The offsets of element ``j`` of a group."""
        found: list[OffsetContext] = []
        same = {self.schedule.accesses[i].pattern for i in self.rows}
        consecutive = {t.pattern for t in self.schedule.accesses if t.kind == "strided" and t.alignment}
        for pattern in (pattern for pattern in range(self.schedule.patterns) if pattern not in same):
            label = self.pattern(pattern)
            start = f"(j < left ? {names.first_row(label)} : {names.next_row(label)})"
            further = "j" if pattern in consecutive else f"j * layout.{label}_stride[0]"
            found.append(OffsetContext((f"const {self.signed} {names.offset(label)} = {start} + {further};",)))
        return tuple(found)

    def offsets(self) -> tuple[OffsetContext, ...]:
        found: list[OffsetContext] = []
        for pattern in range(self.schedule.patterns):
            label = self.pattern(pattern)
            name, lines = names.offset(label), self.offset_lines(label, 0, 0)
            written = any(
                t.writes and s.pattern == pattern
                for t, s in zip(self.step.accesses, self.schedule.accesses, strict=True)
            )
            found.append(OffsetContext(lines, name, names.kept(name) if written else ""))
        return tuple(found)

    def comment(self) -> tuple[str, ...]:
        """The layouts that the kernel is for, and how it is launched."""
        once = self.by_kind("scalar")
        single = [f"A single element, the same for all: {names.listed(once)}."] if once else []
        text = [
            *self.walk.covered(self),
            *single,
            *order_comment(self.schedule),
            *no_overlap_comment(self.step, self.schedule),
        ]
        return tuple(names.comment(line) for line in text)

    def launch(self) -> str:
        schedule = self.schedule
        reached = "n" if schedule.anchor is None else f"(n + {schedule.group - 1})"
        most = "2^31" if schedule.anchor is None else f"2^31 - {beyond(schedule.block, schedule.group)}"
        blocks = f"ceil({reached} / {schedule.block * schedule.group}) blocks of {schedule.block} threads"
        return f"Launch: {blocks}, for n {f'< {most} ' if self.is_narrow else ''}elements."

    @property
    def is_narrow(self) -> bool:
        """Whether indices have 32 bits in all kernels with this text."""
        return self.schedule.index_bits == 32 and not self.unit.is_body

    @property
    def note(self) -> str:
        return "" if self.schedule.index_bits == 32 else " Indices are 64-bit."


def _covered_in_groups(writer: LinearWriter) -> list[str]:
    schedule = writer.schedule
    how = f"{schedule.group} elements a thread" if schedule.group > 1 else "one element a thread"
    text = [f"Operands in memory order, {how}.{writer.note}", writer.launch()]
    others = writer.by_kind("strided")
    each = f"unit of {schedule.unit} elements of a row" if schedule.unit > 1 else "element"
    text += [f"At an offset computed for each {each}: {names.listed(others)}."] if others else []
    rows, of = writer.by_kind("row"), "of a group's two rows" if schedule.two_rows else "unit"
    text += [f"One element for each {of}: {names.listed(rows)}."] if rows else []
    text += [OFFSETS_32] if (others or rows) and writer.is_narrow else []
    return text + alignment_comment(writer.step, schedule)


def _covered_one_by_one(writer: LinearWriter) -> list[str]:
    kinds = (("strided", "at any strides"), ("linear", "in memory order"))
    where = ", ".join(f"{names.listed(found)} {how}" for kind, how in kinds if (found := writer.by_kind(kind)))
    group, block = writer.schedule.group, writer.schedule.block
    per = "One element a thread" if group == 1 else f"{group} elements a thread, {block} apart,"
    text = [f"{per} over {writer.dimensions}: {where}.{writer.note}"]
    return [*text, writer.launch(), *([OFFSETS_32] if writer.is_narrow else [])]


#: Groups of consecutive elements, in the order of memory.
IN_GROUPS = Walk("contiguous.cu.j2", True, _covered_in_groups)
#: Elements that are found by their coordinates; neighbouring threads take neighbouring ones.
ONE_BY_ONE = Walk("strided.cu.j2", False, _covered_one_by_one)
