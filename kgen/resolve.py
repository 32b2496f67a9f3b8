"""Tree -> program: what every name means, in which order the arguments come, and what is wrong with either.

Names are collected first, since a binding hides a built-in function or constant in the whole program; then every
statement is walked in order.  All errors of a program are reported together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kgen.diagnostics import Reporter
from kgen.dtypes import BY_NAME, DType, Kind
from kgen.functions import CALL_KEYWORDS, CONSTANTS, FUNCTIONS
from kgen.literals import LiteralError, evaluate
from kgen.program import Argument, Output, Parameter, Program, Weak
from kgen.resolve_calls import CallChecker
from kgen.source import Source, Span
from kgen.syntax.tree import (
    Assign,
    Bitcast,
    Call,
    Cast,
    Declared,
    Def,
    Expr,
    Inout,
    Input,
    Let,
    Name,
    Param,
    Statement,
    Tree,
    postorder,
)

Role = Literal["input", "inout", "param", "let", "output", "def"]

_WHAT: dict[Role, str] = {
    "input": "an input",
    "inout": "an inout argument",
    "param": "a param",
    "let": "a temporary",
    "output": "an output",
    "def": "a function",
}
#: Words of Python and C that are names here, so that they would silently become inputs.
_LITERAL_WORDS = {"True": "true", "False": "false", "INFINITY": "inf", "NAN": "nan", "M_PI": "pi", "PI": "pi"}


@dataclass(slots=True)
class Binding:
    """What a name stands for, and the statement (by number) that says so."""

    role: Role
    span: Span
    position: int
    used: bool = False
    updated: Span | None = None  # where an inout is assigned
    update_position: int = -1


def resolve(tree: Tree, source: Source, reporter: Reporter) -> Program:
    """The program of a tree; raises all errors reported so far, the parser's too."""
    program = _Resolver(tree, source, reporter).run()
    reporter.raise_errors()
    return program


