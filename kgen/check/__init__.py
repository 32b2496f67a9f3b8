"""Typing: a resolved program and the types of its arguments -> typed IR.

Errors are collected, and raised together after the last statement.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from kgen.argument_types import ArgType, ArrayArg, ScalarArg, WeakArg
from kgen.check.arranged import NotYetError
from kgen.check.casts import cast
from kgen.check.context import Context
from kgen.check.expressions import inline_prelude, lower, named, place_of
from kgen.check.limits import TooLarge, too_many_arguments
from kgen.check.scatters import scatter
from kgen.check.scope import Late, Scope, uses_place
from kgen.check.stored import fits, met, same_kind, stored_op
from kgen.check.stores import Stored, stores
from kgen.check.values import Deferred, Typed, Value
from kgen.diagnostics import Diagnostic, Reporter
from kgen.dtypes import DType, Kind
from kgen.ir.graph import Dim, Gather, Graph, IndexMap, Op, Operand, Role, Scatter, Shape
from kgen.ir.views import Bound, Computed, Cut, Item, Pick, Split, View
from kgen.program import Program
from kgen.records import dataclass
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
        if uses_place(self.program.defs, self.late, statement.value):
            then = {a.name: self.names[a.name] for a in self.program.arguments if a.role == "inout"}
            scope = replace(self._scope(None), names=ChainMap(then, self.names))
            self.late[statement.name] = Late(statement.value, scope, statement.name, len(self.late))
            return
        self.names[statement.name] = named(self.ctx, lower(self.ctx, self._scope(()), statement.value), statement.name)

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
        names = self.names
        if statement.name not in self.updated:
            names = {**names, statement.name: self._held(number, statement.name_span)}
        self.scatters += scatter(self.ctx, replace(self._scope(()), names=names), statement, number, value)

    def _held(self, number: int, span: Span) -> Typed:
        """What an output holds, for the index of what is written of it."""
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
        found = self.ctx.arrays.operands
        held = {n for n, op in enumerate(ops) if op.name in ("load", "gather") and _operand(op, found).role == "output"}
        ops = [*ops, *self.scatters]
        ops = _without(ops, held.union(self.ctx.arrays.arranged, self._without_operand(ops)))
        # Views come behind arrays, those of outputs behind the others, and buffers last.
        order = sorted(
            range(len(found)),
            key=lambda n: (found[n].role == "buffer", found[n].view is not None, found[n].role == "output"),
        )
        rename = _Renamer(self.ctx, {number: place for place, number in enumerate(order)})
        operands = tuple(rename.operand(found[number]) for number in order)
        return Graph(operands, tuple(self.ctx.scalars), tuple(rename.op(op) for op in ops), rename.derived())

    def _without_operand(self, ops: Sequence[Op]) -> set[int]:
        """Ops that nothing stored needs, with a dimension that only a merged or joined value had before its index."""
        find = self.ctx.dims.find
        known = {find(dim) for operand in self.ctx.arrays.operands for dim in operand.shape if dim != 1}
        needed: set[int] = set()
        for number in reversed(range(len(ops))):
            if ops[number].name == "store" or number in needed:
                needed.update((number, *ops[number].args))
        return {
            number
            for number, op in enumerate(ops)
            if number not in needed and not known.issuperset(find(dim) for dim in op.shape if dim != 1)
        }


def _operand(op: Op, operands: Sequence[Operand]) -> Operand:
    """What an op reads."""
    assert isinstance(op.attr, IndexMap | Gather)
    return operands[op.attr.operand]


def _without(ops: Sequence[Op], left_out: Container[int]) -> list[Op]:
    """The ops without some, and without all that is computed from these: no store is."""
    moved: dict[int, int] = {}
    found: list[Op] = []
    for number, op in enumerate(ops):
        if number not in left_out and all(a in moved for a in op.args):
            moved[number] = len(found)
            found.append(replace(op, args=tuple(moved[a] for a in op.args)))
    return found


class _Renamer:
    """Renames the merged dimension symbols n0, n1, ... in the order of the arguments, and numbers operands anew."""

    def __init__(self, ctx: Context, numbers: Mapping[int, int]) -> None:
        self.ctx = ctx
        self.numbers = numbers
        self.names: dict[str, str] = {}

    def dim(self, dim: Dim) -> Dim:
        if dim == 1:
            return 1
        root = self.ctx.dims.find(dim)
        return self.names.setdefault(root, f"n{len(self.names)}")

    def shape(self, shape: Shape) -> Shape:
        return tuple(self.dim(d) for d in shape)

    def operand(self, operand: Operand) -> Operand:
        view = operand.view and View(self.numbers[operand.view.of], tuple(map(self._item, operand.view.items)))
        return Operand(operand.name, operand.dtype, self.shape(operand.shape), operand.role, view)

    def _item(self, item: Item) -> Item:
        if isinstance(item, Pick):
            return Pick(self._bound(item.place))
        if isinstance(item, Split):
            return Split(self._bound(item.by), None if item.count is None else self._bound(item.count))
        start, stop = (None if b is None else self._bound(b) for b in (item.start, item.stop))
        return Cut(start, stop, item.step)

    def _bound(self, bound: Bound) -> Bound:
        if isinstance(bound, Computed):
            return Computed(bound.op, self._bound(bound.left), self._bound(bound.right))
        return bound if isinstance(bound, int) else self.dim(bound)

    def derived(self) -> tuple[tuple[str, Bound], ...]:
        """The dimensions of operands whose extents follow from others."""
        made = ((self.ctx.dims.find(symbol), bound) for symbol, bound in self.ctx.arrays.made.items())
        return tuple((self.names[root], self._bound(bound)) for root, bound in made if root in self.names)

    def op(self, op: Op) -> Op:
        attr = op.attr
        if op.name == "size" and isinstance(attr, str):
            attr = self.dim(attr)
        elif isinstance(attr, IndexMap):
            attr = IndexMap(self.numbers[attr.operand], attr.axes)
        elif isinstance(attr, Gather | Scatter):
            attr = replace(attr, operand=self.numbers[attr.operand])
        return Op(op.name, op.args, op.dtype, self.shape(op.shape), attr, op.label, op.span)
