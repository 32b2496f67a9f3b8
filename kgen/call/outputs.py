"""The outputs of a call: checks those that the caller gives, and allocates the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from kgen.arrays import adapter_of
from kgen.call.arguments import ArrayValue, Value
from kgen.call.session import Session, check_writable
from kgen.diagnostics import error
from kgen.lowering import Layouts, Specialised
from kgen.operands import Operands, Sizes, check_output
from kgen.overlaps import Overlaps
from kgen.program import Program
from kgen.records import dataclass
from kgen.schedule.step_layout import Array, Extents, allocated_strides, buffers, concrete
from kgen.spec import counted


def given_outputs(program: Program, out: Any) -> tuple[ArrayValue | None, ...]:
    """``out=`` as one entry for each output.

    Raises :class:`~kgen.KgenError` where it has another length (``bad-out``) or is no array that can be written to.
    """
    names = [o.name for o in program.outputs]
    if out is None:
        return (None,) * len(names)
    given = tuple(out) if isinstance(out, tuple | list) else (out,)
    if len(given) != len(names):
        raise error(
            "bad-out",
            f"out= has {counted(len(given), 'array')} for {counted(len(names), 'output')}",
            f"pass a tuple for ({', '.join(names)}); None entries are allocated",
        )
    return tuple(None if o is None else _given(n, o) for n, o in zip(names, given, strict=True))


def _given(name: str, array: Any) -> ArrayValue:
    adapter = adapter_of(array)
    if adapter is None:
        raise error(
            "not-an-array", f"out= for `{name}`: it is of type {type(array).__name__}, no array", "pass an array"
        )
    normal = adapter.normalise(array)
    value = ArrayValue(name, normal, adapter.spec(normal), adapter, adapter.device(normal), array)
    check_writable(value)
    return value


@dataclass(slots=True)
class Outputs(Overlaps):
    """The memory of one call's operands, and the results.

    ``arrays``: every operand in memory, outputs included; ``fresh``: those that the call allocated.
    """

    values: Mapping[str, Value]
    outs: Sequence[ArrayValue | None]
    session: Session
    specialised: Specialised = field(init=False)
    extents: Extents = field(init=False)
    arrays: tuple[Array, ...] = ()
    fresh: frozenset[int] = frozenset()

    def allocate(self, cut: Specialised, sizes: Sizes, operands: Operands) -> Layouts:
        """Check the given outputs and allocate the others, in the layout that TensorIterator would choose.

        Raises :class:`~kgen.KgenError`, also (``overlap``) for an output that overlaps another operand.
        """
        self.specialised, self.extents = cut, sizes.extents
        arrays = self.session.inputs(cut, self.values, sizes.extents)
        self._complete(arrays, buffers(cut.graph, sizes.extents))
        return Layouts(self.arrays, self.check_overlap())

    def _complete(self, arrays: Sequence[Array | None], between: Mapping[int, Array]) -> None:
        graph = self.specialised.graph
        full = [between.get(n, a) for n, a in enumerate(arrays)]
        # The layout follows the caller's arrays, which copies on the device need not share.
        memory = self.session.memory
        caller_arrays = [None if a is None else memory[o.name] for o, a in zip(graph.operands, arrays, strict=True)]
        by_name = {o.name: o for o in self.outs if o is not None}
        fresh: set[int] = set()
        for number in {graph.base(t.operand): None for step in self.specialised.steps for t in step.accesses}:
            operand = graph.operands[number]
            if operand.role != "output" or full[number] is not None:
                continue
            shape = concrete(operand.shape, self.extents)
            given = by_name.get(operand.name)
            if given is not None:
                check_output(given.name, given.spec.shape, shape)
                full[number] = self.session.given(given)
            else:
                strides = allocated_strides(graph, number, caller_arrays, self.extents)
                full[number] = self.session.allocate(operand.name, shape, strides, operand.dtype)
                fresh.add(number)
        self._add_views(full, fresh)
        self.arrays, self.fresh = tuple(a for a in full if a is not None), frozenset(fresh)

    def _add_views(self, arrays: list[Array | None], fresh: set[int]) -> None:
        """Add the views of outputs."""
        graph = self.specialised.graph
        for number, operand in enumerate(graph.operands):
            base = None if operand.view is None else arrays[operand.view.of]
            if arrays[number] is None and base is not None:
                arrays[number] = self.session.view(graph.operands, operand, base, self.extents)
                fresh |= {number} if graph.base(number) in fresh else set()
            assert arrays[number] is not None

    def array_of(self, operand: int) -> Array:
        """An operand at the caller's address: copies on the GPU of NumPy arrays never overlap, the arrays may."""
        return self.session.memory[self.specialised.graph.operands[operand].name]

    def results(self) -> Any:
        """The result: one array, a tuple, or None for a kernel that only updates."""
        graph = self.specialised.graph
        results = [self.session.result(o.name) for o in graph.operands if o.role == "output" and o.view is None]
        return None if not results else results[0] if len(results) == 1 else tuple(results)
