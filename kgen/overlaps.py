"""Refuses kernels that would write what other threads, or later kernels, still read.

Of a call, any two arrays may share memory.  Files check that arrays do not when they are called, so there only parts of
one array may: ``inout p; p = flip(p, axis=0)``.
"""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from kgen.diagnostics import error
from kgen.lowering import Layouts, Specialised, allocate
from kgen.operands import Operands, Sizes
from kgen.partition.step import Step
from kgen.records import dataclass
from kgen.schedule.step_layout import Array, Extents, concrete, view

if TYPE_CHECKING:
    from kgen.layout.overlap import Region


class Overlaps:
    """``fresh``: operands that overlap no other.  ``is_one_pointer``: whether an operand that a kernel reads and writes
    counts as one that overlaps no other access."""

    __slots__ = ()
    specialised: Specialised
    extents: Extents
    fresh: frozenset[int]
    is_one_pointer = False

    def array_of(self, operand: int) -> Array:
        raise NotImplementedError

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

        array = self.array_of(operand)
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
                    met = met and not (self.is_one_pointer and one.operand == other.operand)
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
        a, b = self.array_of(step.accesses[i].operand), self.array_of(step.accesses[j].operand)
        if a.pointer != b.pointer or a.itemsize != b.itemsize or (step.accesses[i].writes and step.accesses[j].writes):
            return False
        first, second = view(step.accesses[i], a, shape).strides, view(step.accesses[j], b, shape).strides
        return all(s == t for s, t, n in zip(first, second, shape, strict=True) if n > 1)

    def _overlap(self, one: int, other: int) -> bool:
        if "buffer" in (self.specialised.graph.operands[o].role for o in (one, other)):
            return one == other
        from kgen.layout.overlap import Region

        a, b = (Region(x.pointer, x.shape, x.strides, x.itemsize) for x in map(self.array_of, (one, other)))
        return self.meet(a, b)

    def meet(self, one: Region, other: Region) -> bool:
        """Whether two arrays have a byte in common."""
        from kgen.layout.overlap import Overlap, overlap

        return overlap(one, other) is not Overlap.NONE

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


@dataclass(slots=True)
class _Apart(Overlaps):
    """Of arrays that share no memory; their views have addresses from the first element on."""

    specialised: Specialised
    extents: Extents
    fresh: frozenset[int]
    arrays: tuple[Array, ...]
    is_one_pointer = True

    def array_of(self, operand: int) -> Array:
        return self.arrays[operand]

    def _overlap(self, one: int, other: int) -> bool:
        base = self.specialised.graph.base
        return base(one) == base(other) and Overlaps._overlap(self, one, other)


def allocate_apart(cut: Specialised, sizes: Sizes, operands: Operands) -> Layouts:
    """The layouts that a call would allocate, of arrays that share no memory.

    Raises :class:`~kgen.KgenError` (``overlap``) where parts of one array do.
    """
    found = allocate(cut, sizes, operands)
    graph = cut.graph
    fresh = frozenset(n for n in range(len(graph.operands)) if graph.operands[graph.base(n)].role == "output")
    return Layouts(found.arrays, _Apart(cut, sizes.extents, fresh, found.arrays).check_overlap())
