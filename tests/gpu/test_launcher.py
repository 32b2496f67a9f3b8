"""Files as other people's programs call them: built by nvcc, called through ctypes and from C++, against the oracle.

Arrays are runs of bytes on the device.  Whole runs are compared, so that a store beside the elements is seen, too.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import pipeline
from kgen.aot import aot_header, aot_module, aot_sets
from kgen.codegen.kernels import Module
from kgen.compile_spec import CompileSpec
from kgen.dtypes import DType
from kgen.ir.evaluator import evaluate
from kgen.ir.graph import Graph
from kgen.library import toolkit
from kgen.library.link import link_shared
from kgen.library.objects import Source, Work, compile_objects
from kgen.options import Options
from kgen.runtime.cuda.device import device_info
from kgen.runtime.cuda.driver import probe
from kgen.spec import as_dtype
from tests.gpu.sanitizer import sized
from tests.launcher.host import NOT_COVERED, SUCCESS, Array, Host, array
from tests.launcher.test_any_rank import CALLS, PAIRS, SEVERAL
from tests.launcher.test_results import PROGRAMS, ROUNDED
from tests.layout.test_iteration_space import load

NVCC = shutil.which("nvcc")
torch = pytest.importorskip("torch", reason="arrays on the device are torch's")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
    pytest.mark.skipif(NVCC is None, reason="no nvcc on this machine"),
]

#: Programs of so many inputs, for the recorded layouts, each with its sets of dtypes.
SETS = {
    1: ("out = a + 1", ("f32", "f16", "i8")),
    2: ("out = a - b", ("f32", "a=f16,b=f32", "i16")),
    3: ("out = a + b * c", ("f32", "f64", "a=f16,b=f16,c=f32")),
    4: ("out = a + b * c - d", ("f32", "f16", "u8")),
}
FUNCTIONS = ("launch", "workspace_size", "error_string")
FILL = 7  # of memory around the elements
LARGEST = 1 << 20  # elements of an array's memory


def spec(dtypes: str) -> CompileSpec:
    return CompileSpec(dict(part.split("=") for part in dtypes.split(",")) if "=" in dtypes else dtypes)


def library(texts: Mapping[str, str], folder: Path, base: str) -> ctypes.CDLL:
    """Files with these texts, the first of which nvcc builds as users do."""
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = [str(NVCC), "-shared", f"-arch={device_info(0).arch}", "-std=c++17", "-Xcompiler", "-fPIC"]
    subprocess.run([*command, "-o", f"{base}.so", next(iter(texts))], check=True, cwd=folder, timeout=600)
    return ctypes.CDLL(str(folder / f"{base}.so"))


def built(modules: Mapping[str, Module], folder: Path) -> dict[str, Host]:
    with ThreadPoolExecutor() as pool:
        found = {n: pool.submit(library, {f"{n}.cu": m.text}, folder, n) for n, m in modules.items()}
    return {n: Host(n, m, found[n].result(), ctypes.CDLL(None)) for n, m in modules.items()}


@cache
def graph_of(inputs: int, dtypes: str) -> Graph:
    program = pipeline.load(SETS[inputs][0])
    return pipeline.specialise_for(program, spec(dtypes).operands(program)).graph


def span(shape: Sequence[int], strides: Sequence[int]) -> int:
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if all(shape) else 0


class Memory:
    """A run of elements on the host and on the device, and an array that is in it."""

    def __init__(self, shape: Sequence[int], strides: Sequence[int], dtype: DType, offset: int) -> None:
        self.shape, self.strides, self.dtype, self.offset = tuple(shape), tuple(strides), dtype, offset
        self.run = np.full(span(shape, strides) + offset + 16, FILL, dtype.name)
        self.bytes = self.run.view(np.uint8)
        self.view = np.lib.stride_tricks.as_strided(
            self.run[offset:], self.shape, [s * dtype.size for s in self.strides]
        )

    def upload(self) -> Array:
        self.device = torch.from_numpy(self.bytes).cuda()
        return array(self.device.data_ptr() + self.offset * self.dtype.size, self.shape, self.strides, self.dtype)

    def download(self) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = self.device.cpu().numpy().view(self.run.dtype)
        return found


@pytest.fixture(scope="module")
def elementwise(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Host]:
    modules = {
        f"inputs{n}": aot_sets(pipeline.load(text), f"inputs{n}", Options(), {one: spec(one) for one in sets})
        for n, (text, sets) in SETS.items()
    }
    return built(modules, tmp_path_factory.mktemp("elementwise"))


def recorded() -> list[Any]:
    """A thousand of the recorded layouts that fit a small memory, as many of each number of inputs."""
    found = []
    for inputs in SETS:
        cases = [c for c in load("tensor_iterator_layouts.json.gz") if len(c["inputs"]) == inputs]
        given = [
            (c, [*((x["shape"], x["strides"]) for x in c["inputs"]), (c["out_shape"], c["out_strides"])]) for c in cases
        ]
        found += [case for case, arrays in given if max(span(*a) for a in arrays) <= LARGEST][: sized(250, 8)]
    return found


def test_recorded_layouts(elementwise: dict[str, Host]) -> None:
    """Layouts that were recorded of PyTorch's TensorIterator, with each set of dtypes in turn, aligned and not."""
    rng = np.random.default_rng(0)
    cases = recorded()
    assert len(cases) >= sized(1000, 32)
    for number, case in enumerate(cases):
        inputs = case["inputs"]
        sets = SETS[len(inputs)][1]
        graph = graph_of(len(inputs), sets[number % len(sets)])
        offset = number // len(sets) % 2
        layouts = [*((x["shape"], x["strides"]) for x in inputs), (case["out_shape"], case["out_strides"])]
        arrays = [Memory(*at, o.dtype, offset) for at, o in zip(layouts, graph.operands, strict=True)]
        for one in arrays[:-1]:
            one.run[...] = rng.integers(1, 5, one.run.shape)
        host = elementwise[f"inputs{len(inputs)}"]
        status = host.launch([one.upload() for one in arrays])
        assert status == SUCCESS, (case, host.message(status))
        out = arrays[-1]
        flat = [np.broadcast_to(one.view, out.shape).reshape(-1) for one in arrays[:-1]]
        (wanted,) = evaluate(graph, [*flat, None])
        out.view[...] = wanted.reshape(out.shape)
        np.testing.assert_array_equal(out.download(), out.run, err_msg=str(case))


