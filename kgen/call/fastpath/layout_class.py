"""The class of an observed call's layouts: all for which lowering takes the same decisions.

Lowering runs again on traced extents, strides and addresses.  What it compares becomes guards, and what a launch needs
(grids, element counts, layout structs, extents and strides of outputs) becomes expressions over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from kgen import pipeline
from kgen.call.arguments import ArrayValue
from kgen.call.fastpath.codegen import ObservedCall
from kgen.call.outputs import Outputs
from kgen.codegen.kernels import Entry
from kgen.diagnostics import KgenError
from kgen.layout.iterator import IterationSpace
from kgen.layout.overlap import Region, byte_range
from kgen.lowering import Layouts, Lowered, Specialised
from kgen.operands import Argument, ArrayOperand, Operands, Sizes
from kgen.partition.reduction_step import ReductionStep
from kgen.records import dataclass
from kgen.runtime.launcher import Launcher
from kgen.runtime.parameters import Place
from kgen.schedule.launch import CLUSTERS, Rule
from kgen.schedule.trace import Guard, Trace, computed

#: The number of a kernel, an offset in the parameters, and the nodes that are packed there in a format of ``struct``.
Values = tuple[int, int, str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Input:
    """A number that a call provides: an array's address, or an extent or stride of it (in elements)."""

    array: str
    what: str  # "pointer", "shape" or "strides"
    dimension: int = 0


