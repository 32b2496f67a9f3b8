"""kgen's TensorIterator: the iteration space of some operands.

Three steps, with exactly PyTorch's rules (aten/src/ATen/TensorIterator.cpp: ``compute_fast_setup_type``,
``reorder_dimensions``, ``allocate_or_resize_outputs``, ``coalesce_dimensions``):

1. order the logical axes, fastest first: the first operand with different strides decides each pair;
2. lay an allocated output out densely in that order (:func:`output_strides`);
3. merge neighbouring axes that every operand traverses with one stride (:func:`iteration_space`).

Strides are in elements; PyTorch's are in bytes, but every rule compares strides of one operand only.

One addition: PyTorch has no negative strides, but NumPy does.  Axes are ordered by the magnitude of their strides, and
the space keeps the sign, so an operand's pointer is the address of its logical element (0, ..., 0).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from kgen.layout.dense import (
    CHANNELS_LAST,
    Ints,
    channels_last_strides,
    is_channels_last,
    is_contiguous,
    is_dense,
)
from kgen.records import dataclass
from kgen.spec import c_strides

__all__ = [
    "IterationSpace", "OperandLayout", "beside", "broadcast_strides", "iteration_space",
    "output_strides",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class OperandLayout:
    """The layout of a caller's operand: its logical shape, and its strides in elements (may be negative or 0)."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class IterationSpace:
    """What a kernel loops over: dimension 0 is the fastest.

    ``shape`` is never empty: a 0-d space is ``(1,)``.  ``strides[operand][dim]`` are in elements, operands in the order
    given.  ``axes[dim]`` are the logical axes merged into that dimension, slowest first; each logical axis is in one.
    """

    shape: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    axes: tuple[tuple[int, ...], ...]

    @property
    def numel(self) -> int:
        return prod(self.shape)

    def dim_of(self, axis: int) -> int:
        """The dimension that holds a logical axis; for a kept axis, its coordinate is that dimension's."""
        return next(dim for dim, axes in enumerate(self.axes) if axis in axes)

    def elements_of(self, operand: int) -> int:
        """How many different elements of an operand the loop reaches, where these do not overlap."""
        return prod(n for n, s in zip(self.shape, self.strides[operand], strict=True) if s)

    def with_first(self, dims: Sequence[int]) -> IterationSpace:
        """The space with these dimensions first, then the others as they were."""
        order = [*dims, *(d for d in range(len(self.shape)) if d not in dims)]
        strides = tuple(tuple(own[d] for d in order) for own in self.strides)
        return IterationSpace(tuple(self.shape[d] for d in order), strides, tuple(self.axes[d] for d in order))


def iteration_space(
    shape: tuple[int, ...],
    operands: Sequence[OperandLayout],
    *,
    keep: frozenset[int] = frozenset(),
    linear: bool = False,
) -> IterationSpace:
    """The coalesced space of a kernel over ``shape``.

    ``operands``: outputs first, then inputs, each of a shape that broadcasts to ``shape``.  An allocated output comes
    with its :func:`output_strides`, which are dense in the order of the inputs and so select the same order.
    ``keep``: logical axes whose coordinate is read.  Such an axis is merged with axes of size 1 only.
    ``linear``: iterate in C order whatever the strides (PyTorch's ``enforce_linear_iteration``).
    """
    dense = _fast_setup(shape, operands, linear)
    if dense is not None and not keep:
        # Every operand is dense in this order, so there is nothing to compare.  Empty arrays are handled here too.
        return IterationSpace((prod(shape),), ((1,),) * len(operands), (dense.order[::-1],))
    strides = [broadcast_strides(shape, operand) for operand in operands]
    if dense is not None:
        order = dense.order
    elif linear:
        order = _c_order(shape)
    else:
        order = _fastest_first(shape, strides)
    return _coalesce(shape, strides, order, keep)


def beside(spaces: Sequence[IterationSpace]) -> IterationSpace:
    """Several spaces as one: their dimensions one after the other, along which the operands of others do not vary."""
    strides: list[tuple[int, ...]] = []
    before, behind = 0, sum(len(space.shape) for space in spaces)
    for space in spaces:
        behind -= len(space.shape)
        strides += [(0,) * before + own + (0,) * behind for own in space.strides]
        before += len(space.shape)
    shape = tuple(extent for space in spaces for extent in space.shape)
    return IterationSpace(shape, tuple(strides), tuple(axes for space in spaces for axes in space.axes))


