"""The text of ``boxes`` kernels, in which a block has a box of two or three dimensions."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from math import prod

from kgen.codegen import names
from kgen.codegen.arguments import BY_NAME, Argument
from kgen.codegen.context import LayoutContext
from kgen.codegen.elementwise.box_context import BoxContext, BoxLoadContext, BoxLoopContext, SideContext
from kgen.codegen.elementwise.box_places import COORDINATES, PLACES, BoxPlaces
from kgen.codegen.elementwise.context import OperandContext
from kgen.codegen.family import Unit, Written
from kgen.codegen.helpers import KEEP_LOADED
from kgen.codegen.layouts import (
    OFFSETS_32,
    call_lines,
    index_decomposition,
    no_overlap_comment,
    struct_fields,
)
from kgen.codegen.spelling import storage_type
from kgen.records import dataclass
from kgen.schedule.elementwise.box_banks import row_pitch
from kgen.schedule.elementwise.box_shapes import pitch, tile_shape
from kgen.schedule.elementwise.boxes import BoxSchedule
from kgen.schedule.elementwise.launch import LENGTHS
from kgen.schedule.target import WORD


def _whole(side: int) -> str:
    """The name of whether a block's box has all of its elements along a side."""
    return f"whole_{COORDINATES[side]}"


def write_boxes(unit: Unit[BoxSchedule]) -> Written:
    """A kernel that reads each operand along the dimension in which it is consecutive."""
    return BoxWriter(unit).write()


