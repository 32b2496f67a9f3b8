"""The kernels of a file with extents that it leaves open (``?``), and the conditions under which each is chosen.

Lowering runs on traced extents and addresses (:mod:`kgen.schedule.trace`).  What it compares are the conditions under
which it takes the same decisions, so each run gives a class of extents.  Sample extents that are in no class give more
classes, and with these more kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import product
from math import prod
from typing import Any

from kgen import pipeline
from kgen.ir.graph import Graph, Operand
from kgen.lowering import Layouts, Lowered
from kgen.operands import Operands, Sizes
from kgen.records import dataclass, replace
from kgen.schedule.schedule import AccessSchedule, Schedule
from kgen.schedule.step_layout import Array, concrete, extents_of, sliced
from kgen.schedule.trace import Guard, Trace, Traced

#: An address that is aligned to all that kernels ask for.
ALIGNED = 256

#: Extents to try: powers of two and odd ones between them, and more than 2^31 elements.
SAMPLES = (1, 2, 3, *(n for k in range(2, 31) for n in (1 << k, (3 << k) // 2 + 1)), (1 << 31) + 8)

_MOST_ELEMENTS = 1 << 36  #: of all dimensions together
_MOST_KERNELS = 32
_MOST_TRIES = 20000


@dataclass(frozen=True, eq=False)
class ExtentClass:
    """``inputs``: what the numbers of ``trace`` are computed from: open extents, then ``<array>_address`` of arrays,
    and ``<array>_apart`` of those whose rows may lie anywhere apart.

    ``extents``: of every dimension, traced where it is open.
    """

    trace: Trace
    inputs: tuple[str, ...]
    extents: Mapping[str, Any]
    lowered: Lowered

    def has(self, values: tuple[int, ...], *, dense: bool = False) -> bool:
        """Whether extents are in this class, with arrays at aligned addresses.  ``dense``: as :func:`_rows_apart`."""
        extents = {**self.lowered.sizes.extents, **dict(zip(self.inputs, values, strict=False))}
        apart = _rows_apart(self.lowered, extents, dense=dense)
        return self.trace.holds((*values, *(apart.get(name, ALIGNED) for name in self.inputs[len(values) :])))


def extent_classes(lowered: Lowered, operands: Operands) -> tuple[ExtentClass, ...]:
    """The class of the extents that were assumed, and those of samples."""
    first = _extent_class(lowered, operands, {}, dense=True)
    assert first is not None
    found, likely, dims = [first], [first], open_dims(lowered)
    for values, dense in _samples(lowered, dims):
        known = next((one for one in likely if one.has(values, dense=dense)), None)
        if known is not None:
            likely.remove(known)
            likely.insert(0, known)  # the next sample is mostly of the same class
            continue
        one = _extent_class(lowered, operands, dict(zip(dims, values, strict=True)), dense=dense)
        if one is not None and len(set(_kernels([*found, one]))) <= _MOST_KERNELS:
            found.append(one)
            likely.insert(0, one)
    return tuple(found)


def _samples(lowered: Lowered, dims: Sequence[str]) -> Iterator[tuple[tuple[int, ...], bool]]:
    """Extents of these dimensions to try, and whether rows that may lie anywhere apart are dense.

    Dense rows of odd lengths begin alike in all arrays, so these have kernels of their own, ahead of others.
    """
    if not dims:
        return
    step = next(n for n in range(1, len(SAMPLES) + 1) if len(SAMPLES[::n]) ** len(dims) <= _MOST_TRIES)
    # With rows anywhere apart, one row is a case of several.
    least = {} if lowered.batch is None or not lowered.batch.apart else {lowered.batch.dim: 2}
    for values in product(*([n for n in SAMPLES[::step] if n >= least.get(dim, 1)] for dim in dims)):
        if prod(values) <= _MOST_ELEMENTS:
            extents = {**lowered.sizes.extents, **dict(zip(dims, values, strict=True))}
            widths = _rows_apart(lowered, extents, dense=True).values()
            yield from [(values, True)] if any(width > 1 and width % 2 for width in widths) else []
            yield values, False


def kernels_of(classes: tuple[ExtentClass, ...]) -> list[tuple[int, Schedule]]:
    """The step and schedule of each kernel of a file, those of the first class first."""
    return list(dict.fromkeys(_kernels(list(classes))))


def open_dims(lowered: Lowered) -> list[str]:
    """The extents that are not known, without those that follow from others, as the extents of views do."""
    operands = lowered.specialised.graph.operands
    given = {dim for o in operands if _is_given(o) for dim in o.shape}
    views = {dim for o in operands if o.view is not None for dim in o.shape}
    derived = {dim for dim, _ in lowered.specialised.graph.derived}
    return sorted(lowered.sizes.assumed - ((views | derived) - given))


def _is_given(operand: Operand) -> bool:
    """Whether an array gives its extents: an argument, not a result or a part of another."""
    return operand.view is None and operand.role in ("input", "inout")


def address_name(operand: str) -> str:
    return f"{operand}_address"


def apart_name(operand: str) -> str:
    return f"{operand}_apart"


def _rows_apart(lowered: Lowered, extents: Mapping[str, int], *, dense: bool) -> dict[str, int]:
    """How far apart rows are assumed to be, as far as it is open: ``dense``, or as aligned as dense rows are, and none
    like another.  By the names of these numbers."""
    if lowered.batch is None:
        return {}
    shapes = {o.name: o.shape for o in lowered.specialised.graph.operands}
    return {
        apart_name(name): (1 if dense else 2 * n + 3) * concrete(shapes[name], extents)[-1]
        for n, name in enumerate(lowered.batch.apart)
    }


def _take_any_distance(trace: Trace, apart: set[int], rows: int) -> None:
    """Leaves out that rows are not at a certain distance, and more than one: kernels for such rows take those, too."""

    def is_needless(guard: Guard) -> bool:
        relation, one, other = guard
        if relation == "!=":
            return bool((apart | {rows}) & (trace.inputs_of(one) | trace.inputs_of(other)))
        return relation == "<" and trace.nodes[one][:2] == ("constant", 1) and trace.nodes[other][:2] == ("input", rows)

    trace.drop(is_needless)


def _kernels(classes: list[ExtentClass]) -> Iterator[tuple[int, Schedule]]:
    for one in classes:
        for step in one.lowered.steps:
            yield step.number, step.schedule


def _extent_class(
    lowered: Lowered, operands: Operands, values: Mapping[str, int], *, dense: bool
) -> ExtentClass | None:
    """``values``: of open extents; by default those that were assumed.  ``dense``: as :func:`_rows_apart`.

    None where views do not fit each other.
    """
    trace, inputs = Trace(), list[str]()

    def number(name: str, value: int) -> Any:
        inputs.append(name)
        return trace.input(value)

    whole, sizes = lowered.specialised, lowered.sizes
    given = {d: number(d, values.get(d, sizes.extents[d])) for d in open_dims(lowered)}
    for n in given.values():
        trace.check("<=", 1, n)
    extents = {d: given.get(d, n) for d, n in sizes.extents.items()}
    if any(o.view is not None for o in whole.graph.operands):
        shapes = [concrete(o.shape, extents) if _is_given(o) else None for o in whole.graph.operands]
        found_extents = extents_of(whole.graph, shapes)
        if found_extents is None:
            return None
        extents = found_extents
    traced = Sizes(extents, sizes.assumed)
    found, aliased = pipeline.allocate(whole, traced, operands), tuple(s.placed.aliased for s in lowered.steps)
    apart = _rows_apart(lowered, {**sizes.extents, **values}, dense=dense)
    arrays = _arrays(whole.graph, found.arrays, extents, number, apart)
    decided = pipeline.decide(whole, traced, Layouts(arrays, aliased), lowered.target)
    if lowered.batch is not None and apart:
        _take_any_distance(trace, {inputs.index(name) for name in apart}, inputs.index(lowered.batch.dim))
    steps = tuple(replace(s, schedule=_plain(s.schedule)) for s in decided.steps)
    return ExtentClass(trace, tuple(inputs), extents, replace(decided, steps=steps, batch=lowered.batch))


def _arrays(
    graph: Graph,
    allocated: Sequence[Array],
    extents: Mapping[str, Any],
    number: Callable[[str, int], Any],
    apart: Mapping[str, int],
) -> tuple[Array, ...]:
    """Arrays at traced addresses.  ``number``: makes a named input of the trace.  ``apart``: as :func:`_rows_apart`."""
    found: list[Array] = []
    for operand, array in zip(graph.operands, allocated, strict=True):
        if operand.view is not None:
            array = sliced(operand.view, found[operand.view.of], extents)
        elif operand.role != "buffer":
            array = replace(array, pointer=number(address_name(operand.name), ALIGNED))
        if (name := apart_name(operand.name)) in apart:
            array = replace(array, strides=(number(name, apart[name]), *array.strides[1:]))
        found.append(array)
    return tuple(found)


def _plain(value: Any) -> Any:
    """A schedule without traced numbers, which then are the class's only values."""
    if isinstance(value, Traced):
        return int(value)
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, Schedule | AccessSchedule):
        return replace(value, **{f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.name != "target"})
    return value
