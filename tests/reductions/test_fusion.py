"""Who shares a row, and how large blocks are: rules that were measured, and that results are right at their edges."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import kgen
from kgen.schedule.reduction.thread_mapping import RowDemand, filled, in_powers, map_row, one_row_mapping
from tests.codegen.bare import bare
from tests.forced import forced

SUM = "out = sum(x, axis=-1)"
SOFTMAX = "let e = exp(x - max(x, axis=-1, keepdims=true))\nout = e / sum(e, axis=-1, keepdims=true)"


@pytest.mark.parametrize(
    ("threads", "vectors", "row_bytes", "block"),
    [
        (8, 2, 512, 128),  # as much written as read: 8 KiB a block
        (1, 1, 16, 256),
        (1, 1, 1, 256),  # no larger, however little there is
        (64, 3, 2304, 64),  # a row of several warps has a block of its own
    ],
)
def test_blocks_move_enough(threads: int, vectors: int, row_bytes: int, block: int) -> None:
    found = one_row_mapping(threads, vectors)
    assert filled(found, row_bytes, many=False).block == block
    assert filled(found, row_bytes, many=True).block == block


def test_blocks_of_many_threads_move_more() -> None:
    """4 KiB suffice, but not where so many blocks begin that their rate bounds the kernel."""
    found = [filled(one_row_mapping(8, 2), 256, many=many).block for many in (False, True)]
    assert found == [128, 256]


@pytest.mark.parametrize(
    ("width", "element", "written", "rounds", "largest", "found"),
    [
        (640, 2, False, 1, 1, (16, 5, 1)),  # no lane without work
        (640, 2, True, 2, 8, (32, 3, 1)),
        (1152, 2, False, 1, 1, (32, 5, 1)),
        (4096, 8, False, 1, 1, (256, 4, 1)),  # two operands: 128 bytes a thread, not 256
        (9216, 4, True, 2, 8, (256, 9, 1)),  # float32: fewer threads, more blocks an SM
        (14336, 4, True, 2, 8, (256, 14, 1)),
        (16384, 4, True, 2, 8, (512, 8, 1)),
        (20480, 2, True, 2, 8, (512, 5, 1)),
        (32768, 2, True, 1, 8, (512, 8, 1)),
        (32768, 4, True, 1, 8, (256, 8, 4)),
        (32768, 4, False, 1, 1, (1024, 8, 1)),  # unless there are no clusters
        (81920, 4, True, 2, 8, (256, 10, 8)),
        (131072, 4, True, 2, 8, (512, 8, 8)),
        (200000, 4, True, 2, 8, (1024, 0, 1)),
    ],
)
def test_sharers(width: int, element: int, written: bool, rounds: int, largest: int, found: tuple[int, ...]) -> None:
    """Threads, vectors of each, and blocks of a cluster."""
    group = 8 if element == 2 else 4
    it = map_row(RowDemand(width, group, element, rounds, 1, largest, along=True, writes=written, as_much=written))
    assert (it.threads, it.vectors, it.cluster) == found


@pytest.mark.parametrize("vectors", range(4, 14))
@pytest.mark.parametrize("text", [SUM, SOFTMAX], ids=["sum", "softmax"])
def test_odd_numbers_of_vectors_are_staged(text: str, vectors: int) -> None:
    """Up to 11: their rows begin amid sectors of memory."""
    kernel = kgen.jit(text, device="cpu").explain(kgen.spec((5000, 8 * vectors), "bf16")).steps[0].kernel
    assert kernel.endswith("_staged") == (vectors in (5, 7, 9, 11))


@pytest.mark.parametrize("text", [SUM, SOFTMAX], ids=["sum", "softmax"])
@pytest.mark.parametrize("rows", [1, 129, 517])
@pytest.mark.parametrize("width", [16, 32, 40, 64, 72, 88, 104, 128, 144, 320, 640, 1152, 1400])
def test_values(text: str, rows: int, width: int) -> None:
    """Of numbers of rows that fill no block."""
    x = np.random.default_rng(width + rows).standard_normal((rows, width)).astype(ml_dtypes.bfloat16)
    got = kgen.jit(text, device="cpu")(x).astype(np.float64)
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(-1, keepdims=True))
    want = wide.sum(-1) if text == SUM else e / e.sum(-1, keepdims=True)
    np.testing.assert_allclose(got, want, rtol=2**-7, atol=1e-5 if text == SOFTMAX else 0.05)


def test_a_result_with_and_without_its_axis_is_one() -> None:
    """``expand`` of a result that is an output, too, reduces and computes nothing again."""
    text = "let g = split(x, by=8); scale = max(abs(g), axis=-1) + 1; out = g / expand(scale, axis=-1)"
    kernel = kgen.jit(text, device="cpu")
    x = np.arange(64, dtype=np.float32).reshape(2, 32)
    assert kernel.source(x).count("Max<float>::identity()") == 1
    scale, out = kernel(x)
    np.testing.assert_array_equal(scale, x.reshape(2, 4, 8).max(-1) + 1)
    np.testing.assert_array_equal(out, x.reshape(2, 4, 8) / scale[..., None])


def test_segments_of_rows_over_several_dimensions() -> None:
    """Results of segments are written at their coordinates, also where no element is."""
    text = "let g = split(x - y, by=32)\nlow = min(g, axis=3)\n"
    text += "wide = max(g - min(g, axis=3, keepdims=true), axis=(1, 2, 3))"
    x, y = (np.arange(2 * 8 * 224) % 91).reshape(2, 8, 224).astype(np.float16), np.arange(224).astype(np.int8)
    low, wide = kgen.jit(text, device="cpu")(x=x, y=y)
    g = (x - y).reshape(2, 8, 7, 32)
    np.testing.assert_array_equal(low, g.min(3))
    np.testing.assert_array_equal(wide, (g - g.min(3, keepdims=True)).max((1, 2, 3)))


def test_segments_of_more_elements_than_a_block_has_threads() -> None:
    """Clusters are tried for such rows."""
    text = "let t = min(y, axis=(0, -2), keepdims=true) + y\nout = mean((y + y) * 0.5, axis=(0, 2)) * 2 + t"
    y = kgen.spec((768, 23, 1), "f64", (23, 1, 17664))
    assert kgen.jit(text).cubin(y, arch="sm_90")
    x = np.random.default_rng(3).standard_normal((768, 23, 1))
    want = x.mean((0, 2)) * 2 + (x.min((0, 1), keepdims=True) + x)
    np.testing.assert_allclose(kgen.jit(text, device="cpu")(x), want, rtol=1e-12)


@pytest.mark.parametrize("segment", [1, 2, 4, 8, 16])
def test_only_the_last_group_of_a_thread_is_outside(segment: int) -> None:
    """Unless all of a thread's groups are in one segment, for which it is tested."""
    for threads, vectors in [(t, v) for t in (64, 128, 192, 256, 512) for v in range(2, 17)]:
        for count in range((vectors - 1) * threads + 1, vectors * threads + 1, 7):
            found = in_powers(one_row_mapping(threads, vectors), count, segment)
            assert count <= found.threads * found.vectors
            assert segment % found.vectors == 0 or (found.vectors - 1) * found.threads < count


