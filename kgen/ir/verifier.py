"""Checks that IR is well formed.  A complaint is a bug of kgen, never a user's mistake."""

from __future__ import annotations

from collections.abc import Callable

from kgen.dtypes import BOOL, INT32, INT64, DType, Kind
from kgen.ir.graph import (
    COMPLEX_KINDS,
    INTERNAL_KINDS,
    KINDS,
    CastMode,
    Gather,
    Graph,
    IndexMap,
    Op,
    Operand,
    Reduction,
    Scatter,
    Shape,
    combines,
    reduced_shape,
)
from kgen.ir.ops import OPS
from kgen.ir.printer import print_kernel
from kgen.records import dataclass

_KIND_LETTERS = {Kind.BOOL: "b", Kind.INT: "i", Kind.FLOAT: "f"}
_ROUNDINGS = ("rne", "rz", "ru", "rd")

#: Argument positions that have a dtype of their own instead of the common one.
_FIXED: dict[tuple[str, int], DType] = {
    ("where", 0): BOOL,
    ("jn", 0): INT32,
    ("yn", 0): INT32,
    ("ldexp", 1): INT32,
}


@dataclass(frozen=True, slots=True)
class Complaint:
    """A rule that op number ``op`` breaks (None: the kernel as a whole)."""

    op: int | None
    message: str

    def __str__(self) -> str:
        return self.message if self.op is None else f"%{self.op}: {self.message}"


class InvalidKernel(AssertionError):
    """IR that breaks a rule: a bug, shown with the IR and each complaint under its op."""

    def __init__(self, kernel: Graph, complaints: list[Complaint]) -> None:
        self.complaints = complaints
        notes: dict[int, list[str]] = {}
        for complaint in complaints:
            if complaint.op is not None:
                notes.setdefault(complaint.op, []).append(complaint.message)
        whole = [complaint.message for complaint in complaints if complaint.op is None]
        super().__init__("\n".join(["invalid IR (a bug in kgen)", *whole, print_kernel(kernel, notes)]))


def check(kernel: Graph) -> None:
    """Raise :class:`InvalidKernel` unless the IR is well formed."""
    complaints = verify(kernel)
    if complaints:
        raise InvalidKernel(kernel, complaints)


def broadcast(shapes: list[Shape]) -> Shape | None:
    """The common shape, aligned at the last axis; None where two dimensions are different symbols."""
    result: list[int | str] = [1] * max((len(shape) for shape in shapes), default=0)
    for shape in shapes:
        for axis in range(-len(shape), 0):
            if result[axis] == 1:
                result[axis] = shape[axis]
            elif shape[axis] not in (1, result[axis]):
                return None
    return tuple(1 if dim == 1 else str(dim) for dim in result)


def verify(kernel: Graph) -> list[Complaint]:
    """Every rule that the IR breaks, in op order."""
    return _Verifier(kernel).run()


