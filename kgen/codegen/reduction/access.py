"""Where the elements of rows are, and what the body of a kernel with reductions calls everything."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from kgen.codegen import names
from kgen.codegen.element import Argument, Element, Statement
from kgen.codegen.helpers import LOAD_STREAMING, LOAD_WORDS
from kgen.codegen.layouts import call_lines
from kgen.codegen.reduction.accumulators import Accumulator, accumulator, briefly, near
from kgen.codegen.reduction.context import Call, Part, Read
from kgen.codegen.reduction.sections import Parts, kept_name, label_of
from kgen.codegen.spelling import storage_type
from kgen.dtypes import BFLOAT16
from kgen.ir.kernel import Op, Operand, Reduction
from kgen.partition.cut import RowStep
from kgen.schedule.reduction.launch import steps_of
from kgen.schedule.reduction.peel import NEAR_BLOCK
from kgen.schedule.reduction.schedule import RowSchedule
from kgen.schedule.schedule import TouchSchedule

Declare = Callable[[Element], Element]  #: gives a function of the file its final name, or finds an equal one
States = dict[int, tuple[Accumulator, str]]  #: for each reduction, how it accumulates, and its state's name


#: Reductions that the state of another one of the same elements knows: the member that is their result.
KNOWN = {("exp_sum", "max"): "peak", ("var", "mean"): "mean", ("std", "mean"): "mean"}


def known_of(step: RowStep) -> dict[int, tuple[int, str]]:
    """Reductions that need no state of their own: the one whose state knows them, and the member of it."""
    ops = step.kernel.ops
    kinds = {n: op.attr.kind for n, op in enumerate(ops) if isinstance(op.attr, Reduction)}
    return {
        n: (m, KNOWN[kinds[m], kinds[n]])
        for m in kinds
        for n in kinds
        if (kinds[m], kinds[n]) in KNOWN and _same_elements(ops[m], ops[n]) and ops[m].dtype is ops[n].dtype
    }


def _same_elements(one: Op, two: Op) -> bool:
    axes = [op.attr.axes if isinstance(op.attr, Reduction) else () for op in (one, two)]
    return one.args == two.args and axes[0] == axes[1]


def states_of(step: RowStep, schedule: RowSchedule, shared: Collection[int]) -> States:
    """For each reduction but those that are ``shared``."""
    unique = names.Unique()
    found: States = {}
    for n, op in enumerate(step.kernel.ops):
        if isinstance(op.attr, Reduction) and n not in shared:
            mine = accumulator(op.attr, step.kernel.ops[op.args[0]].dtype, op.dtype)
            mine = near(mine) if schedule.index_bits == 32 else mine
            if schedule.vectors > 0 and schedule.template != "column_reduce":
                mine = briefly(mine)
            found[n] = (mine, unique(names.state(label_of(step, op))))
    return found


def thread_state(mine: Accumulator, state: str) -> str:
    """What a thread accumulates in."""
    return state if mine.local is None else names.of_reduction(state, mine.local.word)


def call_of(section: Element, arguments: Sequence[str], variant: str = "") -> Call:
    """A call of an element function.  ``variant``: its template arguments."""
    name = f"{section.context.name}{variant}"
    lines = [line[len(name) + 1 :] for line in call_lines(section, arguments, variant)]
    return Call(name, (*lines[:-1], lines[-1].removesuffix(");")))


def first_of(mine: Accumulator) -> str:
    """The first value of what a thread accumulates in."""
    return mine.initial if mine.local is None else mine.local.init


def part_of(mine: Accumulator, state: str, thread: str, group: int) -> Part | None:
    """What takes the elements of a group before ``thread`` does; None where each goes into that at once."""
    if mine.mode == "direct":
        return None
    part = names.of_reduction(state, "part")
    take = (mine.take if mine.local is None else mine.local.take).format(x=part, group=group)
    if mine.mode == "part":
        return Part(thread, take, part, first=mine.start.format(a=thread))
    return Part(thread, take, part, mine.collects, count=group)


@dataclass(slots=True)
class RowAccess:
    """The operands, results and parameters of a kernel with reductions, as the text of its body names them."""

    step: RowStep
    schedule: RowSchedule
    parts: Parts
    base: str
    statements: Sequence[Statement]
    declare: Declare
    unique: names.Unique = field(default_factory=names.Unique)
    labels: tuple[str, ...] = ()
    wide: tuple[bool, ...] = ()
    states: States = field(default_factory=dict)
    active: States = field(default_factory=dict)  # those that the round at hand updates
    known: dict[int, tuple[int, str]] = field(default_factory=dict)
    sections: list[Element] = field(default_factory=list)
    whole_groups: set[int] = field(default_factory=set)  # touches that are read for more than element functions
    kept: dict[int, int] = field(default_factory=dict)  # values of elements that a section keeps for later ones
    row_names: dict[int, str] = field(default_factory=dict)
    inverses: dict[int, str] = field(default_factory=dict)
    parameters: dict[tuple[str, int | str], str] = field(default_factory=dict)
    at: str = "i"  # the place in its row of an element, or of the first of a group

    # --- text for one touch -------------------------------------------------------------------------

    @property
    def signed(self) -> str:
        return "int" if self.schedule.index_bits == 32 else "long long"

    @property
    def is_exact(self) -> bool:
        """Whether all rows are as long as there are registers for."""
        return self.schedule.stages and self.schedule.threads == 1

    @property
    def picks(self) -> bool:
        """Whether bfloat16 elements are parts of words."""
        return self.schedule.template != "column_reduce" and self.schedule.group > 1

    @property
    def width(self) -> str:
        if self.schedule.stages:
            return f"{self.schedule.held}" if self.is_exact else "layout.width"
        return "width" if self.schedule.rows > 1 else "layout.width"

    @property
    def from_row(self) -> str:
        """What places of groups are counted from."""
        return "" if self.schedule.lead is None else "head + "

    @property
    def end(self) -> str:
        """Where the last group of a row ends."""
        return self.width if self.schedule.lead is None else "end"

    def operand(self, touch: int) -> Operand:
        return self.step.kernel.operands[self.step.touches[touch].operand]

    def planned(self, touch: int) -> TouchSchedule:
        return self.schedule.touches[touch]

    def type_of(self, touch: int) -> str:
        return storage_type(self.operand(touch).dtype)

    def pack(self, touch: int) -> str:
        group, planned = self.schedule.group, self.planned(touch)
        whole = planned.access in ("staged", "shifted")
        alignment = group * self.operand(touch).dtype.size if whole else planned.alignment
        return f"Pack<{self.type_of(touch)}, {group}, {alignment}>"

    def is_grouped(self, touch: int) -> bool:
        """Whether an operand is consecutive along rows."""
        return self.planned(touch).access in ("vector", "shifted", "staged")

    def pattern_label(self, pattern: int) -> str:
        """A stride pattern bears the name of the first touch that has it."""
        return next(self.labels[i] for i, t in enumerate(self.schedule.touches) if t.pattern == pattern)

    def row_offset(self, touch: int) -> list[str]:
        """The terms of where an operand's row begins."""
        pattern = self.planned(touch).pattern
        if pattern is None:
            return []
        label, kept = self.pattern_label(pattern), self.schedule.kept
        return [f"{'row' if kept == 1 else f'c{d}'} * layout.{label}_stride[{d}]" for d in range(kept)]

    def base_of(self, touch: int) -> str:
        """The name of where an operand's row begins."""
        if self.planned(touch).pattern is None and self.planned(touch).access != "staged":
            return names.pointer(self.operand(touch).name)
        return names.row(self.labels[touch])

    def along(self, touch: int, j: str) -> str:
        """Where an element of a row is, ``j`` elements after the first of its group."""
        grouped, label = self.is_grouped(touch), self.labels[touch]
        plus = f" + {j}" if j else ""
        if self.schedule.reduced == 1:
            if grouped:
                return f"{self.at}{plus}"
            return f"({self.at}{plus}) * layout.{label}_step[0]" if j else f"{self.at} * layout.{label}_step[0]"
        steps = steps_of(self.schedule, touch)
        terms = {d: f"r{d} * layout.{label}_step[{n}]" for n, d in enumerate(steps)}
        terms[0] = f"(r0{plus}) * layout.{label}_step[0]" if 0 in steps else f"r0{plus}"
        return " + ".join(terms[d] for d in range(self.schedule.reduced))

    def held_name(self, touch: int) -> str:
        return names.vector(self.labels[touch]) if self.schedule.group > 1 else f"{self.labels[touch]}_in"

    def element(self, touch: int, *, held: bool) -> str:
        """An element that was read, at ``j`` of its group."""
        array = "[v]" if held and self.schedule.vectors > 1 else ""
        read = f"{self.held_name(touch)}{array}"
        if self.is_picked(touch):
            return f"pick({read}, j)"
        return read + (".at[j]" if self.schedule.group > 1 else "")

    def read(self, touch: int, *, held: bool) -> Read:
        """How a group of elements is read, into registers that are there (``held``) or new ones."""
        group, base = self.schedule.group, self.base_of(touch)
        name = self.held_name(touch) + ("[v]" if held and self.schedule.vectors > 1 else "")
        if group == 1:
            return Read(name, "" if held else self.type_of(touch), f"{base}[{self.along(touch, '')}]")
        if not self.is_grouped(touch):
            return Read(name, "" if held else self.gather_pack(touch), each=f"{base}[{self.along(touch, 'j')}]")
        if self.planned(touch).access == "shifted":
            blocks, off = names.blocks(self.labels[touch]), names.off(self.labels[touch])
            call = f"load_blocks<{self.type_of(touch)}, {group}, {self.block_bytes(touch, group)}>"
            value = f"{call}({blocks} + {self.along(touch, '')}, {off})"
        elif touch == self.schedule.near:
            value = f"{names.near(self.labels[touch])}[v][threadIdx.x]"
        else:
            value = self.from_memory(touch)
        return Read(name, "" if held else "auto", value)

    def from_memory(self, touch: int) -> str:
        """A group of elements that are where one access reads them."""
        place = f"{self.base_of(touch)} + {self.along(touch, '')}"
        if touch in self.schedule.evict_last and self.planned(touch).access != "staged":
            return f"load_evict_last<{self.pack(touch)}>({place})"
        return f"{self.start_of_load(touch)}{place})"

    def start_of_load(self, touch: int) -> str:
        """What stands before the place of a group that one access reads."""
        if touch in self.schedule.streamed:
            return f"{LOAD_STREAMING}<{self.pack(touch)}>("
        if self.by_words(touch):
            return f"{LOAD_WORDS}<{self.pack(touch)}>("
        return f"*reinterpret_cast<const {self.pack(touch)}*>("

    def by_words(self, touch: int) -> bool:
        """Whether groups are bytes that are read four at a time."""
        planned, single = self.planned(touch), self.operand(touch).dtype.size == 1
        return planned.access == "vector" and single and min(planned.alignment, self.schedule.group) >= 4

    def loads_of(self, touches: Iterable[int]) -> tuple[str, ...]:
        """The device functions that read groups of these."""
        schedule = self.schedule
        told = {*schedule.evict_last, *schedule.streamed}
        return (
            *(("load_evict_last",) if schedule.evict_last else ()),
            *((LOAD_STREAMING,) if schedule.streamed else ()),
            *((LOAD_WORDS,) if any(map(self.by_words, {*touches} - told)) else ()),
        )

    def block_bytes(self, touch: int, group: int) -> int:
        """Bytes of the blocks that groups of a shifted operand are read as."""
        whole = group * self.operand(touch).dtype.size
        near = not self.is_held(touch) and self.schedule.vectors and self.schedule.cluster == 1
        return min(whole, NEAR_BLOCK) if near else whole

    def is_picked(self, touch: int) -> bool:
        """Whether elements are taken from words."""
        return self.picks and self.operand(touch).dtype is BFLOAT16

    def again(self, touches: Iterable[int]) -> list[Read]:
        """How a part of the row gets what it needs: read, or held as it was read."""
        reads: list[Read] = []
        for touch in touches:
            if not self.is_held(touch):
                reads.append(self.read(touch, held=False))
            elif self.is_packed(touch):
                name = f"{self.held_name(touch)}{'[v]' if self.schedule.vectors > 1 else ''}"
                reads.append(Read(name, is_held=True))
        return reads

    def is_packed(self, touch: int) -> bool:
        """Whether several elements of an operand share a register."""
        size, planned = self.operand(touch).dtype.size, self.planned(touch)
        if planned.access == "shifted":
            return True
        return planned.access == "vector" and size < 4 <= min(planned.alignment, self.schedule.group * size)

    def gather_pack(self, touch: int) -> str:
        size = self.operand(touch).dtype.size
        return f"Pack<{self.type_of(touch)}, {self.schedule.group}, {size}>"

    def reads_of(self, section: Element) -> list[int]:
        return [int(a.key) for a in section.arguments if a.kind == "read"]

    # --- reductions ---------------------------------------------------------------------------------

    def part(self, number: int) -> Part | None:
        """What takes the elements of a group before a reduction does."""
        mine, state = self.active[number]
        return part_of(mine, state, thread_state(mine, state), self.schedule.group)

    # --- arguments of the element functions ---------------------------------------------------------

    def argument(self, argument: Argument, held: bool) -> str:
        group = self.schedule.group
        match argument.kind:
            case "read":
                return self.element(int(argument.key), held=held and self.is_held(int(argument.key)))
            case "given" | "keep":
                array = "[v]" if self.schedule.vectors > 1 else ""
                return self.kept_array(int(argument.key)) + array + ("[j]" if group > 1 else "")
            case "row":
                return self.row_names[int(argument.key)]
            case "inverse":
                return self.inverses[int(argument.key)]
            case "quick":
                return argument.name
            case "scalar" | "size":
                return self.parameters[argument.kind, argument.key]
            case "index":
                return self.coordinate(int(argument.key))
            case "place":
                return f"{self.at} + j" if group > 1 else self.at
            case "state":
                mine, name = self.active[int(argument.key)]
                if mine.mode == "direct":
                    return thread_state(mine, name)
                return (
                    names.of_reduction(name, "part")
                    if mine.mode == "part"
                    else f"{names.of_reduction(name, 'part')}[{'j' if group > 1 else 0}]"
                )
            case _:
                touch = int(argument.key)
                if self.is_grouped(touch) and group > 1:
                    return f"{self.written(touch)}.at[j]"
                return f"{self.base_of(touch)}[{self.along(touch, 'j' if group > 1 else '')}]"

    def written(self, touch: int) -> str:
        label = self.labels[touch]
        return names.new_vector(label) if self.step.touches[touch].reads else names.vector(label)

    def coordinate(self, number: int) -> str:
        """``index()``: a coordinate of the row, or of the element in it."""
        op = self.step.kernel.ops[number]
        assert isinstance(op.attr, int)
        place = self.step.places[number][op.attr]
        if place is None:
            return "0"
        dimension, reduced = dict(self.schedule.coordinates)[place], self.schedule.reduced
        if dimension >= reduced:
            return "row" if self.schedule.kept == 1 else f"c{dimension - reduced}"
        plus = " + j" if self.schedule.group > 1 and dimension == 0 else ""
        return f"{self.at}{plus}" if reduced == 1 else f"r{dimension}{plus}"

    def is_held(self, touch: int) -> bool:
        """Whether an operand's elements stay in registers.  What all rows share is near, and read when it is needed."""
        shared = self.planned(touch).pattern is None and (self.schedule.patterns > 0 or self.schedule.stages)
        return self.schedule.vectors > 0 and (not shared or self.planned(touch).access == "staged")

    def kept_array(self, number: int) -> str:
        return names.kept(kept_name(self.step, number))