@dataclass(frozen=True)
class BoxWriter(BoxPlaces):
    """Writes kernels in which a block has a box."""

    @property
    def needs_n(self) -> bool:
        return False

    def write(self) -> Written:
        schedule, element, parameters = self.schedule, self.element, self.parameters()
        early = self.early()
        late = [i for i, t in enumerate(schedule.accesses) if i not in early and t.kind not in ("scalar", "transposed")]
        natural = tuple(range(len(schedule.box)))
        last = self.loop(natural, (), late)
        context = BoxContext(
            template="boxes.cu.j2",
            name=self.unit.name,
            comment=self.comment(),
            parameters=tuple(parameters.declarations),
            block=schedule.block,
            index=self.index,
            signed=schedule.signed,
            group=schedule.group,
            layout=self.layout(),
            sides=tuple(
                self.side(s, {o[-1] for o in (natural, *schedule.orders) if schedule.each(o) > 1}) for s in natural
            ),
            scalars=self.once("scalar"),
            offsets=self.box_offsets(),
            staged=self.staged(),
            early=self.loop(natural, early, early),
            last=last,
            reads=(*self.vectors(late, written=False), *self.from_tiles()),
            writes=self.vectors(late, written=True),
            call=call_lines(element, [self.argument(a, early) for a in element.arguments]),
            uses_index=bool(schedule.coordinates),
        )
        kept = (KEEP_LOADED,) if context.keeps else ()
        return Written(context, parameters, helpers=kept, movers=self.word_movers(*context.reads))

    def one(self, access: int) -> str:
        return f"{self.pointer(access)}[0]"

    def side(self, side: int, moving: Container[int]) -> SideContext:
        return SideContext(
            f"{COORDINATES[side]}_first",
            f"c{self.schedule.walk.index(side)}",
            f"layout.{LENGTHS[side][0]}",
            self.schedule.box[side],
            _whole(side) if side in moving else "",
        )

    # --- loops --------------------------------------------------------------------------------------

    def staged(self) -> tuple[BoxLoopContext, ...]:
        """A loop for each order in which transposed operands are read."""
        found: dict[tuple[int, ...], list[int]] = {}
        for i, order in enumerate(self.schedule.orders):
            if self.schedule.accesses[i].kind == "transposed":
                found.setdefault(order, []).append(i)
        return tuple(self.loop(order, accesses, accesses) for order, accesses in found.items())

    def loop(self, order: tuple[int, ...], loads: Sequence[int], used: Sequence[int]) -> BoxLoopContext:
        """A loop along the last side of an order.  ``loads``: accesses that it reads early; ``used``: all of its."""
        schedule, moving, group = self.schedule, order[-1], self.schedule.groups[order[0]]
        places, before = list[str](), 1
        for number, side in enumerate(order):
            count = schedule.box[side] // (1 if number else group)
            value = "threadIdx.x" if before == 1 else f"threadIdx.x / {before}"
            value += "" if side == moving else f" % {count}"
            value = f"{group} * ({value})" if group > 1 and number == 0 else value
            value = "0" if count == 1 else value
            places.append(f"const int {PLACES[side]} = {value};")
            before *= 1 if side == moving else count
        fixed = sorted(order[:-1])
        start = [f"const {schedule.signed} {COORDINATES[s]} = {COORDINATES[s]}_first + {PLACES[s]};" for s in fixed]
        start += [line for side in fixed for line in self.taken_apart(side, used)]
        start += self.starts(used, order)
        inside = [f"{COORDINATES[s]} < layout.{LENGTHS[s][0]}" for s in range(len(order))]
        works, within = self.limits(order)
        at = f"{COORDINATES[moving]} = {COORDINATES[moving]}_first + {self.place(moving, order)}"
        return BoxLoopContext(
            schedule.each(order), group, tuple(places), tuple(start), f"const {schedule.signed} {at};",
            " && ".join([*works, *(inside[s] for s in fixed)]), _whole(moving),
            " && ".join([*within, inside[moving]]), " && ".join(works), " && ".join(within),
            (*self.taken_apart(moving, used), *self.inner_offsets(used, order)),
            tuple(self.load(i, order) for i in loads),
        )  # fmt: skip

    def limits(self, order: tuple[int, ...]) -> tuple[list[str], list[str]]:
        """Whether a thread has groups in an order of sides, and whether group ``k`` is one of the box: no condition
        where that is so.
        """
        schedule, each, side = self.schedule, self.schedule.each(order), order[-1]
        working, end = schedule.working(order), schedule.box[side]
        works = [f"threadIdx.x < {working}"] if working < schedule.block else []
        is_cut = each > 1 and each * schedule.step(order) > end
        within = [f"(k < {each - 1} || {self.place(side, order)} < {end})"] if is_cut else []
        return works, within

    def taken_apart(self, side: int, used: Sequence[int]) -> list[str]:
        """Lines that take the coordinate along a side of several dimensions apart, where one needs it."""
        schedule = self.schedule
        count, dims = schedule.sides[side], set(schedule.dims(side))
        indexed = dims & {d for _, d in schedule.coordinates}
        if count == 1 or not (
            indexed or any(dims & set(schedule.walked(i)) and schedule.along[i] != side for i in used)
        ):
            return []
        letter, prefix = COORDINATES[side], f"{LENGTHS[side][0]}_"
        names_ = letter, f"{letter}_rest"
        return index_decomposition(count, set(range(count)), schedule.signed, letter, names_, prefix)

    # --- operands -----------------------------------------------------------------------------------

    def pack(self, access: int) -> str:
        """The type of a group."""
        type_, size = storage_type(self.operand(access).dtype), self.operand(access).dtype.size
        group = self.schedule.groups[self.schedule.orders[access][0]]
        alignment = self.schedule.accesses[access].alignment or group * size
        return type_ if group == 1 else f"Pack<{type_}, {group}, {min(16, alignment)}>"

    def load(self, access: int, order: tuple[int, ...]) -> BoxLoadContext:
        label, dtype, box = self.labels[access], self.operand(access).dtype, self.schedule.box
        tile = to_tile = ""
        group = self.element_of(access, order)
        elements = self.schedule.groups[order[0]]
        if elements > 1 and self.schedule.accesses[access].kind == "gather":
            group = f"{{{', '.join(self.element_of(access, order, e) for e in range(elements))}}}"
        elif elements > 1:
            group = f"*reinterpret_cast<const {self.pack(access)}*>({self.address(access, order)})"
        if self.schedule.accesses[access].kind == "transposed":
            words = f"alignas({WORD}) " if self.is_packed(access) else ""
            rows, row = tile_shape(box, dtype.size)
            shape = f"[{rows}][{self.row_pitch(access) if len(box) == 2 else row}]"
            tile = f"{words}__shared__ {storage_type(dtype)} {label}_tile{shape}"
            to_tile = self.in_tile(access, order)
        kept = self.stays_packed(access, elements)
        return BoxLoadContext(self.pack(access), self.loaded(access, order), group, kept, tile, to_tile)

    def stays_packed(self, access: int, group: int) -> bool:
        """Whether one access loads a group of narrow elements, which the compiler would take apart behind it."""
        size, planned = self.operand(access).dtype.size, self.schedule.accesses[access]
        return group > 1 and size < WORD and (planned.kind == "transposed" or planned.alignment > size)

    def loaded(self, access: int, order: tuple[int, ...]) -> str:
        """Group ``k`` of an access in registers, or a thread's only one."""
        return f"{self.labels[access]}_in{'[k]' if self.schedule.each(order) > 1 else ''}"

    def in_tile(self, access: int, order: tuple[int, ...], element: str = " + j") -> str:
        """Element ``j`` of group ``k``, in an order of sides, in shared memory."""
        places = [self.place(side, order) for side in range(len(order))]
        if self.schedule.groups[order[0]] > 1:
            places[order[0]] += element
        tile = f"{self.labels[access]}_tile"
        if len(places) == 2:
            return f"{tile}[{places[1]}][{places[0]}]"
        apart = pitch(self.schedule.box[0], self.operand(access).dtype.size)
        row = f"({places[1]})" if " " in places[1] else places[1]
        return f"{tile}[{places[2]}][{apart} * {row} + {places[0]}]"

    def row_pitch(self, access: int) -> int:
        """Elements from one row in shared memory to the next, where a box has two sides."""
        box, size, planned = self.schedule.box, self.operand(access).dtype.size, enumerate(self.schedule.accesses)
        staged = [self.operand(i).dtype.size for i, t in planned if t.kind == "transposed"]
        used = sum(prod(tile_shape(box, n)) * n for n in staged)
        spare = (self.schedule.target.tuning.elementwise.tile_bytes - used) // (len(staged) * size * box[-1])
        return row_pitch(box, size, self.schedule.groups, self.schedule.orders[access], spare)

    def vectors(self, late: Iterable[int], *, written: bool) -> tuple[OperandContext, ...]:
        """The operands that the last loop reads or writes in groups."""
        found: list[OperandContext] = []
        natural = tuple(range(len(self.schedule.box)))
        for i in late:
            access = self.step.accesses[i]
            is_group = self.schedule.group > 1 and self.schedule.accesses[i].kind == "linear"
            if is_group and (access.writes if written else access.reads):
                label, type_ = self.labels[i], storage_type(self.operand(i).dtype)
                name = names.vector(label, new=written and access.reads)
                by_words = self.loads_words(i, self.schedule.accesses[i].alignment)
                place = self.address(i, natural)
                found.append(OperandContext(place, type_, name, self.pack(i), by_words=by_words))
        return tuple(found)

    def is_packed(self, access: int) -> bool:
        """Whether groups are read from shared memory by words."""
        return self.schedule.group > 1 and self.operand(access).dtype.size < WORD

    def from_tiles(self) -> Iterator[OperandContext]:
        """The operands that the last loop reads from shared memory in groups."""
        group, natural = self.schedule.group, tuple(range(len(self.schedule.box)))
        for i, planned in enumerate(self.schedule.accesses):
            if planned.kind == "transposed" and self.is_packed(i):
                type_, size = storage_type(self.operand(i).dtype), self.operand(i).dtype.size
                pack = f"Pack<{type_}, {group}, {min(WORD, group * size)}>"
                place = f"&{self.in_tile(i, natural, element='')}"
                yield OperandContext(place, type_, names.vector(self.labels[i]), pack)

    def early(self) -> tuple[int, ...]:
        """The accesses that are read into registers before the block waits for what others read, if they fit."""
        schedule = self.schedule
        found = [
            i
            for i, (t, s) in enumerate(zip(self.step.accesses, schedule.accesses, strict=True))
            if t.reads and not t.writes and s.kind in ("linear", "gather")
        ]
        each = schedule.each(range(len(schedule.box)))
        registers = sum(each * -(-schedule.group * self.operand(i).dtype.size // 4) for i in found)
        return tuple(found) if registers <= schedule.target.tuning.elementwise.prefetch_registers else ()

    def argument(self, argument: Argument, early: Iterable[int]) -> str:
        if argument.kind in BY_NAME:
            return argument.name
        if argument.kind == "index":
            return self.coordinate(dict(self.schedule.coordinates)[int(argument.key)])
        access, group = int(argument.key), self.schedule.group
        label, element = self.labels[access], ".at[j]" if group > 1 else ""
        natural = tuple(range(len(self.schedule.box)))
        match self.schedule.accesses[access].kind:
            case "scalar":
                return argument.name
            case "transposed":
                return f"{names.vector(label)}.at[j]" if self.is_packed(access) else self.in_tile(access, natural)
            case _ if access in early:
                return f"{self.loaded(access, natural)}{element}"
            case "linear" if group > 1:
                written = argument.kind == "write" and self.step.accesses[access].reads
                return names.vector(label, new=written) + element
            case _:
                return self.element_of(access, natural)

    # --- the layout struct, and comments ------------------------------------------------------------

    def layout(self) -> LayoutContext:
        schedule = self.schedule
        rank = len(schedule.sides) + len(schedule.rest)
        lines = index_decomposition(rank, set(range(rank)), schedule.signed, letters=("c", "rest"))
        comment = f"Where the elements lie: {schedule.rank} dimensions, those of the sides first; strides in elements."
        return LayoutContext(self.unit.layout_name, comment, struct_fields(self.unit.rule.struct), tuple(lines))

    def comment(self) -> tuple[str, ...]:
        schedule = self.schedule
        note = "" if schedule.index_bits == 32 else " Indices are 64-bit."
        box = " x ".join(map(str, schedule.box))
        operands = enumerate(map(self.operand, range(len(schedule.accesses))))
        whole = [o.name for i, o in operands if schedule.accesses[i].alignment > o.dtype.size]
        text = [
            f"Boxes of {box} elements, one a block; {names.listed(self.by_kind('transposed'))} read along another side "
            f"than the output, by way of shared memory.{note}",
            f"Launch: a block of {schedule.block} threads for each box, along {LENGTHS[schedule.walk[0]][1]} first.",
            *([] if note else [OFFSETS_32]),
            *([f"Moved by aligned groups of {schedule.group} elements: {names.listed(whole)}."] if whole else []),
        ]
        for kind, what in (
            ("column", "The same along the fastest dimension"),
            ("scalar", "A single element, the same for all"),
            ("gather", "Not consecutive along the fastest dimension"),
        ):
            found = self.by_kind(kind)
            text += [f"{what}: {names.listed(found)}."] if found else []
        return tuple(names.comment(line) for line in [*text, *no_overlap_comment(self.step, schedule)])
