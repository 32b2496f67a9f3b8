"""Boxes whose outputs go on where an operand does not."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

import kgen
from kgen.schedule.elementwise import boxes
from kgen.schedule.elementwise.box_banks import row_pitch
from kgen.schedule.elementwise.box_shapes import pitch


def test_short_odd_rows() -> None:
    """Rows of 13 elements, of which one operand has every third, and another lies across."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 9, (301, 150, 13)).astype(np.float32)[:, ::3]
    b = rng.integers(0, 9, (50, 13, 301)).astype(np.float32).transpose(2, 0, 1)
    kernel = kgen.jit("out = a * b + a")
    (step,) = kernel.explain(a, b).steps
    assert step.kernel.startswith("boxes")
    np.testing.assert_array_equal(kernel(a, b), a * b + a)


def test_two_short_sides_get_a_third() -> None:
    """16 elements of one order and 16 of another fill no box, so it goes on along the rows."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 99, (16, 900, 16)).astype(np.uint8).transpose(1, 2, 0)
    b = rng.integers(0, 99, (900, 1, 16)).astype(np.uint8)
    c = rng.integers(0, 99, (900, 16, 32)).astype(np.int16)[:, :, ::2]
    kernel = kgen.jit("out = max(a, b) + min(b, c)", device="cpu")
    (step,) = kernel.explain(a, b, c).steps
    assert step.schedule["sides"] == (1, 1, 1)
    np.testing.assert_array_equal(kernel(a, b, c), np.maximum(a, b) + np.minimum(b, c))


def test_blocks_may_follow_each_other_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three operands, each consecutive along another dimension."""
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(0, 9, shape).astype(np.int32) for shape in ((70, 90, 50), (50, 90, 70), (70, 50, 90)))
    b, c = b.T, c.transpose(0, 2, 1)
    orders = set()
    for order in permutations(range(3)):
        monkeypatch.setattr(boxes, "_walk", lambda sides, box, order=order: tuple(s for s in order if s < len(box)))
        kernel = kgen.jit("out = a * b + c", device="cpu")
        (step,) = kernel.explain(a, b, c).steps
        orders.add(step.schedule["walk"])
        np.testing.assert_array_equal(kernel(a, b, c), a * b + c)
    assert len(orders) == 6


def test_rows_in_shared_memory_are_as_long_as_there_is_room_for() -> None:
    """Bank conflicts are avoided within the memory of a block."""
    for box, size, groups in product(((64, 8), (28, 64), (7, 128)), (1, 2, 4), ((1, 1), (4, 1), (1, 4))):
        usual = pitch(box[0], size)
        for spare in (0, 1, 4):
            assert row_pitch(box, size, groups, (1, 0), spare) <= usual + spare
    assert [row_pitch((64, 8), 4, (1, 1), (1, 0), spare) for spare in (0, 8)] == [65, 68]


def test_unaligned_input() -> None:
    """One input begins one byte late: it is read byte by byte, the others and the output by groups of four."""
    rng = np.random.default_rng(0)
    a, across = (rng.integers(0, 9, shape).astype(np.uint8) for shape in ((602, 1024), (1024, 602)))
    late = rng.integers(0, 9, 602 * 1024 + 1).astype(np.uint8)[1:].reshape(602, 1024)
    kernel = kgen.jit("out = a + b * c")
    assert kernel.explain(a, late, across.T).steps[0].kernel.startswith("boxes")
    assert "Moved by aligned groups of 4 elements: out and a." in kernel.source(a, late, across.T)
    np.testing.assert_array_equal(kernel(a, late, across.T), a + late * across.T)


