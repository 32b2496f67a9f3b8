"""Operators of torch against its stable ABI: shapes and refusals without a kernel; calls with a launcher on the CPU."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kgen import pipeline
from kgen.aot import aot_module, aot_sets
from kgen.codegen.kernels import Module
from kgen.compile_spec import CompileSpec
from kgen.options import Options
from tests.bindings.made import INCLUDE, PROGRAMS, compiled, make
from tests.launcher.host import loaded

torch = pytest.importorskip("torch", minversion="2.10", reason="torch 2.10 or later is not installed")

SCHEMAS = {
    "axpy": "(Tensor x, Tensor y, *, float a=2.0) -> Tensor",
    "normalise": "(Tensor x) -> Tensor",
    "step": "(Tensor(a0!) p, Tensor g, *, float lr, bool on=True) -> Tensor",
    "norm": "(Tensor x, Tensor w) -> (Tensor, Tensor)",
    "scores": "(Tensor x) -> (Tensor, Tensor)",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("torch")
    for name in PROGRAMS:
        make(name, "torch", made)
    return made


@pytest.fixture(scope="module")
def operators(folder: Path) -> Any:
    """The operators, without kernels, as the Python files complete them."""
    library = torch.library.Library("kgen", "FRAGMENT")
    for name, schema in SCHEMAS.items():
        assert f'm.def("{name}{schema}");' in (folder / f"{name}_torch.cpp").read_text(encoding="utf-8")
        library.define(f"{name}{schema}")
        run(folder / f"{name}_torch.py")
    yield torch.ops.kgen
    library._destroy()


def run(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_results_without_values(operators: Any) -> None:
    """Shapes, dtypes and strides on the meta device."""

    def empty(*shape: int, dtype: Any = torch.float32) -> Any:
        return torch.empty(shape, dtype=dtype, device="meta")

    out = operators.axpy(empty(5, 1, 3), empty(4, 1))
    assert (out.shape, out.dtype, out.stride()) == ((5, 4, 3), torch.float32, (12, 3, 1))
    out = operators.axpy(empty(4, 5).T, empty(5, 4, dtype=torch.float16))
    assert (out.shape, out.dtype, out.stride()) == ((5, 4), torch.float32, (1, 5))
    out = operators.axpy(empty(2, dtype=torch.float16), empty(2, dtype=torch.float16), a=3.0)
    assert out.dtype == torch.float16
    p = empty(3, 4)
    version = p._version
    out = operators.step(p, empty(4, dtype=torch.bfloat16), lr=0.5)
    assert p._version > version
    assert (out.shape, out.dtype) == ((3, 4), torch.bool)
    top, total = operators.scores(empty(7, 1000, dtype=torch.float16))
    assert (top.shape, top.dtype, total.shape) == ((7,), torch.float16, (7,))
    assert operators.normalise(empty(64, 100000)).shape == (64, 100000)
    for x, w in (((5, 4, 3), (3,)), ((3,), (5, 4, 3)), ((5, 4, 3), (5, 4, 3))):
        out, peak = operators.norm(empty(*x), empty(*w))
        assert (out.shape, out.stride(), peak.shape) == ((5, 4, 3), (12, 3, 1), (5, 4))
    assert [one.shape for one in operators.norm(empty(3), empty(3))] == [(3,), ()]
    with pytest.raises(TypeError, match="kgen::axpy was compiled for other dtypes"):
        operators.axpy(empty(3, dtype=torch.float64), empty(3))


def test_gradients_are_refused(operators: Any) -> None:
    x = torch.empty(3, 4, device="meta", requires_grad=True)
    with pytest.raises(RuntimeError, match="kgen::axpy has no gradient"):
        operators.axpy(x, x)
    with pytest.raises(RuntimeError, match="kgen::axpy has no gradient"):
        torch.func.grad(lambda y: operators.axpy(y, y).sum())(x.detach())
    with torch.no_grad():
        assert not operators.axpy(x, x).requires_grad
    with torch.inference_mode():
        assert operators.axpy(x, x).shape == (3, 4)


def on_cpu(name: str, module: Module, folder: Path, tmp_path: Path) -> Any:
    """The operator, with its sources as they are, but for what only a CUDA device has."""
    text = (folder / f"{name}_torch.cpp").read_text(encoding="utf-8")
    guard = "    const torch::stable::accelerator::DeviceGuard guard(device);\n"
    for part, instead in ((", CUDA, m)", ", CPU, m)"), ("given[i]->is_cuda() && ", ""), (guard, "")):
        assert part in text
        text = text.replace(part, instead)
    text = text.replace("(kgen, ", "(kgen_on_cpu, ")
    stream = "AOTITorchError aoti_torch_get_current_cuda_stream(int32_t, void** stream)"
    source = tmp_path / f"{name}_torch.cpp"
    # Weak, because several operators may be loaded.
    stream = f'extern "C" __attribute__((weak)) {stream} {{ *stream = nullptr; return 0; }}'
    source.write_text(f"{text}\n{stream}\n", encoding="utf-8")
    (tmp_path / f"{name}.h").write_text((folder / f"{name}.h").read_text(encoding="utf-8"), encoding="utf-8")
    loaded(module, tmp_path, name)
    package = Path(torch.__file__).parent
    flags = [f"-isystem{package}/include", f"-Wl,-rpath,{tmp_path}", str(tmp_path / f"{name}.so")]
    flags += [f"-L{package}/lib", "-ltorch_cpu", "-lc10"]
    torch.ops.load_library(compiled(source, flags))
    python = (folder / f"{name}_torch.py").read_text(encoding="utf-8").replace("kgen::", "kgen_on_cpu::")
    python = python.replace("ops.kgen.", "ops.kgen_on_cpu.").replace('Library("kgen"', 'Library("kgen_on_cpu"')
    (tmp_path / f"{name}_torch.py").write_text(python, encoding="utf-8")
    run(tmp_path / f"{name}_torch.py")
    return getattr(torch.ops.kgen_on_cpu, name)


@pytest.mark.whole
def test_calls(folder: Path, tmp_path: Path) -> None:
    specs = {"f32": CompileSpec("f32"), "f16": CompileSpec("f16"), "x=f32,y=f16": CompileSpec({"x": "f32", "y": "f16"})}
    module = aot_sets(pipeline.load(PROGRAMS["axpy"][0]), "axpy", Options(), specs)
    axpy = on_cpu("axpy", module, folder, tmp_path)
    x, y = torch.arange(20.0).reshape(4, 5), torch.ones(5)
    for one, other in ((x, y), (x.T.contiguous().T, x), (x.half(), x.half()), (x[::2, ::3], x[:2, :2].half())):
        made = axpy(one, other, a=3.0)
        wanted = 3 * one + other
        assert made.dtype == wanted.dtype
        assert torch.equal(made, wanted)
        assert made.stride() == axpy(one.to("meta"), other.to("meta")).stride()
    with pytest.raises(RuntimeError, match="kgen::axpy was compiled for other dtypes"):
        axpy(x.double(), x)
    with pytest.raises(RuntimeError, match="kgen::axpy: y: a negative extent, or extents that do not fit"):
        axpy(x, torch.ones(3))
    torch.library.opcheck(axpy.default, (x, y), {"a": 3.0})


@pytest.mark.whole
def test_calls_on_any_rank(folder: Path, tmp_path: Path) -> None:
    module = aot_module(pipeline.load(PROGRAMS["norm"][0]), "norm", Options(), CompileSpec("f32"))
    norm = on_cpu("norm", module, folder, tmp_path)
    for x_shape, w_shape in (((5, 4, 24), (24,)), ((24,), (24,)), ((3, 24), (3, 24)), ((1, 25), (2, 3, 25))):
        x, w = torch.randn(x_shape), torch.randn(w_shape)
        out, peak = norm(x, w)
        whole = x.expand(torch.broadcast_shapes(x_shape, w_shape))
        torch.testing.assert_close(out, torch.rsqrt((whole * whole).mean(-1, keepdim=True)) * whole * w)
        torch.testing.assert_close(peak, whole.abs().amax(-1))
    with pytest.raises(RuntimeError, match="w: a negative extent, or extents that do not fit"):
        norm(torch.ones(2, 3, 24), torch.ones(3, 24))
    with pytest.raises(RuntimeError):
        norm(torch.ones(()), torch.ones(()))


@pytest.mark.whole
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "axpy"])
def test_sources_compile(name: str, folder: Path) -> None:
    include = Path(torch.__file__).parent / "include"
    source = str(folder / f"{name}_torch.cpp")
    flags = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-isystem", str(include), f"-I{INCLUDE}"]
    subprocess.run(["g++", *flags, source], check=True, timeout=300)
