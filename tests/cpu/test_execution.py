"""Kernels run as on a GPU: indices, barriers, warp operations, atomics, orders."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen.diagnostics import KgenError
from kgen.runtime.cpu.module import CpuModule

from . import clean_kernels
from .harness import launch

_KERNELS = Path(__file__).parent / "kernels"
ORDERS = ("0", "1", "2", "12345")


@pytest.fixture(scope="module")
def threads() -> CpuModule:
    names = ["barrier_votes", "shuffles", "votes", "partial_masks", "early_return", "grid_of_three", "grid_barrier"]
    return CpuModule.load((_KERNELS / "threads.cu").read_text(), [*names, "spin_in_block"])


@pytest.fixture(scope="module")
def plain() -> CpuModule:
    text = (_KERNELS / "plain.cu").read_text()
    return CpuModule.load(text, ["atomics", "record", "index", "big_struct", "no_arguments"])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("strict", [False, True])
def test_clean_kernels_are_right_in_every_order(monkeypatch: pytest.MonkeyPatch, order: str, strict: bool) -> None:
    """In order, reversed and shuffled, tolerant and strict."""
    monkeypatch.setenv("KGEN_SCHED", order)
    if strict:
        monkeypatch.setenv("KGEN_STRICT", "1")
    clean_kernels.run_all(CpuModule.load(clean_kernels.TEXT, clean_kernels.KERNELS))


@pytest.mark.parametrize("order", ORDERS)
def test_barrier_votes_reach_every_thread(monkeypatch: pytest.MonkeyPatch, threads: CpuModule, order: str) -> None:
    """__syncthreads_or, _and and _count."""
    monkeypatch.setenv("KGEN_SCHED", order)
    values = np.random.default_rng(1).integers(0, 100, 96).astype(np.int32)
    results = [np.zeros(96, np.int32) for _ in range(3)]
    launch(threads, "barrier_votes", values, *results, block=96)
    for result, expected in zip(results, [(values > 90).any(), (values > 3).all(), (values > 50).sum()], strict=True):
        assert (result == expected).all()


@pytest.mark.parametrize("order", ORDERS)
def test_shuffles_read_the_lanes_that_cuda_reads(
    monkeypatch: pytest.MonkeyPatch, threads: CpuModule, order: str
) -> None:
    """All four kinds, with widths, of 8-byte values."""
    monkeypatch.setenv("KGEN_SCHED", order)
    values = np.random.default_rng(2).random(64)
    out = np.zeros((6, 64))
    launch(threads, "shuffles", values, out, block=64)
    lane, warp = np.arange(64) % 32, np.arange(64) // 32 * 32
    sources = [
        np.arange(64) * 7 % 32,
        lane // 8 * 8 + 3,
        np.where(lane >= 3, lane - 3, lane),
        np.where(lane % 16 + 5 < 16, lane + 5, lane),
        lane ^ 9,
        np.where((lane ^ 12) // 8 > lane // 8, lane, lane ^ 12),
    ]
    for row, source in zip(out, sources, strict=True):
        np.testing.assert_array_equal(row, values[warp + source])


@pytest.mark.parametrize("order", ORDERS)
def test_votes_and_warp_reductions(monkeypatch: pytest.MonkeyPatch, threads: CpuModule, order: str) -> None:
    """Ballot, any, all, match and the integer reductions."""
    monkeypatch.setenv("KGEN_SCHED", order)
    values = np.random.default_rng(3).integers(0, 100, 64).astype(np.int32)
    values[32:] = 60
    out = np.zeros((10, 64), np.uint32)
    launch(threads, "votes", values, out, block=64)
    for start in (0, 32):
        warp, mine = values[start : start + 32], out[:, start : start + 32]

        def mask(chosen: np.ndarray) -> int:
            return sum(1 << k for k in range(32) if chosen[k])

        assert (mine[0] == mask(warp > 50)).all()
        assert (mine[1] == (warp > 95).any()).all()
        assert (mine[2] == 1).all()
        assert [int(m) for m in mine[3]] == [mask(warp % 5 == v % 5) for v in warp]
        same = len(set(warp.tolist())) == 1
        assert (mine[4] == (0xFFFFFFFF if same else 0)).all()
        assert (mine[5] == same).all()
        assert (mine[6] == warp.sum()).all()
        assert (mine[7] == warp.max()).all()
        assert (mine[8] == np.bitwise_xor.reduce(warp)).all()
        assert (mine[9].view(np.int32) == warp.min() - 50).all()


@pytest.mark.parametrize("order", ORDERS)
def test_lanes_with_disjoint_masks_do_not_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch, threads: CpuModule, order: str
) -> None:
    """Odd and even lanes shuffle different numbers of times."""
    monkeypatch.setenv("KGEN_SCHED", order)
    values = np.arange(32, dtype=np.int32) ** 2
    out = np.zeros(32, np.int32)
    launch(threads, "partial_masks", values, out, block=32)
    lane = np.arange(32)
    odd = values + values[lane ^ 2]
    odd = odd + odd[lane ^ 4]
    np.testing.assert_array_equal(out, np.where(lane % 2, odd, values + values[lane ^ 4]))


def test_returned_threads_are_not_waited_for(threads: CpuModule) -> None:
    """Fifty of a hundred threads meet at the barrier; the active mask knows them."""
    values = np.arange(100, dtype=np.int32)
    out = np.zeros(100, np.int32)
    launch(threads, "early_return", values, out, ctypes.c_int(50), block=100)
    lanes = np.where(np.arange(50) < 32, 32, 18)
    # A thread asks after its neighbours may have returned: at most the lanes that passed the barrier.
    assert ((out[:50] - values[:50][::-1]) <= lanes).all()
    assert (out[50:] == 0).all()


@pytest.mark.parametrize("order", ORDERS)
def test_indices_cover_grids_of_three_dimensions(
    monkeypatch: pytest.MonkeyPatch, threads: CpuModule, plain: CpuModule, order: str
) -> None:
    """With fibers and with loops."""
    monkeypatch.setenv("KGEN_SCHED", order)
    z, y, x = np.indices((2 * 2, 3 * 2, 4 * 5))
    for module, kernel in ((threads, "grid_of_three"), (plain, "index")):
        out = np.zeros(x.shape, np.int32)
        launch(module, kernel, out, grid=(4, 3, 2), block=(5, 2, 2), threads=2)
        np.testing.assert_array_equal(out, x + 100 * y + 10000 * z)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_atomics_are_atomic_across_os_threads(plain: CpuModule, workers: int) -> None:
    """Every kind, on every type it takes."""
    blocks, block = 50, 100
    n = blocks * block
    i, u = np.zeros(6, np.int32), np.array([0, 0xFFFFFFFF, 0, 0, 0, 0], np.uint32)
    wide, f, d = np.zeros(2, np.uint64), np.zeros(1, np.float32), np.zeros(1)
    launch(plain, "atomics", i, u, wide, f, d, grid=blocks, block=block, threads=workers)
    assert i.tolist() == [n * (n - 1) // 2, -n, -(n - 1), n - 1, 2 * n, 77]
    assert u.tolist() == [3 * n, 0, 0xFFFF, 0, n % 10, (-n) % 7]
    assert wide.tolist() == [n << 33, (n - 1) << 20]
    assert f[0] == n / 2
    assert d[0] == n / 4


@pytest.mark.parametrize(("order", "expected"), [("0", list(range(24))), ("1", list(range(23, -1, -1)))])
def test_threads_run_in_the_order_asked_for(
    monkeypatch: pytest.MonkeyPatch, plain: CpuModule, order: str, expected: list[int]
) -> None:
    """In order, and all reversed, blocks too."""
    monkeypatch.setenv("KGEN_SCHED", order)
    seen = np.zeros(24, np.uint32)
    launch(plain, "record", np.zeros(1, np.uint32), seen, grid=3, block=8, threads=1)
    assert seen.tolist() == expected


def test_a_seed_shuffles_threads_and_blocks(monkeypatch: pytest.MonkeyPatch, plain: CpuModule) -> None:
    """Each thread once, in an order that depends on the seed alone."""
    orders = []
    for seed in ("7", "7", "8"):
        monkeypatch.setenv("KGEN_SCHED", seed)
        seen = np.zeros(640, np.uint32)
        launch(plain, "record", np.zeros(1, np.uint32), seen, grid=10, block=64, threads=1)
        assert sorted(seen.tolist()) == list(range(640))
        orders.append(seen.tolist())
    assert orders[0] == orders[1] != orders[2]
    assert orders[0] != sorted(orders[0])


def test_structs_constants_and_scalars_arrive_whole(plain: CpuModule) -> None:
    """A 1.2 kB struct by value, a constant table, a trailing scalar; PTX and NVRTC branches are not taken."""

    class Big(ctypes.Structure):
        _fields_ = (("weight", ctypes.c_float * 300), ("count", ctypes.c_int), ("_", ctypes.c_int * 3))

    weights = np.arange(300, dtype=np.float32)
    out = np.zeros(4, np.float32)
    launch(plain, "big_struct", out, Big(tuple(weights), 300), ctypes.c_float(0.5), block=4)
    assert (out == (weights * np.tile([1, 2, 4, 8], 75)).sum() / 2).all()
    launch(plain, "no_arguments")


@pytest.mark.parametrize("blocks", [1, 2, 9])
def test_blocks_of_a_cooperative_launch_run_together(threads: CpuModule, blocks: int) -> None:
    """A hand-written grid barrier completes, with more blocks than cores."""
    turn, left, right = np.zeros(1, np.int32), np.zeros(blocks, np.int32), np.zeros(blocks, np.int32)
    launch(threads, "grid_barrier", turn, left, right, grid=blocks, block=64, cooperative=True)
    assert right.tolist() == list(range(blocks))[::-1]


def test_a_sleeping_thread_lets_its_block_run(threads: CpuModule) -> None:
    """__nanosleep in a spin loop gives way to the thread that is waited for."""
    flag, out = np.zeros(1, np.int32), np.zeros(1, np.int32)
    launch(threads, "spin_in_block", flag, out, block=64)
    assert out[0] == 42


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"grid": 0}, "zero"),
        ({"grid": (1, 70000, 1)}, "larger than a GPU"),
        ({"block": 1025}, "larger than a GPU"),
        ({"block": (1, 1, 65)}, "larger than a GPU"),
        ({"shared": 1 << 20}, "shared memory"),
        ({"cluster": (2, 1, 1)}, "clusters"),
        ({"grid": 2000, "cooperative": True}, "at most 1024 blocks"),
        ({"grid": -1}, "larger than a GPU"),
    ],
)
def test_shapes_that_no_gpu_takes_are_refused(plain: CpuModule, shape: dict[str, Any], words: str) -> None:
    """With the reason."""
    with pytest.raises(KgenError, match=words) as caught:
        launch(plain, "no_arguments", **shape)
    assert caught.value.code == "kernel-failed"
