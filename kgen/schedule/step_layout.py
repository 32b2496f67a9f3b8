"""Concrete extents and strides for a step: the memory that each access reaches at each point of the space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from kgen.ir.graph import Graph, IndexMap, Shape
from kgen.ir.views import View, evaluate, shape_of, strides_of
from kgen.layout.iterator import (
    IterationSpace,
    OperandLayout,
    beside,
    output_strides,
)
from kgen.partition.horizontal import HorizontalStep
from kgen.partition.step import Access, Step
from kgen.records import dataclass
from kgen.schedule.target import PORTABLE
from kgen.spec import c_strides

Extents = Mapping[str, int]  #: dimension symbol -> its extent


@dataclass(frozen=True, slots=True)
class Array:
    """An operand in memory: ``strides`` in elements, ``pointer`` a byte address (counted from the first element of the
    array where only metadata is known).  ``offset``: of a view, the elements from the first one of its base.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    pointer: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """An operand that a step reads or writes at computed places.  ``address``: modulo the size of the widest access."""

    operand: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    address: int


@dataclass(frozen=True, slots=True)
class Placed:
    """A step with concrete layouts; sequences have one entry per access."""

    shape: tuple[int, ...]
    space: IterationSpace
    layouts: tuple[OperandLayout, ...]  # of the accesses, over the iteration shape before merging
    itemsizes: tuple[int, ...]
    addresses: tuple[int, ...]  # modulo the size of the widest access
    offsets: tuple[int, ...]  # of views, from their bases
    aliased: tuple[bool, ...]
    reduced: int = 0  # how many of the first dimensions of the space are reduced
    sources: tuple[Source, ...] = ()
    parts: tuple[Placed, ...] = ()  # of a horizontal step

    @property
    def points(self) -> int:
        """Results to compute: one per element, or one per row, even where rows are empty."""
        if self.parts:
            return sum(part.points for part in self.parts)
        return prod(self.space.shape[self.reduced :])


def extents_of(kernel: Graph, shapes: Sequence[tuple[int | None, ...] | None]) -> dict[str, int] | None:
    """The extent of each dimension symbol, from the arrays' shapes; None where two arrays disagree.

    ``shapes``: one per operand; None for an output that is not given, for a view, and for extents that are not known.
    """
    found: dict[str, int] = {}
    all_shapes = list(shapes)
    for number, operand in enumerate(kernel.operands):
        try:
            if operand.view is not None and (base := all_shapes[operand.view.of]) is not None:
                all_shapes[number] = shape_of(operand.view, base, found)
        except IndexError:
            return None
        if not _bind(found, operand.shape, all_shapes[number]):
            return None
    if not all(_bind(found, (dim,), (evaluate(bound, found),)) for dim, bound in kernel.derived):
        return None
    return found if _bind_results(kernel, all_shapes, found) else None


def _bind_results(kernel: Graph, shapes: Sequence[tuple[int | None, ...] | None], found: dict[str, int]) -> bool:
    """Add the extents of views of outputs that are not given, where the extents of these are known."""
    for operand, shape in zip(kernel.operands, shapes, strict=True):
        if operand.view is not None and shape is None:
            base = tuple(1 if dim == 1 else found.get(dim) for dim in kernel.operands[operand.view.of].shape)
            try:
                own = None if None in base else shape_of(operand.view, base, found)
            except IndexError:
                return False
            if not _bind(found, operand.shape, own):
                return False
    return True


def _bind(found: dict[str, int], dims: Shape, shape: tuple[int | None, ...] | None) -> bool:
    """Add extents that are known; False where one is another already."""
    pairs = zip(dims, shape, strict=True) if shape is not None else ()
    return all(extent is None or dim == 1 or found.setdefault(dim, extent) == extent for dim, extent in pairs)


def sliced(view: View, base: Array, extents: Extents) -> Array:
    """The array that a view is.  ``extents``: of every dimension."""
    strides, offset = strides_of(view, base.shape, base.strides, extents)
    shape = shape_of(view, base.shape, extents)
    return Array(shape, strides, base.itemsize, base.pointer + offset * base.itemsize, offset)


def concrete(shape: Shape, extents: Extents) -> tuple[int, ...]:
    return tuple(1 if dim == 1 else extents[dim] for dim in shape)


def view(access: Access, array: Array, shape: tuple[int, ...]) -> OperandLayout:
    """The operand as an access sees it: its strides over the iteration shape, 0 where it is broadcast."""
    rank, depth = len(shape), len(access.axes)
    strides = [0] * rank
    own = [1] * rank
    for i, axis in enumerate(access.axes):
        if axis is not None:
            place = rank - depth + i
            own[place] = array.shape[axis]
            strides[place] = array.strides[axis] if array.shape[axis] != 1 or shape[place] == 1 else 0
    return OperandLayout(tuple(own), tuple(strides))


