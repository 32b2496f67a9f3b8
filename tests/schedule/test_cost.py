"""Predicted times: what is counted, and which kernels are chosen by it."""

from __future__ import annotations

from math import prod

import pytest

import kgen
from kgen.layout.iterator import IterationSpace
from kgen.schedule.cost import Traffic, Walk, coarse, count, pieces, refined, touched
from kgen.schedule.elementwise.box_shapes import tile_shape
from kgen.schedule.rates import CostModel

SECTOR = 32


def test_what_a_launch_takes_does_not_grow_with_the_elements() -> None:
    model, space = CostModel(), IterationSpace((255, 1023), ((1, 255),), ((0,), (1,)))
    fixed = model.launch + model.wait
    assert refined(fixed, space, model) == fixed
    assert refined(1.0, space, model) == pytest.approx(255 * 1023 / (192 * 768 * 1.3), rel=1e-5)


def traffic(size: int, *strides: int, misaligned: bool = False) -> Traffic:
    return Traffic((1.0,) * len(strides), 1, size, strides, misaligned, reads=True)


@pytest.mark.parametrize(
    ("operand", "extents", "sectors"),
    [
        (traffic(4, 1, 1000), (1000, 8), 1000),  # whole rows are one run
        (traffic(4, 1, 2000), (16, 8), 16),  # 8 runs of 2 sectors
        (traffic(4, 1, 2001, misaligned=True), (16, 8), 8 * (2 + 7 / 8)),  # which begin anywhere
        (traffic(2, 4096, 1), (32, 4), 32),  # 4 elements side by side, 32 times
        (traffic(2, 0, 1), (32, 16), 1),  # the same for all of the first dimension
        (traffic(4, 2, 1000), (16, 1), 4),  # every second element
    ],
)
def test_sectors_of_a_box(operand: Traffic, extents: tuple[float, ...], sectors: float) -> None:
    """By hand: the distinct sectors that the elements of a box lie in."""
    assert pieces(operand, extents, SECTOR) == pytest.approx(sectors, rel=0.05)


@pytest.mark.parametrize(
    ("width", "between", "lines"),
    [
        (16.0, 0, 2),  # groups of 8 begin in two columns
        (13.0, 1, 13),  # and in rows of 13 in each
        (256.0, 1, 32),  # a warp is in one row
        (4.0, 0, 1),  # rows that are shorter than a group, each in one
    ],
)
def test_lines_of_groups_that_begin_anywhere_in_short_rows(width: float, between: int, lines: float) -> None:
    """Groups of 8 bytes of an operand whose columns are far apart, one element of each lane at once."""
    of_warp = (width, 256 / width)
    assert touched(Traffic(of_warp, 8, 1, (1 << 16, 1), False, True, between=between)) == pytest.approx(lines)


@pytest.mark.parametrize(
    ("reads", "strides", "lines"),
    [
        (True, (1, 512), 32),  # whole lines
        (False, (1, 512), 32),
        (True, (32, 1), 512),  # the second element of each column is in the line of the first
        (False, (32, 1), 1024),  # for which L1 does not wait
    ],
)
def test_lines_that_blocks_ask_l2_for(reads: bool, strides: tuple[int, int], lines: float) -> None:
    """512 columns of two float32 elements by one block, whose warps take 32 columns at a time."""
    operand = Traffic((32.0, 1.0), 1, 4, strides, False, reads)
    space = IterationSpace((512, 2), (strides,), ((0,), (1,)))
    walk = Walk(space, (512.0, 2.0), (0, 1), [operand], instructions=1, used=1, threads=512)
    assert count(walk, CostModel()).requests == pytest.approx(lines, rel=0.05)


def test_spaces_that_are_alike_have_one_cost() -> None:
    """Two significant bits decide, and no sign."""
    one, other = (IterationSpace((n, 7), ((1, -n),), ((0,), (1,))) for n in (1030, 1500))
    assert coarse(one) == coarse(other)
    assert coarse(IterationSpace((1600, 7), ((1, 1600),), ((0,), (1,)))) != coarse(one)


