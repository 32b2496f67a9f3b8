"""Bindings for TVM-FFI, called as its runtime calls them, with a launcher that runs on the CPU."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen import pipeline
from kgen.aot import aot_binding, aot_header, aot_module
from kgen.compile_spec import CompileSpec
from kgen.options import Options
from tests.bindings.made import compiled
from tests.launcher.host import Array, loaded, of_numpy

tvm_ffi = pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed")

PACKAGE = Path(tvm_ffi.__file__).parent
NONE, INT, BOOL, FLOAT, TENSOR = 0, 1, 2, 3, 7  #: type codes of TVM-FFI


class Any_(ctypes.Structure):
    """``TVMFFIAny``."""

    _fields_ = (("type", ctypes.c_int32), ("padding", ctypes.c_uint32), ("value", ctypes.c_int64))


def any_of(value: Any) -> Any_:
    if isinstance(value, Array):
        return Any_(TENSOR, 0, ctypes.addressof(value))
    if isinstance(value, float):
        return Any_(FLOAT, 0, int(np.float64(value).view(np.int64)))
    return Any_(NONE, 0, 0) if value is None else Any_(BOOL if isinstance(value, bool) else INT, 0, value)


class Binding:
    """A loaded binding; its launcher is compiled for the CPU."""

    def __init__(self, text: str, spec: CompileSpec, folder: Path) -> None:
        program, options, specs = pipeline.load(text), Options(fmad=False), {"": spec}
        module = aot_module(program, "program", options, spec)
        loaded(module, folder, "program")
        (folder / "program.h").write_text(aot_header(program, "program", options, specs), encoding="utf-8")
        source = folder / "program_tvm_ffi.cpp"
        source.write_text(aot_binding(program, "program", options, specs, module, "tvm_ffi.cpp"), encoding="utf-8")
        flags = [f"-I{PACKAGE}/include", f"-L{PACKAGE}/lib", "-ltvm_ffi", "-Wno-unknown-pragmas"]
        made = compiled(source, [*flags, f"-Wl,-rpath,{folder}", str(folder / "program.so")])
        self.library = ctypes.CDLL(str(made))

    def __call__(self, *arguments: Any, function: str = "program") -> int | None:
        given = (Any_ * len(arguments))(*map(any_of, arguments))
        result = Any_()
        if getattr(self.library, f"__tvm_ffi_{function}")(None, given, len(arguments), ctypes.byref(result)):
            raised = ctypes.c_void_p()
            runtime = ctypes.CDLL(str(PACKAGE / "lib" / "libtvm_ffi.so"))
            runtime.TVMFFIErrorMoveFromRaised(ctypes.byref(raised))
            assert raised.value is not None
            kind, size, message, length = (ctypes.c_size_t * 4).from_address(raised.value + 24)
            raise {"TypeError": TypeError, "ValueError": ValueError}[ctypes.string_at(kind, size).decode()](
                ctypes.string_at(message, length).decode()
            )
        return result.value if result.type == INT else None


@pytest.fixture(scope="module")
def axpy(tmp_path_factory: pytest.TempPathFactory) -> Binding:
    text = "param a: float; param n: i32 = 2; param on: bool = true; out = on ? a * x + n * y : y"
    return Binding(text, CompileSpec("f32"), tmp_path_factory.mktemp("axpy"))


def test_call(axpy: Binding) -> None:
    x = np.arange(60, dtype=np.float32).reshape(6, 10)
    y = np.ones((1, 10), np.float32)
    for on in (True, False):
        out = np.empty((10, 6), np.float32).T
        assert axpy(of_numpy(x), of_numpy(y), of_numpy(out), 2, 5, on) is None
        np.testing.assert_array_equal(out, 2 * x + 5 * y if on else np.broadcast_to(y, x.shape))


def test_errors(axpy: Binding) -> None:
    x, out = np.ones((6, 10), np.float32), np.empty((6, 10), np.float32)
    good = [of_numpy(x), of_numpy(x), of_numpy(out), 1.0, 2, True]
    on_host = of_numpy(x)
    on_host.device[0] = 1
    elsewhere = of_numpy(x)
    elsewhere.device[1] = 1
    wrong: list[tuple[int, Any, type[Exception], str]] = [
        (0, 3, TypeError, "program: x: not a tensor"),
        (0, on_host, TypeError, "program: x: not a tensor on a CUDA device"),
        (1, elsewhere, TypeError, "program: y: not on the device of x"),
        (1, of_numpy(x.astype(np.float16)), ValueError, "program: y: another dtype than the program was compiled for"),
        (2, good[0], ValueError, "program: out: memory that is written overlaps another array, or itself"),
        (3, None, TypeError, "program: a: not a float"),
        (4, 1.5, TypeError, "program: n: not an integer"),
    ]
    for place, value, kind, message in wrong:
        with pytest.raises(kind) as caught:
            axpy(*good[:place], value, *good[place + 1 :])
        assert str(caught.value) == message
    with pytest.raises(TypeError, match="takes 6 arguments: x, y, out, a, n, on"):
        axpy(*good[:5])


def test_workspace(tmp_path: Path) -> None:
    """The last argument, at any address; without it, the environment has to have an allocator."""
    text = "out = x * x - sum(x)"
    normalise = Binding(text, CompileSpec("f32", {"x": (4, 100000)}), tmp_path)
    x = np.ones((4, 100000), np.float32)
    out = np.empty_like(x)
    size = normalise(of_numpy(x), of_numpy(out), function="program_workspace_size")
    assert size is not None
    for offset in (0, 1):
        memory = np.empty(size + offset, np.uint8)[offset:]
        normalise(of_numpy(x), of_numpy(out), of_numpy(memory))
        np.testing.assert_array_equal(out, np.float32(1 - x.size))
    with pytest.raises(ValueError, match="less workspace than the program needs"):
        normalise(of_numpy(x), of_numpy(out), of_numpy(np.empty(300, np.uint8)))
    with pytest.raises(TypeError, match="workspace: not a tensor"):
        normalise(of_numpy(x), of_numpy(out), 5)