@pytest.mark.parametrize("segments", [75, 300, 320, 513])
def test_segments_write_nothing_outside(segments: int) -> None:
    text = "let s = logsumexp(x, axis=1, keepdims=true)\nout = x + s * norm(x)\nlow = s"
    x = np.random.default_rng(segments).standard_normal((segments, 16)).astype(np.float32)
    out, low = np.full((2 * segments, 16), 7, np.float32), np.full((4 * segments, 1), 7, np.float32)
    kgen.jit(text, device="cpu")(x=x, out=(out[:segments], low[:segments]))
    want = np.log(np.exp(x).sum(1, keepdims=True))
    np.testing.assert_allclose(low[:segments], want, rtol=1e-4)
    np.testing.assert_allclose(out[:segments], x + want * np.linalg.norm(x), rtol=1e-4)
    assert (out[segments:] == 7).all()
    assert (low[segments:] == 7).all()


def test_the_next_kernel_starts_early_where_blocks_are_few() -> None:
    """Small blocks end later by that: where there are many of them, the next kernel starts by their end."""
    few, always = (bare(kgen.jit(SUM).source(kgen.spec((300, width), "bf16"), arch="sm_90")) for width in (512, 8192))
    early = "if (gridDim.x <= 132) { let_next_kernel_start(); }"
    assert early in few
    assert "let_next_kernel_start();" in always
    assert "gridDim.x <= 132" not in always


def test_the_tuning_says_which_kernels_start_the_next_early() -> None:
    """A device with more SMs has more blocks that count as few; small blocks of columns make no call."""
    early, call = "if (gridDim.x <= 160) { let_next_kernel_start(); }", "let_next_kernel_start"
    with forced({"rows": {"few_blocks": 160}}):
        assert early in bare(kgen.jit(SUM).source(kgen.spec((200, 512), "bf16"), arch="sm_90"))
    columns = "out = sum(x, axis=0)"
    for small, calls in ((0, 1), (1024, 0)):
        with forced({"columns": {"small_block": small}}):
            text = kgen.jit(columns).source(kgen.spec((200, 512), "bf16"), arch="sm_90")
        assert text.count(f"    {call}();") == text.count(f"void {call}()") == calls