class _Resolver:
    def __init__(self, tree: Tree, source: Source, reporter: Reporter) -> None:
        self.tree = tree
        self.source = source
        self.reporter = reporter
        self.bindings: dict[str, Binding] = {}
        self.arguments: list[Argument] = []
        self.parameters: list[Parameter] = []
        self.outputs: list[Output] = []
        self.statements: list[Let | Assign] = []
        self.defs: dict[str, Def] = {}
        self.implicit: dict[str, Span] = {}  # undeclared names that are read -> where first
        self.typeofs: list[Name] = []
        self.constants: dict[str, float] = {}
        self.calls: CallChecker
        #: Whether every statement parsed: else what is missing may be in one that did not.
        self.intact = all(diagnostic.severity != "error" for diagnostic in reporter.diagnostics)

    def run(self) -> Program:
        for position, statement in enumerate(self.tree.statements):
            self._bind_statement(position, statement)
        self.constants = {k: v for k, v in CONSTANTS.items() if k not in self.bindings}
        self.calls = CallChecker(self.reporter, self.defs, self.constants)
        for position, statement in enumerate(self.tree.statements):
            self._walk_statement(position, statement)
        self._finish()
        lints = self.reporter.lints
        return Program(
            source=self.source,
            arguments=tuple(self.arguments),
            parameters=tuple(self.parameters),
            outputs=tuple(self.outputs),
            statements=tuple(self.statements),
            defs=self.defs,
            lints=lints,
        )

    # --- bindings ---

    def _bind_statement(self, position: int, statement: Statement) -> None:
        match statement:
            case Input(names=names):
                for declared in names:
                    self._bind(declared.name, "input", declared.span, position)
            case Inout(names=names):
                for declared in names:
                    self._bind(declared.name, "inout", declared.span, position)
            case Param(name=declared):
                self._bind(declared.name, "param", declared.span, position)
            case Def():
                if self._bind(statement.name, "def", statement.name_span, position):
                    self.defs[statement.name] = statement
            case Let():
                self._bind(statement.name, "let", statement.name_span, position)
            case Assign():
                self._bind(statement.name, "output", statement.name_span, position)

    def _bind(self, name: str, role: Role, span: Span, position: int) -> bool:
        if role in ("input", "inout", "param") and name in CALL_KEYWORDS:
            self._call_keyword(name, role, span)
        old = self.bindings.get(name)
        if old is None:
            self.bindings[name] = Binding(role, span, position)
            return True
        if role == "output" and old.role == "inout" and old.updated is None:
            old.updated, old.update_position = span, position
            return False
        self._rebound(name, role, span, old)
        return False

    def _call_keyword(self, name: str, role: Role, span: Span) -> None:
        self.reporter.error(
            "call-keyword",
            f"{_WHAT[role]} cannot be called `{name}`: calls of the kernel take `{name}=`",
            span,
            hint=f"choose another name, such as `{name}_`",
        )

    def _rebound(self, name: str, role: Role, span: Span, old: Binding) -> None:
        report = self.reporter.error
        first = old.updated or old.span
        line = self.source.line_of(first.start)
        if role not in ("let", "output"):
            message = f"`{name}` is already {_WHAT[old.role]} (line {line})"
            report("defined-twice", message, span, marks=[first], hint="define each name once")
        elif old.role == "input":
            hint = f"write `inout {name}` instead of `input {name}` to update it in place, or assign another name"
            report(
                "assign-input",
                f"`{name}` is an input (line {line}), which is not assigned",
                span,
                marks=[first],
                hint=hint,
            )
        elif old.role == "param":
            hint = "params are passed by value: give the result another name"
            report(
                "assign-param",
                f"`{name}` is a param (line {line}), which is not assigned",
                span,
                marks=[first],
                hint=hint,
            )
        elif old.role == "def":
            message = f"`{name}` is already a function (line {line})"
            report("defined-twice", message, span, marks=[first], hint="define each name once")
        else:
            what = "updated" if old.role == "inout" else "assigned"
            hint = f"choose another name for this one; for a step in between write `let {name}_1 = ...`"
            if old.role == "inout" and role == "let":
                old.updated = old.updated or span  # one complaint is enough
                hint = f"an inout argument is assigned without `let`: `{name} = ...`"
                what = "declared"
            report("assigned-twice", f"`{name}` is already {what} in line {line}", span, marks=[first], hint=hint)

    # --- statements ---

    def _walk_statement(self, position: int, statement: Statement) -> None:
        match statement:
            case Input(names=names):
                for declared in names:
                    self._argument(declared, "input")
            case Inout(names=names):
                for declared in names:
                    self._argument(declared, "inout")
            case Param():
                self._param(statement)
            case Def():
                self._walk(statement.body, position, statement)
            case Let():
                self._walk(statement.value, position, None)
                self.statements.append(statement)
            case Assign():
                self._walk(statement.value, position, None)
                self.statements.append(statement)
                self._output(statement)

    def _argument(self, declared: Declared, role: Literal["input", "inout"]) -> None:
        dtype = declared.type.dtype if declared.type is not None else None
        self.arguments.append(Argument(declared.name, role, dtype, declared.span))

    def _output(self, statement: Assign) -> None:
        binding = self.bindings[statement.name]
        dtype = statement.type.dtype if statement.type is not None else None
        if binding.role == "output":
            self.outputs.append(Output(statement.name, dtype, statement.name_span))
        elif binding.role == "inout" and statement.type is not None:
            self.reporter.error(
                "inout-type",
                f"`{statement.name}` is an inout argument: its type stands where it is declared",
                statement.type.span,
                marks=[binding.span],
                hint=f"write `inout {statement.name}: {_text(self.source, statement.type.span)}` there",
            )

    def _param(self, statement: Param) -> None:
        name, default = statement.name, statement.default
        dtype = name.type.dtype if name.type is not None else None
        value: Weak | None = None
        if default is not None:
            try:
                value = evaluate(default, self.constants)
            except LiteralError as problem:
                message, hint = f"this has no value: {problem}", "write the value itself"
                self.reporter.error("bad-literal", message, problem.node.span, hint=hint)
                value = 0
            else:
                if value is None:
                    hint = f"leave it out and pass `{name.name}=` at the call"
                    self.reporter.error("bad-default", "a default is made of literals only", default.span, hint=hint)
                elif dtype is not None:
                    value = self._fit(value, dtype, default.span)
        self.parameters.append(Parameter(name.name, dtype, value, name.span))

    def _fit(self, value: Weak, dtype: DType, span: Span) -> Weak:
        """The default of a typed param as a value of its type, which it has to fit."""
        kind = Kind.BOOL if isinstance(value, bool) else Kind.INT if isinstance(value, int) else None
        kind = kind if kind is not None else Kind.FLOAT if isinstance(value, float) else Kind.COMPLEX
        report = self.reporter.error
        shown = _show(value)
        if dtype.is_bool and kind is not Kind.BOOL:
            report("bad-default", f"the default {shown} is no bool", span, hint="write `true` or `false`")
        elif kind > dtype.kind:
            hint = f"write a default of type {dtype}, or declare a wider type"
            report("bad-default", f"the default {shown} does not fit {dtype}", span, hint=hint)
        elif dtype.is_int and not dtype.int_min <= int(value.real) <= dtype.int_max:
            hint = f"{dtype} holds {dtype.int_min} to {dtype.int_max}"
            report("bad-default", f"the default {shown} does not fit {dtype}", span, hint=hint)
        elif dtype.is_float:
            return self._fit_float(value, dtype, span)
        elif dtype.is_int:
            return int(value.real)
        elif dtype.is_complex:
            return complex(value)
        return value

    def _fit_float(self, value: Weak, dtype: DType, span: Span) -> Weak:
        largest = _largest(dtype)
        if abs(value) > largest and abs(value) != float("inf"):
            message = f"the default {_show(value)} does not fit {dtype}"
            self.reporter.error("bad-default", message, span, hint=f"{dtype} holds up to {largest:g}")
            return 0.0
        assert not isinstance(value, complex)
        return float(value)

    # --- expressions ---

    def _walk(self, root: Expr, position: int, inside: Def | None) -> None:
        local = {param.name for param in inside.params} if inside is not None else frozenset[str]()
        if inside is not None:
            self._def_params(inside)
        for node in postorder(root):
            match node:
                case Name(id=name):
                    if name not in local:
                        self._read(name, node.span, position, inside)
                case Call():
                    self._call(node, position, local)
                case Cast(type=type_name) | Bitcast(type=type_name):
                    if type_name.of is not None and type_name.of.id not in local:
                        self._typeof(type_name.of, position, inside)
                case _:
                    pass

    def _def_params(self, node: Def) -> None:
        seen: dict[str, Span] = {}
        for param in node.params:
            if param.name in seen:
                message = f"`{node.name}` has two parameters `{param.name}`"
                marks = [seen[param.name]]
                self.reporter.error("defined-twice", message, param.span, marks=marks, hint="rename one of them")
            seen.setdefault(param.name, param.span)

    def _read(self, name: str, span: Span, position: int, inside: Def | None) -> None:
        binding = self.bindings.get(name)
        if binding is not None:
            binding.used = True
            self._read_bound(name, binding, span, position, inside)
        elif name in CONSTANTS or name in self.tree.broken:
            return
        elif inside is not None:
            self._outside_def(name, span, inside, ())
        else:
            self._read_new(name, span)

    def _read_bound(self, name: str, binding: Binding, span: Span, position: int, inside: Def | None) -> None:
        if binding.role == "def":
            hint = f"call it: `{name}(...)`; a value needs another name"
            self.reporter.error("function-as-value", f"`{name}` is a function", span, marks=[binding.span], hint=hint)
        elif inside is not None:
            if binding.role != "param":
                self._outside_def(name, span, inside, (binding.span,))
        elif binding.role in ("let", "output") and binding.position >= position:
            self._read_early(name, binding, span, position)

    def _read_early(self, name: str, binding: Binding, span: Span, position: int) -> None:
        line = self.source.line_of(binding.span.start)
        if binding.position > position:
            message = f"`{name}` is read before line {line} assigns it"
            hint = f"move line {line} up; if this `{name}` is an input, give one of the two another name"
        elif binding.role == "let":
            message = f"`{name}` is read by its own definition"
            hint = f"a name stands for one value: write `let {name}_1 = ...`"
        else:
            message = f"`{name}` is read by its own definition"
            hint = f"to update an argument in place add the line `inout {name}`; for a new array assign another name"
        self.reporter.error("read-before-assignment", message, span, marks=[binding.span], hint=hint)

    def _outside_def(self, name: str, span: Span, inside: Def, marks: tuple[Span, ...]) -> None:
        params = ", ".join([*(param.name for param in inside.params), name])
        self.reporter.error(
            "def-scope",
            f"`{inside.name}` does not see `{name}`: a def sees its parameters, params and earlier defs",
            span,
            marks=marks,
            hint=f"pass it: `def {inside.name}({params}) = ...`",
        )

    def _read_new(self, name: str, span: Span) -> None:
        first = self.implicit.setdefault(name, span)
        if first is not span:
            return
        if name in CALL_KEYWORDS:
            self._call_keyword(name, "input", span)
        elif name in _LITERAL_WORDS:
            message = f"`{name}` is an ordinary name, so it is an input here"
            self.reporter.lint("literal-word", message, span, hint=f"the value is written `{_LITERAL_WORDS[name]}`")
        elif name in BY_NAME:
            message = f"`{name}` outside `< >` is an ordinary name, so it is an input here"
            self.reporter.lint("type-as-value", message, span, hint=f"a conversion is written `cast<{name}>(x)`")
        elif name in FUNCTIONS:
            message = f"`{name}` without `(` is an ordinary name, so it is an input here"
            hint = f"call the function as `{name}(...)`, or say `input {name}` if an input is meant"
            self.reporter.lint("function-as-value", message, span, hint=hint)

    def _typeof(self, of: Name, position: int, inside: Def | None) -> None:
        binding = self.bindings.get(of.id)
        if binding is not None:
            binding.used = True
            self._read_bound(of.id, binding, of.span, position, inside)
        elif inside is not None:
            self._outside_def(of.id, of.span, inside, ())
        elif of.id not in self.tree.broken:
            self.typeofs.append(of)

    def _call(self, node: Call, position: int, local: set[str] | frozenset[str]) -> None:
        name = node.function
        binding = self.bindings.get(name)
        if name in local:
            message = f"`{name}` is a parameter here, not a function"
            self.reporter.error("not-a-function", message, node.function_span, hint="to multiply write `*`")
        elif binding is None:
            if name not in self.tree.broken:
                self.calls.builtin(node)
        elif binding.role != "def":
            line = self.source.line_of(binding.span.start)
            hides = ", which hides the function" if name in FUNCTIONS else ", not a function"
            message = f"`{name}` is {_WHAT[binding.role]} (line {line}){hides}"
            hint = f"rename the one in line {line}" if name in FUNCTIONS else "to multiply write `*`"
            self.reporter.error("not-a-function", message, node.function_span, marks=[binding.span], hint=hint)
        else:
            binding.used = True
            self._call_def(node, binding, position)

    def _call_def(self, node: Call, binding: Binding, position: int) -> None:
        name, line = node.function, self.source.line_of(binding.span.start)
        marks = [binding.span]
        if binding.position == position:
            hidden = f" (the built-in `{name}` is hidden by this def)" if name in FUNCTIONS else ""
            hint = "rename the def" if hidden else "a def is written out where it is called, so it ends nowhere"
            message = f"`{name}` calls itself{hidden}"
            self.reporter.error("recursion", message, node.function_span, marks=marks, hint=hint)
        elif binding.position > position:
            message = f"`{name}` is called before line {line} defines it"
            hint = f"move line {line} up"
            self.reporter.error("call-before-def", message, node.function_span, marks=marks, hint=hint)
        self.calls.user(node, self.defs[name])

    # --- the program as a whole ---

    def _finish(self) -> None:
        self._typeof_targets()
        hidden = {a.name for a in self.arguments}
        for name, span in sorted(self.implicit.items(), key=lambda item: item[1].start):
            if name not in hidden:
                self.arguments.append(Argument(name, "input", None, span))
        self.arguments = [self._with_use(argument) for argument in self.arguments]
        self._lint_unused()
        self._check_outputs()

    def _typeof_targets(self) -> None:
        for of in self.typeofs:
            if of.id in self.implicit:
                if of.span.start < self.implicit[of.id].start:
                    self.implicit[of.id] = of.span
            elif of.id in CONSTANTS or of.id in BY_NAME:
                hint = f"write `cast<{of.id}>(...)`" if of.id in BY_NAME else "write the type itself"
                self.reporter.error("unknown-name", f"`{of.id}` is no operand", of.span, hint=hint)
            else:
                hint = "name an input, a param, or what an earlier line assigns"
                self.reporter.error("unknown-name", f"nothing else mentions `{of.id}`", of.span, hint=hint)

    def _with_use(self, argument: Argument) -> Argument:
        binding = self.bindings.get(argument.name)
        used = binding is None or binding.used or binding.updated is not None
        return Argument(argument.name, argument.role, argument.dtype, argument.span, used)

    def _lint_unused(self) -> None:
        for name, binding in self.bindings.items() if self.intact else ():
            if binding.used or binding.role not in ("input", "param", "let"):
                continue
            message = f"`{name}` is {_WHAT[binding.role]} that nothing reads"
            hint = {
                "input": "it keeps its place among the arguments; leave it out if that is not meant",
                "param": "leave it out",
                "let": f"leave it out, or write `{name} = ...` to make it an output",
            }[binding.role]
            self.reporter.lint(f"unused-{binding.role}", message, binding.span, hint=hint)

    def _check_outputs(self) -> None:
        idle = [(n, b) for n, b in self.bindings.items() if b.role == "inout" and b.updated is None]
        if not self.intact:
            return
        for name, binding in idle:
            hint = f"write `{name} = ...`, or declare it as `input {name}`"
            self.reporter.error("inout-not-assigned", f"`{name}` is never assigned", binding.span, hint=hint)
        if not self.tree.statements:
            hint = "write what to compute: `out = a + b`"
            self.reporter.error("empty-program", "the program is empty", None, hint=hint)
        elif not self.outputs and not idle and not any(b.updated for b in self.bindings.values()):
            last = self.tree.statements[-1]
            hint = "write what to compute: `out = ...`"
            if isinstance(last, Let):
                hint = f"a `let` is a temporary: write `{last.name} = ...` to return it"
            self.reporter.error(
                "no-output", "the program computes nothing: no line assigns an output", last.span, hint=hint
            )


def _text(source: Source, span: Span) -> str:
    return source.text[span.start : span.end]


def _show(value: Weak) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _largest(dtype: DType) -> float:
    if dtype.name == "float8_e4m3fn":
        return 448.0  # its top exponent still holds numbers
    bias = (1 << (dtype.exponent - 1)) - 1
    return (2.0 - 2.0**-dtype.mantissa) * 2.0**bias
