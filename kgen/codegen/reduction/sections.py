"""The sections of a kernel with reductions: device functions for one element, and values computed once a row.

Each round of reductions has a function that updates the states with an element.  Outputs that vary along the row have
one that writes an element.  Values that are uniform along the row are computed between them, in the kernel's body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import field

from kgen.codegen import names
from kgen.codegen.arguments import Argument, size_name
from kgen.codegen.byte_packs import converted_bytes
from kgen.codegen.context import ElementContext
from kgen.codegen.element import PRIMARY, Element, Writer
from kgen.codegen.expressions import Spelling, call, infix
from kgen.codegen.gathers import sources
from kgen.codegen.lines import MAX_COLUMNS
from kgen.codegen.reduction.accumulators import Accumulator
from kgen.codegen.reduction.narrow import QUOTIENT
from kgen.codegen.reduction.parts import Parts, is_division
from kgen.codegen.short_results import NO_SHORT_RESULTS, ShortResults
from kgen.codegen.spelling import Expr, register_type, storage_type
from kgen.codegen.statements import Statement
from kgen.dtypes import BFLOAT16, FLOAT32, INT32, INT64
from kgen.ir.graph import IndexMap, Op, Scatter
from kgen.partition.kernel_body import spread
from kgen.partition.reduction_step import ReductionStep
from kgen.records import dataclass


def access_of(step: ReductionStep, number: int) -> int:
    """The number of a load's or store's access."""
    op = step.graph.ops[number]
    assert isinstance(op.attr, IndexMap)
    axes = spread(op, step.places[number], len(step.shape))
    return next(i for i, t in enumerate(step.accesses) if (t.operand, t.axes) == (op.attr.operand, axes))


def by_value(step: ReductionStep, number: int, unique: names.Unique) -> tuple[str, str]:
    """The type and name of the parameter for a scalar, size or index."""
    op = step.graph.ops[number]
    if op.name == "scalar":
        assert isinstance(op.attr, int)
        scalar = step.graph.scalars[op.attr]
        return register_type(scalar.dtype), unique(names.value(scalar.name))
    if op.name == "index":
        assert isinstance(op.attr, int)
        return register_type(INT64), unique(f"index{op.attr + len(op.shape)}")
    assert isinstance(op.attr, int | str)
    return register_type(INT64), unique(size_name(step.graph.operands, op.attr))


@dataclass(slots=True)
class SectionWriter(Writer):
    """Writes a device function for one element.

    ``states``: for each reduction, its accumulator and its state's name.  ``reciprocals``: the parameter with each
    divisor's reciprocal.  ``is_exact_division``: the parameter that says whether multiplying a group by these is exact.
    ``narrow``: the divisions whose quotients are rounded further.  ``sums``: the stores
    that add to a sum.  ``picks``: whether elements are extracted from words.
    """

    states: dict[int, tuple[Accumulator, str]] = field(default_factory=dict)
    reciprocals: dict[int, str] = field(default_factory=dict)
    sum_divisors: Set[int] = frozenset()
    summed_exps: Set[int] = frozenset()
    scaled_exps: Set[int] = frozenset()
    sum_quotients: Set[int] = frozenset()
    is_exact_division: str | None = None
    narrow: Set[int] = frozenset()
    sums: Set[int] = frozenset()
    picks: bool = False

    def _spelled(self, number: int) -> Spelling:
        op = self.step.graph.ops[number]
        if self.picks and op.name == "cast" and op.dtype is FLOAT32:
            source = self.step.graph.ops[op.args[0]]
            if source.dtype is BFLOAT16:
                return Spelling(call("to_float", [self.exprs[op.args[0]]]), ("to_float",))
        if op.name == "exp" and number in self.summed_exps | self.scaled_exps:
            name = "exp_approx" if number in self.summed_exps else "exp_scaled_2_24"
            helper = "exp_approx_f32" if number in self.summed_exps else name
            return Spelling(call(name, [self.exprs[op.args[0]]]), (helper,))
        if op.name == "div" and op.args[1] in self.reciprocals:
            return self._quotient(number)
        return Writer._spelled(self, number)

    def _quotient(self, number: int) -> Spelling:
        """A division by what the row or segment shares, whose reciprocal is computed once."""
        dividend, by = self.step.graph.ops[number].args
        operands = [self.exprs[dividend], self.exprs[by], Expr(self.reciprocals[by], PRIMARY)]
        if number in self.narrow:
            return Spelling(call(f"{QUOTIENT}<UseReciprocal>", operands), (QUOTIENT,))
        if dividend in self.scaled_exps or number in self.sum_quotients:
            return Spelling(infix("*", operands[0], operands[2]))
        if by in self.sum_divisors:
            return Spelling(call("divide_quotient", operands), ("divide_quotient",))
        if self.is_exact_division is not None:
            flag = Expr(self.is_exact_division, PRIMARY)
            return Spelling(call("divide<UseReciprocal>", [*operands, flag]), ("divide_group",))
        return Spelling(call("divide", operands), ("divide_reciprocal", "divide"))

    def _store(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            op = self.step.graph.ops[number]
            if op.name == "reduce":
                self.comment(self.origins[number])
                accumulator, state = self.states[number]
                name = _taker(accumulator, state)
                value = self.step.graph.ops[op.args[0]]
                x = self.exprs[value.args[0] if accumulator.takes_source else op.args[0]]
                if op.args[0] in self.scaled_exps:
                    x = infix("*", Expr("0x1p-24f", PRIMARY), x)
                place = ", place" if accumulator.places else ""
                collects = accumulator.mode == "group"
                self.put(f"{name} = {x.code};" if collects else f"{name}.{accumulator.add}({x.code}{place});", number)
            elif number in self.sums:
                assert isinstance(op.attr, IndexMap)
                self.comment(self.origins[number])
                self.put(f"{self.places[op.attr.operand]} += {self.exprs[op.args[0]].code};", number)
            else:
                Writer._store(self, [number])


@dataclass(frozen=True, slots=True)
class Section:
    """The work of a device function for one element: ``sinks`` are the reductions to update, or the stores.

    ``states``: for each reduction, its accumulator and its state's name.  ``rows``: the names of a row's values.
    ``given``: values that an earlier function has ``kept``.  ``by_group``: whether a group is divided on a fast path,
    and again without it if that is not exact.  ``narrow``: the stores of quotients that are rounded further, each
    with the division.  ``picks``: whether elements are extracted from 32-bit words.
    """

    name: str
    title: str
    sinks: Sequence[int]
    states: Mapping[int, tuple[Accumulator, str]]
    rows: Mapping[int, str]
    given: Set[int] = frozenset()
    kept: Sequence[int] = ()
    by_group: bool = False
    narrow: Mapping[int, int] = field(default_factory=dict)
    picks: bool = False
    short: ShortResults = NO_SHORT_RESULTS


def write_section(parts: Parts, section: Section, statements: Sequence[Statement]) -> Element:
    """The function that updates reductions with one element, or writes the element."""
    scaled = parts.scaled_exps & {*section.kept, *section.given} if section.states else parts.scaled_exps
    writer = SectionWriter(
        parts.step, statements, states=dict(section.states), sum_divisors=parts.sum_divisors,
        summed_exps=parts.summed_exps | (parts.scaled_exps - scaled), scaled_exps=scaled, picks=section.picks,
        sum_quotients=parts.sum_quotients, short=section.short,
        narrow=frozenset(section.narrow.values()), rounded=parts.rounded,
        sums=frozenset(n for n in section.sinks if parts.step.is_sum(n)),
    )  # fmt: skip
    selected = parts.behind([*section.sinks, *section.kept], section.given)
    arguments = [
        *_reads(writer, parts.step, selected),
        *_values(writer, parts, section, selected),
        *_by_value(writer, parts.step, selected),
        *_at_places(writer, parts, selected),
        *_sinks(writer, parts.step, section),
    ]
    writer.wanted = frozenset(section.kept)
    writer.write(selected)
    writer.body += [f"{a.name} = {writer.exprs[int(a.key)].code};" for a in arguments if a.kind == "keep"]
    mine = [section.states[n][0] for n in section.sinks if n in section.states]
    helpers = [h for m in mine for h in (*m.part_helpers, *m.all_helpers)]
    parameters = tuple(a.declaration for a in arguments)
    one_line = len(section.name) + 2 + len(", ".join(parameters)) <= MAX_COLUMNS
    title, by_reciprocal = names.comment(section.title), writer.is_exact_division is not None or bool(section.narrow)
    return Element(
        ElementContext(section.name, (title,), parameters, one_line, tuple(writer.body), by_reciprocal),
        tuple(arguments),
        tuple(dict.fromkeys(writer.headers)),
        tuple(dict.fromkeys([*writer.helpers, *helpers])),
    )


def _reads(writer: SectionWriter, step: ReductionStep, selected: Sequence[int]) -> list[Argument]:
    """Elements that are read: one parameter for each access, however many ops load it."""
    found, converted = dict[int, Argument](), converted_bytes(step)
    loads = sorted((access_of(step, n), n) for n in selected if step.graph.ops[n].name == "load")
    for access, number in loads:
        if access not in found:
            operand = step.graph.operands[step.accesses[access].operand]
            value = writer.unique(names.value(operand.name))
            type_ = register_type(INT32 if access in converted else operand.dtype)
            found[access] = Argument("read", access, f"const {type_} {value}")
        writer.exprs[number] = Expr(found[access].name, PRIMARY)
    return list(found.values())


def _values(writer: SectionWriter, parts: Parts, section: Section, selected: Sequence[int]) -> list[Argument]:
    """Values of a row, reciprocals of divisors, and values that earlier functions have kept."""
    step, ops = parts.step, parts.step.graph.ops
    arguments: list[Argument] = []
    outside = {a for n in selected for a in parts.values_of(n) if a not in selected}
    for number in sorted(outside):
        kind = "given" if number in section.given else "row"
        value = writer.unique(section.rows[number] if kind == "row" else names.value(kept_name(step, number)))
        if any(number in ops[n].args and not parts.by_reciprocal(n, number) for n in selected):
            arguments.append(Argument(kind, number, f"const {register_type(ops[number].dtype)} {value}"))
        writer.exprs[number] = Expr(value, PRIMARY)
        if number in parts.divisors and any(is_division(ops[n], number) for n in selected):
            writer.reciprocals[number] = writer.unique(names.reciprocal(value))
            arguments.append(Argument("reciprocal", number, f"const float {writer.reciprocals[number]}"))
    if section.by_group and _divides_exactly(writer, parts, selected):
        writer.is_exact_division = writer.unique("is_exact")
        arguments.append(Argument("is_exact", 0, f"bool& {writer.is_exact_division}"))
    return arguments


def _divides_exactly(writer: SectionWriter, parts: Parts, selected: Sequence[int]) -> bool:
    """Whether some quotient by a reciprocal is wanted to the last bit."""
    by, ops = writer.reciprocals.keys() - parts.sum_divisors, parts.step.graph.ops
    return any(is_division(ops[n], d) for d in by for n in selected if n not in writer.narrow | parts.sum_quotients)


def _at_places(writer: SectionWriter, parts: Parts, selected: Sequence[int]) -> list[Argument]:
    """The arrays at computed places, and elements of the rows that are moved."""
    arrays = sources(parts.step, [n for n in selected if n not in parts.rows])
    return [*arrays, *(writer.given(n) for n in selected if n in parts.rows)]


def _by_value(writer: SectionWriter, step: ReductionStep, selected: Sequence[int]) -> list[Argument]:
    """Scalars, sizes and indices."""
    ops = step.graph.ops
    arguments: list[Argument] = []
    for number in selected:
        if ops[number].name in ("scalar", "size", "index"):
            c_type, value = by_value(step, number, writer.unique)
            key = ops[number].attr if ops[number].name != "index" else number
            assert isinstance(key, int | str)
            arguments.append(Argument(ops[number].name, key, f"const {c_type} {value}"))
            writer.exprs[number] = Expr(value, PRIMARY)
    return arguments


def _sinks(writer: SectionWriter, step: ReductionStep, section: Section) -> list[Argument]:
    """The element's index if a state needs it, then what the function writes: states, outputs and kept values."""
    arguments: list[Argument] = []
    places = [section.states[n][0].places for n in section.sinks if n in section.states]
    if any(places):
        arguments.append(Argument("place", 0, f"const {next(filter(None, places))} place"))
    for number in section.sinks:
        if number in section.states:
            accumulator, state = section.states[number]
            arguments.append(Argument("state", number, f"{accumulator.of_element}& {_taker(accumulator, state)}"))
        elif not isinstance(step.graph.ops[number].attr, Scatter):
            access = access_of(step, number)
            operand = step.graph.operands[step.accesses[access].operand]
            reads = step.accesses[access].reads
            summed = step.is_sum(number)
            name = names.column_sum if summed else names.new_value if reads else names.value
            result = writer.unique(name(operand.name))
            writer.places[step.accesses[access].operand] = result
            c_type = "float" if number in writer.rounded else storage_type(operand.dtype)
            arguments.append(Argument("write", access, f"{c_type}& {result}"))
    for number in section.kept:
        value = writer.unique(names.kept(kept_name(step, number)))
        arguments.append(Argument("keep", number, f"{register_type(step.graph.ops[number].dtype)}& {value}"))
    return arguments


def _taker(accumulator: Accumulator, state: str) -> str:
    """The parameter that takes an element: a state, or an element of those that a state takes together."""
    return names.of_reduction(state, "value") if accumulator.mode == "group" else state


def kept_name(step: ReductionStep, number: int) -> str:
    """The name of a kept value: the user's, that of the operand that it is an element of, else one with its number."""
    graph, op = step.graph, step.graph.ops[number]
    source = graph.ops[op.args[0]].attr if op.name == "cast" else None
    if isinstance(source, IndexMap):
        return names.converted(graph.operands[source.operand].name, op.dtype.short)
    stores = (o.attr for o in graph.ops if o.name == "store" and o.args[0] == number)
    outputs = (graph.operands[attr.operand].name for attr in stores if isinstance(attr, IndexMap))
    return op.label if op.label is not None else next(outputs, f"t{number}")


def label_of(step: ReductionStep, op: Op) -> str:
    """The start of a reduction's names: the user's name for it, else its kind."""
    outputs = {o.name for o in step.graph.operands if o.role != "input"}
    attr = op.attr
    kind = getattr(attr, "kind", "t")
    return op.label if op.label is not None and op.label not in outputs else str(kind)
