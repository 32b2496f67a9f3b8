"""Chains of reductions over rows that lie across memory: softmax over channels of NCHW is one pass over memory."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kgen
from kgen.schedule.reduction.resident_mapping import ResidentDemand, ResidentMapping, map_columns
from tests.codegen.compilers import nvrtc_log
from tests.fuzz.arrays import Array, Recipe
from tests.fuzz.reductions import Program
from tests.fuzz.test_reductions import run
from tests.reductions.odd_rows import across, in_turn

SOFTMAX = "let e = exp(x - max(x, axis=1, keepdims=true))\nout = e / sum(e, axis=1, keepdims=true)"
LAYERNORM = (
    "let d = x - mean(x, axis=1, keepdims=true)\nout = d * rsqrt(mean(d * d, axis=1, keepdims=true) + 1e-5) * w + b"
)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(1, keepdims=True))
    return np.asarray(e / e.sum(1, keepdims=True))


def kernels_of(text: str, *arrays: Array) -> list[str]:
    return [step.kernel for step in kgen.jit(text, device="cpu").explain(*arrays).steps]


@pytest.mark.parametrize(
    "dtype",
    [
        "float32",
        pytest.param("float64", marks=pytest.mark.whole),
        "bfloat16",
        pytest.param("float16", marks=pytest.mark.whole),
    ],
)
@pytest.mark.parametrize(
    ("shape", "kernels"),
    [
        ((9, 2, 5000), ["columns_regs2"]),
        ((90, 21, 49), ["columns_regs"]),
        ((40, 33, 100), ["columns_regs"]),
        ((40, 200, 33), ["columns_regs"]),
        ((3, 512, 129), ["columns_regs"]),
        ((2, 1000, 65), ["columns", ""]),
    ],
    ids=str,
)
def test_softmax(shape: tuple[int, int, int], kernels: list[str], dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = (3 * np.random.default_rng(len(shape)).standard_normal(shape)).astype(kind)
    got = kgen.jit(SOFTMAX, device="cpu")(x).astype(np.float64)
    rough = {"float32": 1e-5, "float64": 1e-12}.get(dtype, 2e-2)
    np.testing.assert_allclose(got, softmax(x.astype(np.float64)), rtol=rough, atol=1e-6)
    if dtype != "float64":
        found = kernels_of(SOFTMAX, x)
        assert [name.startswith(start) for name, start in zip(found, kernels, strict=True)] == [True] * len(kernels)


def test_softmax_over_the_first_axis() -> None:
    x = np.random.default_rng(1).standard_normal((300, 256)).astype(np.float32)
    text = SOFTMAX.replace("axis=1", "axis=0")
    np.testing.assert_allclose(kgen.jit(text, device="cpu")(x), softmax(x.T.astype(np.float64)).T, rtol=1e-5, atol=1e-7)
    assert kernels_of(text, x) == ["columns_regs320"]


@pytest.mark.parametrize("shape", [(8, 3, 5000), (30, 96, 49), (4, 768, 50), (2, 2048, 40)], ids=str)
def test_layernorm_over_channels(shape: tuple[int, int, int]) -> None:
    """With weights that all rows share."""
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(shape) + 2).astype(np.float32)
    w, b = (rng.standard_normal((shape[1], 1)).astype(np.float32) for _ in range(2))
    d = x.astype(np.float64) - x.astype(np.float64).mean(1, keepdims=True)
    want = d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(kgen.jit(LAYERNORM, device="cpu")(x, w, b), want, rtol=1e-3, atol=1e-4)
    assert len(kernels_of(LAYERNORM, x, w, b)) == 1


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("out = x - logsumexp(x, axis=1, keepdims=true)", lambda x: np.log(softmax(x))),
        ("out = (x - mean(x, axis=1, keepdims=true)) / std(x, axis=1, keepdims=true)",
         lambda x: (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)),
        ("out = x * (index(1) == argmax(x, axis=1, keepdims=true))",
         lambda x: np.where(np.arange(x.shape[1])[:, None] == x.argmax(1, keepdims=True), x, 0)),
        ("out = x / norm(x, axis=1, keepdims=true)", lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("shape", [(20, 64, 77), (3, 300, 130)], ids=str)
def test_chains(text: str, reference: object, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(4).standard_normal(shape).astype(np.float32)
    assert callable(reference)
    want = reference(x.astype(np.float64))
    assert [k.startswith("columns_regs") for k in kernels_of(text, x)] == [True]
    got = kgen.jit(text, device="cpu")(x)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("shape", "turn"), in_turn([(5, 7, 40), (40, 33, 50), (3, 300, 70), (2, 1500, 45)]))
def test_every_kind(shape: tuple[int, int, int], turn: int | None) -> None:
    """As the oracle, twice alike, and into ``out=``; by default each kind over one dtype, in turn."""
    run(across(*shape, turn=turn))


@pytest.mark.parametrize(("seed", "turn"), in_turn(range(4)))
def test_every_layout(seed: int, turn: int | None) -> None:
    """Operands that begin anywhere, whose axes lie in any order, with gaps, or backwards."""
    rng = np.random.default_rng(seed)
    programs: list[Program] = []
    for program in across(int(rng.integers(1, 20)), int(rng.integers(1, 130)), int(rng.integers(2, 100)), turn):
        laid: dict[str, Recipe] = {}
        for name, recipe in program.recipes.items():
            axes = len(recipe.shape)
            order = tuple(map(int, rng.permutation(axes)))
            steps = tuple(int(rng.choice([1, 1, 1, 2, -1])) for _ in range(axes))
            laid[name] = replace(recipe, order=order, steps=steps, offset=int(rng.integers(0, 9)))
        programs.append(replace(program, recipes=laid))
    run(programs)


@pytest.mark.parametrize("other", [(20, 60, 1), (60, 1), (20, 1, 700), (60, 700)], ids=str)
def test_beside_what_rows_share(other: tuple[int, ...]) -> None:
    """Operands that move along some dimensions only, in whatever order."""
    rng = np.random.default_rng(6)
    x, s = rng.standard_normal((20, 60, 700)).astype(np.float32), rng.standard_normal(other).astype(np.float32)
    text = "let z = x + s\nlet e = exp(z - max(z, axis=1, keepdims=true))\nout = e / sum(e, axis=1, keepdims=true)"
    assert kernels_of(text, x, s) == ["columns_regs64"]
    want = softmax((x + s).astype(np.float64))
    np.testing.assert_allclose(kgen.jit(text, device="cpu")(x, s), want, rtol=1e-4, atol=1e-7)


def test_boxes_where_arrays_disagree() -> None:
    """Rows lie side by side along one dimension in ``x`` and another in ``y``: no threads are neighbours in both."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((50, 60, 70)).astype(np.float32)
    y = rng.standard_normal((70, 60, 50)).astype(np.float32).T
    text = "let z = x + y\nlet e = exp(z - max(z, axis=1, keepdims=true))\nout = e / sum(e, axis=1, keepdims=true)"
    (kernel,) = kernels_of(text, x, y)
    assert kernel.startswith("columns_regs64_boxes_")
    want = softmax((x + y).astype(np.float64))
    np.testing.assert_allclose(kgen.jit(text, device="cpu")(x, y), want, rtol=1e-4, atol=1e-7)


