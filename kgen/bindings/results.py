"""The shapes of a program's results, as its inputs give them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kgen.diagnostics import error
from kgen.ir.graph import Dim
from kgen.launcher.interface import ArrayParameter, Interface
from kgen.lowering import Covered, Lowered
from kgen.records import dataclass
from kgen.spec import c_strides


@dataclass(frozen=True)
class BatchDims:
    """Any number of dimensions: those of arrays, broadcast to each other, but the ``first`` and the ``last`` ones.
    ``places``: of these arrays."""

    places: tuple[int, ...]
    first: int
    last: int

    @property
    def bounds(self) -> str:
        """These dimensions of a shape, as a slice in Python."""
        return f"{self.first}:" + (f"-{self.last}" if self.last else "")


#: A number, or the place of an array and an axis of it, counted from the end where that is negative.
Known = int | tuple[int, int]


@dataclass(frozen=True)
class Result:
    """An array that a binding allocates.  ``place``: among the arrays of the launcher.

    ``broadcast``: the places of the arrays that are broadcast to its shape; empty where ``extents`` has the shape.
    Such a result is in C order.
    """

    place: int
    name: str
    broadcast: tuple[int, ...]
    extents: tuple[Known | BatchDims, ...]

    @property
    def around(self) -> tuple[tuple[Known, ...], BatchDims, tuple[Known, ...]] | None:
        """The extents before and behind a batch, and the batch; None where there is none."""
        for at, batch in enumerate(self.extents):
            if isinstance(batch, BatchDims):
                before, behind = self.extents[:at], self.extents[at + 1 :]
                return known(before), batch, known(behind)
        return None


def known(extents: tuple[Known | BatchDims, ...]) -> tuple[Known, ...]:
    """Those that are no batch."""
    return tuple(e for e in extents if not isinstance(e, BatchDims))


def results_of(lowered: Lowered | Covered, interface: Interface, abi: str) -> tuple[Result, ...]:
    """Raises :class:`~kgen.KgenError` (``no-binding``) where the shape or order of one follows from no array."""
    if isinstance(lowered, Covered):
        return tuple(_broadcast(lowered, interface, abi))
    return tuple(_shaped(lowered, interface, abi))


def _broadcast(lowered: Covered, interface: Interface, abi: str) -> Iterator[Result]:
    """As launchers check it: all results of a step have one shape, to which what the step reads is broadcast."""
    places = {a.operand: i for i, a in enumerate(interface.arrays)}
    outputs = {i for i, a in enumerate(interface.arrays) if a.of.role == "output"}
    found: dict[int, Result] = {}
    for step in lowered.specialised.steps:
        read = tuple(sorted({places[t.operand] for t in step.accesses} - outputs))
        for place in sorted({places[t.operand] for t in step.accesses if t.writes} & outputs):
            name = interface.arrays[place].name
            if not read:
                raise _unknown(name, abi)
            found[place] = Result(place, name, read, ())
    yield from (found[place] for place in sorted(found))


def _shaped(lowered: Lowered, interface: Interface, abi: str) -> Iterator[Result]:
    inputs = [(i, a) for i, a in enumerate(interface.arrays) if a.of.role != "output"]
    for place, array in enumerate(interface.arrays):
        if array.of.role == "output":
            if not inputs:
                raise _unknown(array.name, abi)
            laid = lowered.arrays[array.operand]
            if laid.strides != c_strides(laid.shape):
                message = f"--abi {abi}: `{array.name}` is not in C order, as its inputs are not"
                raise error("no-binding", message, "leave --strides out, or call the launcher")
            yield Result(place, array.name, (), tuple(_extent(d, lowered, inputs, array, abi) for d in array.of.shape))


def _extent(
    dim: Dim, lowered: Lowered, inputs: list[tuple[int, ArrayParameter]], array: ArrayParameter, abi: str
) -> Known | BatchDims:
    if dim == 1 or dim not in lowered.sizes.assumed:
        return 1 if dim == 1 else lowered.sizes.extents[dim]
    having = [(place, given.of.shape) for place, given in inputs if dim in given.of.shape]
    if not having:
        raise _unknown(array.name, abi)
    place, shape = having[0]
    axis, batch = shape.index(dim), None if lowered.batch is None else lowered.batch.dim
    if dim == batch:
        return BatchDims(tuple(place for place, _ in having), axis, len(shape) - axis - 1)
    behind = batch in shape and axis > shape.index(batch)
    return place, axis - len(shape) if behind else axis


def python_shape(result: Result, position: Callable[[int], int], library: str) -> str:
    """The extents of a result, as the Python file of a binding has them.  ``position``: of an array in ``arrays``."""

    def text(extent: Known | BatchDims) -> str:
        if isinstance(extent, BatchDims):
            shapes = [f"arrays[{position(place)}].shape" for place in extent.places]
            whole = shapes[0] if len(shapes) == 1 else f"{library}.broadcast_shapes({', '.join(shapes)})"
            return f"*{whole}[{extent.bounds}]"
        return str(extent) if isinstance(extent, int) else f"arrays[{position(extent[0])}].shape[{extent[1]}]"

    extents = list(map(text, result.extents))
    return f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"


def _unknown(name: str, abi: str) -> Exception:
    message = f"--abi {abi}: the shape of `{name}` follows from no array"
    return error("no-binding", message, "call the launcher, which takes results as arguments, or use --abi tvm-ffi")