def by_nvrtc(modules: Mapping[str, Module], folder: Path) -> dict[str, Host]:
    """As ``kgen build`` makes them without nvcc."""
    tools = toolkit.find("nvrtc")
    work = Work(tools, (device_info(0).arch,), Options(), os.cpu_count() or 1, folder)
    objects = compile_objects([Source(name, module) for name, module in modules.items()], work)
    for name, compiled in zip(modules, objects, strict=True):
        made = link_shared(tools, [compiled], f"{name}.so", [f"{name}_{what}" for what in FUNCTIONS], folder)
        (folder / f"{name}.so").write_bytes(made)
    return {n: Host(n, m, ctypes.CDLL(str(folder / f"{n}.so")), ctypes.CDLL(None)) for n, m in modules.items()}


@pytest.fixture(scope="module", params=[built, by_nvrtc], ids=["nvcc", "nvrtc"])
def shaped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Host]:
    modules = {n: aot_module(pipeline.load(text), n, Options(), of) for n, (text, of, _) in PROGRAMS.items()}
    found: dict[str, Host] = request.param(modules, tmp_path_factory.mktemp("shaped"))
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(shaped: dict[str, Host], name: str) -> None:
    """Several kernels, buffers, scratch memory, open extents, index(): twice, in a workspace that holds anything."""
    text, _, calls = PROGRAMS[name]
    host, rng = shaped[name], np.random.default_rng(0)
    for shapes in calls:
        inputs = [rng.integers(-4, 5, shape).astype(np.float32) for shape in shapes]
        found = kgen.jit(text, device="cpu")(*inputs)
        wanted = list(found) if isinstance(found, tuple) else [found]
        given = [torch.from_numpy(x).cuda() for x in (*inputs, *(np.full_like(w, FILL) for w in wanted))]
        arrays = [of_torch(x) for x in given]
        size = host.workspace_size(arrays)
        memory = torch.full((max(size, 1),), 0xA5, dtype=torch.uint8, device="cuda")
        for _ in range(2):
            status = host.launch(arrays, (), memory.data_ptr(), size)
            assert status == SUCCESS, (shapes, host.message(status))
            for out, w in zip(given[len(inputs) :], wanted, strict=True):
                np.testing.assert_allclose(
                    out.cpu().numpy(), w, rtol=1e-5 if name in ROUNDED else 0, err_msg=str(shapes)
                )
                out.fill_(FILL)


def of_torch(x: Any) -> Array:
    return array(x.data_ptr(), x.shape, x.stride(), as_dtype(str(x.dtype).removeprefix("torch.")))


def test_bits_of_a_row(shaped: dict[str, Host]) -> None:
    """In a file for rows of any length, too, a row has the same bits alone and among others."""
    host = shaped["softmax"]
    for width in (3, 33, 1000, 1024, 70_001):
        x = torch.randn(9, width, device="cuda")
        x[8] = x[0]
        whole, alone = torch.empty_like(x), torch.empty_like(x[:1])
        assert host.launch([of_torch(x), of_torch(whole)]) == SUCCESS
        assert host.launch([of_torch(x[:1]), of_torch(alone)]) == SUCCESS
        np.testing.assert_array_equal(alone[0].cpu().numpy(), whole[0].cpu().numpy())