def test_in_place() -> None:
    x = np.random.default_rng(5).standard_normal((20, 64, 77)).astype(np.float32)
    want = x - x.max(1, keepdims=True)
    text = "inout x\nx = x - max(x, axis=1, keepdims=true)"
    assert kernels_of(text, x) == ["columns_regs64"]
    kgen.jit(text, device="cpu")(x)
    np.testing.assert_array_equal(x, want)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((64, 4096, 1024), "f32"), ((64, 8192, 1024), "i8"), ((64, 8192, 1024), "bf16")],
)
def test_too_long(shape: tuple[int, ...], dtype: str) -> None:
    """For a block's registers, or for sectors of memory: two kernels."""
    text = "out = x - max(x, axis=1, keepdims=true)"
    steps = kgen.jit(text, device="cpu").explain(kgen.spec(shape, dtype)).steps
    assert [s.kernel.startswith("columns") for s in steps] == [True, False]


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16"])
@pytest.mark.parametrize("inner", [49, 64])
def test_many_states(inner: int, dtype: str) -> None:
    """What threads leave for each other fits the 48 KiB of a block, and is all read."""
    deviations = [f"std(x * {n}, axis=1, keepdims=true)" for n in range(1, 13)]
    source = kgen.jit(f"out = x * ({' + '.join(deviations)})").source(kgen.spec((640, 96, inner), dtype))
    shared = re.findall(r"__shared__ ([\w<> ]+) (\w+)\[(\d+)\];", source)
    assert len(shared) == 12
    sizes = {"Moments<float>": 12, "Moments<double>": 24}
    assert sum(sizes[c_type] * int(count) for c_type, _, count in shared) <= 48 << 10
    assert all(len(re.findall(rf"\b{name}\b", source)) > 1 for _, name, _ in shared)