@dataclass(frozen=True, slots=True)
class LayoutClass:
    """``guards`` of ``trace``'s nodes hold for every layout of the class; the rest are numbers of nodes.

    ``inputs``: in the order of the trace.  ``fresh``: the extents and strides of each output that a call allocates.
    ``grids``: the blocks of each kernel.  ``views``: the address of each view; ``bases``: by view, the output that the
    call allocates, where its address counts from that.  ``keys``: on whose values times were predicted; without
    reductions, the bits of results do not depend on the kernel, and sizes within a factor of 4 are alike.  ``known``:
    those for which the decision is this one; it grows while calls use it.
    """

    trace: Trace
    inputs: tuple[Input, ...]
    guards: tuple[Guard, ...]
    fresh: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    grids: tuple[tuple[int, int, int], ...]
    values: tuple[Values, ...]
    views: tuple[int, ...]
    bases: Mapping[int, int]
    keys: tuple[int, ...]
    known: set[tuple[int, ...]]

    def used(self) -> Iterator[int]:
        """The nodes that guards and launches need, as often as they do."""
        for _, one, other in self.guards:
            yield from (one, other)
        for group in (
            self.views,
            self.keys,
            *self.grids,
            *(part for sizes in self.fresh for part in sizes),
            *(v[-1] for v in self.values),
        ):
            yield from group

    def form(self, number: Callable[[object], int]) -> object:
        """What classes share that differ in known keys only.  ``number``: of a computation, the same in all classes."""
        of: list[int] = []
        for operation, one, other in self.trace.nodes:
            leaf = operation in ("input", "constant")
            node = (operation, one, other) if leaf else (operation, of[one], of[other])
            of.append(number(node))

        def mapped(nodes: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(of[n] for n in nodes)

        guards = frozenset((relation, *_ordered(relation, of[one], of[other])) for relation, one, other in self.guards)
        values = tuple((kernel, offset, form, mapped(nodes)) for kernel, offset, form, nodes in self.values)
        fresh = tuple((mapped(extents), mapped(strides)) for extents, strides in self.fresh)
        views = mapped(self.views), tuple(self.bases.items())
        return self.inputs, guards, fresh, tuple(map(mapped, self.grids)), values, views, mapped(self.keys)


def _ordered(relation: str, one: int, other: int) -> tuple[int, int]:
    return (one, other) if relation in ("<", "<=") or one < other else (other, one)


def layout_class(call: ObservedCall) -> LayoutClass | None:
    """The class of a call's layouts, for which its launcher has room; None where kernels have nothing to do."""
    launcher = call.launcher
    if len(launcher.entries) != len(call.lowered.steps):
        return None
    traced = _TracedCall(call)
    try:
        lowered = traced.lower()
    except (KgenError, _NoClassError):  # the traced arrays overlap otherwise than the observed ones
        return None
    if lowered is None or tuple(s.schedule for s in lowered.steps) != call.lowered.schedules:
        return None
    trace, number = traced.trace, traced.trace.number
    launches = [
        _launch(trace, entry.rule, lowered.steps[entry.step].placed.space, launcher.clusters(kernel))
        for kernel, entry in enumerate(launcher.entries)
    ]
    for room in launcher.rooms:
        names = lowered.sizes.extents if room.kernel is None else launches[room.kernel].names
        trace.check("<=", computed(trace, room.needed, names), room.size)
    grids = [(number(x), number(y), number(z)) for x, y, z in (launch.grid for launch in launches)]
    values = tuple(_values(trace, launcher, lowered, launches))
    made, views, keys = _fresh(call, lowered, trace), _views(lowered, trace), _keys(lowered, trace)
    return LayoutClass(
        trace, tuple(traced.inputs), trace.conditions(), made, tuple(grids), values, views, _bases(call), tuple(keys),
        {tuple(keys.values())},
    )  # fmt: skip


def _keys(lowered: Lowered, trace: Trace) -> Mapping[int, int]:
    reduces = any(isinstance(s.step, ReductionStep) for s in lowered.steps)
    return trace.keys or {} if reduces else trace.rough_keys()


def _bases(call: ObservedCall) -> Mapping[int, int]:
    return {number: view.base for number, view in enumerate(call.views) if call.operands[view.base].fresh}


def _fresh(call: ObservedCall, lowered: Lowered, trace: Trace) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    fresh = {o.name for o in call.operands if o.fresh}
    operands = zip(lowered.specialised.graph.operands, lowered.arrays, strict=True)
    found = (a for o, a in operands if o.name in fresh)
    return tuple((tuple(map(trace.number, a.shape)), tuple(map(trace.number, a.strides))) for a in found)


def _views(lowered: Lowered, trace: Trace) -> tuple[int, ...]:
    """Their addresses; outputs that the call allocates are at 0 in the trace."""
    operands = zip(lowered.specialised.graph.operands, lowered.arrays, strict=True)
    return tuple(trace.number(a.pointer) for o, a in operands if o.view is not None)


def _values(trace: Trace, launcher: Launcher, lowered: Lowered, launches: Sequence[_Launch]) -> Iterator[Values]:
    for kernel, (entry, places) in enumerate(zip(launcher.entries, launcher.places(), strict=True)):
        for place in places:
            form, found = _placed(place, entry, lowered, launches[kernel])
            yield kernel, place.offset, form, tuple(map(trace.number, found))


def _placed(place: Place, entry: Entry, lowered: Lowered, launch: _Launch) -> tuple[str, tuple[Any, ...]]:
    """What is packed at a place of the parameters, and its format."""
    match place.kind:
        case "n":
            return "<I" if entry.schedule.count_bits == 32 else "<q", (launch.n,)
        case "layout":
            return entry.rule.packer.format, launch.fields
        case "size":
            return "<Q", (lowered.sizes.extents[str(place.key)],)
        case "shape":
            array = lowered.arrays[int(place.key)]
            return f"<{2 * len(array.shape)}q", (*array.shape, *array.strides)


class _NoClassError(Exception):
    """A decision has more guards than are worth comparing in every call."""


def _no_class(*_: object) -> Specialised:
    """Instead of a variant with copies: to compare it with others takes hundreds of guards."""
    raise _NoClassError


class _TracedCall:
    """The arrays of a call as traced numbers."""

    def __init__(self, call: ObservedCall) -> None:
        self.call = call
        self.trace = Trace(keys={})
        self.inputs: list[Input] = []
        given = [v for v in call.values.values() if isinstance(v, ArrayValue)]
        self.arrays = {v.name: self._operand(v) for v in (*given, *(o for o in call.outs if o is not None))}

    def _operand(self, value: ArrayValue) -> ArrayOperand:
        assert value.adapter is not None
        spec = value.spec
        shape = tuple(self._input(value.name, "shape", i, n) for i, n in enumerate(spec.shape))
        strides = tuple(self._input(value.name, "strides", i, s) for i, s in enumerate(spec.strides))
        pointer = self._input(value.name, "pointer", 0, value.adapter.pointer(value.array))
        self.trace.check("<", 0, pointer)
        for n in shape:
            self.trace.check("<=", 1, n)  # a call without elements launches nothing
        self.trace.check("==", pointer % spec.dtype.size, 0)
        return ArrayOperand(spec.dtype, shape, strides, pointer)

    def _input(self, array: str, what: str, dimension: int, value: int) -> Any:
        self.inputs.append(Input(array, what, dimension))
        return self.trace.input(value)

    def lower(self) -> Lowered | None:
        call = self.call
        arguments: Mapping[str, Argument] = {
            n: self.arrays[n] if isinstance(v, ArrayValue) else v.type for n, v in call.values.items()
        }
        outputs = {o.name: self.arrays[o.name] for o in call.outs if o is not None}
        has_arrays = any(isinstance(v, ArrayValue) for v in call.values.values())
        shape = () if has_arrays else next(iter(outputs.values())).shape
        lowering = call.engine.lowering
        choose = partial(pipeline.choose_variant, prepared=_no_class)
        stages = pipeline.Stages(lowering.specialise, choose, self._allocate, pipeline.decide)
        lowered = pipeline.run_stages(
            stages, call.engine.program, Operands(arguments, outputs, shape), call.lowered.target
        )
        return lowered if lowered.specialised is call.lowered.specialised else None

    def _allocate(self, cut: Specialised, sizes: Sizes, operands: Operands) -> Layouts:
        """The layouts that a call allocates; its overlap checks, on traced addresses."""
        arrays = pipeline.allocate(cut, sizes, operands).arrays
        memory = {o.name: a for o, a in zip(cut.graph.operands, arrays, strict=True)}
        session: Any = SimpleNamespace(memory=memory)
        outputs = _TracedOutputs(self.call.values, self.call.outs, session)
        outputs.trace = self.trace
        outputs.specialised, outputs.extents, outputs.arrays = cut, sizes.extents, arrays
        outputs.fresh = frozenset(
            n
            for n, o in enumerate(cut.graph.operands)
            if o.role == "output" and cut.graph.operands[cut.graph.base(n)].name not in self.arrays
        )
        return Layouts(arrays, outputs.check_overlap())


class _TracedOutputs(Outputs):
    """Its overlap checks on traced addresses."""

    trace: Trace

    def meet(self, one: Region, other: Region) -> bool:
        """Which of two arrays is first in memory is no guard: either order will do."""
        (start, end, _), (first, last, _) = byte_range(one), byte_range(other)
        between: bool = self.trace.apply("min", end - first, last - start) <= 0
        return not between and super().meet(one, other)


@dataclass(frozen=True, slots=True)
class _Launch:
    """As :class:`~kgen.schedule.launch.Launch`, of traced numbers.

    ``fields``: the values of the layout struct; ``names``: what the rule's expressions use.
    """

    grid: tuple[Any, ...]
    n: Any
    fields: tuple[Any, ...]
    names: Mapping[str, Any]


def _launch(trace: Trace, rule: Rule, space: IterationSpace, clusters: int) -> _Launch:
    names: dict[str, Any] = {"shape": space.shape, "strides": space.strides, CLUSTERS.of: clusters}
    for name, value in rule.lets:
        names[name] = computed(trace, value, names)
    grid = tuple(computed(trace, side, names) for side in rule.grid)
    fields = tuple(computed(trace, v, names) for f in rule.struct for v in f.values)
    return _Launch(grid, computed(trace, rule.n, names), fields, names)
