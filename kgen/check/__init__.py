"""Typing: a resolved program and the types of its arguments -> typed IR.

Errors are collected, and raised together after the last statement.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence

from kgen.argument_types import ArgType, ArrayArg, ScalarArg, WeakArg
from kgen.check.arranged import NotYetError
from kgen.check.casts import cast
from kgen.check.context import Context
from kgen.check.expressions import inline_prelude, lower, named, place_of
from kgen.check.finished import finished
from kgen.check.limits import TooLarge, too_many_arguments
from kgen.check.memory import Memory, filled, updated, updates
from kgen.check.scope import Late, Scope, uses_place
from kgen.check.stored import fits, met, same_kind, stored_op
from kgen.check.stores import Stored, stores
from kgen.check.values import Deferred, Typed, Value
from kgen.diagnostics import Diagnostic, Reporter
from kgen.dtypes import DType, Kind
from kgen.ir.graph import Graph, IndexMap, Op, Operand, Role, Shape
from kgen.program import Program
from kgen.records import dataclass, replace
from kgen.source import Span
from kgen.syntax.tree import Assign, Cast, Expr, Let

__all__ = ["Checked", "Nodes", "check", "check_nodes"]


@dataclass(frozen=True, slots=True)
class Checked:
    """``kernel.operands`` are the array arguments in call order, then the outputs in order of assignment."""

    kernel: Graph
    lints: tuple[Diagnostic, ...]


def check(
    program: Program,
    args: Mapping[str, ArgType],
    *,
    shape: Sequence[int | None] = (),
    out_dtypes: Mapping[str, DType] | None = None,
) -> Checked:
    """The typed IR of ``program`` for arguments of these dtypes and shapes.

    ``args`` has an entry for every argument and parameter.  ``shape`` is the iteration shape of a program without
    array arguments.  ``out_dtypes`` are the dtypes of arrays given with ``out=``.

    Raises :class:`~kgen.KgenError` with every dtype, shape and cast error of the program.
    """
    return _Checker(program, args, shape, out_dtypes or {}).run()


@dataclass(frozen=True, slots=True)
class Nodes:
    """A program after typing: the value of each node of its tree, by id, and what values refer to.

    ``names``: of each argument, param, let and output.  ``numbers``: the operand of each array.
    """

    values: Mapping[int, Value]
    names: Mapping[str, Value | None]
    numbers: Mapping[str, int]
    ctx: Context


def check_nodes(program: Program, args: Mapping[str, ArgType], shape: Sequence[int | None] = ()) -> Nodes:
    """The types of all that a program computes, for transformations of its tree; raises what :func:`check` raises.

    A node of the tree that is lowered several times has the value of the last.
    """
    checker = _Checker(program, args, shape, {})
    checker.run()
    return Nodes(checker.ctx.nodes, checker.names, checker.numbers, checker.ctx)


class _Checker:
    """The statements of one program, in order."""

    def __init__(
        self,
        program: Program,
        args: Mapping[str, ArgType],
        shape: Sequence[int | None],
        out_dtypes: Mapping[str, DType],
    ) -> None:
        self.program = program
        self.args = args
        self.out_dtypes = out_dtypes
        self.reporter = Reporter(program.source)
        self.ctx = Context(self.reporter, inline_prelude)
        self.ctx.arrays.names |= {a.name for a in program.arguments} | {p.name for p in program.parameters}
        self.ctx.arrays.names |= {o.name for o in program.outputs}
        self.names: dict[str, Value | None] = {}
        # Lets that read index() or size() are lowered at each use, with the inout arguments of the let's own line.
        self.late: dict[str, Late] = {}
        self.numbers: dict[str, int] = {}  # operand name -> number
        self.no_arrays = not any(isinstance(a, ArrayArg) for a in args.values())
        self.shape: Shape = tuple(self.ctx.dims.fresh(n) for n in shape) if self.no_arrays else ()
        self.stores: list[tuple[Stored, Span]] = []
        self.scatters: list[Op] = []
        self.updates = updates(program)
        self.memories: dict[str, Memory] = {}
        self.unused_reads: set[int] = set()  # reads that are not part of the program
        self.updated = frozenset(a.name for a in program.arguments if a.role == "inout")
        self.declared = {o.name: o.dtype for o in program.outputs}

    def run(self) -> Checked:
        problem = too_many_arguments(self.program)
        if problem is not None:
            self.reporter.error("too-many-parameters", problem, None, hint="split the program into several")
            self.reporter.raise_errors()
        for argument in self.program.arguments:
            self._argument(argument.name, argument.role, argument.dtype, argument.span)
        for parameter in self.program.parameters:
            self._argument(parameter.name, "input", parameter.dtype, parameter.span)
        for statement in self.program.statements:
            try:
                self._statement(statement)
            except TooLarge as problem:
                message = f"the program is too large: {problem}"
                hint = "split it into several; a let is computed once, a def at each call"
                self.reporter.error("program-too-large", message, statement.name_span, hint=hint)
                break
        self.reporter.raise_errors()
        return Checked(self._finish(), self.program.lints + self.reporter.lints)

    # --- arguments --------------------------------------------------------------------------------

    def _argument(self, name: str, role: Role, declared: DType | None, span: Span) -> None:
        given = self.args[name]
        if role == "inout" and not isinstance(given, ArrayArg):
            message = f"`{name}` is updated in place, so it cannot be a Python scalar"
            self.reporter.error("not-an-array", message, span, hint="pass an array")
            self.names[name] = None
            return
        match given:
            case ArrayArg():
                if declared is not None and declared is not given.dtype:
                    self.reporter.error(
                        "dtype-mismatch",
                        f"`{name}` is declared {declared} and the array is {given.dtype}",
                        span,
                        hint=f"pass a {declared} array, or drop the declared dtype",
                    )
                    self.names[name] = None
                    return
                shape = tuple(self.ctx.dims.fresh(n) for n in given.shape)
                self.names[name] = self._load(name, given.dtype, shape, role, span)
            case ScalarArg():
                self.names[name] = self.ctx.scalar(name, given.dtype, given.dtype, span)
            case WeakArg():
                self.names[name] = self._weak(name, given.kind, declared, span)

    def _load(self, name: str, dtype: DType, shape: Shape, role: Role, span: Span) -> Typed:
        self.numbers[name] = self.ctx.arrays.add(Operand(name, dtype, shape, role))
        access = IndexMap(self.numbers[name], tuple(range(len(shape))))
        number = self.ctx.builder.op("load", (), dtype=dtype, shape=shape, attr=access, span=span)
        return self.ctx.unpack(number, dtype, shape, span)

    def _weak(self, name: str, kind: Kind, declared: DType | None, span: Span) -> Value | None:
        if declared is None:
            return Deferred(kind, lambda dtype, _: self.ctx.scalar(name, dtype.compute, dtype, span), span)
        if kind > declared.kind:
            self.reporter.error(
                "dtype-mismatch", f"`{name}` is declared {declared} and the value is {kind.name.lower()}", span,
                hint=f"pass a value that {declared} holds",
            )  # fmt: skip
            return None
        return self.ctx.scalar(name, declared, declared, span)

    # --- statements -------------------------------------------------------------------------------

    def _statement(self, statement: Let | Assign) -> None:
        if isinstance(statement, Let):
            self._let(statement)
        else:
            self._assign(statement)

    def _let(self, statement: Let) -> None:
        if statement.name in self.updates:
            self._memory(statement)
        elif uses_place(self.program.defs, self.late, statement.value):
            then = {a.name: self.names[a.name] for a in self.program.arguments if a.role == "inout"}
            scope = replace(self._scope(None), names=ChainMap(then, self.names))
            self.late[statement.name] = Late(statement.value, scope, statement.name, len(self.late))
        else:
            value = lower(self.ctx, self._scope(()), statement.value)
            self.names[statement.name] = named(self.ctx, value, statement.name)

    def _memory(self, statement: Let) -> None:
        """A temporary that is updated at computed places."""
        self.names[statement.name] = None
        value = self._right_hand_side(statement.value)
        typed = None if value is None else self.ctx.typed(value)
        count = self.updates[statement.name]
        memory = None if typed is None else filled(self.ctx, statement, typed, count)
        if memory is not None:
            self.memories[statement.name] = memory
            self.numbers[statement.name] = memory.operand

    def _assign(self, statement: Assign) -> None:
        value = self._right_hand_side(statement.value)
        if value is None:
            self.names[statement.name] = None
        elif statement.at is not None:
            self._scatter(statement, value)
        elif statement.name not in self.updated:
            self._output(statement, value)
        elif statement.name in self.numbers:  # else the argument has an error
            self._update(statement, value)

    def _right_hand_side(self, root: Expr) -> Value | None:
        scope = self._scope(())
        if not uses_place(self.program.defs, self.late, root):
            return lower(self.ctx, scope, root)
        place = place_of(self.ctx, scope, root)
        return None if place is None else lower(self.ctx, replace(scope, place=place or self.shape), root)

    def _scope(self, place: Shape | None) -> Scope:
        return Scope(self.names, self.program.defs, place, late=self.late)

    def _output(self, statement: Assign, value: Value) -> None:
        declared = self.declared[statement.name]
        typed = self.ctx.typed(value, met(value, self.out_dtypes.get(statement.name)))
        if typed is not None and declared is not None:
            typed = self._declared(statement, value, declared)
        if typed is None:
            self.names[statement.name] = None
            return
        dtype = self.out_dtypes.get(statement.name, typed.dtype)
        if not same_kind(self.ctx, typed.dtype, dtype, f"out= for `{statement.name}`", statement):
            self.names[statement.name] = None
            return
        shape = typed.shape if not self.no_arrays else self.shape
        self._store(statement, typed, dtype, shape, "output")

    def _declared(self, statement: Assign, value: Value, dtype: DType) -> Typed | None:
        """``out: half = x`` casts as ``cast<half>(x)`` would."""
        assert statement.type is not None
        node = Cast(span=statement.value.span, type=statement.type, saturate=False, mode=None, operand=statement.value)
        return cast(self.ctx, self._scope(()), node, value)

    def _update(self, statement: Assign, value: Value) -> None:
        operand = self.ctx.arrays.operands[self.numbers[statement.name]]
        typed = self.ctx.typed(value, met(value, operand.dtype))
        if typed is None:
            return
        joined = self.ctx.dims.broadcast(operand.shape, typed.shape)
        if isinstance(joined, int) or not fits(operand.shape, typed.shape, joined):
            own, new = self.ctx.dims.show(operand.shape), self.ctx.dims.show(typed.shape)
            self.ctx.error(
                "inout-shape",
                f"`{statement.name}` is {own} and its new value is {new}",
                statement.name_span,
                marks=(statement.value.span,),
                hint="an inout argument has the shape of its statement; it is never broadcast",
            )
            return
        if not same_kind(self.ctx, typed.dtype, operand.dtype, f"`{statement.name}`", statement):
            return
        self._store(statement, typed, operand.dtype, operand.shape, "inout")

    def _scatter(self, statement: Assign, value: Value) -> None:
        """``name[items] = value if condition``."""
        number = self.numbers.get(statement.name)
        if number is None:
            return  # the argument or the output has an error
        from kgen.check.scatters import scatter

        names, memory = self.names, self.memories.get(statement.name)
        if statement.name not in self.updated:
            names = {**names, statement.name: self._held(number, statement.name_span)}
        found = scatter(self.ctx, replace(self._scope(()), names=names), statement, number, value)
        if memory is None:
            self.scatters += found
            return
        self.unused_reads |= updated(self.ctx, memory, found)
        if not memory.left:
            now = replace(self._held(number, statement.name_span), dtype=memory.dtype)
            self.names[statement.name] = named(self.ctx, now, statement.name)

    def _held(self, number: int, span: Span) -> Typed:
        """What an output holds, or a temporary that is updated, for the index of what is written of it."""
        operand = self.ctx.arrays.operands[number]
        access = IndexMap(number, tuple(range(len(operand.shape))))
        load = self.ctx.builder.op("load", (), dtype=operand.dtype, shape=operand.shape, attr=access, span=span)
        return self.ctx.unpack(load, operand.dtype, operand.shape, span)

    def _store(self, statement: Assign, value: Typed, dtype: DType, shape: Shape, role: Role) -> None:
        span = statement.value.span
        number = stored_op(self.ctx, value, dtype, span)
        if role == "output":
            self.numbers[statement.name] = self.ctx.arrays.add(Operand(statement.name, dtype, shape, "output"))
        whole = Stored(self.numbers[statement.name], number, shape)
        try:
            found = stores(self.ctx, whole, role)
        except NotYetError as problem:
            self.ctx.error("not-yet", str(problem), span, hint=NotYetError.hint)
            self.names[statement.name] = None
            return
        self.stores += [(one, statement.span) for one in found]
        self.names[statement.name] = named(self.ctx, self.ctx.unpack(number, dtype, shape, span), statement.name)

    # --- the kernel -------------------------------------------------------------------------------

    def _finish(self) -> Graph:
        ops = list(self.ctx.builder.ops)
        for one, span in self.stores:
            access = IndexMap(one.operand, tuple(range(len(one.shape))))
            dtype = self.ctx.arrays.operands[one.operand].dtype
            ops.append(Op("store", (one.value,), dtype, one.shape, access, span=span))
        return finished(self.ctx, [*ops, *self.scatters], self.unused_reads)