def output_strides(shape: tuple[int, ...], inputs: Sequence[OperandLayout]) -> tuple[int, ...]:
    """The strides, in elements, of an output that kgen allocates.

    ``inputs`` in operand order, after outputs that the caller gives.  The result is dense in the order of
    :func:`iteration_space`.  Negative strides count as positive.  Not for linear iteration, where outputs are
    contiguous.
    """
    upright = [
        OperandLayout(x.shape, tuple(map(abs, x.strides))) if min(x.strides, default=0) < 0 else x for x in inputs
    ]
    dense = _fast_setup(shape, upright, False)
    if dense is not None:
        return dense.output
    order = _fastest_first(shape, [broadcast_strides(shape, x) for x in upright])
    if order == _c_order(shape):
        return c_strides(shape)  # differs from the loop below where an extent is 0
    strides = [0] * len(shape)
    step = 1
    for axis in order:
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def broadcast_strides(shape: Ints, operand: OperandLayout) -> tuple[int, ...]:
    """The strides of an operand broadcast to ``shape``: 0 along axes that it lacks or repeats.

    An axis of size 1 in both keeps its stride, which takes part in the ordering, as in PyTorch.
    """
    if operand.shape == shape:
        return operand.strides
    missing = len(shape) - len(operand.shape)
    if missing < 0 or any(n not in (1, full) for n, full in zip(operand.shape, shape[missing:], strict=True)):
        raise ValueError(f"an operand of shape {operand.shape} does not broadcast to {tuple(shape)}")
    rest = zip(operand.shape, shape[missing:], operand.strides, strict=True)
    return (0,) * missing + tuple([s if n == full else 0 for n, full, s in rest])


@dataclass(frozen=True, slots=True)
class _Dense:
    """The result of a fast set-up: the axes, fastest first, and the strides of an allocated output."""

    order: tuple[int, ...]
    output: tuple[int, ...]


def _fast_setup(shape: Ints, operands: Iterable[OperandLayout], linear: bool) -> _Dense | None:
    """Set when every operand has the full shape and is dense in one common order.

    PyTorch's fast set-ups in its order: contiguous, channels-last, dense with identical strides.  So an ambiguous
    layout (extents of 1) counts as contiguous if it can be.  Linear iteration has only the first.
    """
    distinct: list[tuple[int, ...]] = []
    for x in operands:
        if x.shape != shape:
            return None
        if x.strides not in distinct:
            distinct.append(x.strides)
    in_c_order = c_strides(shape)
    if all(strides == in_c_order or is_contiguous(shape, strides) for strides in distinct):
        return _Dense(_c_order(shape), in_c_order)
    if linear:
        return None
    if all(is_channels_last(shape, strides) for strides in distinct):
        return _Dense(CHANNELS_LAST, channels_last_strides(shape))
    if len(distinct) == 1 and is_dense(shape, distinct[0]):
        strides = distinct[0]
        return _Dense(tuple(sorted(range(len(shape)), key=strides.__getitem__)), strides)
    return None


def _c_order(shape: Ints) -> tuple[int, ...]:
    return tuple(range(len(shape) - 1, -1, -1))


def _fastest_first(shape: Ints, strides: Sequence[Ints]) -> tuple[int, ...]:
    """The logical axes, fastest first: PyTorch's insertion sort, starting from C order.

    Its comparison is not transitive (0 is "undecided"), so the result depends on this exact sequence of comparisons.
    """
    rank = len(shape)
    order = list(range(rank - 1, -1, -1))
    if not strides:
        return _c_order(shape)
    steps = list(zip(*[tuple(map(abs, s)) for s in strides], strict=True))  # steps[axis][operand]
    for start in range(1, rank):
        at = start
        axis = order[at]
        for before in range(start - 1, -1, -1):
            verdict = _should_swap(shape, steps, order[before], axis)
            if verdict > 0:
                order[at], order[before] = order[before], axis
                at = before
            elif verdict < 0:
                break
    return tuple(order)


def _should_swap(shape: Ints, steps: Sequence[Ints], first: int, second: int) -> int:
    """1: ``first`` must come after ``second``; -1: their order is right; 0: no operand decides.

    Axes of size 1 take part with their strides, as in PyTorch, which gives some surprising output layouts.
    """
    for a, b in zip(steps[first], steps[second], strict=True):
        if a == 0 or b == 0:
            continue
        if a != b:
            return 1 if a > b else -1
        if shape[first] > shape[second]:
            return 1
    return 0


def _coalesce(shape: Ints, strides: Sequence[Ints], order: Ints, keep: frozenset[int]) -> IterationSpace:
    """Merge each axis into the dimension before it if every operand's stride continues that dimension."""
    steps = list(zip(*strides, strict=True)) if strides else [()] * len(shape)
    extents: list[int] = []
    walks: list[tuple[int, ...]] = []  # walks[dim][operand]
    axes: list[tuple[int, ...]] = []
    kept = False  # the last dimension holds a kept axis
    for axis in order:
        extent, step = shape[axis], steps[axis]
        keeps = axis in keep
        if extents and _merges(extents[-1], walks[-1], kept, extent, step, keeps):
            if extents[-1] == 1:
                walks[-1] = step
            extents[-1] *= extent
            axes[-1] = (axis, *axes[-1])
            kept = kept or keeps
        else:
            extents.append(extent)
            walks.append(step)
            axes.append((axis,))
            kept = keeps
    return IterationSpace(tuple(extents), tuple(zip(*walks, strict=True)), tuple(axes))


def _merges(last: int, walk: Ints, kept: bool, extent: int, step: Ints, keeps: bool) -> bool:
    """Whether an axis joins the dimension before it, of extent ``last`` and strides ``walk``.

    ``kept`` and ``keeps``: whether the dimension holds, or the axis is, an axis to keep. Such an axis is merged with
    axes of size 1 only.
    """
    if last == 1 or extent == 1:
        return not ((kept and (keeps or extent != 1)) or (keeps and last != 1))
    return tuple([last * s for s in walk]) == step and not kept and not keeps