@pytest.mark.parametrize(
    ("height", "group", "sizes", "smallest", "states", "ragged", "found"),
    [
        (3, 8, (2,), 2, 4, False, (8, 64, 1, 3)),
        (21, 8, (2,), 2, 4, False, (8, 32, 2, 11)),  # 4 threads would have room for 24
        (96, 4, (4,), 4, 4, False, (4, 16, 16, 6)),
        (1024, 8, (2,), 2, 4, False, (8, 4, 128, 8)),
        (2048, 8, (2,), 2, 4, False, (8, 4, 128, 16)),
        (2049, 8, (2,), 2, 4, False, (8, 2, 256, 9)),  # a sector of each row
        (2049, 4, (4,), 4, 4, False, None),
        (384, 4, (4,), 4, 4, False, (4, 8, 64, 6)),
        (384, 4, (4,), 4, 4, True, (4, 16, 32, 12)),  # 256 bytes of each row
        (96, 1, (4,), 4, 4, True, (1, 64, 8, 12)),
        (96, 1, (2,), 2, 4, True, (1, 32, 8, 12)),
        (21, 1, (2,), 2, 4, True, (1, 64, 1, 21)),
        (200, 4, (4, 4), 4, 4, False, (4, 8, 64, 4)),  # two operands
        (200, 8, (2,), 2, 40, False, (2, 32, 16, 13)),  # states that fill registers
        (128, 4, (1, 1), 1, 8, False, (4, 32, 16, 8)),  # registers of values
        (512, 2, (8, 4, 2), 2, 4, False, (2, 4, 128, 4)),  # two blocks an SM
        (96, 1, (4,), 4, 144, True, (1, 32, 8, 12)),  # and shared memory
    ],
)
def test_shares(
    height: int, group: int, sizes: tuple[int, ...], smallest: int, states: int, ragged: bool,
    found: tuple[int, int, int, int] | None,
) -> None:  # fmt: skip
    share = map_columns(ResidentDemand(height, group, sizes, smallest, states, ragged))
    assert share == (found and ResidentMapping(*found))


def test_threads_down_share_sectors() -> None:
    """Where two columns lie side by side, neighbouring threads go down them, too."""
    x = np.random.default_rng(0).integers(-8, 9, (40000, 16, 2)).astype(np.float32)
    kernel = kgen.jit("out = x - max(x, axis=1, keepdims=true)", device="cpu")
    (step,) = kernel.explain(x).steps
    assert (step.schedule["block"], step.schedule["threads"]) == (64, 4)
    assert np.array_equal(kernel(x), x - x.max(1, keepdims=True))


