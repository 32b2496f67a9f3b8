"""The iteration space and the layout of outputs, against PyTorch's records and kgen's own rules."""

from __future__ import annotations

import gzip
import json
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from kgen.layout.iterator import (
    IterationSpace,
    OperandLayout,
    broadcast_strides,
    iteration_space,
    output_strides,
)
from kgen.spec import c_strides

DATA = Path(__file__).parents[1] / "data"


def load(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / name) as file:
        cases: list[dict[str, Any]] = json.load(file)["cases"]
    return cases


def held(shape: list[int], strides: list[int], _dtype: str = "") -> OperandLayout:
    return OperandLayout(tuple(shape), tuple(strides))


def nhwc(n: int, c: int, h: int, w: int) -> OperandLayout:
    return OperandLayout((n, c, h, w), (c * h * w, 1, c * w, c))


def nchw(*shape: int) -> OperandLayout:
    return OperandLayout(shape, c_strides(shape))


def test_the_recorded_layouts_of_allocated_outputs() -> None:
    """All 3,000 cases recorded from torch 2.15: iteration shape and strides, output shape and strides, contiguity."""
    for case in load("tensor_iterator_layouts.json.gz"):
        inputs = [held(**x) for x in case["inputs"]]
        shape = tuple(case["out_shape"])
        out = output_strides(shape, inputs)
        space = iteration_space(shape, [OperandLayout(shape, out), *inputs])
        assert out == tuple(case["out_strides"]), case
        if not shape:  # PyTorch's 0-d iterator has no dimension, ours has one of one element
            assert space == IterationSpace((1,), ((1,),) * (1 + len(inputs)), ((),))
            continue
        assert space.shape == tuple(case["iter_shape"]), case
        assert [[4 * s for s in strides] for strides in space.strides] == case["iter_strides_bytes"], case
        contiguous = space.numel == 1 or (len(space.shape) == 1 and all(s == (1,) for s in space.strides))
        assert contiguous == case["contiguous"], case


@pytest.mark.parametrize("kind", ["out", "in-place", "several", "mixed", "empty", "linear", "deep", "allocated"])
def test_the_recorded_layouts_of_every_other_kind_of_call(kind: str) -> None:
    """Recorded from torch 2.13: out= of any strides, in-place, one output of two given, mixed dtypes, extents of 0,
    linear iteration, ranks up to 64.
    """
    cases = [case for case in load("torch_layouts.json.gz") if case["kind"] == kind]
    assert len(cases) >= 300
    for case in cases:
        shape = tuple(case["shape"])
        inputs = [held(*x) for x in case["inputs"]]
        deciding = [held(*x) for x in case["outputs"] if x is not None] + inputs
        allocated = c_strides(shape) if kind == "linear" else output_strides(shape, deciding)
        outputs = [OperandLayout(shape, allocated) if x is None else held(*x) for x in case["outputs"]]
        assert [list(x.strides) for x in outputs] == case["out_strides"], case
        space = iteration_space(shape, outputs + inputs, linear=kind == "linear")
        if prod(shape) == 0 and None in case["outputs"]:
            # Nothing runs.  PyTorch walks an empty output that it allocated with other strides than it gives it.
            assert space.numel == 0
            continue
        assert space.shape == (tuple(case["iter_shape"]) or (1,)), case
        assert [list(s) for s in space.strides] == [s or [1] for s in case["iter_strides"]], case


def test_channels_last_in_gives_channels_last_out() -> None:
    """NHWC operands make one dimension, and the output is NHWC too."""
    x = nhwc(2, 3, 4, 5)
    assert output_strides(x.shape, [x, x]) == x.strides
    assert iteration_space(x.shape, [x, x, x]) == IterationSpace((120,), ((1,),) * 3, ((0, 2, 3, 1),))


def test_the_first_operand_chooses_the_order() -> None:
    """NHWC + NCHW is NHWC and NCHW + NHWC is NCHW; a broadcast operand does not choose."""
    last, first = nhwc(2, 3, 4, 5), nchw(2, 3, 4, 5)
    bias = OperandLayout((3, 1, 1), (1, 1, 1))
    assert output_strides(last.shape, [last, first]) == last.strides
    assert output_strides(last.shape, [first, last]) == first.strides
    assert output_strides(last.shape, [bias, last]) == last.strides
    assert iteration_space(last.shape, [last, last, bias]).strides == ((1, 3), (1, 3), (1, 0))


