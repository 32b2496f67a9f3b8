"""Builds a kernel op by op, giving equal ops one number (value numbering by hashing)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kgen.dtypes import BOOL, INT32, INT64, DType
from kgen.ir.graph import Attr, Dim, Op, Shape, to_bits
from kgen.ir.ops import OPS
from kgen.source import Span


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The broadcast shape of shapes that are known to fit."""
    rank = max(map(len, shapes), default=0)
    out: list[Dim] = [1] * rank
    for shape in shapes:
        for axis, dim in enumerate(shape, rank - len(shape)):
            if dim != 1:
                out[axis] = dim
    return tuple(out)


class Builder:
    """Appends ops.  Equal ops get one number, except ``store``, the only op with an effect."""

    def __init__(self) -> None:
        self.site: Span | None = None  # while a call is inlined, or an op replaced: its span, which new ops get
        self.ops: list[Op] = []
        self._numbers: dict[Op, int] = {}

    def add(self, op: Op) -> int:
        """The number of ``op``, or of an equal one that is already there; a store is always added."""
        if op.name == "store":
            self.ops.append(op)
            return len(self.ops) - 1
        number = self._numbers.setdefault(op, len(self.ops))
        if number == len(self.ops):
            self.ops.append(op)
        return number

    def forget(self, numbers: Iterable[int]) -> None:
        """Add ops anew that are equal to these: they read memory that was stored to since."""
        for number in numbers:
            self._numbers.pop(self.ops[number], None)

    def op(
        self,
        name: str,
        args: Sequence[int],
        *,
        dtype: DType | None = None,
        shape: Shape | None = None,
        attr: Attr = None,
        span: Span | None = None,
    ) -> int:
        """An op. Without ``dtype`` its row in ``OPS`` gives it, and without ``shape`` its arguments' broadcast."""
        if dtype is None:
            dtype = self._result(name, args)
        if shape is None:
            shape = broadcast([self.ops[a].shape for a in args])
        return self.add(Op(name, tuple(args), dtype, shape, attr, span=self.site or span))

    def const(self, value: bool | int | float, dtype: DType) -> int:
        """A constant of bool, an integer, float32 or float64."""
        return self.add(Op("const", (), dtype, (), to_bits(value, dtype)))

    def size(self, dim: Dim) -> int:
        """The extent of a dimension, an int64."""
        return self.const(1, INT64) if dim == 1 else self.op("size", (), dtype=INT64, shape=(), attr=dim)

    def number(self, shape: Shape) -> int:
        """The number of an element in C order, an int64."""
        found = self.const(0, INT64)
        for axis, dim in enumerate(shape):
            if dim != 1:
                right = axis - len(shape)
                ones: list[Dim] = [1] * (-right - 1)
                along = self.op("index", (), dtype=INT64, shape=(dim, *ones), attr=right)
                found = self.op("add", (self.op("mul", (found, self.size(dim))), along))
        return found

    def _result(self, name: str, args: Sequence[int]) -> DType:
        match OPS[name].result:
            case "bool":
                return BOOL
            case "int32":
                return INT32
            case "same" | "stated":
                # `ldexp` takes its dtype from its first argument, every other op from its last.
                return self.ops[args[0] if name == "ldexp" else args[-1]].dtype
