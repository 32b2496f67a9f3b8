"""The outputs of a call: checks those that the caller gives, allocates the others, and refuses overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from typing import TYPE_CHECKING, Any

from kgen.arrays import adapter_of
from kgen.call.arguments import ArrayValue, Value
from kgen.call.session import Session, check_writable
from kgen.diagnostics import error
from kgen.lowering import Layouts, Specialised
from kgen.operands import Operands, Sizes, check_output
from kgen.partition.step import Step
from kgen.program import Program
from kgen.records import dataclass
from kgen.schedule.step_layout import Array, Extents, allocated_strides, buffers, concrete, view
from kgen.spec import counted

if TYPE_CHECKING:
    from kgen.layout.overlap import Region


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
class Outputs:
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

    def check_overlap(self) -> tuple[tuple[bool, ...], ...]:
        """For each access of each step, whether its memory is also another access's; both are then the same view.

        Raises :class:`~kgen.KgenError` (``overlap``) with the operands that overlap in any other way.
        """
        graph = self.specialised.graph
        written = [
            (number, operand)
            for number, s in enumerate(self.specialised.steps)
            for operand in sorted(s.written)
            if graph.operands[operand].role != "buffer"
        ]
        for _, operand in written:
            if operand not in self.fresh and self._overlaps_itself(operand):
                name = graph.operands[operand].name
                raise error(
                    "overlap",
                    f"`{name}` is written to, and several of its elements are one place in memory",
                    "write to a copy, or to an array that is not broadcast",
                )
        return tuple(tuple(self._aliases(number, step)) for number, step in enumerate(self.specialised.steps))

    def _overlaps_itself(self, operand: int) -> bool:
        from kgen.layout.overlap import self_overlap

        array = self._caller_array(operand)
        return self_overlap(array.shape, array.strides)

    # branches: every pair of accesses, then every earlier kernel
    def _aliases(self, number: int, step: Step) -> list[bool]:
        shape = concrete(step.shape, self.extents)
        by_row = step.reads_by_row()
        aliased = [False] * len(step.accesses)
        earlier = {operand for s in self.specialised.steps[:number] for operand in s.written}
        for i, one in enumerate(step.accesses):
            for j, other in enumerate(step.accesses):
                if i != j and one.writes and (one.operand not in self.fresh or one.operand == other.operand):
                    met = one.operand == other.operand or self._overlap(one.operand, other.operand)
                    # If all threads of a row read an element that one of them writes, some may read it too late.
                    early = (other.operand, other.axes) in by_row
                    if met and (early or not self._same_elements(step, i, j, shape)):
                        raise self._overlap_error(one.operand, other.operand)
                    aliased[i] |= met
                    aliased[j] |= met
            for before in earlier - {one.operand} - self.fresh:
                if self._overlap(before, one.operand):
                    raise self._overwritten_too_early(before, one.operand)
        self._check_places(step, earlier)
        return aliased

    def _check_places(self, step: Step, earlier: Set[int]) -> None:
        """No thread writes to what others read at computed places, or at computed places to what others access."""
        graph = step.graph
        buffers = {number for number, operand in enumerate(graph.operands) if operand.role == "buffer"}
        for source in sorted(graph.gathered - buffers):
            for operand in sorted((step.written | earlier) - self.fresh):
                if operand == source or self._overlap(operand, source):
                    raise self._gather_error(operand, source)
        accessed = {t.operand for t in step.accesses}
        for target in sorted(graph.scattered - buffers):
            base = step.graph.base(target)
            others = {o for o in earlier | step.graph.scattered if step.graph.base(o) != base}  # those are in order
            for operand in sorted(accessed - {target} | others):
                if self._overlap(target, operand):
                    raise self._gather_error(target, operand)
            if target in accessed:
                raise self._gather_error(target, target)

    def _same_elements(self, step: Step, i: int, j: int, shape: tuple[int, ...]) -> bool:
        """Whether both accesses have the same element at every point: then each thread reads it before it writes."""
        a, b = self._caller_array(step.accesses[i].operand), self._caller_array(step.accesses[j].operand)
        if a.pointer != b.pointer or a.itemsize != b.itemsize or (step.accesses[i].writes and step.accesses[j].writes):
            return False
        first, second = view(step.accesses[i], a, shape).strides, view(step.accesses[j], b, shape).strides
        return all(s == t for s, t, n in zip(first, second, shape, strict=True) if n > 1)

    def _overlap(self, one: int, other: int) -> bool:
        if "buffer" in (self.specialised.graph.operands[o].role for o in (one, other)):
            return one == other
        from kgen.layout.overlap import Region

        a, b = (Region(x.pointer, x.shape, x.strides, x.itemsize) for x in map(self._caller_array, (one, other)))
        return self.meet(a, b)

    def meet(self, one: Region, other: Region) -> bool:
        """Whether two arrays have a byte in common."""
        from kgen.layout.overlap import Overlap, overlap

        return overlap(one, other) is not Overlap.NONE

    def _caller_array(self, operand: int) -> Array:
        """An operand at the caller's address: copies on the GPU of NumPy arrays never overlap, the arrays may."""
        return self.session.memory[self.specialised.graph.operands[operand].name]

    def _overwritten_too_early(self, written: int, read: int) -> Exception:
        names = [self._shown(o) for o in (written, read)]
        message = f"`{names[0]}` is written over `{names[1]}`, which a later kernel of this call still uses"
        return error("overlap", message, f"pass a copy of `{names[1]}`, or leave out= for `{names[0]}` away")

    def _gather_error(self, written: int, read: int) -> Exception:
        names = [self.specialised.graph.operands[o].name for o in (written, read)]
        message = f"`{names[0]}` is written to, and other threads access `{names[1]}` there at computed places"
        return error("overlap", message, f"pass a copy of `{names[1]}`")

    def _overlap_error(self, one: int, other: int) -> Exception:
        operands, names = self.specialised.graph.operands, [self._shown(o) for o in (one, other)]
        view = operands[other].view
        if one == other or (view is not None and view.of == one):
            at = "" if one == other else f", by `{names[1]}`"
            message = f"`{names[0]}` is updated in place and also read at other elements{at}"
            return error("overlap", message, f"make the result another array: `input {names[0]}`, and `out = ...`")
        message = f"`{names[0]}` is written to and overlaps `{names[1]}` without being the same view"
        return error("overlap", message, "pass a copy of one of them; exactly the same view would be fine")

    def _shown(self, operand: int) -> str:
        """An operand as programs write it."""
        graph = self.specialised.graph
        view = graph.operands[operand].view
        return graph.operands[operand].name if view is None else graph.show_view(view)

    def results(self) -> Any:
        """The result: one array, a tuple, or None for a kernel that only updates."""
        graph = self.specialised.graph
        results = [self.session.result(o.name) for o in graph.operands if o.role == "output" and o.view is None]
        return None if not results else results[0] if len(results) == 1 else tuple(results)
