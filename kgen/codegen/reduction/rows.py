"""Kernels with reductions: what their template sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kgen.codegen import names
from kgen.codegen.context import FieldContext, LayoutContext
from kgen.codegen.element import PRIMARY, Statement
from kgen.codegen.helpers import CLUSTER
from kgen.codegen.layouts import decomposition, divisor_fields, sum_lines, touch_labels
from kgen.codegen.reduction.access import Declare, States
from kgen.codegen.reduction.column_context import ColumnContext, HeldContext
from kgen.codegen.reduction.comment import row_comment
from kgen.codegen.reduction.context import Declared, Final, Persistent, Round, RowsContext, Stored, Value
from kgen.codegen.reduction.peel import Singles
from kgen.codegen.reduction.rounds import RoundsWriter
from kgen.codegen.reduction.sections import Parts, RowWriter, label_of, touch_of
from kgen.codegen.reduction.staging import moves_packs, staged_helpers, staging
from kgen.codegen.reduction.two_steps import two_steps
from kgen.codegen.spelling import Expr, register_type
from kgen.ir.kernel import Access
from kgen.partition.cut import RowStep
from kgen.schedule.reduction.launch import steps_of
from kgen.schedule.reduction.persistent import STAYING_BLOCKS
from kgen.schedule.reduction.schedule import WARP, RowSchedule, wide_touches

#: Values of elements, one register each, that a thread keeps instead of computing them twice.
MOST_KEPT = 36


@dataclass(frozen=True, slots=True)
class Described:
    """A kernel: its context, the scalars and sizes that are its parameters (op numbers), and what its text needs."""

    context: RowsContext | ColumnContext | HeldContext
    headers: tuple[str, ...]
    helpers: tuple[str, ...]


@dataclass(slots=True)
class RowsWriter(RoundsWriter):
    """A kernel that goes along rows."""

    def write(self, name: str, parameters: Sequence[str]) -> Described:
        schedule, parts = self.schedule, self.parts
        parts_of_row = [*parts.rounds, *([parts.wide_stores] if parts.wide_stores else [])]
        if 0 < schedule.vectors * schedule.group <= MOST_KEPT:
            self.kept = parts.kept(parts_of_row)
        row_writer = RowWriter(self.step, self.statements, unique=self.unique)
        fetched = self.fetched(row_writer)
        row_writer.wanted = parts.common
        values = (*row_writer.lines(parts.of_row(0)), *self.named(row_writer))
        rounds = self.rounds(row_writer)
        final = self.final()
        row_writer.wanted = frozenset()
        stores = self.stores(row_writer)
        return Described(
            self.context(name, parameters, fetched, values, rounds, final, stores),
            tuple(h for e in self.sections for h in e.headers) + tuple(row_writer.headers),
            (*self.helpers(row_writer), *staged_helpers(self)),
        )

    def helpers(self, row_writer: RowWriter) -> tuple[str, ...]:
        """The device functions that the kernel calls, and those that its element functions do."""
        return (
            *(h for e in self.sections for h in e.helpers),
            *row_writer.helpers,
            *(CLUSTER if self.schedule.cluster > 1 else ()),
            *(["hold"] if any(map(self.is_packed, self.loads)) else []),
            *(["pick"] if any(self.is_picked(t) for s in self.sections for t in self.reads_of(s)) else []),
            *self.loads_of(self.reads_anywhere()),
        )

    @property
    def loads(self) -> list[int]:
        """The touches that are read into registers once."""
        return [t for t in self.reads_anywhere() if self.is_held(t)]

    def context(
        self, name: str, parameters: Sequence[str], fetched: tuple[Value, ...], values: tuple[str, ...],
        rounds: tuple[Round, ...], final: Final | None, stores: tuple[str, ...],
    ) -> RowsContext:  # fmt: skip
        schedule, singles, loads = self.schedule, Singles.of(self), self.loads
        within = "first + " if schedule.split else self.from_row
        return RowsContext(
            template="reduction/rows.cu.j2",
            name=name,
            comment=row_comment(self, fills=self.fills),
            parameters=tuple(parameters),
            block=schedule.block,
            blocks_per_sm=STAYING_BLOCKS,
            threads=schedule.threads,
            rows=schedule.rows,
            group=schedule.group,
            vectors=schedule.vectors,
            cluster=schedule.cluster,
            is_exact=self.is_exact,
            is_wide=schedule.index_bits == 64,
            split=schedule.split,
            layout=self.layout(f"{name}_layout"),
            packs=moves_packs(self) or (schedule.group > 1 and any(self.wide)),
            width=self.width,
            end=self.end,
            begin=within + self.place(""),
            last="last" if schedule.split else self.end,
            group_start=self.from_row + self.place("v"),
            checks_last=self.fills,
            loads_check_all=self.loads_first,
            entries=schedule.sharers // WARP,
            row_coordinates=self.row_coordinates(),
            place_coordinates=self.place_coordinates(),
            pointers=self.pointers(),
            peel=singles.facts(schedule.group),
            staged=staging(self),
            persistent=self.persistent(),
            fetched=fetched,
            values=values,
            held=(
                *map(self.held_declaration, loads),
                *map(self.kept_declaration, self.kept),
                *singles.declarations(loads),
            ),
            loads=tuple(self.read(t, held=True) for t in loads),
            single_loads=singles.loads(loads),
            rounds=rounds,
            final=final,
            stores=stores,
        )

    # --- rounds, and the outputs of whole rows --------------------------------------------------------

    def rounds(self, row_writer: RowWriter) -> tuple[Round, ...]:
        parts, ops = self.parts, self.step.kernel.ops
        found: list[Round] = []
        for number, sinks in enumerate(parts.rounds, 1):
            own = [n for n in sinks if n not in self.known]
            for n in own if self.schedule.vectors > 0 else ():
                steps = two_steps(ops[n], self.states[n][0])
                if steps is not None and not parts.is_dear(ops[n].args[0]):  # each element is computed twice
                    found.append(self.first_step(number - 1, n, steps, row_writer))
            results = tuple(self.result(n, row_writer) for n in sinks)
            follows = (*row_writer.lines(parts.of_row(number)), *self.named(row_writer))
            suffix = str(number) if len(parts.rounds) > 1 else ""
            states = {n: self.states[n] for n in own}
            one = self.round(number - 1, f"{self.base}_pass{suffix}", states, row_writer)
            found.append(replace(one, results=results, follows=follows))
        first = next((i for i, r in enumerate(found) if r.meets), None)
        return tuple(replace(r, waits=i == first) for i, r in enumerate(found))

    def result(self, number: int, row_writer: RowWriter) -> Value:
        """What a round has found of a row."""
        op = self.step.kernel.ops[number]
        by, member = self.known.get(number, (number, ""))
        mine, state = self.states[by]
        value = self.unique(names.value(label_of(self.step, op)))
        held = self.schedule.vectors > 0
        if member == "mean" and (not held or self.schedule.sharers * self.schedule.vectors == 1):  # rows may be empty
            member = "mean_or_nan()"
        row_writer.exprs[number] = Expr(value, PRIMARY)
        row_writer.helpers += mine.all_helpers
        text = f"{state}.{member}" if member else mine.value(state, "layout.width")
        return Value(register_type(op.dtype), value, text)

    def final(self) -> Final | None:
        """How the elements of outputs of whole rows are written."""
        stores = self.parts.wide_stores
        if not stores:
            return None
        section = self.section(len(self.parts.rounds), f"{self.base}_element", stores)
        quick = next((a.name for a in section.arguments if a.kind == "quick"), "")
        reads = tuple(self.again(self.reads_of(section)))
        call, divided, single = self.call(section), self.divided(section), Singles.of(self).writes(section)
        return Final(reads, self.final_packs(), call, divided, single, quick)

    # --- facts of a row ---------------------------------------------------------------------------------

    def persistent(self) -> Persistent | None:
        near = self.schedule.near
        if near is None:
            return None
        return Persistent(self.pack(near), names.near(self.labels[near]), self.from_memory(near))

    def row_coordinates(self) -> tuple[str, ...]:
        schedule = self.schedule
        if schedule.kept > 1 and (schedule.patterns or schedule.coordinates or not schedule.stages):
            return tuple(decomposition(schedule.kept, set(range(schedule.kept)), schedule.index_bits == 64, "row"))
        return ()

    def pointers(self) -> tuple[Value, ...]:
        """Where rows begin."""
        found: list[Value] = []
        for touch, is_wide in enumerate(self.wide):
            if is_wide and self.planned(touch).pattern is not None:
                found.append(self.pointer(touch, self.row_offset(touch)))
        return tuple(found)

    def pointer(self, touch: int, terms: Sequence[str]) -> Value:
        read_only = "" if self.step.touches[touch].writes else "const "
        c_type, name = f"{read_only}{self.type_of(touch)}* const", self.base_of(touch)
        start = f"{c_type} {name} = "
        lines = sum_lines(f"{start}{names.pointer(self.operand(touch).name)} + ", terms)
        return Value(c_type, name, "\n    ".join(lines)[len(start) : -1])

    def named(self, writer: RowWriter) -> list[str]:
        """Take over the names of values of a row; lines that invert those that elements are divided by."""
        lines: list[str] = []
        for n in sorted(self.parts.common):
            if n in writer.exprs and self.step.kernel.ops[n].name not in ("const", "scalar", "size"):
                self.row_names[n] = writer.exprs[n].code
                if n in self.parts.divisors and n not in self.inverses:
                    self.inverses[n] = self.unique(names.inverse(self.row_names[n]))
                    lines.append(f"const float {self.inverses[n]} = {self.inverted(n, self.row_names[n])};")
        return lines

    def fetched(self, writer: RowWriter) -> tuple[Value, ...]:
        """What this thread reads, or computes of its indices, once a row."""
        found: list[Value] = []
        if self.is_exact:
            self.at = self.place("v" if self.schedule.vectors > 1 else "")
        for number, op in enumerate(self.step.kernel.ops):
            if op.name in ("scalar", "size"):
                writer.exprs[number] = Expr(self.parameters[op.name, self._key(number)], PRIMARY)
            elif op.name == "index" and not self.parts.wide[number]:
                name = self.unique(f"index{self.step.places[number][int(str(op.attr))] or 0}")
                writer.exprs[number] = Expr(name, PRIMARY)
                if number in self.parts.common or any(
                    number in self.step.kernel.ops[n].args for n in self.parts.last()
                ):
                    found.append(Value("long long", name, self.coordinate(number)))
            elif op.name == "load" and not self.parts.wide[number] and number in self.parts.common:
                found.append(self.row_load(writer, number))
        return tuple(found)

    def _key(self, number: int) -> int | str:
        key = self.step.kernel.ops[number].attr
        assert isinstance(key, int | str)
        return key

    def row_load(self, writer: RowWriter, number: int) -> Value:
        touch = touch_of(self.step, number)
        value = self.unique(names.value(self.operand(touch).name))
        writer.exprs[number] = Expr(value, PRIMARY)
        return Value(register_type(self.operand(touch).dtype), value, self.row_element(touch))

    def row_element(self, touch: int) -> str:
        return f"{names.pointer(self.operand(touch).name)}[{' + '.join(self.row_offset(touch)) or '0'}]"

    def place(self, v: str) -> str:
        """The first element of a thread's group ``v``, counted from the first group."""
        threads, group = self.schedule.sharers, self.schedule.group
        if threads == 1 and not v:
            return "0"
        number = f"{v} * {threads} + thread" if v and threads > 1 else v or "thread"
        if group == 1:
            return number
        return f"{group} * ({number})" if " " in number else f"{group} * {number}"

    def place_coordinates(self) -> tuple[str, ...]:
        """The coordinates of an element along the reduced dimensions."""
        reduced, wide = self.schedule.reduced, self.schedule.index_bits == 64
        if reduced == 1:
            return ()
        return tuple(decomposition(reduced, set(range(reduced)), wide, "i", ("r", "s"), "place_"))

    @property
    def fills(self) -> bool:
        """Whether only a thread's last group is asked whether it lies within the row."""
        return self.schedule.fills or self.loads_first

    @property
    def loads_first(self) -> bool:
        """Whether loads are asked all the same, so that none waits behind arithmetic.

        Rows of three groups a thread or more, of which as much is written as read: softmax of 16384 float32 1.02 of a
        copy and 0.99, of 4096 bfloat16 1.031 and 1.025; but int8 from bfloat16 0.98 and 1.02.
        """
        schedule = self.schedule
        alone = schedule.rows == 1 and schedule.lead is None and schedule.near is None and not schedule.stages
        read = sum(self.operand(t).dtype.size for t in self.reads_anywhere() if self.is_held(t))
        written = sum(self.operand(touch_of(self.step, n)).dtype.size for n in self.parts.wide_stores)
        return alone and schedule.vectors > 2 and written >= read

    def reads_anywhere(self) -> list[int]:
        found = {t for s in self.sections for t in self.reads_of(s)} | self.whole_groups
        return sorted(found, key=lambda t: self.step.touches[t].operand)

    def held_declaration(self, touch: int) -> Declared:
        array = f"[{self.schedule.vectors}]" if self.schedule.vectors > 1 else ""
        if self.schedule.group == 1:
            return Declared(self.type_of(touch), f"{self.held_name(touch)}{array}")
        pack = self.pack(touch) if self.is_grouped(touch) else self.gather_pack(touch)
        return Declared(pack, f"{self.held_name(touch)}{array}")

    def kept_declaration(self, number: int) -> Declared:
        vectors, group = self.schedule.vectors, self.schedule.group
        array = (f"[{vectors}]" if vectors > 1 else "") + (f"[{group}]" if group > 1 else "")
        return Declared(register_type(self.step.kernel.ops[number].dtype), f"{self.kept_array(number)}{array}")

    def final_packs(self) -> tuple[Stored, ...]:
        """Packs that outputs are gathered in."""
        found: list[Stored] = []
        for n in self.parts.wide_stores:
            touch = touch_of(self.step, n)
            if self.is_grouped(touch) and self.schedule.group > 1:
                place = f"{self.base_of(touch)} + {self.along(touch, '')}"
                found.append(Stored(self.pack(touch), self.written(touch), place))
        return tuple(found)

    def stores(self, writer: RowWriter) -> tuple[str, ...]:
        """One element a row."""
        ops = self.step.kernel.ops
        lines: list[str] = []
        last = self.parts.last()
        loads = [self.row_load(writer, n) for n in last if ops[n].name == "load" and n not in writer.exprs]
        lines += [f"const {value.type} {value.name} = {value.code};" for value in loads]
        for n in self.parts.row_stores:
            attr = ops[n].attr
            assert isinstance(attr, Access)
            writer.places[attr.operand] = self.row_element(touch_of(self.step, n))
        return (*lines, *writer.lines(last))

    def layout(self, name: str) -> LayoutContext:
        schedule, wide = self.schedule, self.schedule.index_bits == 64
        fields: list[FieldContext] = []
        for pattern in range(schedule.patterns):
            sharers = [self.operand(i).name for i, t in enumerate(schedule.touches) if t.pattern == pattern]
            shared = f"of {names.listed(sharers)}" if len(set(sharers)) > 1 else ""
            fields.append(FieldContext(f"long long {self.pattern_label(pattern)}_stride[{schedule.kept}]", shared))
        fields.append(FieldContext(f"{self.signed} width", "elements of a row"))
        if schedule.split:
            fields.append(FieldContext(f"{self.signed} span", "elements of a row that a block takes"))
        for i, label in enumerate(self.labels):
            if steps := steps_of(schedule, i):
                beyond = ", beyond its fastest dimension" if steps[0] else ""
                fields.append(FieldContext(f"{self.signed} {label}_step[{len(steps)}]", f"along a row{beyond}"))
        fields += divisor_fields(schedule.reduced - 1, wide, "of places in a row", "place_")
        fields += divisor_fields(schedule.kept - 1, wide, "of rows")
        return LayoutContext(name, "Where the rows lie; strides and steps in elements.", tuple(fields), ())


@dataclass(frozen=True, slots=True)
class Facts:
    """What the kernel of a step is written from.

    ``name`` is the kernel's, ``base`` begins the names of its device functions, which ``declare`` makes unique.
    ``parameters``: the declarations of its parameters; ``values``: the names of its scalars and sizes; ``known``:
    results that another state knows.
    """

    step: RowStep
    schedule: RowSchedule
    name: str
    base: str
    statements: Sequence[Statement]
    declare: Declare
    parameters: Sequence[str]
    values: Mapping[tuple[str, int | str], str]
    states: States
    known: Mapping[int, tuple[int, str]]


def describe_rows(kind: type[RowsWriter], facts: Facts) -> Described:
    """The context of a kernel with reductions."""
    step, schedule = facts.step, facts.schedule
    parts = Parts.of(step, by_columns=schedule.template == "column_reduce")
    writer = kind(
        step, schedule, parts, facts.base, facts.statements, facts.declare, labels=touch_labels(step),
        wide=wide_touches(step), parameters=dict(facts.values), states=dict(facts.states), known=dict(facts.known),
    )  # fmt: skip
    for value in facts.values.values():
        writer.unique(value)
    return writer.write(facts.name, facts.parameters)