class _Verifier:
    def __init__(self, kernel: Graph) -> None:
        self.kernel = kernel
        self.complaints: list[Complaint] = []
        self.number: int | None = None
        self.stored: dict[int, int] = {}
        known = [dim for operand in kernel.operands for dim in operand.shape if dim != 1]
        self.symbols = {str(dim) for dim in known}

    def complain(self, message: str) -> None:
        self.complaints.append(Complaint(self.number, message))

    def run(self) -> list[Complaint]:
        for number, op in enumerate(self.kernel.ops):
            self.number = number
            self._op(number, op)
        self.number = None
        written = {self.kernel.base(number) for number in self.stored}
        for position, operand in enumerate(self.kernel.operands):
            if operand.role not in ("input", "buffer") and operand.view is None and position not in written:
                self.complain(f"{operand.role} `{operand.name}` is never stored")
        arrays = [x.name for x in self.kernel.operands]
        # A weak scalar used in several dtypes is passed once in each, under one name.
        scalars = {x.name for x in self.kernel.scalars}
        repeated = {x.name for x in self.kernel.scalars if self.kernel.scalars.count(x) > 1}
        for name in sorted({name for name in arrays if arrays.count(name) > 1 or name in scalars} | repeated):
            self.complain(f"two arguments are called `{name}`")
        return self.complaints

    def _op(self, number: int, op: Op) -> None:
        row = OPS.get(op.name)
        if row is None:
            self.complain(f"no op is called `{op.name}`")
            return
        if row.arity not in (None, len(op.args)):
            self.complain(f"{op.name} takes {row.arity} arguments, not {len(op.args)}")
            return
        for argument in op.args:
            if not 0 <= argument < number:
                self.complain(f"argument %{argument} is not an earlier op")
                return
            if self.kernel.ops[argument].name == "store":
                self.complain(f"argument %{argument} is a store, which has no value")
                return
        for dim in op.shape:
            if dim != 1 and dim not in self.symbols:
                self.complain(f"no operand has the dimension `{dim}`")
        arguments = [self.kernel.ops[i] for i in op.args]
        self._dtypes(op, arguments)
        match op.name:
            case "load":
                self._access(op, stores=False)
            case "store":
                self._store(op, arguments[0], arguments[1:])
            case "reduce":
                self._reduce(op, arguments[0])
            case "expand":
                self._attribute(op, arguments)
                self._expand(op, arguments[0])
            case _:
                self._attribute(op, arguments)
                self._broadcast(op, arguments)

    def _dtypes(self, op: Op, arguments: list[Op]) -> None:
        row = OPS[op.name]
        common: DType | None = None
        for position, argument in enumerate(arguments[:1] if op.name == "store" else arguments):
            fixed = _FIXED.get((op.name, position))
            if fixed is not None:
                if argument.dtype is not fixed:
                    self.complain(f"argument {position} of {op.name} is {argument.dtype}, not {fixed}")
                continue
            if row.accepts != "*":
                letter = _KIND_LETTERS.get(argument.dtype.kind, "")
                if letter not in row.accepts or argument.dtype.is_narrow or not letter:
                    self.complain(f"{op.name} does not take {argument.dtype}")
            if common is not None and argument.dtype is not common:
                self.complain(f"{op.name} of {common} and {argument.dtype}: promotion is explicit casts")
            common = argument.dtype
        result = {"same": common, "bool": BOOL, "int32": INT32, "stated": None}[row.result]
        if result is not None and op.dtype is not result:
            self.complain(f"{op.name} gives {result}, not {op.dtype}")

    def _broadcast(self, op: Op, arguments: list[Op]) -> None:
        if op.name in ("index", "const", "scalar", "size"):
            return  # an index has the shape it counts; after folding, one element may stand for a whole array
        shape = broadcast([argument.shape for argument in arguments])
        if shape is None:
            self.complain(f"shapes {', '.join(str(list(x.shape)) for x in arguments)} do not broadcast")
        elif broadcast([shape, op.shape]) != op.shape:  # may be larger: folding leaves constants
            self.complain(f"arguments of shape {list(shape)} do not broadcast to {list(op.shape)}")

    def _attribute(self, op: Op, arguments: list[Op]) -> None:
        if op.name in _ATTRIBUTES:
            kind, rule = _ATTRIBUTES[op.name]
            if isinstance(op.attr, kind):
                rule(self, op, arguments)
            else:
                self.complain(f"{op.name} has the attribute {op.attr!r}")
        elif op.attr is not None:
            self.complain(f"{op.name} takes no attribute, not {op.attr!r}")
        self._conversion(op, arguments)

    def _const(self, op: Op, arguments: list[Op]) -> None:
        assert isinstance(op.attr, int)
        if op.dtype.is_narrow or op.dtype.is_complex:
            self.complain(f"no constants of {op.dtype}: write a cast")
        elif not 0 <= op.attr < (2 if op.dtype.is_bool else 1 << op.dtype.bits):
            self.complain(f"{op.attr:#x} is not a bit pattern of {op.dtype}")

    def _scalar(self, op: Op, arguments: list[Op]) -> None:
        assert isinstance(op.attr, int)
        if not 0 <= op.attr < len(self.kernel.scalars):
            self.complain(f"no scalar has the number {op.attr}")
        elif self.kernel.scalars[op.attr].dtype is not op.dtype:
            scalar = self.kernel.scalars[op.attr]
            self.complain(f"scalar `{scalar.name}` is {scalar.dtype}")

    def _index(self, op: Op, arguments: list[Op]) -> None:
        assert isinstance(op.attr, int)
        if not -len(op.shape) <= op.attr <= -1:
            self.complain(f"axis {op.attr} is not within the shape {list(op.shape)}, counted from the right")
        self._coordinate_dtype(op)

    def _size(self, op: Op, arguments: list[Op]) -> None:
        if op.attr not in self.symbols:
            self.complain(f"no operand has the dimension `{op.attr}`")
        self._coordinate_dtype(op)

    def _coordinate_dtype(self, op: Op) -> None:
        if op.dtype is not INT64 and op.dtype is not INT32:
            self.complain(f"{op.name} gives int64, or int32 where narrowed, not {op.dtype}")

    def _powi(self, op: Op, arguments: list[Op]) -> None:
        assert isinstance(op.attr, int)
        if not 0 <= op.attr <= 8:
            self.complain(f"powi multiplies out exponents from 0 to 8, not {op.attr}")

    def _cast(self, op: Op, arguments: list[Op]) -> None:
        assert isinstance(op.attr, CastMode)
        if op.attr.rounding not in _ROUNDINGS:
            self.complain(f"no rounding is called `{op.attr.rounding}`")
        if arguments[0].dtype.is_complex and not (op.dtype.is_complex or op.dtype.is_bool):
            self.complain(f"cast of {arguments[0].dtype} to {op.dtype}: take `real` first")

    def _gather(self, op: Op, arguments: list[Op]) -> None:
        assert isinstance(op.attr, Gather)
        self._places(op, op.attr.operand, arguments)

    def _places(self, op: Op, number: int, places: list[Op]) -> None:
        """Places of an operand."""
        if not 0 <= number < len(self.kernel.operands):
            self.complain(f"no operand has the number {number}")
            return
        operand = self.kernel.operands[number]
        is_stored = number in self.stored or number in map(self.kernel.base, self.stored)
        if operand.role == ("input" if op.name == "store" else "output") and not is_stored:
            self.complain(f"`{operand.name}` is an {operand.role}")
        if len(places) != len(operand.shape):
            self.complain(f"{len(places)} places for the {len(operand.shape)} axes of `{operand.name}`")
        if any(place.dtype is not INT64 for place in places):
            self.complain("places are int64")
        if op.dtype is not operand.dtype:
            self.complain(f"`{operand.name}` holds {operand.dtype}, not {op.dtype}")

    def _conversion(self, op: Op, arguments: list[Op]) -> None:
        """Ops that split or combine complex values, or reinterpret bits."""
        match op.name:
            case "bitcast" if arguments[0].dtype.size != op.dtype.size:
                self.complain(f"bitcast of {arguments[0].dtype} to {op.dtype}: the widths differ")
            case "complex" if not op.dtype.is_complex or arguments[0].dtype is not op.dtype.real:
                self.complain(f"complex of {arguments[0].dtype} parts does not give {op.dtype}")
            case "real" | "imag":
                if not arguments[0].dtype.is_complex:
                    self.complain(f"{op.name} of {arguments[0].dtype}, which is not complex")
                elif op.dtype is not arguments[0].dtype.real:
                    self.complain(f"{op.name} of {arguments[0].dtype} gives {arguments[0].dtype.real}, not {op.dtype}")

    def _access(self, op: Op, *, stores: bool) -> None:
        if not isinstance(op.attr, IndexMap):
            self.complain(f"{op.name} has the attribute {op.attr!r}, not an access")
            return
        if not 0 <= op.attr.operand < len(self.kernel.operands):
            self.complain(f"no operand has the number {op.attr.operand}")
            return
        operand, axes = self.kernel.operands[op.attr.operand], op.attr.axes
        if operand.role == ("input" if stores else "output"):
            self.complain(f"{op.name} of the {operand.role} `{operand.name}`")
        if operand.dtype is not op.dtype:
            self.complain(f"`{operand.name}` is {operand.dtype}, not {op.dtype}")
        is_new = operand.role != "buffer" and op.attr.operand in self.stored
        if self._axes(op, operand, axes) and not stores and is_new:
            self.complain(f"load of `{operand.name}` after its store: use the value that was stored")

    def _axes(self, op: Op, operand: Operand, axes: tuple[int | None, ...]) -> bool:
        """Whether the axes of an access exist, so that its other rules can be checked."""
        rank = len(operand.shape)
        if len(axes) != len(op.shape):
            self.complain(f"{len(axes)} axes for a value of rank {len(op.shape)}")
            return False
        used = [axis for axis in axes if axis is not None]
        if len(set(used)) != len(used) or not set(used) <= set(range(rank)):
            self.complain(f"axes {axes} of `{operand.name}`, which has {rank}: each may be used once")
            return False
        if any(dim != 1 for axis, dim in enumerate(operand.shape) if axis not in used):
            self.complain(f"`{operand.name}` has an axis of more than one element that the value does not use")
        shape = tuple(1 if axis is None else operand.shape[axis] for axis in axes)
        if shape != op.shape:
            self.complain(f"this access of `{operand.name}` has the shape {list(shape)}, not {list(op.shape)}")
        return True

    def _store(self, op: Op, value: Op, places: list[Op]) -> None:
        if isinstance(op.attr, Scatter):
            self._places(op, op.attr.operand, places)
            if not combines(op.attr.combine, op.dtype):
                self.complain(f"{op.attr.combine} at computed places is not for {op.dtype}")
        else:
            self._access(op, stores=True)
        if value.dtype is not op.dtype:
            self.complain(f"store of {value.dtype} as {op.dtype}: write a cast")
        if broadcast([value.shape, op.shape]) != op.shape:
            self.complain(f"a value of shape {list(value.shape)} does not broadcast to {list(op.shape)}")
        if isinstance(op.attr, IndexMap | Scatter) and self.number is not None:
            first = self.stored.setdefault(op.attr.operand, self.number)
            if first != self.number and not self._may_follow(self.kernel.ops[first], op):
                self.complain(f"%{first} already stores to this operand")

    def _may_follow(self, first: Op, op: Op) -> bool:
        """Whether a store may come after the first one to its operand: to computed places, in any order."""
        if not isinstance(op.attr, Scatter):
            return False
        if not isinstance(first.attr, Scatter):
            return True
        return first.attr == op.attr and (op.attr.combine != "set" or (op.span is not None and first.span == op.span))

    def _expand(self, op: Op, value: Op) -> None:
        moving = [[dim for dim in shape if dim != 1] for shape in (value.shape, op.shape)]
        if moving[0] != moving[1] or len(op.shape) < len(value.shape):
            self.complain(f"{list(value.shape)} and {list(op.shape)} differ in more than axes of size 1")

    def _reduce(self, op: Op, value: Op) -> None:
        if not isinstance(op.attr, Reduction):
            self.complain(f"reduce has the attribute {op.attr!r}")
            return
        kind, axes, rank = op.attr.kind, op.attr.axes, len(value.shape)
        if kind not in KINDS and kind not in INTERNAL_KINDS:
            self.complain(f"no reduction is called `{kind}`")
            return
        if any(not 0 <= axis < rank for axis in axes) or list(axes) != sorted(set(axes)):
            self.complain(f"axes {axes} are not ascending axes of a value of rank {rank}")
            return
        if kind in ("argmin", "argmax") and len(axes) not in (1, rank):
            self.complain(f"{kind} goes over one axis or over all")
        if op.attr.correction and kind not in ("var", "std"):
            self.complain(f"{kind} takes no correction")
        shape = reduced_shape(value.shape, op.attr)
        if shape != op.shape:
            self.complain(f"this reduction has the shape {list(shape)}, not {list(op.shape)}")
        self._reduced_dtype(op.dtype, value.dtype, kind)

    def _reduced_dtype(self, dtype: DType, source: DType, kind: str) -> None:
        if source.is_complex and kind not in COMPLEX_KINDS:
            self.complain(f"{kind} of complex values: reduce the parts")
            return
        match kind:
            case _ if source.is_complex:
                good = dtype is source
            case "argmin" | "argmax" | "count_nonzero":
                good = dtype is INT64
            case "any" | "all":
                good = dtype is BOOL
            case "min" | "max":
                good = dtype is source
            case "sum" | "prod":
                good = dtype.is_float or (dtype.is_int and not source.is_float)
            case _:
                good = dtype.is_float
        if not good:
            self.complain(f"{kind} of {source} does not give {dtype}")


#: Op -> the type of its attribute and the rule that checks its value; other ops have no attribute.
_ATTRIBUTES: dict[str, tuple[type, Callable[[_Verifier, Op, list[Op]], None]]] = {
    "const": (int, _Verifier._const),
    "scalar": (int, _Verifier._scalar),
    "index": (int, _Verifier._index),
    "size": (str, _Verifier._size),
    "powi": (int, _Verifier._powi),
    "cast": (CastMode, _Verifier._cast),
    "gather": (Gather, _Verifier._gather),
}
