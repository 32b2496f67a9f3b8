"""Kernels with reductions: what their template sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgen.codegen import names
from kgen.codegen.context import ColumnContext, FieldContext, HeldContext, LayoutContext, ReduceContext, RoundContext
from kgen.codegen.element import PRIMARY, Statement
from kgen.codegen.helpers import CLUSTER
from kgen.codegen.layouts import decomposition, divisor_fields, sum_lines, touch_labels
from kgen.codegen.reduction import cluster
from kgen.codegen.reduction.access import Declare, States
from kgen.codegen.reduction.comment import row_comment
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

    context: ReduceContext | ColumnContext | HeldContext
    headers: tuple[str, ...]
    helpers: tuple[str, ...]


def block_place(block: str) -> str:
    """Where a block leaves its results."""
    return f"row * gridDim.y + {block}"


@dataclass(slots=True)
class RowsWriter(RoundsWriter):
    """A kernel that goes along rows."""

    def write(self, name: str, parameters: Sequence[str]) -> Described:
        schedule, parts, ops = self.schedule, self.parts, self.step.kernel.ops
        held = schedule.vectors > 0
        parts_of_row = [*parts.rounds, *([parts.wide_stores] if parts.wide_stores else [])]
        if held and schedule.vectors * schedule.group <= MOST_KEPT:
            self.kept = parts.kept(parts_of_row)
        row_writer = RowWriter(self.step, self.statements, unique=self.unique)
        start = self.start(row_writer)
        row_writer.wanted = parts.common
        before = [*row_writer.lines(parts.of_row(0)), *self.named(row_writer)]
        rounds: list[RoundContext] = []
        for number, sinks in enumerate(parts.rounds, 1):
            own = [n for n in sinks if n not in self.known]
            suffix = str(number) if len(parts.rounds) > 1 else ""
            for n in own if held else ():
                steps = two_steps(ops[n], self.states[n][0])
                if steps is not None and not parts.is_dear(ops[n].args[0]):  # each element is computed twice
                    rounds.append(self.first_step(number - 1, n, steps, row_writer))
            results: list[str] = []
            for n in sinks:
                by, member = self.known.get(n, (n, ""))
                mine, state = self.states[by]
                value = self.unique(names.value(label_of(self.step, ops[n])))
                result = f"{{a}}.{member}" if member else mine.result
                if member == "mean" and (not held or schedule.sharers * schedule.vectors == 1):  # rows may be empty
                    result = "mean_of({a})"
                    row_writer.helpers.append("mean_of")
                text = result.format(a=state, count="layout.width", zero="0" if schedule.index_bits == 32 else "0ll")
                results.append(f"const {register_type(ops[n].dtype)} {value} = {text};")
                row_writer.exprs[n] = Expr(value, PRIMARY)
                row_writer.helpers += mine.helpers
                row_writer.helpers += [] if held else mine.loop_helpers
            results += [*row_writer.lines(parts.of_row(number)), *self.named(row_writer)]
            rounds.append(
                self.round(
                    number - 1,
                    f"{self.base}_pass{suffix}",
                    {n: self.states[n] for n in own},
                    tuple(results),
                    row_writer,
                )
            )
        meet: tuple[str, ...] = ()
        around = staging(self)
        if schedule.near is not None:
            # The first of two steps tells other blocks nothing.
            around = cluster.staying(self, rounds[-1], self.loop(fills=self.fills)[:2])
            rounds[-1] = cluster.stayed(rounds[-1])
        elif schedule.cluster > 1:
            meet = cluster.meeting(rounds)
            rounds = cluster.met(rounds)
        final = (
            self.section(len(parts.rounds), f"{self.base}_element", parts.wide_stores) if parts.wide_stores else None
        )
        row_writer.wanted = frozenset()
        stores = self.stores(row_writer)
        looped = [] if final is None else self.again(self.reads_of(final))
        packs, writes = self.final_writes()
        loads = [t for t in self.reads_anywhere() if self.is_held(t)]
        singles = Singles.of(self)
        return Described(
            ReduceContext(
                template=f"{schedule.template}.cu.j2",
                name=name,
                comment=row_comment(self, fills=self.fills),
                parameters=tuple(parameters),
                bounds=f"{schedule.block}" + (f", {STAYING_BLOCKS}" if schedule.near is not None else ""),
                threads=schedule.threads,
                staging=around,
                cluster=schedule.cluster,
                group=schedule.group,
                layout=self.layout(f"{name}_layout"),
                packs=moves_packs(self) or (schedule.group > 1 and any(self.wide)),
                start=(*start, *before),
                meet=meet,
                load_open=self.loop(fills=self.fills and not self.loads_first)[0],
                open=self.loop(fills=self.fills)[0],
                close=self.loop(fills=self.fills)[1],
                depth=self.loop(fills=self.fills)[2],
                lanes=min(schedule.threads, WARP),
                entries=schedule.sharers // WARP,
                halves=min(schedule.sharers // WARP, WARP) // 2,
                held=(
                    *map(self.held_declaration, loads),
                    *map(self.kept_declaration, self.kept),
                    *singles.declarations(loads),
                ),
                loads=tuple(line for t in loads for line in self.read(t, held=True)),
                single_loads=singles.loads(loads),
                rounds=tuple(rounds),
                final_reads=tuple(looped),
                final_packs=tuple(packs) if final else (),
                final_call=self.call(final) if final else (),
                divided=self.divided(final) if final else None,
                final_writes=tuple(writes) if final else (),
                final_singles=singles.writes(final) if final else (),
                store_if="lane == 0" if schedule.rows == 1 else "lane == 0 && live" if schedule.threads > 1 else "live",
                stores=stores,
                split=schedule.split,
                leave=tuple(f"{names.left(a)}[{block_place('blockIdx.y')}] = {a};" for _, a in self.states.values()),
                reset=tuple(f"{a} = {m.initial};" for m, a in self.states.values()),
                take=tuple(
                    m.merge.format(a=a, b=f"{names.left(a)}[{block_place('b')}]") for m, a in self.states.values()
                ),
            ),
            tuple(h for e in self.sections for h in e.headers) + tuple(row_writer.headers),
            tuple(h for e in self.sections for h in e.helpers)
            + tuple(row_writer.helpers)
            + (CLUSTER if schedule.cluster > 1 else ())
            + (("hold",) if any(self.is_packed(t) for t in loads) else ())
            + (("pick",) if any(self.is_picked(t) for s in self.sections for t in self.reads_of(s)) else ())
            + self.loads_of(self.reads_anywhere())
            + staged_helpers(self),
        )

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

    def start(self, writer: RowWriter) -> tuple[str, ...]:
        """What this thread works on, where its row begins, and what it reads once a row."""
        schedule = self.schedule
        threads, rows, wide = schedule.threads, schedule.rows, schedule.index_bits == 64
        index = "unsigned int" if not wide else "long long"
        many = f"{rows}{'ll' if wide else 'u'}"
        lines: list[str] = []
        if schedule.stages:
            lines += staging(self).start
        elif schedule.near is not None:
            lines += cluster.turn(schedule)
        elif schedule.cluster > 1:
            lines += [*cluster.place(schedule), f"const {index} row = blockIdx.x / {schedule.cluster};"]
        elif rows == 1:
            lines.append("const int lane = threadIdx.x;")
            lines.append(f"const {index} row = blockIdx.x;")
        else:
            mine = "threadIdx.x" if threads == 1 else f"threadIdx.x / {threads}"
            if threads > 1:
                lines.append(f"const int lane = threadIdx.x % {threads};")
            place = f"blockIdx.x * {many} + {mine}"
            lines.append(f"const bool live = {place} < n;  // the last block may have fewer rows")
            lines.append(f"const {index} row = live ? {place} : 0;")
            lines.append(f"const {self.signed} width = live ? layout.width : 0;")
        if schedule.kept > 1 and (schedule.patterns or schedule.coordinates or not schedule.stages):
            lines += decomposition(schedule.kept, set(range(schedule.kept)), wide, "row")
        for touch, is_wide in enumerate(self.wide):
            if is_wide and self.planned(touch).pattern is not None:
                read_only = "" if self.step.touches[touch].writes else "const "
                pointer = names.pointer(self.operand(touch).name)
                first = f"{read_only}{self.type_of(touch)}* const {self.base_of(touch)} = {pointer} + "
                lines += sum_lines(first, self.row_offset(touch))
        lines += Singles.of(self).start(schedule.group)
        if schedule.split:
            lines.append(
                f"const {self.signed} first = {self.from_row}blockIdx.y * layout.span;"
                "  // of what this block takes of the row"
            )
            lines.append(f"const {self.signed} last = first + min(layout.span, {self.end} - first);")
        if self.is_exact:
            self.at = self.place("v" if schedule.vectors > 1 else "")
        elif schedule.vectors == 1:
            lines.append(f"const {self.signed} i = {self.from_row}{self.place('')};")
            lines += self.along_lines()
        for number, op in enumerate(self.step.kernel.ops):
            if op.name in ("scalar", "size"):
                writer.exprs[number] = Expr(self.parameters[op.name, self._key(number)], PRIMARY)
            elif op.name == "index" and not self.parts.wide[number]:
                name = self.unique(f"index{self.step.places[number][int(str(op.attr))] or 0}")
                writer.exprs[number] = Expr(name, PRIMARY)
                if number in self.parts.common or any(
                    number in self.step.kernel.ops[n].args for n in self.parts.last()
                ):
                    lines.append(f"const long long {name} = {self.coordinate(number)};")
            elif op.name == "load" and not self.parts.wide[number] and number in self.parts.common:
                lines.append(self.row_load(writer, number))
        return tuple(lines)

    def _key(self, number: int) -> int | str:
        key = self.step.kernel.ops[number].attr
        assert isinstance(key, int | str)
        return key

    def row_load(self, writer: RowWriter, number: int) -> str:
        touch = touch_of(self.step, number)
        value = self.unique(names.value(self.operand(touch).name))
        writer.exprs[number] = Expr(value, PRIMARY)
        return f"const {register_type(self.operand(touch).dtype)} {value} = {self.row_element(touch)};"

    def row_element(self, touch: int) -> str:
        return f"{names.pointer(self.operand(touch).name)}[{' + '.join(self.row_offset(touch)) or '0'}]"

    def place(self, v: str) -> str:
        """The first element of a thread's group ``v``, counted from the first group."""
        threads, group = self.schedule.sharers, self.schedule.group
        if threads == 1 and not v:
            return "0"
        number = f"{v} * {threads} + lane" if v and threads > 1 else v or "lane"
        if group == 1:
            return number
        return f"{group} * ({number})" if " " in number else f"{group} * {number}"

    def along_lines(self) -> list[str]:
        reduced, wide = self.schedule.reduced, self.schedule.index_bits == 64
        if reduced == 1:
            return []
        return decomposition(reduced, set(range(reduced)), wide, "i", ("r", "s"), "place_")

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

    def loop(self, *, fills: bool) -> tuple[tuple[str, ...], tuple[str, ...], int]:
        """The loop over a thread's groups: its head, its end, and the columns of its body.

        ``fills``: whether only the last group is asked whether it lies within the row.
        """
        schedule, signed = self.schedule, self.signed
        if self.is_exact and schedule.vectors == 1:
            return ("{",), ("}",), 8
        if self.is_exact:
            return ("#pragma unroll", f"for (int v = 0; v < {schedule.vectors}; ++v) {{"), ("}",), 8
        if schedule.vectors == 1:
            return (f"if (i < {self.end}) {{",), ("}",), 8
        inner = [f"    {line}" for line in self.along_lines()]
        if schedule.vectors == 0:
            step = schedule.group * schedule.threads
            first, last = self.from_row + self.place(""), self.end
            if schedule.split:
                first, last = f"first + {self.place('')}", "last"
            return (
                ("#pragma unroll 4", f"for ({signed} i = {first}; i < {last}; i += {step}) {{", *inner),
                ("}",),
                8,
            )
        head = (
            "#pragma unroll",
            f"for (int v = 0; v < {schedule.vectors}; ++v) {{",
            f"    const {signed} i = {self.from_row}{self.place('v')};",
            f"    if ({f'v < {schedule.vectors - 1} || ' if fills else ''}i < {self.end}) {{",
            *(f"    {line}" for line in inner),
        )
        return head, ("    }", "}"), 12

    def reads_anywhere(self) -> list[int]:
        found = {t for s in self.sections for t in self.reads_of(s)} | self.whole_groups
        return sorted(found, key=lambda t: self.step.touches[t].operand)

    def held_declaration(self, touch: int) -> str:
        array = f"[{self.schedule.vectors}]" if self.schedule.vectors > 1 else ""
        if self.schedule.group == 1:
            return f"{self.type_of(touch)} {self.held_name(touch)}{array};"
        pack = self.pack(touch) if self.is_grouped(touch) else self.gather_pack(touch)
        return f"{pack} {self.held_name(touch)}{array};"

    def kept_declaration(self, number: int) -> str:
        vectors, group = self.schedule.vectors, self.schedule.group
        array = (f"[{vectors}]" if vectors > 1 else "") + (f"[{group}]" if group > 1 else "")
        return f"{register_type(self.step.kernel.ops[number].dtype)} {self.kept_array(number)}{array};"

    def final_writes(self) -> tuple[list[str], list[str]]:
        """Packs that outputs are gathered in, and the lines that write them."""
        packs: list[str] = []
        writes: list[str] = []
        for n in self.parts.wide_stores:
            touch = touch_of(self.step, n)
            if self.is_grouped(touch) and self.schedule.group > 1:
                pack, value = self.pack(touch), self.written(touch)
                packs.append(f"{pack} {value};")
                place = f"{self.base_of(touch)} + {self.along(touch, '')}"
                writes.append(f"*reinterpret_cast<{pack}*>({place}) = {value};")
        return packs, writes

    def stores(self, writer: RowWriter) -> tuple[str, ...]:
        """One element a row."""
        ops = self.step.kernel.ops
        lines: list[str] = []
        last = self.parts.last()
        lines += [self.row_load(writer, n) for n in last if ops[n].name == "load" and n not in writer.exprs]
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


def describe_rows(
    kind: type[RowsWriter], step: RowStep, schedule: RowSchedule, name: str, base: str,
    statements: Sequence[Statement], declare: Declare,
    parameters: Sequence[str], values: dict[tuple[str, int | str], str], states: States,
    known: dict[int, tuple[int, str]],
) -> Described:  # fmt: skip
    """The context of a kernel with reductions.

    ``parameters``: the declarations of its parameters; ``values``: the names of its scalars and sizes; ``known``:
    results that another state knows.
    """
    parts = Parts.of(step, by_columns=schedule.template == "column_reduce")
    writer = kind(
        step, schedule, parts, base, statements, declare, labels=touch_labels(step), wide=wide_touches(step),
        parameters=values, states=states, known=known,
    )  # fmt: skip
    for value in values.values():
        writer.unique(value)
    return writer.write(name, parameters)
