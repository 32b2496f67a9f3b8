"""What a launcher computes, on the CPU: as kgen's own calls do, for any layout that it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import pipeline
from kgen.aot import aot_module
from kgen.compile_spec import CompileSpec
from kgen.options import Options
from tests.launcher.host import NOT_COVERED, SUCCESS, Host, host, of_numpy

F32 = np.float32


@pytest.fixture(scope="module")
def axpy(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return host("param s: float = 2.0; out = s * a + b", CompileSpec("f32"), tmp_path_factory.mktemp("axpy"), "axpy")


def random(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(F32)


A, ROW = random(30, 40), random(40)
LAYOUTS = {
    "contiguous": (A, random(30, 40)),
    "unaligned": (random(1003)[1:], random(1005)[3:]),
    "transposed": (A, random(40, 30).T),
    "turned": (random(3, 40, 20).transpose(2, 0, 1), random(20, 3, 40)),
    "rows": (A, ROW),
    "columns": (A, random(30, 1)),
    "sliced": (random(30, 100)[:, 10:50], A),
    "stepped": (random(60, 80)[::2, ::2], A),
    "reversed": (A[::-1, ::-1], random(30, 40)),
    "channels_last": (random(2, 5, 6, 3).transpose(0, 3, 1, 2), random(3, 1, 1)),
    "five": (random(2, 3, 4, 5, 6).transpose(4, 2, 0, 3, 1), random(6, 4, 2, 5, 3)),
    "eight": (random(2, 3, 2, 3, 2, 3, 2, 3)[::-1, :, ::-1].swapaxes(1, 6), random(2, 2, 2, 3, 2, 3, 3, 3)),
    "scalar": (random(1), A),
    "zero_d": (np.array(3.0, F32), A),
    "one": (random(1), random(1, 1)),
    "empty": (random(0, 7), random(7)),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_any_layout(axpy: Host, name: str) -> None:
    """Inputs of any layout, which are broadcast, into outputs that are dense, padded, or in another order."""
    a, b = LAYOUTS[name]
    wanted = F32(3) * a + b
    shape = wanted.shape
    padded = np.full((*shape, 2), 7, F32)[..., 0]
    other = np.full(shape[::-1], 7, F32).T
    for out in (np.full(shape, 7, F32), padded, other, np.full(shape, 7, F32)[tuple([slice(None, None, -1)] * a.ndim)]):
        if out.shape == shape:
            status = axpy.launch([of_numpy(a), of_numpy(b), of_numpy(out)], [3.0])
            assert status == SUCCESS, axpy.message(status)
            np.testing.assert_array_equal(out, wanted)


def test_rows_alone(tmp_path: Path) -> None:
    """A file for rows takes all layouts in which outputs are consecutive along the fastest dimension."""
    loaded = host("out = a - b", CompileSpec({"a": "f32", "b": "f64"}, layout="rows"), tmp_path, "rows")
    for a, of in LAYOUTS.values():
        b = of.astype(np.float64)
        wanted = a - b
        wide = np.full((*wanted.shape[:-1], wanted.shape[-1] + 3), 7.0)[..., 2:-1]
        assert loaded.launch([of_numpy(a), of_numpy(b), of_numpy(wide)]) == SUCCESS
        np.testing.assert_array_equal(wide, wanted)
        if wanted.size > 1:
            step = np.full((*wanted.shape, 2), 7.0)[..., 0]
            assert loaded.launch([of_numpy(a), of_numpy(b), of_numpy(step)]) == NOT_COVERED


def test_strides_may_be_left_out(axpy: Host) -> None:
    a, b, out = A.copy(), random(30, 40), np.zeros_like(A)
    arrays = [of_numpy(x) for x in (a, b, out)]
    for array in arrays:
        array.strides = None
    assert axpy.launch(arrays, [2.0]) == SUCCESS
    np.testing.assert_array_equal(out, F32(2) * a + b)


def test_byte_offset(axpy: Host) -> None:
    a, out = random(2, 1000), np.zeros(1000, F32)
    array = of_numpy(a[0])
    array.byte_offset = 4000
    assert axpy.launch([array, of_numpy(a[0]), of_numpy(out)], [2.0]) == SUCCESS
    np.testing.assert_array_equal(out, F32(2) * a[1] + a[0])


#: A file's program and spec, and the shapes of inputs that it takes.
PROGRAMS: dict[str, tuple[str, CompileSpec, list[tuple[tuple[int, ...], ...]]]] = {
    "softmax": (
        "let e = exp(a - max(a, axis=-1, keepdims=true)); out = e / sum(e, axis=-1, keepdims=true)",
        CompileSpec("f32", {"a": (None, None)}),
        [
            ((1, 1),),
            ((3, 1),),
            ((1, 5),),
            ((7, 33),),
            ((1030, 64),),
            ((5, 4096),),
            ((0, 4),),
            *(((3, n),) for n in (40, 65, 68, 300, 513, 516, 2044, 2049, 2052, 8192, 8193, 8196)),
        ],
    ),
    "split": ("out = sum(a, axis=-1)", CompileSpec("f32", {"a": (2, 1 << 20)}), [((2, 1 << 20),)]),
    "columns": (
        "out = sum(a, axis=0)",
        CompileSpec("f32", {"a": (None, 64)}),
        [((3, 64),), ((5000, 64),), ((40000, 64),), ((1, 64),)],
    ),
    "any_columns": (
        "out = sum(a, axis=0)",
        CompileSpec("f32", {"a": (None, None)}),
        [((3, 64),), ((5000, 64),), ((1, 7),), ((300, 7),), ((2000, 1),), ((40, 1001),), ((7, 1024),)],
    ),
    "two_steps": (
        "out = a - max(a)",
        CompileSpec("f32", {"a": (None, None)}),
        [((3, 5),), ((1000, 1000),), ((1, 1),)],
    ),
    "three_outputs": (
        "m = mean(a, axis=-1); v = var(a, axis=-1); total = sum(a)",
        CompileSpec("f32", {"a": (None, 1000)}),
        [((3, 1000),), ((2000, 1000),)],
    ),
    "views": (
        "out = merge(stack(a, -a, axis=-1)); both = concat(a, a[:1] * 2)\n"
        "m = max(split(transpose(a), axis=0, by=8), axis=1)",
        CompileSpec("f32", {"a": (None, 64)}),
        [((3, 64),), ((1, 64),), ((300, 64),)],
    ),
    "gathers": (
        "out = a[cast<i64>(3 * b)] + 1; m = max(a[:, cast<i64>(9 * b)], axis=0) - a[1:][index(0), cast<i64>(b)]",
        CompileSpec("f32", {"a": (None, 64), "b": (None,)}),
        [((3, 64), (5,)), ((2, 64), (2,)), ((300, 64), (700,))],
    ),
    "updates": (
        "o = where(true, 0, a); o[cast<i64>(b), :] += a[0, :]; o[::2, 1:] += 3\n"
        "n = where(true, 0, b); n[cast<i64>(b)] max= 5 if b > 0",
        CompileSpec("f32", {"a": (None, 64), "b": (None,)}),
        [((3, 64), (5,)), ((2, 64), (2,)), ((300, 64), (700,))],
    ),
    "places": (
        "i = argmax(a, axis=-1); d = index(1) - index(0) + cast<i64>(b)",
        CompileSpec("f32", {"a": (None, 100), "b": (None, 3)}),
        [((5, 100), (4, 3)), ((300, 100), (1, 3))],
    ),
}


ROUNDED = ("softmax", "three_outputs")  # programs with results that are rounded on the way


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, tmp_path: Path) -> None:
    """Several kernels, buffers, scratch memory, open extents, index(): the results of a call of kgen.

    Other kernels may add in another order, but sums of small integers are exact.  The workspace is as large as the
    launcher says, begins with anything, and serves every call.  Arrays at any address have the same bits.
    """
    text, spec, calls = PROGRAMS[name]
    loaded, kernel = host(text, spec, tmp_path, name), kgen.jit(text, device="cpu", fmad=False)
    memory = np.full(1 << 25, 0xA5, np.uint8)
    start = -(-memory.ctypes.data // 256) * 256
    for shapes in calls:
        inputs = [np.rint(4 * random(*shape)) for shape in shapes]
        found = kernel(*inputs)
        wanted = list(found) if isinstance(found, tuple) else [found]
        for shift in (0, 1, 2, 0):
            given, outs = ([shifted(x, shift) for x in of] for of in (inputs, [np.full_like(w, 7) for w in wanted]))
            arrays = [of_numpy(x) for x in (*given, *outs)]
            size = loaded.workspace_size(arrays)
            assert size <= 1 << 24
            if size:
                assert loaded.message(loaded.launch(arrays, (), start, size - 1)).startswith("less workspace")
            status = loaded.launch(arrays, (), start, size)
            assert status == SUCCESS, (shapes, loaded.message(status))
            for out, w in zip(outs, wanted, strict=True):
                np.testing.assert_allclose(out, w, rtol=1e-6 if name in ROUNDED else 0)
            wanted = outs


def shifted(x: np.ndarray[Any, Any], elements: int) -> np.ndarray[Any, Any]:
    """A copy that begins so many elements behind a multiple of 256 bytes."""
    memory = np.empty(x.nbytes + 256 + elements * x.itemsize, np.uint8)
    first = -memory.ctypes.data % 256 + elements * x.itemsize
    made: np.ndarray[Any, Any] = memory[first : first + x.nbytes].view(x.dtype).reshape(x.shape)
    made[...] = x
    return made


def test_unaligned_arrays_are_copied(tmp_path: Path) -> None:
    """In and out, with the gaps of inputs; results with gaps are refused."""
    spec = CompileSpec("f32", {"p": (6, 8), "g": (6, 8)}, strides={"g": (20, 1)})
    loaded = host("inout p; p = p - 0.5 * g", spec, tmp_path, "update")
    memory = np.empty(1 << 14, np.uint8)
    start = memory.ctypes.data + -memory.ctypes.data % 256
    for shift in range(4):
        p, g = shifted(random(6, 8), shift), shifted(random(6, 20), shift)[:, :8]
        wanted, arrays = p - F32(0.5) * g, [of_numpy(p), of_numpy(g)]
        size = loaded.workspace_size(arrays)
        assert size == (256 + 512 if shift else 0)
        assert loaded.launch(arrays, (), start, size) == SUCCESS
        np.testing.assert_array_equal(p, wanted)
    padded = CompileSpec("f32", {"p": (6, 8), "g": (6, 8)}, strides={"p": (12, 1)})
    loaded = host("inout p; p = p - 0.5 * g", padded, tmp_path, "padded")
    p, g = shifted(random(6, 12), 1)[:, :8], random(6, 8)
    assert loaded.launch([of_numpy(p), of_numpy(g)], (), start, 1 << 13) == NOT_COVERED + 256


def test_updates_in_place(tmp_path: Path) -> None:
    text = "inout p; p = p - 0.5 * g"
    p, g = random(30, 40), random(40, 30).T
    wanted = p - F32(0.5) * g
    assert host(text, CompileSpec("f32"), tmp_path, "update").launch([of_numpy(p), of_numpy(g)]) == SUCCESS
    np.testing.assert_array_equal(p, wanted)


def test_an_open_extent_that_follows_from_others(tmp_path: Path) -> None:
    """An array that is updated has the merged extent of another, which only a call knows."""
    spec = CompileSpec("f32", {"p": (3, None), "a": (15, None)})
    loaded = host("inout p; p = merge(split(a, axis=0, by=5), axis=(1, 2))", spec, tmp_path, "merged")
    for n in (2, 7, 64):
        p, a = random(3, 5 * n), random(15, n)
        assert loaded.launch([of_numpy(p), of_numpy(a)]) == SUCCESS
        np.testing.assert_array_equal(p, a.reshape(3, 5 * n))
        assert loaded.launch([of_numpy(random(3, 5 * n + 1)), of_numpy(a)]) != SUCCESS


def test_parts_without_elements(tmp_path: Path) -> None:
    """No kernel is launched for them: CUDA takes no grid of no blocks."""
    spec = CompileSpec("f32", {"a": (8, 0), "b": (8, 3)})
    loaded = host("out = concat(a, b, a, axis=1) * 2", spec, tmp_path, "parts")
    a, b, out = random(8, 0), random(8, 3), random(8, 3)
    assert loaded.launch([of_numpy(a), of_numpy(b), of_numpy(out)]) == SUCCESS
    np.testing.assert_array_equal(out, 2 * b)


def test_one_of_several_results_without_elements(tmp_path: Path) -> None:
    """A kernel of no blocks is not launched: CUDA would refuse it, and the others would not follow."""
    loaded = host("p = a * 2; q = b + 1", CompileSpec("f32", {"a": (None,), "b": (None,)}), tmp_path, "two")
    for sizes in ((5, 0), (0, 7), (0, 0), (5, 7)):
        a, b = (random(n) for n in sizes)
        outs = [np.zeros_like(a), np.zeros_like(b)]
        assert loaded.launch([*map(of_numpy, (a, b, *outs))]) == SUCCESS, sizes
        np.testing.assert_array_equal(outs[0], a * 2)
        np.testing.assert_array_equal(outs[1], b + 1)


def test_three_kernels_in_one_launch(tmp_path: Path) -> None:
    """The members of each part's layout, by their own type."""
    arrays = [random(40, n).astype(np.float16) for n in (33, 70, 20)]
    shapes = {name: a.shape for name, a in zip("abc", arrays, strict=True)}
    loaded = host("out = concat(a * 2, b, c, axis=1)", CompileSpec("f16", shapes), tmp_path, "joined")
    assert [e.name for e in loaded.module.entries] == ["joined_horizontal"]
    out = np.zeros((40, 123), np.float16)
    assert loaded.launch([*map(of_numpy, arrays), of_numpy(out)]) == SUCCESS
    np.testing.assert_array_equal(out, np.concatenate([arrays[0] * 2, *arrays[1:]], axis=1))


