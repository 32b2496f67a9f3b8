"""The names that a program defines: one meaning for each, and an error for a second one."""

from __future__ import annotations

from typing import Literal

from kgen.diagnostics import Reporter
from kgen.functions import CALL_KEYWORDS
from kgen.records import dataclass
from kgen.source import Source, Span
from kgen.syntax.tree import Assign, Combine, Def, Inout, Input, Let, Param, Statement

Role = Literal["input", "inout", "param", "let", "output", "def"]

WHAT: dict[Role, str] = {
    "input": "an input",
    "inout": "an inout argument",
    "param": "a param",
    "let": "a temporary",
    "output": "an output",
    "def": "a function",
}


@dataclass(slots=True)
class Binding:
    """The meaning of a name. ``position`` is the number of the statement that defines it."""

    role: Role
    span: Span
    position: int
    used: bool = False
    updated: Span | None = None  # where an inout is assigned, or another one first updated at computed places
    update_position: int = -1  # of a temporary: that of the last update
    scattered: Combine | None = None  # how it is assigned at computed places


class Bindings:
    """``names`` maps each name to its meaning; ``defs`` are the functions of the program."""

    def __init__(self, source: Source, reporter: Reporter) -> None:
        self.source = source
        self.reporter = reporter
        self.names: dict[str, Binding] = {}
        self.defs: dict[str, Def] = {}
        self.scatters = False  # whether elements of an array are assigned

    def add(self, position: int, statement: Statement) -> None:
        match statement:
            case Input(names=names):
                for declared in names:
                    self._bind(declared.name, "input", declared.span, position)
            case Inout(names=names):
                for declared in names:
                    self._bind(declared.name, "inout", declared.span, position)
            case Param(parameters=parameters):
                for one in parameters:
                    self._bind(one.name.name, "param", one.name.span, position)
            case Def():
                if self._bind(statement.name, "def", statement.name_span, position):
                    self.defs[statement.name] = statement
            case Let():
                self._bind(statement.name, "let", statement.name_span, position)
            case Assign(at=None):
                self._bind(statement.name, "output", statement.name_span, position)
            case Assign():
                self._scatter(position, statement)

    def _scatter(self, position: int, statement: Assign) -> None:
        """``name[items] = value``: of an inout argument, or of an output or a temporary that is assigned above."""
        name, old = statement.name, self.names.get(statement.name)
        self.scatters = True
        if old is None:
            message = f"`{name}` is no argument, so it has no elements to keep"
            hint = f"add the line `inout {name}`, which this updates at some places; or assign all of it above"
            self.reporter.error("assign-index", message, statement.name_span, hint=hint)
        elif old.scattered is not None:
            if old.scattered == "set" or statement.combine != old.scattered:
                self._updated_again(statement, old)
            elif old.role == "let":
                old.update_position = position
        else:
            if old.role in ("output", "let"):
                old.updated, old.update_position = statement.name_span, position
            elif old.role == "inout" and old.updated is not None:
                self._updated_again(statement, old)
            else:
                self._bind(name, "output", statement.name_span, position)
            old.scattered = statement.combine

    def _updated_again(self, statement: Assign, old: Binding) -> None:
        first = old.updated or old.span
        message = f"`{statement.name}` is already updated in line {self.source.line_of(first.start)}"
        hint = "several updates of an array are all `+=`, all `min=` or all `max=`"
        self.reporter.error("assigned-twice", message, statement.name_span, marks=[first], hint=hint)

    def _bind(self, name: str, role: Role, span: Span, position: int) -> bool:
        if role in ("input", "inout", "param") and name in CALL_KEYWORDS:
            self.call_keyword(name, role, span)
        old = self.names.get(name)
        if old is None:
            self.names[name] = Binding(role, span, position)
            return True
        if role == "output" and old.role == "inout" and old.updated is None:
            old.updated, old.update_position = span, position
            return False
        self._rebound(name, role, span, old)
        return False

    def call_keyword(self, name: str, role: Role, span: Span) -> None:
        self.reporter.error(
            "call-keyword",
            f"{WHAT[role]} cannot be called `{name}`: calls of the kernel take `{name}=`",
            span,
            hint=f"choose another name, such as `{name}_`",
        )

    def _rebound(self, name: str, role: Role, span: Span, old: Binding) -> None:
        report = self.reporter.error
        first = old.updated or old.span
        line = self.source.line_of(first.start)
        if role not in ("let", "output"):
            message = f"`{name}` is already {WHAT[old.role]} (line {line})"
            report("defined-twice", message, span, marks=[first], hint="define each name once")
        elif old.role == "input":
            hint = f"write `inout {name}` instead of `input {name}` to update it in place, or assign another name"
            report(
                "assign-input",
                f"`{name}` is an input (line {line}) and cannot be assigned",
                span,
                marks=[first],
                hint=hint,
            )
        elif old.role == "param":
            hint = "params are passed by value: give the result another name"
            report(
                "assign-param",
                f"`{name}` is a param (line {line}) and cannot be assigned",
                span,
                marks=[first],
                hint=hint,
            )
        elif old.role == "def":
            message = f"`{name}` is already a function (line {line})"
            report("defined-twice", message, span, marks=[first], hint="define each name once")
        else:
            what = "updated" if old.role == "inout" else "assigned"
            hint = f"choose another name; for an intermediate value write `let {name}_1 = ...`"
            if old.role == "inout" and role == "let":
                old.updated = old.updated or span  # report it once
                hint = f"an inout argument is assigned without `let`: `{name} = ...`"
                what = "declared"
            report("assigned-twice", f"`{name}` is already {what} in line {line}", span, marks=[first], hint=hint)