@pytest.mark.parametrize(
    ("height", "group", "piece", "found"),
    [
        (768, 2, 2, (2, 1, 128, 6)),
        (768, 1, 2, (1, 2, 64, 12)),
        (768, 1, 13, (1, 8, 64, 12)),  # of 16 columns half: 512 threads
        (3000, 1, 3, (1, 2, 256, 12)),
        (3000, 1, 5, None),
        (768, 2, 0, None),  # what follows lies elsewhere
    ],
)
def test_shares_of_pieces(height: int, group: int, piece: int, found: tuple[int, int, int, int] | None) -> None:
    share = map_columns(ResidentDemand(height, group, (1, 4, 1), 1, 8, False, piece=piece))
    assert share == (found and ResidentMapping(*found))


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("beside", [2, 3, 4, 7, 13])
def test_pieces_are_read_as_runs(beside: int, dtype: str) -> None:
    """Where few columns lie side by side, one behind the other, a block has those of few pieces alone."""
    x = np.random.default_rng(beside).integers(-8, 9, (300, 700, beside)).astype(dtype)
    y = x[::-1].astype(np.float32)
    text = "let z = cast<float>(x) + y\nout = z - max(z, axis=1, keepdims=true)"
    kernel = kgen.jit(text, device="cpu")
    many = [kgen.spec((30000, 700, beside), kind) for kind in (dtype, "float32")]
    (step,) = kernel.explain(*many).steps
    assert step.schedule["group"] * step.schedule["block"] // step.schedule["threads"] <= 4 * beside
    z = x.astype(np.float32) + y
    assert np.array_equal(kernel(x, y), z - z.max(1, keepdims=True))


@pytest.mark.parametrize(("wide", "template"), [(8, "column_resident"), (16, "column_resident"), (17, "boxes")])
def test_pieces_of_wider_arrays(wide: int, template: str) -> None:
    """Also where an operand has as many columns again that are not used; beside more, it is copied first."""
    text = "let z = cast<float>(x) + y\nout = z - max(z, axis=1, keepdims=true)"
    kernel = kgen.jit(text, device="cpu")
    many = kgen.spec((3000, 1000, 8), "int8", (1000 * wide, wide, 1))
    assert kernel.explain(many, kgen.spec((3000, 1000, 8), "f32")).steps[0].schedule["template"] == template
    x = np.random.default_rng(wide).integers(-8, 9, (300, 700, wide)).astype(np.int8)[..., :8]
    y = np.ascontiguousarray(x[::-1]).astype(np.float32)
    z = x.astype(np.float32) + y
    assert np.array_equal(kernel(x, y), z - z.max(1, keepdims=True))


@pytest.mark.parametrize(
    ("dtype", "arch"),
    [
        pytest.param(dtype, arch, marks=[] if row % 3 == column else [pytest.mark.whole])
        for row, dtype in enumerate(["f32", "bf16", "f64", "c64"])
        for column, arch in enumerate(["sm_75", "sm_80", "sm_90"])
    ],
)
def test_compiles_for_gpus(dtype: str, arch: str) -> None:
    text = "out = x * prod(x, axis=1, keepdims=true)" if dtype == "c64" else SOFTMAX
    for shape in ((640, 200, 77), (6400, 700, 2)):
        source = kgen.jit(text).source(kgen.spec(shape, dtype))
        assert "columns_regs" in source
        assert nvrtc_log(source, arch) == ""


@pytest.mark.parametrize("shape", [(5, 17), (16, 3), (32, 256)])
def test_columns_divided_by_what_is_given(shape: tuple[int, int]) -> None:
    """Elements are divided by an operand that has one element a column, and then by what is found of the column."""
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=shape).astype(np.float32), rng.normal(size=shape[1]).astype(np.float32)
    text = "most = max(x / w, axis=0, keepdims=true)\nout = x / most"
    most, out = kgen.jit(text, device="cpu", fmad=False)(x, w)
    assert kernels_of(text, x, w)[0].startswith("columns_regs")
    np.testing.assert_array_equal(most, (x / w).max(0, keepdims=True))
    np.testing.assert_array_equal(out, x / most)


