"""Resolves the names of a tree.

Definitions are collected first: a def hides a built-in function of its name in the whole program, any other one a
constant.  A value may have the name of a function, which is called by its name and `(`.
Then the statements are resolved in order.  All errors of a program are reported together.
"""

from __future__ import annotations

from typing import Literal

from kgen.diagnostics import MAX_SHOWN, Reporter, nearest
from kgen.dtypes import BY_NAME
from kgen.functions import CONSTANTS, FUNCTIONS
from kgen.program import Argument, Output, Parameter, Program
from kgen.resolve.bindings import WHAT, Binding, Bindings
from kgen.resolve.calls import CallChecker
from kgen.resolve.lints import TreeLints
from kgen.resolve.undeclared import check_undeclared
from kgen.source import Source, Span
from kgen.syntax.tree import (
    Assign,
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
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
    children,
    postorder,
)


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
        self.bound = Bindings(source, reporter)
        self.bindings = self.bound.names
        self.defs = self.bound.defs
        self.arguments: list[Argument] = []
        self.parameters: list[Parameter] = []
        self.outputs: list[Output] = []
        self.statements: list[Let | Assign] = []
        self.implicit: dict[str, Span] = {}  # undeclared names that are read -> where first
        self.outside: set[tuple[str, str]] = set()  # defs, and what they cannot use, as reported
        self.typeofs: list[Name] = []
        self.constants: dict[str, float] = {}
        self.calls: CallChecker
        self.tree_lints = TreeLints(reporter)
        #: Whether every statement parsed. If not, a missing name may be defined in one that did not.
        self.intact = all(diagnostic.severity != "error" for diagnostic in reporter.diagnostics)

    def run(self) -> Program:
        for position, statement in enumerate(self.tree.statements):
            self.bound.add(position, statement)
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

    # --- statements ---

    def _walk_statement(self, position: int, statement: Statement) -> None:
        match statement:
            case Input(names=names):
                for declared in names:
                    self._argument(declared, "input")
            case Inout(names=names):
                for declared in names:
                    self._argument(declared, "inout")
            case Param(parameters=parameters):
                from kgen.resolve.defaults import parameter

                self.parameters += [parameter(one, self.constants, self.reporter) for one in parameters]
            case Def():
                self._walk(statement.body, position, statement)
            case Let():
                self._walk(statement.value, position, None)
                self.statements.append(statement)
            case Assign():
                for part in _read_by(statement):
                    self._walk(part, position, None)
                self.statements.append(statement)
                if statement.at is None:
                    self._output(statement)

    def _argument(self, declared: Declared, role: Literal["input", "inout"]) -> None:
        dtype = declared.type.dtype if declared.type is not None else None
        self.arguments.append(Argument(declared.name, role, dtype, declared.span))

    def _output(self, statement: Assign) -> None:
        binding = self.bindings.get(statement.name)
        if binding is None:
            return  # an error
        dtype = statement.type.dtype if statement.type is not None else None
        if binding.role == "output":
            self.outputs.append(Output(statement.name, dtype, statement.name_span))
        elif binding.role == "inout" and statement.type is not None:
            self.reporter.error(
                "inout-type",
                f"`{statement.name}` is an inout argument: its type belongs to its declaration",
                statement.type.span,
                marks=[binding.span],
                hint=f"write `inout {statement.name}: {_text(self.source, statement.type.span)}` there",
            )

    # --- expressions ---

    def _walk(self, root: Expr, position: int, inside: Def | None) -> None:
        local = {param.name for param in inside.params} if inside is not None else frozenset[str]()
        if inside is not None:
            self._def_params(inside)
        sized = self._sized(root, position)
        for node in postorder(root):
            match node:
                case Name(id=name) if name in local or id(node) in sized:
                    pass
                case Name(id=name):
                    self.tree_lints.letter(node)
                    self._read(name, node.span, position, inside)
                case Call():
                    self._call(node, position, local)
                case Cast(type=type_name) | Bitcast(type=type_name):
                    if type_name.of is not None and type_name.of.id not in local:
                        self._typeof(type_name.of, position, inside)
                case Binary():
                    self.tree_lints.binary(node)
                case Compare():
                    self.tree_lints.compare(node)
                case _:
                    pass

    def _sized(self, root: Expr, position: int) -> set[int]:
        """Names of updated arrays in ``size(x, k)``, which reads no element of them."""
        if not self.bound.scatters:
            return set()
        calls = (node for node in postorder(root) if isinstance(node, Call) and node.function == "size")
        names = (node.args[0] for node in calls if len(node.args) == 2)
        bound = ((node, self.bindings.get(node.id)) for node in names if isinstance(node, Name))
        return {id(node) for node, b in bound if b is not None and b.scattered and b.update_position < position}

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
        elif binding.role == "let" and binding.scattered is not None:
            if position <= binding.update_position:
                self._read_early(name, binding, span, position)
        elif binding.scattered is not None and binding.update_position < position:
            message = f"`{name}` is read after it is written at computed places, which is not supported yet"
            hint = "read it in another program, or before"
            if binding.role == "output":
                hint = f"write `let {name} = ...`, which is read below its updates"
            self.reporter.error("not-yet", message, span, marks=(binding.updated or binding.span,), hint=hint)

    def _line_or_statement(self, line: int, reader: Span) -> str:
        return "its statement" if self.source.line_of(reader.start) == line else f"line {line}"

    def _read_early(self, name: str, binding: Binding, span: Span, position: int) -> None:
        line = self.source.line_of(binding.span.start)
        if binding.position < position:
            message = f"`{name}` is read before its last update"
            hint = f"read it below its updates, or read another temporary: write `let {name}_1 = ...`"
        elif binding.position > position:
            message = f"`{name}` is read before line {line} assigns it"
            moved = self._line_or_statement(line, span)
            hint = f"move {moved} up; if this `{name}` is an input, give one of the two another name"
        elif binding.role == "let":
            message = f"`{name}` is read by its own definition"
            hint = f"a name has one value: write `let {name}_1 = ...`"
        else:
            message = f"`{name}` is read by its own definition"
            hint = f"to update an argument in place add the line `inout {name}`; for a new array assign another name"
        self.reporter.error("read-before-assignment", message, span, marks=[binding.span], hint=hint)

    def _outside_def(self, name: str, span: Span, inside: Def, marks: tuple[Span, ...]) -> None:
        if (inside.name, name) in self.outside:
            return
        self.outside.add((inside.name, name))
        params = ", ".join([*(param.name for param in inside.params), name])
        self.reporter.error(
            "def-scope",
            f"`{inside.name}` cannot use `{name}`: a def can use its parameters, params and earlier defs",
            span,
            marks=marks,
            hint=f"pass it: `def {inside.name}({params}) = ...`",
        )

    def _read_new(self, name: str, span: Span) -> None:
        if self.implicit.setdefault(name, span) is span:
            check_undeclared(name, span, self.bound)

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
        elif binding is None or (binding.role != "def" and name in FUNCTIONS):
            if name not in self.tree.broken:
                self.calls.builtin(node)
        elif binding.role != "def":
            line = self.source.line_of(binding.span.start)
            message = f"`{name}` is {WHAT[binding.role]} (line {line}), not a function"
            hint = "to multiply write `*`"
            self.reporter.error("not-a-function", message, node.function_span, marks=[binding.span], hint=hint)
        else:
            binding.used = True
            self._call_def(node, binding, position)

    def _call_def(self, node: Call, binding: Binding, position: int) -> None:
        name, line = node.function, self.source.line_of(binding.span.start)
        marks = [binding.span]
        if binding.position == position:
            hidden = f" (the built-in `{name}` is hidden by this def)" if name in FUNCTIONS else ""
            hint = "rename the def" if hidden else "a def is inlined at each call, so it cannot call itself"
            message = f"`{name}` calls itself{hidden}"
            self.reporter.error("recursion", message, node.function_span, marks=marks, hint=hint)
        elif binding.position > position:
            message = f"`{name}` is called before line {line} defines it"
            hint = f"move {self._line_or_statement(line, node.function_span)} up"
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
        if "e" not in self.bindings:
            self.tree_lints.finish({a.name for a in self.arguments})
        self._check_outputs()

    def _typeof_targets(self) -> None:
        for of in self.typeofs:
            if of.id in self.implicit:
                if of.span.start < self.implicit[of.id].start:
                    self.implicit[of.id] = of.span
            elif of.id in CONSTANTS or of.id in BY_NAME:
                hint = f"write `cast<{of.id}>(...)`" if of.id in BY_NAME else "write the type itself"
                self.reporter.error("unknown-name", f"`{of.id}` is not an operand", of.span, hint=hint)
            else:
                hint = "name an input, a param, or a name that an earlier line assigns"
                self.reporter.error("unknown-name", f"`{of.id}` is not used anywhere else", of.span, hint=hint)

    def _with_use(self, argument: Argument) -> Argument:
        binding = self.bindings.get(argument.name)
        used = binding is None or binding.used or binding.updated is not None
        return Argument(argument.name, argument.role, argument.dtype, argument.span, used)

    def _lint_unused(self) -> None:
        for name, binding in self.bindings.items() if self.intact else ():
            if binding.used or binding.role not in ("input", "param", "let"):
                continue
            message = f"`{name}` is {WHAT[binding.role]} that nothing reads"
            hint = {
                "input": "it is still an argument of the call; remove the declaration if you do not need it",
                "param": "remove it",
                "let": f"remove it, or write `{name} = ...` to make it an output",
            }[binding.role]
            meant = self._misspelt(name)
            if meant is not None:
                line = self.source.line_of(self.implicit[meant].start)
                hint = f"is it misspelt in line {line}? `{meant}` is never assigned, so it is an input"
            self.reporter.lint(f"unused-{binding.role}", message, binding.span, hint=hint)

    def _misspelt(self, name: str) -> str | None:
        """An undeclared input that may be a misspelling of this unused name."""
        if len(self.reporter.diagnostics) > MAX_SHOWN:
            return None  # beyond what a report shows; the search is linear in the number of inputs
        return nearest(name, self.implicit)

    def _check_outputs(self) -> None:
        idle = [(n, b) for n, b in self.bindings.items() if b.role == "inout" and b.updated is None]
        if not self.intact:
            return
        for name, binding in idle:
            hint = f"write `{name} = ...`, or declare it as `input {name}`"
            self.reporter.error("inout-not-assigned", f"`{name}` is never assigned", binding.span, hint=hint)
        assigned = {one.name for one in self.tree.statements if isinstance(one, Assign)}
        lets = {name for name, binding in self.bindings.items() if binding.role == "let"}
        if not self.tree.statements:
            hint = "write what to compute: `out = a + b`"
            self.reporter.error("empty-program", "the program is empty", None, hint=hint)
        elif not self.outputs and not idle and assigned <= lets:
            last = self.tree.statements[-1]
            hint = "write what to compute: `out = ...`"
            if isinstance(last, Let):
                hint = f"a `let` is a temporary: write `{last.name} = ...` to return it"
            self.reporter.error(
                "no-output", "the program computes nothing: no line assigns an output", last.span, hint=hint
            )


def _read_by(statement: Assign) -> list[Expr]:
    """The expressions that an assignment reads."""
    at = [] if statement.at is None else children(statement.at)[1:]
    return [*at, statement.value, *([] if statement.condition is None else [statement.condition])]


def _text(source: Source, span: Span) -> str:
    return source.text[span.start : span.end]
