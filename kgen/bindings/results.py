"""The shapes of a program's results, as its inputs give them."""

from __future__ import annotations

from collections.abc import Iterator

from kgen.diagnostics import error
from kgen.ir.graph import Dim
from kgen.launcher.interface import ArrayParameter, Interface
from kgen.lowering import Covered, Lowered
from kgen.records import dataclass
from kgen.spec import c_strides


@dataclass(frozen=True)
class Result:
    """An array that a binding allocates.  ``place``: among the arrays of the launcher.

    ``broadcast``: the places of the arrays that are broadcast to its shape; empty where ``extents`` has the shape.
    An extent is a number, or the place of an array and an axis of it.  Such a result is in C order.
    """

    place: int
    name: str
    broadcast: tuple[int, ...]
    extents: tuple[int | tuple[int, int], ...]


def results_of(lowered: Lowered | Covered, interface: Interface, abi: str) -> tuple[Result, ...]:
    """Raises :class:`~kgen.KgenError` (``no-binding``) where the shape or order of one follows from no array."""
    if isinstance(lowered, Covered):
        return tuple(_broadcast(lowered, interface, abi))
    if lowered.batch is not None:
        raise error("no-binding", f"--abi {abi} needs to know the rank of arrays", "give --shape, such as x=?x?")
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
) -> int | tuple[int, int]:
    if dim == 1 or dim not in lowered.sizes.assumed:
        return 1 if dim == 1 else lowered.sizes.extents[dim]
    for place, given in inputs:
        if dim in given.of.shape:
            return place, given.of.shape.index(dim)
    raise _unknown(array.name, abi)


def _unknown(name: str, abi: str) -> Exception:
    message = f"--abi {abi}: the shape of `{name}` follows from no array"
    return error("no-binding", message, "call the launcher, which takes results as arguments, or use --abi tvm-ffi")