@pytest.mark.parametrize("dtype", ["float64", "int8", "float32"])
def test_converted_elements_do_not_delay_loads(dtype: str) -> None:
    """Compilers convert float64 and bytes where they are loaded, if that is in a branch, and wait there."""
    text = "let z = cast<float>(x)\ns = max(abs(z), axis=1, keepdims=true)\nq = z / s"
    source = kgen.jit(text).source(kgen.spec((4096, 50, 33), dtype))
    assert "_columns_regs" in source
    assert ("keep_loaded(x_in[v]);" in source) == (dtype != "float32")


PAIRS = "let z = cast<float>(a) * b\nout = z * rsqrt(mean(z * z, axis=0, keepdims=true) + 1e-6)"


def test_groups_of_bytes_do_not_delay_loads() -> None:
    """Pairs of bytes that one access loads are kept as they are; elements that are loaded one by one, each."""
    pairs = kgen.jit(PAIRS).source(kgen.spec((100, 1 << 17), "u8"), kgen.spec((100, 1 << 17), "f64"))
    assert "keep_loaded(a_vec[v]);" in pairs
    apart = kgen.jit(PAIRS).source(kgen.spec((100, 1 << 17), "u8", (1 << 19, 4)), kgen.spec((100, 1 << 17), "f64"))
    assert "keep_loaded(a_vec[v].at[0]);" in apart
    assert "keep_loaded(a_vec[v].at[1]);" in apart


def test_addresses_of_columns_are_kept() -> None:
    """Each load then adds its place in the column alone; not where a thread has one column."""
    source = kgen.jit(PAIRS).source(kgen.spec((100, 1 << 17), "u8"), kgen.spec((100, 1 << 17), "f64"))
    assert "a_column = keep_address(a_ptr + column);" in source
    assert "out_column = out_ptr + column;" in source
    assert "keep_address" not in kgen.jit(PAIRS).source(kgen.spec((100, 131071), "u8"), kgen.spec((100, 131071), "f64"))


@pytest.mark.parametrize("whole", [True, False])
def test_operands_that_neighbouring_columns_share_are_loaded_once(whole: bool) -> None:
    """An operand that differs from run to run of columns is in registers; one that is the same for all is in L1."""
    shape = (96, 300, 200) if whole else (96, 1, 1)
    rng = np.random.default_rng(5)
    x, w = rng.normal(size=(96, 300, 200)).astype(np.float32), rng.normal(size=shape[:2]).astype(np.float32)[..., None]
    text = "let d = x * w - mean(x * w, axis=0, keepdims=true)\nout = d * rsqrt(mean(d * d, axis=0, keepdims=true))"
    source = kgen.jit(text).source(x, w)
    assert "_columns_regs" in source
    assert ("w_in[v] = " in source) == whole
    z = x.astype(np.float64) * w
    d = z - z.mean(0)
    out = kgen.jit(text, device="cpu")(x, w)
    np.testing.assert_allclose(out, d / np.sqrt((d * d).mean(0)), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("dtype", ["f64", "bf16", "f16", "float8_e4m3fn", "float8_e5m2", "i8", "bool"])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_compiles_for_elements_of_any_type(dtype: str, arch: str) -> None:
    """Addresses are kept as such, whatever they point to."""
    given: dict[str, Any] = {"x": kgen.spec((127, 142, 196), dtype), "y": kgen.spec((127, 142, 196), "f32")}
    kernel = kgen.jit("let z = cast<float>(x) + y\nout = z - max(z, axis=1, keepdims=true)")
    assert "keep_address(" in kernel.source(**given, arch=arch)
    assert kernel.cubin(**given, arch=arch)
