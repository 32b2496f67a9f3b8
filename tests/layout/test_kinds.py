"""Access classes, index widths and shared stride patterns of an iteration space."""

from __future__ import annotations

import pytest

from kgen.layout.iterator import IterationSpace, OperandLayout, iteration_space
from kgen.layout.kinds import LayoutKind, classify, index_bits, stride_patterns
from kgen.spec import c_strides


def space(shape: tuple[int, ...], *strides: tuple[int, ...]) -> IterationSpace:
    return IterationSpace(shape, strides, tuple((d,) for d in range(len(shape))))


def test_the_three_classes() -> None:
    """A matrix plus a row plus a 0-d array: the matrix is dense in iteration order although two dimensions remain."""
    shape = (3, 4)
    matrix = OperandLayout(shape, (4, 1))
    operands = [matrix, matrix, OperandLayout((4,), (1,)), OperandLayout((), ())]
    found = iteration_space(shape, operands)
    classes = [classify(found, i) for i in range(4)]
    assert classes == [LayoutKind.CONTIGUOUS, LayoutKind.CONTIGUOUS, LayoutKind.STRIDED, LayoutKind.SCALAR]


@pytest.mark.parametrize("strides", [(2, 6), (-1, -3), (1, 4), (3, 1), (0, 1), (1, 0)])
def test_what_is_strided(strides: tuple[int, int]) -> None:
    """Steps, flips, gaps, transposes and broadcasts along one of two dimensions."""
    assert classify(space((3, 4), strides), 0) is LayoutKind.STRIDED


def test_dimensions_of_size_one_do_not_count() -> None:
    """A kept axis of size 1 leaves an operand contiguous, or scalar, whatever its stride."""
    found = space((4, 1, 3), (1, 77, 4), (0, 77, 0))
    assert [classify(found, i) for i in range(2)] == [LayoutKind.CONTIGUOUS, LayoutKind.SCALAR]


def test_one_element_or_none_is_contiguous() -> None:
    """Both rules would hold; contiguous keeps small arrays in the kernel of large ones."""
    for shape in ((1,), (0,), (3, 0)):
        strides = (0,) * len(shape)
        assert classify(space(shape, strides), 0) is LayoutKind.CONTIGUOUS


@pytest.mark.parametrize(
    ("shape", "strides", "itemsize", "bits"),
    [
        ((2**29,), (1,), 4, 32),  # 2 GiB: the last byte is at 2^31 - 1
        ((2**29 + 1,), (1,), 4, 64),
        ((2**31 - 1,), (1,), 1, 32),
        ((2**31 - 1,), (0,), 8, 32),
        ((2**31,), (0,), 8, 64),  # the flat index itself
        ((2,), (2**29,), 4, 64),
        ((2,), (-(2**29),), 4, 32),  # -2^31 fits
        ((2,), (-(2**29) - 1,), 4, 64),
        ((2, 2), (2**30, -(2**30)), 1, 32),  # each sign by itself, not their sum
        ((2, 2, 2), (2**30, -(2**30), 2**30), 1, 64),
        ((4, 1), (1, 2**40), 4, 32),  # never walked
        ((0, 4), (2**40, 1), 4, 32),
    ],
)
def test_index_bits(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, bits: int) -> None:
    """The boundaries of a signed 32-bit byte offset."""
    assert index_bits(space(shape, strides), [itemsize]) == bits


def test_the_widest_operand_decides_the_index_bits() -> None:
    """2^29 elements: 32 bits for float32 alone, 64 with a float64 beside it."""
    found = space((2**29,), (1,), (1,))
    assert index_bits(found, [4, 4]) == 32
    assert index_bits(found, [4, 8]) == 64


def test_operands_share_stride_patterns() -> None:
    """Same strides, same pattern, numbered by first use among the operands asked for; scalars have none."""
    found = space((3, 4), (1, 3), (4, 1), (0, 0), (1, 3), (0, 1))
    assert stride_patterns(found, range(5)) == (((1, 3), (4, 1), (0, 1)), (0, 1, None, 0, 2))
    assert stride_patterns(found, [4, 1]) == (((0, 1), (4, 1)), (0, 1))
    assert stride_patterns(found, [2]) == ((), (None,))


def test_patterns_ignore_dimensions_of_size_one() -> None:
    """Strides that are never walked do not split a pattern, and do not make one."""
    found = space((4, 1), (2, 2**40), (2, 5), (0, 7))
    assert stride_patterns(found, range(3)) == (((2, 0),), (0, 0, None))


def test_a_channels_last_batch_with_a_bias() -> None:
    """NHWC with a per-channel operand: one contiguous walk and one pattern that repeats each pixel."""
    shape = (2, 3, 4, 5)
    x = OperandLayout(shape, (60, 1, 15, 3))
    found = iteration_space(shape, [x, x, OperandLayout((3, 1, 1), c_strides((3, 1, 1)))])
    assert found.shape == (3, 40)
    assert [classify(found, i) for i in range(3)] == [LayoutKind.CONTIGUOUS, LayoutKind.CONTIGUOUS, LayoutKind.STRIDED]
    assert stride_patterns(found, [2]) == (((1, 0),), (0,))
