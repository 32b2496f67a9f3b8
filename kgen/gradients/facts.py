"""What typing says of a program whose expressions each occur once: the dtype and shape of every node."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kgen.argument_types import ArgType
from kgen.check import check_nodes
from kgen.check.values import Literal, Typed, Value
from kgen.dtypes import DType, Kind
from kgen.ir.graph import Dim, Shape
from kgen.program import Program
from kgen.syntax.tree import Call, Expr, postorder
from kgen.syntax.trees import call, name, number


class Facts:
    """The types of one program for one set of argument types."""

    def __init__(self, program: Program, args: Mapping[str, ArgType]) -> None:
        self.program = program
        self._nodes = check_nodes(program, args)
        self.read: Callable[[Expr], Expr] = lambda node: node  # a node by its name

    def value(self, node: Expr) -> Value:
        return self._nodes.values[id(node)]

    def of(self, id: str) -> Value:
        """The value of an argument, param, let or output."""
        found = self._nodes.names[id]
        assert found is not None
        return found

    def known_shape(self, id: str) -> Shape | None:
        """The shape of an argument, param, let or output; None for other names."""
        found = self._nodes.names.get(id)
        return None if found is None else self.shape(found)

    def shape(self, value: Value) -> Shape:
        """Its shape; equal extents are one symbol."""
        dims = self._nodes.ctx.dims
        return tuple(1 if dim == 1 else dims.find(dim) for dim in value.shape)

    def show(self, shape: Shape) -> str:
        return self._nodes.ctx.dims.show(shape)

    def extent(self, dim: Dim) -> Expr:
        """The extent of a dimension: ``size(x, 1)`` of an argument or let that has it, else of a node."""
        names = [a.name for a in self.program.arguments] + [s.name for s in self.program.statements]
        for own in names:
            shape = self.shape(self.of(own))
            if dim in shape:
                return call("size", name(own), number(shape.index(dim)))
        nodes = (node for statement in self.program.statements for node in postorder(statement.value))
        node = next(node for node in nodes if dim in self.shape(self.value(node)))
        return call("size", self.read(node), number(self.shape(self.value(node)).index(dim)))

    def written_extent(self, dim: Dim) -> int | None:
        """The extent of a dimension that the text has, as that of the groups of a split."""
        found = self._nodes.ctx.arrays.bound(dim)
        return found if isinstance(found, int) else None

    def shaped(self, shape: Shape, dtype: DType | None = None) -> Expr | None:
        """An argument of this shape (and dtype), else a let; None where there is none."""
        names = [a.name for a in self.program.arguments] + [s.name for s in self.program.statements]
        values = ((id, self.of(id)) for id in names)
        fit = (id for id, v in values if self.shape(v) == shape and dtype in (None, dtype_of(v)))
        return next(map(name, fit), None)

    def place(self, node: Call) -> Expr | None:
        """``index(k)`` or ``size(k)`` of its place, written so that it is right at other places, too."""
        value = self.value(node)
        if not isinstance(value, Typed):
            return None
        op = self._nodes.ctx.builder.ops[value.id]
        if op.name == "index":
            return call("index", number(-len(value.shape)))
        if op.name == "size" and isinstance(op.attr, str):
            return self.extent(self._nodes.ctx.dims.find(op.attr))
        return number(0 if node.function == "index" else 1)


def dtype_of(value: Value) -> DType | None:
    """The dtype of a typed value; None for a weak one, which takes that of others."""
    return value.dtype if isinstance(value, Typed) else None


def kind_of(value: Value) -> Kind:
    return value.dtype.kind if isinstance(value, Typed) else value.kind


def literal_of(value: Value) -> bool | int | float | complex | None:
    return value.value if isinstance(value, Literal) else None