@pytest.mark.parametrize(("dtype", "name"), [(np.float16, "__half"), (np.uint8, "unsigned char")])
def test_narrow_groups_stay_packed(dtype: type[np.generic], name: str) -> None:
    """Words of narrow elements are taken apart behind all loads, and read from shared memory as words; what begins late
    is loaded one by one.
    """
    rng = np.random.default_rng(0)
    a, across = (rng.integers(0, 9, shape).astype(dtype) for shape in ((606, 1026), (1026, 606)))
    late = rng.integers(0, 9, 606 * 1026 + 1).astype(dtype)[1:].reshape(606, 1026)
    kernel = kgen.jit("out: f32 = a + b * c", device="cpu")
    source = kernel.source(a, late, across.T)
    assert "keep_loaded(a_in[k]);" in source
    assert "keep_loaded(c_in[k]);" in source
    assert "keep_loaded(b_in[k]);" not in source
    assert f"*reinterpret_cast<const Pack<{name}, 2, {2 * a.itemsize}>*>(&c_tile[" in source
    np.testing.assert_array_equal(kernel(a, late, across.T), (a + late * across.T).astype(np.float32))


def test_one_group_a_thread() -> None:
    """Each thread has one group of the output and of the operand that lies beside it: no loop over groups."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 9, (61, 4804)).astype(np.float64)
    b, c = (rng.integers(0, 9, (4804, 61)).astype(dtype).T for dtype in (np.float16, np.int8))
    kernel = kgen.jit("out: f32 = max(a, b) + min(b, c)", device="cpu")
    assert kernel.explain(a, b, c).steps[0].kernel == "boxes_32x32_2d"
    assert "Pack<double, 4, 16> a_in;" in kernel.source(a, b, c)
    np.testing.assert_array_equal(kernel(a, b, c), (np.maximum(a, b) + np.minimum(b, c)).astype(np.float32))


@pytest.mark.parametrize(
    ("shape", "orders", "box"),
    [
        ((49, 3001), ("01", "10", "01"), "64x17_2d"),
        ((49, 77, 65), ("012", "210", "102"), "65x16_3d"),
        ((130, 9, 255), ("012", "210", "021"), "16x9x8_3d"),
    ],
)
def test_sides_of_other_lengths(shape: tuple[int, ...], orders: tuple[str, ...], box: str) -> None:
    """A side is as long as the space or a part of it: some threads have no group, and some groups are none of a box."""
    rng = np.random.default_rng(0)
    arrays = []
    for order in orders:
        axes = [int(axis) for axis in order]
        memory = rng.integers(0, 9, [shape[axis] for axis in axes]).astype(np.float32)
        arrays.append(memory.transpose(np.argsort(axes)))
    kernel = kgen.jit("out = a * b + c", device="cpu")
    a, b, c = arrays
    assert kernel.explain(a, b, c).steps[0].kernel == f"boxes_{box}"
    assert "threadIdx.x < " in kernel.source(a, b, c)
    np.testing.assert_array_equal(kernel(a, b, c), a * b + c)


def test_rows_in_shared_memory() -> None:
    """Lanes that write seven rows at once meet fewer bank conflicts by 259 words from row to row than by 257."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 9, (3486, 7, 127)).astype(np.int8)
    b, c = (rng.integers(0, 9, (3486, 127, 7)).astype(np.int32).transpose(0, 2, 1) for _ in range(2))
    kernel = kgen.jit("out: f32 = a > b ? c : a", device="cpu")
    assert kernel.explain(a, b, c).steps[0].kernel == "boxes_256x7_3d"
    assert "__shared__ int b_tile[7][259];" in kernel.source(a, b, c)
    np.testing.assert_array_equal(kernel(a, b, c), np.where(a > b, c, a).astype(np.float32))


def test_tiles_that_are_mostly_empty() -> None:
    """Of four tiles along 196 elements, the last would have four: boxes have none."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 9, (6, 196, 1024)).astype(np.uint8)
    b = rng.integers(0, 9, (6, 1024, 196)).astype(np.float32).transpose(0, 2, 1)
    kernel = kgen.jit("out = a * b", device="cpu")
    (step,) = kernel.explain(a, b).steps
    assert step.kernel.startswith("boxes")
    assert "tiled" in dict(step.costs)
    np.testing.assert_array_equal(kernel(a, b), a * b)
