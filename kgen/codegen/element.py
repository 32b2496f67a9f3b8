"""The device function of one element: IR ops as CUDA expressions.

A value that is used once is written where it is used, as long as the line is not too long.  Other values get a line
and a name: the user's, that of the function that computes it, or ``t, t2, ...``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import field

from kgen.codegen import names
from kgen.codegen.arguments import Argument, size_name
from kgen.codegen.context import ElementContext
from kgen.codegen.expressions import Level, Spelling
from kgen.codegen.gathers import NO_ACCUMULATORS, element_at, extents_of_sources, place_name, sources, store_at
from kgen.codegen.lines import choice
from kgen.codegen.literals import in_hex
from kgen.codegen.quotients import NOTHING_MODERATE, Moderate, Ranges, by_known
from kgen.codegen.short_results import NO_SHORT_RESULTS, ShortResults, spell_short
from kgen.codegen.spelling import Expr, constant, headers_of, register_type, spell, storage_type
from kgen.codegen.statements import Statement, origins
from kgen.dtypes import INT32, INT64, DType
from kgen.ir.graph import Gather, IndexMap, Op, Scatter
from kgen.ir.ops import BRANCHING
from kgen.partition.step import Step
from kgen.records import dataclass

MAX_INLINE = 84  # columns of an expression, so that an assignment of it stays near 100
MIN_NAMED = 24  # shorter operands of an expression get no line of their own
PRIMARY = Level.PRIMARY
_BITWISE = frozenset({"and", "or", "xor"})
_SINKS = frozenset({"store", "reduce"})  # ops that take a value and are no expression
_RESULTS = {"div": "quotient", "floordiv": "quotient", "mod": "remainder"}


@dataclass(frozen=True, slots=True)
class Element:
    """The emitted function, its arguments in order, and the headers and helpers of its text.

    ``conditions``: what has to hold of shared arguments, so that its variant that multiplies by reciprocals is exact.
    """

    context: ElementContext
    arguments: tuple[Argument, ...]
    headers: tuple[str, ...]
    helpers: tuple[str, ...]
    conditions: tuple[str, ...] = ()


#: ``(number, C type, name, value) -> (line that defines the value, text that reads it)``
Define = Callable[[int, str, str, str], tuple[str, str]]


def define_constant(number: int, c_type: str, name: str, value: str) -> tuple[str, str]:
    """A value is a constant of its own."""
    return f"const {c_type} {name} = {value};", name


@dataclass(slots=True)
class Writer:
    """Writes ops as lines.

    ``fast``: whether functions may be approximate.  ``exprs``: values that already have text.  ``wanted``: values
    that need a name.  ``selects``: whether any value is chosen by a condition.  ``shared``: values that are the
    same for all elements of a thread.  ``ranges``: of the first values, as far as a division needed them.
    ``short``: values that only go into results of 16 bits.  ``accumulators``: the dtypes in which updates of
    operands are combined that first go elsewhere than to memory.  ``rounded``: the stores of floats that are
    rounded with the others of their group.  ``places``: what each written operand is assigned to.  ``define``: how
    a named value is defined.  ``results``: the outputs that values are stored to.  ``given_names``: those of the
    program.
    """

    step: Step
    statements: Sequence[Statement]
    unique: names.Unique = field(default_factory=names.Unique)
    exprs: dict[int, Expr] = field(default_factory=dict)
    body: list[str] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    origins: list[Statement | None] = field(default_factory=list)
    outputs: set[str] = field(default_factory=set)
    results: dict[Op, str] = field(default_factory=dict)
    given_names: frozenset[str | None] = frozenset()
    shown: Statement | None = None
    selects: bool = False
    wanted: frozenset[int] = frozenset()
    shared: frozenset[int] = frozenset()
    moderate: Moderate = NOTHING_MODERATE
    ranges: Ranges = field(default_factory=list)
    short: ShortResults = NO_SHORT_RESULTS
    fast: bool = False
    accumulators: Mapping[int, DType] = NO_ACCUMULATORS
    rounded: Set[int] = frozenset()
    bytes: Set[int] = frozenset()
    places: dict[int, str] = field(default_factory=dict)
    define: Define = define_constant

    # branches: reads, values and writes become parameters, each with its conditions
    def declare(self) -> tuple[Argument, ...]:
        """Parameters for what the ops read, then references for what they write."""
        graph = self.step.graph
        arguments: list[Argument] = []
        reads = [(i, t) for i, t in enumerate(self.step.accesses) if t.reads]
        for i, access in sorted(reads, key=lambda pair: pair[1].operand):
            operand = graph.operands[access.operand]
            name = self.unique(names.value(operand.name))
            type_ = register_type(INT32 if i in self.bytes else operand.dtype)
            arguments.append(Argument("read", i, f"const {type_} {name}"))
            for number, op in enumerate(graph.ops):
                if (
                    op.name == "load"
                    and isinstance(op.attr, IndexMap)
                    and (op.attr.operand, op.attr.axes) == (access.operand, access.axes)
                ):
                    self.exprs[number] = Expr(name, PRIMARY)
        extents = extents_of_sources(self.step, self.moved)
        for number, op in enumerate(graph.ops):
            if op.name == "size" and op.attr in extents:
                self.exprs[number] = Expr(extents[op.attr], Level.POSTFIX)
            elif op.name in ("scalar", "index", "size"):
                arguments.append(self._by_value(number, op))
        arguments += sources(self.step, range(len(graph.ops)), self.accumulators)
        self.headers += [h for number in self.step.operands for h in headers_of(graph.operands[number].dtype)]
        self.headers += [h for s in graph.scalars for h in headers_of(s.dtype)]
        for i, access in enumerate(self.step.accesses):
            if access.writes:
                operand = graph.operands[access.operand]
                name = names.new_value(operand.name) if access.reads else names.value(operand.name)
                self.places[access.operand] = self.unique(name)
                declaration = f"{storage_type(operand.dtype)}& {self.places[access.operand]}"
                arguments.append(Argument("write", i, declaration))
        return tuple(arguments)

    @property
    def moved(self) -> int | None:
        """The operand whose row a function finds; None for others."""
        return None

    def _by_value(self, number: int, op: Op) -> Argument:
        if op.name == "scalar":
            assert isinstance(op.attr, int)
            scalar = self.step.graph.scalars[op.attr]
            name = self.unique(names.value(scalar.name))
            self.exprs[number] = Expr(name, PRIMARY)
            return Argument("scalar", op.attr, f"const {register_type(scalar.dtype)} {name}")
        if op.name == "index":
            assert isinstance(op.attr, int)
            name = f"index{op.attr + len(self.step.shape)}"
        else:
            assert isinstance(op.attr, int | str)
            name = size_name(self.step.graph.operands, op.attr)
        self.exprs[number] = Expr(name, PRIMARY)
        return Argument(op.name, op.attr, f"const {register_type(INT64)} {name}")

    def given(self, number: int) -> Argument:
        """A parameter for the element of a gathered row."""
        op = self.step.graph.ops[number]
        assert isinstance(op.attr, Gather | Scatter)
        name = self.unique(names.value(self.step.graph.operands[op.attr.operand].name))
        self.exprs[number] = Expr(name, PRIMARY)
        stored = "float" if number in self.rounded else storage_type(op.dtype)
        type_ = f"{stored}&" if op.name == "store" else f"const {register_type(op.dtype)}"
        return Argument("gathered", number, f"{type_} {name}")

    # branches: an expression is inlined, named or stored
    def write(self, selected: Sequence[int] | None = None) -> None:
        """Write the lines of the selected ops, given in order; of all ops by default."""
        graph = self.step.graph
        numbers = range(len(graph.ops)) if selected is None else selected
        uses = [0] * len(graph.ops)
        for number in numbers:
            for arg in graph.ops[number].args:
                uses[arg] += 1
        self.origins = origins(graph.ops, self.statements)
        self.selects = any(graph.ops[number].name == "where" for number in numbers)
        self.outputs = {graph.operands[number].name for number in self.step.written}
        stored = ((graph.ops[o.args[0]], o.attr) for o in graph.ops if o.name == "store")
        self.results = {op: graph.operands[at.operand].name for op, at in stored if isinstance(at, IndexMap)}
        arguments = {*(o.name for o in graph.operands), *(s.name for s in graph.scalars)}
        self.given_names = frozenset(arguments | {op.label for op in graph.ops})
        stores: dict[int, list[int]] = {}  # value -> the stores (or reductions) of it
        scattered = [number for number in numbers if isinstance(graph.ops[number].attr, Scatter)]
        for number in numbers:
            op = graph.ops[number]
            if op.name in _SINKS and number not in scattered:
                stores.setdefault(op.args[0], []).append(number)
        for number in numbers:
            op = graph.ops[number]
            if number in self.exprs or op.name in _SINKS:
                continue
            expr = self._spell(number)
            wanted = stores.get(number, [])
            single = uses[number] == 1 and number not in self.wanted
            if self._is_trivial(number, op) or (single and (wanted or self._inlines(op, expr))):
                self.exprs[number] = expr
            else:
                self._name(number, expr, self._label(op))
            if op.name != "const":
                self._store(wanted)
                stores.pop(number, None)
        # The remaining stores write an operand or a constant unchanged.
        self._store([number for numbers in stores.values() for number in numbers])
        for number in scattered:
            self._scatter(number)

    def lines(self, selected: Sequence[int]) -> tuple[str, ...]:
        """Write the selected ops.  Returns the lines that this adds."""
        before = len(self.body)
        self.write(selected)
        return tuple(self.body[before:])

    def _is_trivial(self, number: int, op: Op) -> bool:
        """Whether the text is as short as a name: a constant, or a part of a complex operand that needs no name."""
        if op.name == "const":
            return True
        part = op.name in ("real", "imag") and number not in self.wanted
        return part and self.exprs[op.args[0]].level == PRIMARY

    def _inlines(self, op: Op, expr: Expr) -> bool:
        """Whether an expression may be written where it is used.

        A conversion of a narrow float is inline assembly, which becomes a branch in an operand of ``?:``.
        """
        branches = self.selects and op.name == "cast" and self.step.graph.ops[op.args[0]].dtype.is_narrow
        return self._given(op) is None and len(expr.code) <= MAX_INLINE and not branches

    def _given(self, op: Op) -> str | None:
        """The user's name for a value; None for an output's, since its parameter has that name."""
        return None if op.label in self.outputs else op.label

    def _label(self, op: Op) -> str:
        """The name of a value that gets a line of its own."""
        given = self._given(op)
        return self._unnamed(op) if given is None else names.value(given)

    def _name(self, number: int, expr: Expr, name: str) -> None:
        """Write a line that defines a value."""
        name = self.unique(name)
        op = self.step.graph.ops[number]
        # Conversions of operands before the first statement get no comment.
        if self.shown is not None or not self._converts_operand(op):
            self.comment(self.origins[number])
        line, code = self.define(number, register_type(op.dtype), name, expr.code)
        for part in choice(line):
            self.put(part, number)
        self.exprs[number] = Expr(code, PRIMARY)

    def _store(self, numbers: Sequence[int]) -> None:
        """Write results.  All operands are read before the first line, so a result may be stored at once."""
        for number in numbers:
            op = self.step.graph.ops[number]
            assert isinstance(op.attr, IndexMap)
            self.comment(self.origins[number])
            self.put(f"{self.places[op.attr.operand]} = {self.exprs[op.args[0]].code};", number)

    def _scatter(self, number: int) -> None:
        """Write a result at computed places."""
        op, ops = self.step.graph.ops[number], self.step.graph.ops
        assert isinstance(op.attr, Scatter)
        of, value = self.step.graph.operands[op.attr.operand], self.exprs[op.args[0]].code
        self.comment(self.origins[number])
        if number in self.exprs:  # an element of a row
            self.put(f"{self.exprs[number].code} = {value};", number)
            return
        inside = self.unique(names.inside(of.name))
        places = [ops[a] for a in op.args[1:]]
        dtype = self.accumulators.get(op.attr.operand, of.dtype)
        found = store_at(of, dtype, op.attr.combine, places, self.places_of(number), inside, value)
        for line in found.lines:
            self.put(line, number)
        self.helpers += found.helpers

    def put(self, line: str, number: int) -> None:
        """Write a line that computes op ``number``."""
        origin = self.origins[number]
        self.body.append(line if origin is None else line + origin.mark)

    def _converts_operand(self, op: Op) -> bool:
        return op.name == "cast" and isinstance(self.step.graph.ops[op.args[0]].attr, IndexMap | Gather)

    def _unnamed(self, op: Op) -> str:
        """A name for a value that the user has not named: ``x_f32`` for a converted operand, ``y_out`` for a result."""
        if isinstance(op.attr, Gather):
            return names.value(self.step.graph.operands[op.attr.operand].name)
        place = place_name(self.step.graph, op)
        if place is not None:
            return place
        if op in self.results:
            return names.result(self.results[op])
        source = self.step.graph.ops[op.args[0]] if self._converts_operand(op) else None
        if source is not None and isinstance(source.attr, IndexMap | Gather):
            return names.converted(self.step.graph.operands[source.attr.operand].name, op.dtype.short)
        name = _RESULTS.get(op.name, op.name) if op.name in BRANCHING else ""
        return names.value(name) if name and name not in self.given_names else "t"

    def _spell(self, number: int) -> Expr:
        op = self.step.graph.ops[number]
        if op.name == "const":
            assert isinstance(op.attr, int)
            return constant(op.attr, op.dtype)
        if isinstance(op.attr, Gather):
            return self._gathered(number, op.attr)
        spelling = self._spelled(number)
        while len(spelling.expr.code) > MAX_INLINE:
            longest = max(op.args, key=lambda a: len(self.exprs[a].code))
            if self.exprs[longest].level == PRIMARY or len(self.exprs[longest].code) < MIN_NAMED:
                break
            self._name(longest, self.exprs[longest], self._label(self.step.graph.ops[longest]))
            spelling = self._spelled(number)
        self.helpers += spelling.helpers
        self.headers += [*spelling.headers, *headers_of(op.dtype)]
        return spelling.expr

    def _gathered(self, number: int, gather: Gather) -> Expr:
        """An element at computed places.  Writes the lines that it needs."""
        ops, of = self.step.graph.ops, self.step.graph.operands[gather.operand]
        op, places = ops[number], self.places_of(number)
        at, inside = self.unique(names.offset(of.name)), self.unique(names.inside(of.name))
        found = element_at(of, [ops[a] for a in op.args], places, at, inside, gather.outside)
        for line in found.lines:
            self.put(line, number)
        self.helpers += found.helpers
        self.headers += headers_of(op.dtype)
        return found.expr

    def places_of(self, number: int) -> list[str]:
        """The names of the places of a gather, which get lines of their own."""
        ops = self.step.graph.ops
        for a in ops[number].places:
            if self.exprs[a].level != PRIMARY:
                self._name(a, self.exprs[a], self._label(ops[a]))
        return [self.exprs[a].code for a in ops[number].places]

    def _spelled(self, number: int) -> Spelling:
        ops = self.step.graph.ops
        op = ops[number]
        args = [self.exprs[a] for a in op.args]
        if any(ops[store].args[0] == number for store in self.rounded):
            return Spelling(args[0])
        if number in self.short.values:
            short = spell_short(ops, op, args, self.short.inexact)
            if short is not None:
                return short
        quotient = self._divided(number, args) if op.name == "div" and not self.fast else None
        if quotient is not None:
            return quotient
        if op.name in _BITWISE and op.dtype.is_int:
            args = [
                in_hex(expr, op.dtype) if ops[a].name == "const" else expr
                for a, expr in zip(op.args, args, strict=True)
            ]
        return spell(op.name, op.attr, op.dtype, args, [ops[a].dtype for a in op.args], fast=self.fast)

    def _divided(self, number: int, args: Sequence[Expr]) -> Spelling | None:
        """A division by what is known of the divisor; None where nothing is."""
        ops, op = self.step.graph.ops, self.step.graph.ops[number]
        is_shared, is_moderate = op.args[1] in self.shared, number in self.moderate.quotients
        return by_known(ops, op, args, self.ranges, is_shared=is_shared, is_moderate=is_moderate)

    def comment(self, statement: Statement | None) -> None:
        """Write the statement that the next lines come from, if it is another than before."""
        if len(self.statements) > 1 and statement is not None and statement is not self.shown:
            self.shown = statement
            self.body += [f"// {names.comment(line)}" for line in statement.lines]