def test_ambiguous_layouts_are_contiguous() -> None:
    """With one channel, NHWC and NCHW are the same memory; the output is contiguous, in PyTorch and here."""
    x = nhwc(2, 1, 4, 5)
    assert output_strides(x.shape, [x]) == c_strides(x.shape)
    y = nhwc(2, 3, 1, 1)
    assert output_strides(y.shape, [y]) == c_strides(y.shape)


def test_a_given_output_chooses_the_order() -> None:
    """With a transposed out= and contiguous inputs the loop follows the output."""
    out, x = OperandLayout((3, 4), (1, 3)), nchw(3, 4)
    assert iteration_space((3, 4), [out, x]) == IterationSpace((3, 4), ((1, 3), (4, 1)), ((0,), (1,)))


def test_an_output_that_an_input_shares_exactly() -> None:
    """In place on one gapped view is one pass over its own two dimensions."""
    view = OperandLayout((3, 4), (10, 1))
    assert iteration_space((3, 4), [view, view]) == IterationSpace((4, 3), ((1, 10), (1, 10)), ((1,), (0,)))


def test_negative_strides_are_ordered_by_magnitude_and_keep_their_sign() -> None:
    """A flip keeps the order of its array; the output of flipped inputs is laid out as if they were not."""
    flipped = OperandLayout((3, 4), (-1, 3))  # a[::-1] of a Fortran-ordered array
    out = output_strides((3, 4), [flipped])
    assert out == (1, 3)
    space = iteration_space((3, 4), [OperandLayout((3, 4), out), flipped])
    assert space == IterationSpace((3, 4), ((1, 3), (-1, 3)), ((0,), (1,)))


def test_an_array_flipped_along_every_axis_is_one_dimension() -> None:
    """x[::-1, ::-1] is one run walked backwards; a flip along one axis of two stays two dimensions."""
    both, one = OperandLayout((3, 4), (-4, -1)), OperandLayout((3, 4), (-4, 1))
    assert iteration_space((3, 4), [nchw(3, 4), both]) == IterationSpace((12,), ((1,), (-1,)), ((0, 1),))
    assert iteration_space((3, 4), [nchw(3, 4), one]).strides == ((1, 4), (1, -4))
    assert output_strides((3, 4), [one, both]) == (4, 1)


def test_zero_dimensional_spaces_have_one_dimension_of_one() -> None:
    """A 0-d output over 0-d operands, or over none."""
    scalar = OperandLayout((), ())
    assert output_strides((), []) == ()
    assert iteration_space((), [scalar, scalar]) == IterationSpace((1,), ((1,), (1,)), ((),))
    assert iteration_space((), []) == IterationSpace((1,), (), ((),))


def test_a_zero_dimensional_operand_of_a_larger_space_has_stride_zero() -> None:
    """Broadcasting gives stride 0 in every dimension."""
    space = iteration_space((2, 3), [nchw(2, 3), OperandLayout((), ())])
    assert space == IterationSpace((6,), ((1,), (0,)), ((0, 1),))


def test_empty_arrays() -> None:
    """An extent of 0 meets 1 as any other; the space is empty; an empty array is contiguous whatever its strides."""
    x = OperandLayout((0, 3), (100, 50))
    assert output_strides((0, 3), [x]) == (3, 1)
    assert iteration_space((0, 3), [nchw(0, 3), x]) == IterationSpace((0,), ((1,), (1,)), ((0, 1),))
    row = OperandLayout((1, 3), (3, 1))
    assert iteration_space((0, 3), [nchw(0, 3), x, row]).numel == 0


def test_rank_sixty_four() -> None:
    """The most dimensions NumPy and torch allow."""
    shape = (1,) * 30 + (2, 3) + (1,) * 31 + (4,)
    x = OperandLayout(shape, c_strides(shape))
    assert len(shape) == 64
    assert iteration_space(shape, [x, x]).shape == (24,)
    turned = OperandLayout(shape, tuple(reversed(c_strides(shape[::-1]))))
    assert output_strides(shape, [turned, x]) == turned.strides
    assert iteration_space(shape, [turned, turned, x]).shape == (2, 3, 4)