def test_any_address(shaped: dict[str, Host]) -> None:
    """Results have the same bits where arrays are not aligned; what lies beside them stays."""
    host = shaped["softmax"]
    memory = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    for width in (33, 512, 1000):
        runs = torch.randn(2, -(-(9 * width + 8) // 4) * 4, device="cuda")
        aligned = [run[4 : 4 + 9 * width].view(9, width) for run in runs]
        assert host.launch([*map(of_torch, aligned)], (), memory.data_ptr(), memory.numel()) == SUCCESS
        for shift in (1, 3):
            moved = torch.full_like(runs, 7)
            first, last = 4 - shift, 4 - shift + 9 * width
            x, out = (run[first:last].view(9, width) for run in moved)
            x.copy_(aligned[0])
            arrays = [of_torch(x), of_torch(out)]
            assert host.launch(arrays, (), memory.data_ptr(), host.workspace_size(arrays)) == SUCCESS
            assert torch.equal(out, aligned[1])
            assert moved[1, :first].eq(7).all()
            assert moved[1, last:].eq(7).all()


@pytest.mark.parametrize("name", CALLS)
def test_any_rank(name: str, tmp_path: Path) -> None:
    """Files without --shape: results as of a call from Python."""
    text, others, shapes = CALLS[name]
    module = aot_module(pipeline.load(text), name, Options(), CompileSpec("f32", others))
    host, rng = built({name: module}, tmp_path)[name], np.random.default_rng(0)
    memory = torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")
    for shape in (*shapes, shapes[-1][:-1] + shapes[0][-1:]):
        inputs = [rng.integers(-4, 5, of).astype(np.float32) for of in (shape, *others.values())]
        found = kgen.jit(text, device="cpu")(*inputs)
        wanted = list(found) if isinstance(found, tuple) else [found]
        given = [torch.from_numpy(np.asarray(x)).cuda() for x in (*inputs, *(np.full_like(w, FILL) for w in wanted))]
        assert host.launch([of_torch(x) for x in given], (), memory.data_ptr(), memory.numel()) == SUCCESS
        for out, w in zip(given[len(inputs) :], wanted, strict=True):
            np.testing.assert_allclose(out.cpu().numpy(), w, rtol=1e-5, err_msg=str(shape))


@pytest.mark.parametrize("name", SEVERAL)
def test_several_arrays_of_any_rank(name: str, tmp_path: Path) -> None:
    """Each with a row for all, with as many rows as results, or with its rows apart."""
    text = SEVERAL[name]
    module = aot_module(pipeline.load(text), name, Options(), CompileSpec("f32"))
    host, rng, kernel = built({name: module}, tmp_path)[name], np.random.default_rng(0), kgen.jit(text, device="cpu")
    memory = torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")
    wide = torch.from_numpy(rng.integers(-4, 5, (6, 48)).astype(np.float32)).cuda()
    pairs = [[torch.from_numpy(rng.integers(-4, 5, of).astype(np.float32)).cuda() for of in pair] for pair in PAIRS]
    for x, mask in (*pairs, (wide[:, :40], wide[:, 4:44]), (wide[:, :41].contiguous(), wide[:1, 3:44])):
        wanted = kernel(x.cpu().numpy(), mask.cpu().numpy())
        out = torch.full(wanted.shape, float(FILL), device="cuda")
        assert host.launch([of_torch(a) for a in (x, mask, out)], (), memory.data_ptr(), memory.numel()) == SUCCESS
        np.testing.assert_allclose(out.cpu().numpy(), wanted, rtol=1e-5, err_msg=f"{x.shape} {mask.shape}")


@pytest.mark.parametrize("compiler", ["nvcc", "nvrtc"])
def test_threads_and_graphs(tmp_path: Path, compiler: str) -> None:
    """A C++ program, on every device: eight threads with streams of their own, and calls that a CUDA graph repeats."""
    text = "param s: float = 2.0; out = s * a + b"
    program = pipeline.load(text)
    module = aot_module(program, "axpy", Options(), CompileSpec("f32"))
    header = aot_header(program, "axpy", Options(), {"": CompileSpec("f32")})
    if compiler == "nvcc":
        kernels = [tmp_path / "axpy.cu"]
        kernels[0].write_text(module.text, encoding="utf-8")
    else:
        work = Work(toolkit.find("nvrtc"), (device_info(0).arch,), Options(), 1, tmp_path)
        kernels = compile_objects([Source("axpy", module)], work)
    (tmp_path / "axpy.h").write_text(header, encoding="utf-8")
    main = Path(__file__).parent / "launcher_program.cpp"
    command = [str(NVCC), f"-arch={device_info(0).arch}", "-std=c++17", f"-I{tmp_path}", "-o", "program"]
    subprocess.run([*command, *map(str, kernels), str(main)], check=True, cwd=tmp_path, timeout=600)
    found = subprocess.run(
        [tmp_path / "program", str(sized(200, 4))], capture_output=True, text=True, timeout=600, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr


def test_arrays_that_no_kernel_takes(shaped: dict[str, Host]) -> None:
    """A code, and nothing is written."""
    x, out = torch.ones(8, 33, device="cuda"), torch.full((8, 33), 7.0, device="cuda")
    assert shaped["softmax"].launch([of_torch(x.T.contiguous().T), of_torch(out)]) % 256 == NOT_COVERED
    assert out.unique().tolist() == [7.0]