def test_explain_prints_the_times_of_all_families() -> None:
    """The least first, and that one is the kernel's."""
    shape = (4096, 4096)
    found = kgen.jit("out = a + b").explain(kgen.spec(shape, "f32"), kgen.spec(shape, "f32", (1, 4096)))
    costs = found.steps[0].costs
    assert [seconds for _, seconds in costs] == sorted(seconds for _, seconds in costs)
    assert {name for name, _ in costs} == {"boxes", "tiled", "flat", "rows", "strided"}
    assert found.steps[0].schedule["template"] == costs[0][0]
    assert "predicted time: " in str(found)


@pytest.mark.parametrize("order", [(1, 3, 0, 2), (3, 2, 1, 0)])
def test_tiles_follow_each_other_in_memory_order_of_the_outputs(order: tuple[int, ...]) -> None:
    shape, strides, step = (96, 64, 128, 48), [0] * 4, 1
    for axis in reversed(order):
        strides[axis], step = step, step * shape[axis]
    found = kgen.jit("out = a * b").explain(kgen.spec(shape, "f32"), kgen.spec(shape, "f32", tuple(strides)))
    second = order[-1]
    rest = [n for axis, n in enumerate(shape[:-1]) if axis != second]
    assert f"tiled_4d, {rest[0]} x {rest[1]} x {shape[second]} x 48 elements" in str(found)


@pytest.mark.parametrize("text", ["out = a + 1", "out = sum(a, axis=-1)", "out = sum(a, axis=0)", "out = a / sum(a)"])
def test_explain_prints_the_time_of_each_kernel(text: str) -> None:
    """Twice the elements take longer, and the bytes alone nearly as long."""
    times = []
    for rows in (4096, 8192):
        (small, *_) = kgen.jit(text).explain(kgen.spec((rows, 4096), "f32")).steps
        ((_, seconds),) = small.costs
        assert small.bytes / 6e12 < seconds < 2 * small.bytes / 4e12 + 1e-5
        times.append(seconds)
    assert times[0] < times[1]
    assert "predicted time: " in str(kgen.jit(text).explain(kgen.spec((4096, 4096), "f32")))


def test_padded_boxes_fit_shared_memory() -> None:
    """Rows of a box have an odd number of words; with what is between them, 49,344 bytes are too many for ptxas."""
    assert tile_shape((4, 64, 16), 1) == (16, 260)
    assert tile_shape((4, 64, 16), 8) == (16, 321)
    a = kgen.spec((950, 3, 65, 64), "f64", strides=(12480, 1, 3, 195))
    b = kgen.spec((950, 3, 65, 64), "f64", strides=(4160, 3952000, 1, 65))
    (step,) = kgen.jit("out: f32 = max(a, b) + min(b, c)").explain(a, b, kgen.spec(b.shape, "i8")).steps
    box = step.schedule["box"]
    assert sum(size * prod(tile_shape(box, size)) for size in (8, 1)) <= 48 << 10


def test_boxes_follow_each_other_so_that_they_find_what_they_share() -> None:
    """Along the side with the fewest first; but where pieces of 4 bytes continue along another side, along that one."""
    a, b = kgen.spec((96, 4096), "f32"), kgen.spec((96, 4096), "f32", (1, 96))
    (step,) = kgen.jit("out = a * b").explain(a, b).steps
    assert step.schedule["walk"] == (1, 0)
    shape = (96, 2836, 96, 4)
    a, b = kgen.spec(shape, "i8", (1, 36864, 96, 9216)), kgen.spec(shape, "i8", (2836, 1, 1089024, 272256))
    (step,) = kgen.jit("out: f32 = (a - b) * (a + c)").explain(a, b, kgen.spec(shape, "u8")).steps
    assert step.schedule["walk"] == (0, 1, 2)