def test_columns_of_gathered_elements(tmp_path: Path) -> None:
    """The places of elements and the coordinates that they are gathered at are declared once."""
    spec = CompileSpec({"x": "f16", "i": "i64"}, {"x": (16, 5, 1), "i": (6, None)})
    loaded = host("out = max(x[:, i], axis=(0, 1))", spec, tmp_path, "gathered")
    for n in (2, 9):
        x, i = random(16, 5, 1).astype(np.float16), np.arange(6 * n).reshape(6, n) % 5
        out = np.zeros((n, 1), np.float16)
        workspace = np.zeros(1 << 16, np.uint8)
        start = -workspace.ctypes.data % 256 + workspace.ctypes.data
        arrays = [of_numpy(x), of_numpy(i), of_numpy(out)]
        assert loaded.launch(arrays, (), start, 1 << 15) == SUCCESS
        np.testing.assert_array_equal(out, x[:, i].max((0, 1)))


def test_scalars_of_every_kind(tmp_path: Path) -> None:
    """Floats are passed as double, integers as int64_t, bools as int; each becomes what the program computes in."""
    text = "param f: f32; param h: f16; param n: i32; param u: u8; param b: bool; out = a * f + h + n * u + (b ? 1 : 0)"
    a, out = random(100), np.zeros(100, F32)
    loaded = host(text, CompileSpec("f32"), tmp_path, "scalars")
    assert loaded.launch([of_numpy(a), of_numpy(out)], [0.1, 1 / 3, -5, 7, 1]) == SUCCESS
    wanted = kgen.jit(text, device="cpu", fmad=False)(a, f=0.1, h=1 / 3, n=-5, u=7, b=True)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("text", ["out = expand(a, axis=-1) * b", "out = expand(a + 1, axis=0) * b"])
def test_programs_that_expand_need_their_rank(text: str) -> None:
    """Which axis is new depends on it, and a launcher for any rank would broadcast instead."""
    with pytest.raises(kgen.KgenError, match="a program that expands needs to know its rank"):
        aot_module(pipeline.load(text), "program", Options(), CompileSpec("f32"))
