"""The launcher in C decides what Python decides: spaces, kernels and grids."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pytest

from kgen import pipeline
from kgen.aot import aot_lower
from kgen.compile_spec import CompileSpec
from kgen.dtypes import FLOAT16, FLOAT32
from kgen.families import launch_of
from kgen.launcher.classes import ExtentClass, extent_classes
from kgen.layout.iterator import IterationSpace, OperandLayout, iteration_space
from kgen.layout.kinds import index_bits
from kgen.lowering import Lowered
from kgen.operands import Sizes
from kgen.schedule.elementwise.linear import beyond
from kgen.schedule.step_layout import concrete
from tests.launcher.host import SUCCESS, TOO_LARGE, Host, array, host
from tests.layout.test_iteration_space import load

#: Programs of so many inputs, for the recorded layouts.
TEXTS = {1: "out = a + 1", 2: "out = a + b", 3: "out = a + b * c", 4: "out = a + b * c - d"}

APART = 1 << 40  # bytes from one array to the next


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Host]:
    folder = tmp_path_factory.mktemp("launchers")
    return {n: host(text, CompileSpec("f32", rank=3), folder, f"inputs{n}") for n, text in TEXTS.items()}


def transposed_extent(space: IterationSpace) -> int:
    """The extent of the first other dimension than the fastest along which an input is consecutive, of 16 at least."""
    inputs = [s for s in space.strides[1:] if abs(s[0]) > 1]
    return next((n for s in inputs for n, step in zip(space.shape[1:], s[1:], strict=True) if step == 1 and n >= 16), 0)


def expected(case: Any, address: int) -> tuple[str, int]:
    """The kernel, without its program's name, and its blocks, for arrays at addresses like this one."""
    layouts = [(tuple(case["out_shape"]), tuple(case["out_strides"]))]
    layouts += [(tuple(x["shape"]), tuple(x["strides"])) for x in case["inputs"]]
    space = iteration_space(tuple(case["out_shape"]), [OperandLayout(*layout) for layout in layouts])
    n = space.numel
    is_run = len(space.shape) == 1 and (n == 1 or all(s == (1,) for s in space.strides))
    if is_run and address % 16 == 0:
        return "contiguous", -(-n // 1024)
    is_whole = address % 16 == 0 and all(step % 4 == 0 for step in space.strides[0][1:])
    return expected_walk(space, 0 if is_whole else 3, is_small=index_bits(space, [4] * len(layouts)) == 32)


def expected_walk(space: IterationSpace, before: int, *, is_small: bool) -> tuple[str, int]:
    """The same where operands are no runs of memory.  ``before``: elements of a group that may lie before its row."""
    n, rank = space.numel, len(space.shape)
    width, *rest = space.shape
    if rank <= 3 and width >= 16 and space.strides[0][0] == 1:
        height = transposed_extent(space)
        if height and is_small:
            return "tiled_3d", -(-width // 32) * -(-height // 32) * (prod(rest) // height)
        kernel = "rows_3d_64bit" if not is_small else "rows_2d" if rank <= 2 else "rows_3d"
        return kernel, -(-(-(-(width + before) // 4) * prod(rest)) // 256)
    return f"strided_{max(rank, 2)}d" if rank <= 3 and is_small else "strided_8d_64bit", -(-n // 512)


@pytest.mark.parametrize("address", [APART, APART + 4], ids=["aligned", "unaligned"])
def test_recorded_layouts(hosts: dict[int, Host], address: int) -> None:
    """Every layout that was recorded of PyTorch's TensorIterator: merged as in Python, and so the same kernel."""
    kinds = set()
    for case in load("tensor_iterator_layouts.json.gz"):
        inputs = case["inputs"]
        given = [*((x["shape"], x["strides"]) for x in inputs), (case["out_shape"], case["out_strides"])]
        arrays = [array(address + i * APART, shape, strides, FLOAT32) for i, (shape, strides) in enumerate(given)]
        name = f"inputs{len(inputs)}"
        kernel, blocks = expected(case, address)
        kinds.add(kernel)
        assert hosts[len(inputs)].decided(arrays) == (SUCCESS, [(f"{name}_{kernel}", blocks)]), case
    assert len(kinds) > 3


@pytest.mark.parametrize(
    ("shape", "strides", "kernel"),
    [
        ((1 << 31,), (1,), "contiguous_64bit"),
        (((1 << 31) - 1,), (1,), "contiguous"),
        ((1 << 16, 1 << 15), (1 << 17, 1), "rows_3d_64bit"),
        ((1 << 14, 1 << 14), (1 << 15, 1), "rows_2d"),
        ((4, 1 << 10, 1 << 14), (1 << 26, 1 << 15, 1), "rows_3d"),
        ((1 << 14, 15), (1 << 15, 1), "strided_2d"),
        ((1 << 14, 1 << 14), (1 << 15, 2), "strided_2d"),
        ((2, 1 << 14, 1 << 14), (1 << 40, 1 << 15, 1), "rows_3d_64bit"),
        ((2, 1 << 14, 1 << 14), (1 << 40, 1 << 15, 2), "strided_8d_64bit"),
        ((2, 3, 4, 5), (1 << 31, 120, 20, 2), "strided_8d_64bit"),
        ((2, 3, 4, 5), (1 << 20, -(1 << 12), -40, -3), "strided_8d_64bit"),
    ],
)
def test_large(hosts: dict[int, Host], shape: tuple[int, ...], strides: tuple[int, ...], kernel: str) -> None:
    """Layouts beyond 32 bits take the kernels with 64."""
    x = array(1 << 45, shape, strides, FLOAT32)
    out = array(1 << 46, shape, strides, FLOAT32)
    status, launched = hosts[1].decided([x, out])
    assert (status, [name for name, _ in launched]) == (SUCCESS, [f"inputs1_{kernel}"])


def test_room_of_unaligned_groups(tmp_path: Path) -> None:
    """Indices of a kernel for unaligned arrays go beyond the last element."""
    halves = host("out = a + 1", CompileSpec("f16"), tmp_path, "halves")
    for n in range(2**31 - beyond(256, 8) - 2, 2**31 - beyond(256, 8) + 2):
        x, out = array(APART + 2, (n,), None, FLOAT16), array(2 * APART + 2, (n,), None, FLOAT16)
        _, ((kernel, _),) = halves.decided([x, out])
        assert kernel == ("halves_contiguous_unaligned" if n + beyond(256, 8) < 2**31 else "halves_rows_4d_64bit")


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "i8"])
def test_every_length_has_a_kernel(dtype: str) -> None:
    """Also multiples of smaller vectors, of which short rows are taken."""
    program, spec = pipeline.load("out = a - max(a, axis=-1, keepdims=true)"), CompileSpec(dtype, {"a": (None, None)})
    lowered, _ = aot_lower(program, spec)
    assert isinstance(lowered, Lowered)
    classes = extent_classes(lowered, spec.operands(program))
    for n in (*range(1, 600), *range(4090, 4110), *range(16370, 16400)):
        assert any(one.has((3, n)) for one in classes), n


def test_samples_of_extents_are_looked_up_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most samples are of the class of the sample ahead of them: few others are asked."""
    program, spec = pipeline.load("out = a - max(a, axis=-1, keepdims=true)"), CompileSpec("f32", {"a": (None, None)})
    lowered, _ = aot_lower(program, spec)
    assert isinstance(lowered, Lowered)
    asked, has = Counter[tuple[int, ...]](), ExtentClass.has

    def counted(one: ExtentClass, values: tuple[int, ...], *, dense: bool = False) -> bool:
        asked[values] += 1
        return has(one, values, dense=dense)

    monkeypatch.setattr(ExtentClass, "has", counted)
    assert len(extent_classes(lowered, spec.operands(program))) > 8
    assert asked.total() < 10 * len(asked)


SQUARE: dict[str, tuple[int | None, ...]] = {"a": (None, None)}

#: Programs whose extents are open, and the extents to try.
OPEN: list[tuple[str, str, dict[str, tuple[int | None, ...]]]] = [
    ("elements", "out = a + 1", {"a": (None,)}),
    ("bias", "out = a + b", {"a": (None, None), "b": (None,)}),
    ("softmax", "let e = exp(a - max(a, axis=-1, keepdims=true)); out = e / sum(e, axis=-1, keepdims=true)", SQUARE),
    ("norm", "out = a * rsqrt(mean(a * a, axis=-1, keepdims=true)) * b", {"a": (None, 4096), "b": (4096,)}),
    ("columns", "out = sum(a, axis=0)", {"a": (None, 64)}),
    ("any_columns", "out = sum(a, axis=0)", SQUARE),
    ("two_steps", "out = a - max(a)", SQUARE),
    ("indices", "out = index(0) * 2 + index(1) + a", SQUARE),
]
EXTENTS = (1, 2, 3, 7, 8, 31, 64, 100, 256, 1000, 1023, 1024, 1025, 4096, 10007, 65536, 1 << 20, (1 << 31) + 8)


PLANES = ("planes", "out = a + b", {"a": (None, None, None), "b": (None, 1, None)})


@pytest.mark.parametrize(
    ("name", "text", "shapes"),
    [*(pytest.param(*row, id=row[0]) for row in OPEN), pytest.param(*PLANES, id="planes", marks=pytest.mark.whole)],
)
def test_open_extents(name: str, text: str, shapes: dict[str, tuple[int | None, ...]], tmp_path: Path) -> None:
    """A file has a kernel for all extents: the one that Python decides on, on the same grid."""
    spec = CompileSpec("f32", shapes)
    program = pipeline.load(text)
    lowered, _ = aot_lower(program, spec)
    assert isinstance(lowered, Lowered)
    loaded = host(text, spec, tmp_path, name)
    entries = {entry.name: entry for entry in loaded.module.entries}
    whole, dims = lowered.specialised, sorted(lowered.sizes.assumed)
    for values in product(EXTENTS[:: 1 if len(dims) < 3 else 3], repeat=len(dims)):
        if prod(values) > 1 << 36:
            continue
        extents = {**lowered.sizes.extents, **dict(zip(dims, values, strict=True))}
        given = [concrete(o.shape, extents) for o in whole.graph.operands if o.role != "buffer"]
        arrays = [array((i + 1) << 50, shape, None, FLOAT32) for i, shape in enumerate(given)]
        status, launched = loaded.decided(arrays)
        sizes = Sizes(extents, lowered.sizes.assumed)
        layouts = pipeline.allocate(whole, sizes, spec.operands(program))
        found = pipeline.decide(whole, sizes, layouts, lowered.target)
        wanted = [(s.schedule, launch_of(s.schedule, s.placed.space).grid[0]) for s in found.steps]
        if max(blocks for _, blocks in wanted) >= 1 << 31:
            assert status == TOO_LARGE
            continue
        assert status == SUCCESS, (values, loaded.message(status))
        assert [(entries[kernel].schedule, blocks) for kernel, blocks in launched] == wanted, values
