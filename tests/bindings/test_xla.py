"""Primitives of JAX: the sources as they are, but for the stream, with launchers that run on the CPU."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from kgen import pipeline
from kgen.aot import aot_module, aot_sets
from kgen.compile_spec import CompileSpec
from kgen.options import Options
from tests.bindings.made import PROGRAMS, compiled, make
from tests.launcher.host import loaded

jax = pytest.importorskip("jax", minversion="0.5", reason="jax is not installed")

SPECS = {
    "axpy": {
        "f32": CompileSpec("f32"),
        "f16": CompileSpec("f16"),
        "x=f32,y=f16": CompileSpec({"x": "f32", "y": "f16"}),
    },
    "step": {"": CompileSpec({"p": "f32", "g": "bf16"})},
    "norm": {"": CompileSpec("f32")},
    "scores": {"": CompileSpec("f16", {"x": (None, 1000)})},
}
F32 = np.float32


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The Python functions, registered for JAX's CPU."""
    folder = tmp_path_factory.mktemp("xla")
    found: dict[str, Any] = {}
    for name, specs in SPECS.items():
        make(name, "xla", folder)
        program = pipeline.load(PROGRAMS[name][0])
        made = aot_sets(program, name, Options(), specs) if len(specs) > 1 else None
        loaded(made or aot_module(program, name, Options(), specs[""]), folder, name)
        source = folder / f"{name}_xla.cpp"
        text = source.read_text(encoding="utf-8")
        stream = "        .Ctx<xla::ffi::PlatformStream<CUstream_st*>>()\n"
        for part, instead in (("CUstream_st* stream,", ""), (stream, ""), ("stream)", "nullptr)")):
            assert part in text
            text = text.replace(part, instead)
        source.write_text(text, encoding="utf-8")
        flags = [f"-isystem{jax.ffi.include_dir()}", f"-Wl,-rpath,{folder}", str(folder / f"{name}.so")]
        library = compiled(source, flags)
        python = folder / f"{name}_xla.py"
        python.write_text(python.read_text(encoding="utf-8").replace('"CUDA"', '"cpu"'), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(python.stem, python)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.register(library)
        found[name] = getattr(module, name)
    return found


def integers(*shape: int) -> Any:
    return jax.numpy.asarray(np.random.default_rng(len(shape)).integers(-9, 10, shape).astype(F32))


@pytest.mark.whole
def test_calls(functions: dict[str, Any]) -> None:
    """Inside jit, with broadcasting, and for batches of every argument."""
    axpy = jax.jit(lambda x, y: functions["axpy"](2 * x, y, a=3.0) + 1)
    x, y, rows = integers(5, 6, 7), integers(7), integers(5, 7)
    np.testing.assert_array_equal(axpy(x, y), 6 * x + y + 1)
    half = axpy(x.astype(np.float16), y.astype(np.float16))
    assert half.dtype == np.float16
    np.testing.assert_array_equal(half, 6 * x + y + 1)
    np.testing.assert_array_equal(jax.vmap(axpy, in_axes=(0, None))(x, y), 6 * x + y + 1)
    np.testing.assert_array_equal(jax.vmap(axpy)(x, rows), 6 * x + rows[:, None] + 1)
    top, total = jax.vmap(functions["scores"])(integers(2, 3, 1000).astype(np.float16))
    assert top.shape == total.shape == (2, 3)
    np.testing.assert_array_equal(top, np.full((2, 3), 9))
    x, w = integers(2, 3, 24), integers(24)
    wanted = x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True)) * w
    for norm in (functions["norm"], jax.jit(functions["norm"]), jax.vmap(functions["norm"], in_axes=(0, None))):
        out, peak = norm(x, w)
        np.testing.assert_allclose(out, wanted, rtol=1e-6)
        np.testing.assert_array_equal(peak, np.abs(x).max(axis=-1))


@pytest.mark.whole
def test_updates(functions: dict[str, Any]) -> None:
    """What is updated in place is a result; JAX's array keeps its value."""
    p, g = integers(3, 4), integers(2, 3, 4).astype(jax.numpy.bfloat16)
    new, big = jax.jit(lambda p, g: functions["step"](p, g, lr=0.5))(p, g[0])
    np.testing.assert_array_equal(new, p - 0.5 * g[0].astype(F32))
    np.testing.assert_array_equal(big, g[0] > 1)
    np.testing.assert_array_equal(p, integers(3, 4))
    new, big = jax.vmap(lambda p, g: functions["step"](p, g, lr=0.5), in_axes=(None, 0))(p, g)
    np.testing.assert_array_equal(new, p - 0.5 * g.astype(F32))


@pytest.mark.whole
def test_errors(functions: dict[str, Any]) -> None:
    x = integers(3, 4)
    with pytest.raises(ValueError, match="cannot be differentiated"):
        jax.grad(lambda x: functions["axpy"](x, x).sum())(x)
    with pytest.raises(TypeError, match="axpy was compiled for other dtypes"):
        functions["axpy"](x.astype(np.int32), x)
    with pytest.raises(jax.errors.JaxRuntimeError, match="step: big: a negative extent, or extents that do not fit"):
        functions["step"](x[0], x.astype(jax.numpy.bfloat16), lr=1.0)
