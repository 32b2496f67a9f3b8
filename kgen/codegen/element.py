"""The device function of one element: IR ops as CUDA expressions.

A value that is used once is written where it is used, up to a line's width; others get the user's name for them, or
``t0, t1, ...``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kgen.codegen import names
from kgen.codegen.context import ElementContext
from kgen.codegen.expressions import Level
from kgen.codegen.spelling import Expr, constant, headers_of, register_type, spell, storage_type
from kgen.dtypes import INT64
from kgen.ir.kernel import Access, Op
from kgen.schedule.split import Step

MAX_INLINE = 84  # columns of an expression, so that an assignment of it stays near 100
PRIMARY = Level.PRIMARY


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the program: its extent in the text, and its lines as they are shown."""

    start: int
    end: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """What one parameter of the element function stands for.

    ``kind`` and ``key``: ``read`` or ``write`` and the touch number; ``scalar`` and its number; ``index`` and the
    axis from the right; ``size`` and the dimension symbol.
    """

    kind: str
    key: int | str
    declaration: str


@dataclass(frozen=True, slots=True)
class Element:
    """The emitted function, its arguments in order, and what its text needs."""

    context: ElementContext
    arguments: tuple[Argument, ...]
    headers: tuple[str, ...]
    helpers: tuple[str, ...]


@dataclass(slots=True)
class _Writer:
    step: Step
    statements: Sequence[Statement]
    unique: names.Unique = field(default_factory=names.Unique)
    exprs: dict[int, Expr] = field(default_factory=dict)
    body: list[str] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    shown: Statement | None = None

    def declare(self) -> tuple[Argument, ...]:
        """Parameters for what the ops read, then references for what they write."""
        kernel = self.step.kernel
        arguments: list[Argument] = []
        reads = [(i, t) for i, t in enumerate(self.step.touches) if t.reads]
        for i, touch in sorted(reads, key=lambda pair: pair[1].operand):
            operand = kernel.operands[touch.operand]
            name = self.unique(names.value(operand.name))
            arguments.append(Argument("read", i, f"const {register_type(operand.dtype)} {name}"))
            for number, op in enumerate(kernel.ops):
                if (
                    op.name == "load"
                    and isinstance(op.attr, Access)
                    and (op.attr.operand, op.attr.axes) == (touch.operand, touch.axes)
                ):
                    self.exprs[number] = Expr(name, PRIMARY)
        for number, op in enumerate(kernel.ops):
            if op.name in ("scalar", "index", "size"):
                arguments.append(self._by_value(number, op))
        self.headers += [h for o in kernel.operands for h in headers_of(o.dtype) if self._touched(o.name)]
        self.headers += [h for s in kernel.scalars for h in headers_of(s.dtype)]
        for i, touch in enumerate(self.step.touches):
            if touch.writes:
                operand = kernel.operands[touch.operand]
                name = names.new_value(operand.name) if touch.reads else names.value(operand.name)
                arguments.append(Argument("write", i, f"{storage_type(operand.dtype)}& {self.unique(name)}"))
        return tuple(arguments)

    def _touched(self, name: str) -> bool:
        return any(self.step.kernel.operands[t.operand].name == name for t in self.step.touches)

    def _by_value(self, number: int, op: Op) -> Argument:
        if op.name == "scalar":
            assert isinstance(op.attr, int)
            scalar = self.step.kernel.scalars[op.attr]
            name = self.unique(names.value(scalar.name))
            self.exprs[number] = Expr(name, PRIMARY)
            return Argument("scalar", op.attr, f"const {register_type(scalar.dtype)} {name}")
        if op.name == "index":
            assert isinstance(op.attr, int)
            name = f"index{op.attr + len(self.step.shape)}"
        else:
            name = f"size_{op.attr}"
        assert isinstance(op.attr, int | str)
        self.exprs[number] = Expr(name, PRIMARY)
        return Argument(op.name, op.attr, f"const {register_type(INT64)} {name}")

    def write(self) -> None:
        kernel = self.step.kernel
        uses = [0] * len(kernel.ops)
        for op in kernel.ops:
            for arg in op.args:
                uses[arg] += 1
        outputs = {kernel.operands[t.operand].name for t in self.step.touches if t.writes}
        results = self._results()
        for number, op in enumerate(kernel.ops):
            if number in self.exprs:
                continue
            if op.name == "store":
                assert isinstance(op.attr, Access)
                self._comment(op)
                self.body.append(f"{results[op.attr.operand]} = {self.exprs[op.args[0]].code};")
                continue
            expr = self._spell(op)
            label = op.label if op.label not in outputs else None
            if op.name == "const" or (uses[number] == 1 and label is None and len(expr.code) <= MAX_INLINE):
                self.exprs[number] = expr
                continue
            self._comment(op)
            name = self.unique(names.value(label) if label is not None else "t")
            self.body.append(f"const {register_type(op.dtype)} {name} = {expr.code};")
            self.exprs[number] = Expr(name, PRIMARY)

    def _results(self) -> dict[int, str]:
        """The reference that each written operand goes to."""
        found: dict[int, str] = {}
        for touch in self.step.touches:
            if touch.writes:
                name = self.step.kernel.operands[touch.operand].name
                found[touch.operand] = names.new_value(name) if touch.reads else names.value(name)
        return found

    def _spell(self, op: Op) -> Expr:
        if op.name == "const":
            assert isinstance(op.attr, int)
            return constant(op.attr, op.dtype)
        ops = self.step.kernel.ops
        spelling = spell(op.name, op.attr, op.dtype, [self.exprs[a] for a in op.args], [ops[a].dtype for a in op.args])
        self.helpers += spelling.helpers
        self.headers += [*spelling.headers, *headers_of(op.dtype)]
        return spelling.expr

    def _comment(self, op: Op) -> None:
        """The statement that the next lines come from, when it changes."""
        if len(self.statements) < 2 or op.span is None:
            return
        at = op.span.start
        statement = next((s for s in self.statements if s.start <= at < s.end), None)
        if statement is not None and statement is not self.shown:
            self.shown = statement
            self.body += [f"// {names.comment(line)}" for line in statement.lines]


def write_element(step: Step, name: str, statements: Sequence[Statement]) -> Element:
    """The element function of a step.  ``statements`` are the program's assignments and lets, in order."""
    writer = _Writer(step, statements)
    arguments = writer.declare()
    writer.write()
    comment = ["One element."]
    if len(statements) == 1:
        comment = [
            f"One element: {names.comment(statements[0].lines[0])}",
            *map(names.comment, statements[0].lines[1:]),
        ]
    context = ElementContext(name, tuple(comment), tuple(a.declaration for a in arguments), tuple(writer.body))
    return Element(context, arguments, tuple(dict.fromkeys(writer.headers)), tuple(dict.fromkeys(writer.helpers)))