def test_operands_that_do_not_broadcast_are_a_bug_of_the_caller() -> None:
    """Shapes are checked, with a message for people, before layouts are computed."""
    with pytest.raises(ValueError, match="does not broadcast"):
        broadcast_strides((2, 3), OperandLayout((2,), (1,)))
    with pytest.raises(ValueError, match="does not broadcast"):
        broadcast_strides((3,), OperandLayout((3, 3), (3, 1)))


def test_kept_axes_have_dimensions_of_their_own() -> None:
    """keep= stops merging around its axes, in a fast set-up as in the general case, and nowhere else."""
    x = nchw(2, 3, 4, 5)
    space = iteration_space(x.shape, [x, x], keep=frozenset({2}))
    assert space == IterationSpace((5, 4, 6), ((1, 5, 20), (1, 5, 20)), ((3,), (2,), (0, 1)))
    row = OperandLayout((5,), (1,))
    assert iteration_space(x.shape, [x, row], keep=frozenset({0})).axes == ((3,), (1, 2), (0,))
    y = nhwc(2, 3, 4, 5)
    assert iteration_space(y.shape, [y, y], keep=frozenset({1})).axes == ((1,), (0, 2, 3))


def test_a_kept_axis_shares_its_dimension_with_axes_of_size_one_only() -> None:
    """So its coordinate is that dimension's; a kept axis of size 1 has a dimension too."""
    x = nchw(1, 3, 1, 4)
    space = iteration_space(x.shape, [x], keep=frozenset({1}))
    assert (space.shape, space.axes) == ((4, 3), ((2, 3), (0, 1)))
    assert space.dim_of(1) == 1
    space = iteration_space(x.shape, [x], keep=frozenset({2}))
    assert (space.shape, space.axes) == ((4, 1, 3), ((3,), (2,), (0, 1)))


layouts = st.integers(0, 4).flatmap(
    lambda rank: st.tuples(
        st.tuples(*[st.integers(0, 4)] * rank),
        st.lists(st.tuples(*[st.integers(-9, 9)] * rank), min_size=1, max_size=3),
        st.frozensets(st.integers(0, max(rank - 1, 0))).map(lambda keep: keep if rank else frozenset()),
        st.booleans(),
    )
)


@settings(deadline=None)
@given(layouts)
def test_the_space_visits_each_element_once(
    case: tuple[tuple[int, ...], list[tuple[int, ...]], frozenset[int], bool],
) -> None:
    """Whatever the strides, the space reaches the same tuples of operand offsets as the logical shape does, and the
    coordinates of kept axes are those of their dimensions.
    """
    shape, strides, keep, linear = case
    space = iteration_space(shape, [OperandLayout(shape, s) for s in strides], keep=keep, linear=linear)
    assert sorted(a for axes in space.axes for a in axes) == list(range(len(shape)))

    def rows(extents: tuple[int, ...], steps: list[tuple[int, ...]], kept: list[int]) -> list[list[int]]:
        indices = product(*map(range, extents))
        return [[*[i[d] for d in kept], *[sum(map(int.__mul__, i, s)) for s in steps]] for i in indices]

    order = sorted(keep)
    logical = rows(shape, strides, order)
    found = rows(space.shape, list(space.strides), [space.dim_of(axis) for axis in order])
    assert sorted(found) == sorted(logical)
    if linear:
        slowest_last = rows(space.shape[::-1], [s[::-1] for s in space.strides], [])
        assert slowest_last == rows(shape, strides, [])


@settings(deadline=None)
@given(layouts)
def test_an_allocated_output_is_dense_in_the_order_of_the_space(
    case: tuple[tuple[int, ...], list[tuple[int, ...]], frozenset[int], bool],
) -> None:
    """The output is written front to back: its strides in the space are the running product of the extents."""
    shape, strides, _, _ = case
    inputs = [OperandLayout(shape, s) for s in strides]
    space = iteration_space(shape, [OperandLayout(shape, output_strides(shape, inputs)), *inputs])
    if space.numel > 1:
        steps = [prod(space.shape[:d]) for d in range(len(space.shape))]
        assert list(space.strides[0]) == steps