def allocated_strides(kernel: Graph, operand: int, arrays: Sequence[Array | None], extents: Extents) -> tuple[int, ...]:
    """The strides of an output that kgen allocates: TensorIterator's rule, applied to the operands that it depends on.

    ``kernel``: the whole program, so that the strides do not depend on how it is cut.
    """
    stores = (op for op in kernel.stores if isinstance(op.attr, IndexMap) and op.attr.operand == operand)
    store = next(stores, None)
    if store is None:  # its parts are stored
        return c_strides(concrete(kernel.operands[operand].shape, extents))
    shape = concrete(store.shape, extents)
    reachable: set[int] = set()
    stack = list(store.args)
    while stack:
        number = stack.pop()
        if number not in reachable:
            reachable.add(number)
            if kernel.ops[number].name not in ("reduce", "expand"):
                stack.extend(kernel.ops[number].args)
    loads = {(a.operand, a.axes) for n in reachable if isinstance(a := kernel.ops[n].attr, IndexMap)}
    inputs: list[OperandLayout] = []
    for source, axes in sorted((one for one in loads if one[0] not in kernel.stored_buffers), key=lambda pair: pair[0]):
        array = arrays[source]
        assert array is not None
        inputs.append(view(Access(source, axes, True, False), array, shape))
    # The result of a reduction counts as contiguous, whether or not it is in memory, and comes after the arrays.
    for number in sorted(reachable):
        if kernel.ops[number].name in ("reduce", "expand"):
            own = concrete(kernel.ops[number].shape, extents)
            inputs.append(OperandLayout(own, c_strides(own)))
    return output_strides(shape, inputs)


def with_views(kernel: Graph, arrays: Sequence[Array | None], extents: Extents) -> list[Array | None]:
    """The arrays with the views of outputs, which are known once these are allocated."""
    found = list(arrays)
    for number, operand in enumerate(kernel.operands):
        base = None if operand.view is None else found[operand.view.of]
        if operand.view is not None and base is not None:
            found[number] = sliced(operand.view, base, extents)
    return found


def buffers(kernel: Graph, extents: Extents) -> dict[int, Array]:
    """The buffers between the kernels of a program, by operand: contiguous and aligned."""
    found: dict[int, Array] = {}
    for number, operand in enumerate(kernel.operands):
        if operand.role == "buffer":
            shape = concrete(operand.shape, extents)
            found[number] = Array(shape, c_strides(shape), operand.dtype.size)
    return found


def place(step: Step, arrays: Sequence[Array], extents: Extents, aliased: Sequence[bool]) -> Placed:
    """Lay a step out over its operands.  ``arrays``: one for each operand of the program that the step accesses."""
    if isinstance(step, HorizontalStep):
        return _place_horizontal(step, arrays, extents, aliased)
    shape = concrete(step.shape, extents)
    accessed = [arrays[t.operand] for t in step.accesses]
    layouts = tuple(view(t, a, shape) for t, a in zip(step.accesses, accessed, strict=True))
    space, reduced = step.space(shape, layouts)
    return Placed(
        shape,
        space,
        layouts,
        tuple(a.itemsize for a in accessed),
        tuple(a.pointer % PORTABLE.vector_bytes for a in accessed),
        tuple(a.offset for a in accessed),
        tuple(aliased),
        reduced,
        tuple(_source(number, arrays[number]) for number in sorted(step.graph.gathered | step.graph.scattered)),
    )


def _place_horizontal(
    step: HorizontalStep, arrays: Sequence[Array], extents: Extents, aliased: Sequence[bool]
) -> Placed:
    parts: list[Placed] = []
    first = 0
    for part in step.parts:
        last = first + len(part.accesses)
        parts.append(place(part, arrays, extents, aliased[first:last]))
        first = last
    shape = concrete(step.shape, extents)
    return Placed(
        shape,
        beside([part.space for part in parts]),
        tuple(view(t, arrays[t.operand], shape) for t in step.accesses),
        tuple(size for part in parts for size in part.itemsizes),
        tuple(address for part in parts for address in part.addresses),
        tuple(offset for part in parts for offset in part.offsets),
        tuple(aliased),
        sources=tuple(source for part in parts for source in part.sources),
        parts=tuple(parts),
    )


def _source(number: int, array: Array) -> Source:
    return Source(number, array.shape, array.strides, array.itemsize, array.pointer % PORTABLE.vector_bytes)
