"""Calls on things that are not fit for them, and machines that lack something."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.diagnostics import KgenError
from kgen.runtime.cuda import driver
from kgen.runtime.cuda.driver import DriverState
from tests.arrays.fakes import ElsewhereArray, InterfaceArray
from tests.cli.conftest import Run, run  # noqa: F401

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def code_of(kernel: kgen.Kernel, *args: Any, **named: Any) -> str:
    """The code of the error that a call ends in."""
    with pytest.raises(KgenError) as caught:
        kernel(*args, **named)
    return caught.value.code


@pytest.mark.parametrize("value", ["text", [1.0, 2.0], {"a": 1}, object(), None, X.astype(object), X.astype("U3")])
def test_arguments_that_are_no_arrays(value: Any) -> None:
    """Strings, lists, dicts, objects and arrays of them."""
    assert code_of(kgen.jit("out = a", device="cpu"), value) in ("not-an-array", "unsupported-dtype")


def test_arrays_of_unknown_libraries_and_devices() -> None:
    """An array on a device that kgen knows nothing of; a GPU's array for a kernel that was made for the CPU."""
    kernel = kgen.jit("out = a + b", device="cpu")
    assert code_of(kernel, ElsewhereArray(X), X) == "unsupported-device"
    there = InterfaceArray(shape=(2, 3), typestr="<f4", data=(4096, False), version=3)
    assert code_of(kernel, there, X) in ("mixed-devices", "wrong-device", "no-driver", "no-gpu", "bad-array")


def test_read_only_results() -> None:
    """``out=`` and ``inout`` arguments have to be writable; nothing is written."""
    frozen = X.copy()
    frozen.flags.writeable = False
    assert code_of(kgen.jit("out = a * 2", device="cpu"), X, out=frozen) == "read-only"
    assert code_of(kgen.jit("inout p\np = p * 2", device="cpu"), frozen) == "read-only"
    broadcast = np.broadcast_to(np.float32(1), (2, 3))
    assert code_of(kgen.jit("out = a * 2", device="cpu"), X, out=broadcast) == "read-only"
    np.testing.assert_array_equal(frozen, X)


def test_wrong_results() -> None:
    """``out=`` of another shape, of a dtype that loses a kind, and too many of them."""
    kernel = kgen.jit("out = a * 2", device="cpu")
    assert code_of(kernel, X, out=np.empty((3, 2), "f4")) == "shape-mismatch"
    assert code_of(kernel, X, out=np.empty((2, 3), "i4")) == "lossy-cast"
    assert code_of(kernel, X, out=(np.empty((2, 3), "f4"),) * 2) == "bad-out"
    assert code_of(kernel, X, out="text") in ("bad-out", "not-an-array")


def test_wrong_arguments() -> None:
    """Too few, too many, unknown and repeated ones; a stream on the CPU; a shape beside arrays."""
    kernel = kgen.jit("param alpha: float = 1.0\nout = alpha * a + b", device="cpu")
    assert code_of(kernel, X) == "missing-argument"
    assert code_of(kernel, X, X, X) == "too-many-arguments"
    assert code_of(kernel, X, X, beta=1) == "unknown-argument"
    assert code_of(kernel, X, X, a=X) == "repeated-argument"
    assert code_of(kernel, X, X, alpha="one") == "bad-value"
    assert code_of(kernel, X, X, alpha=2j) == "bad-value"
    assert code_of(kernel, X, X, stream=1) == "bad-call"
    assert code_of(kernel, X, X, shape=(2, 3)) == "bad-call"
    assert code_of(kernel, X, np.ones((4, 3), "f4")) == "shape-mismatch"
    assert code_of(kernel, X, kgen.spec((2, 3), "f32")) == "not-an-array"


WRONG_SOURCES: list[tuple[dict[str, Any], str]] = [
    ({"rank": "4"}, "bad-rank"),
    ({"rank": 2.5}, "bad-rank"),
    ({"rank": None}, "bad-rank"),
    ({"rank": 10**400}, "bad-rank"),
    ({"layout": ["any"]}, "bad-layout"),
    ({"layout": None}, "bad-layout"),
    ({"arch": 90}, "unknown-arch"),
    ({"arch": "90"}, "unknown-arch"),
    ({"arch": "sm_90\n*/ evil"}, "unknown-arch"),
    ({"arch": "sm_90\n"}, "unknown-arch"),
    ({"arch": b"sm_90"}, "unknown-arch"),
]


@pytest.mark.parametrize(("options", "code"), WRONG_SOURCES, ids=str)
def test_wrong_options_of_source(options: dict[str, Any], code: str) -> None:
    """Of another type, out of range, or text that would go on after a comment."""
    kernel = kgen.jit("out = x")
    with pytest.raises(KgenError) as caught:
        kernel.source(**options)
    assert caught.value.code == code
    if "arch" in options:
        for method in (kernel.source, kernel.explain, kernel.cubin, kernel.ptx):
            with pytest.raises(KgenError) as caught:
                method(kgen.spec(3, "f32"), **options)
            assert caught.value.code == code


JUNK: list[Any] = [
    None, True, -1, 2.5, 1j, 10**5000, float("nan"), "text", "\x1b[31m", b"x", [], (), {}, {"x": 1}, [1, "a"], object(),
    object, len, X, X.astype(object), np.float32(3), kgen.float32, kgen.spec(3, "f32"), ValueError("x"),
]  # fmt: skip
METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "call": lambda k, v: k(v),
    "by name": lambda k, v: k(x=v),
    "param": lambda k, v: k(X, n=v),
    "out": lambda k, v: k(X, out=v),
    "stream": lambda k, v: k(X, stream=v),
    "shape": lambda k, v: k(shape=v),
    "plan": lambda k, v: k.plan(v),
    "plan out": lambda k, v: k.plan(X, out=v),
    "again": lambda k, v: k.plan(X)(v),
    "again out": lambda k, v: k.plan(X)(out=v),
    "again stream": lambda k, v: k.plan(X)(stream=v),
    "meta": lambda k, v: k.meta(v),
    "meta shape": lambda k, v: k.meta(shape=v),
    "source": lambda k, v: k.source(v),
    "dtypes": lambda k, v: k.source(dtypes=v),
    "dtypes by name": lambda k, v: k.source(dtypes={"x": v}),
    "layout": lambda k, v: k.source(layout=v),
    "rank": lambda k, v: k.source(rank=v),
    "arch": lambda k, v: k.source(arch=v),
    "explain": lambda k, v: k.explain(v, arch=v),
    "warmup": lambda k, v: k.warmup(v, progress=False),
    "warmup of one": lambda k, v: k.warmup([v], progress=False),
    "spec": lambda k, v: kgen.spec(v, v, v),
    "spec dtype": lambda k, v: kgen.spec(3, v),
    "jit": lambda k, v: kgen.jit(v),
    "path": lambda k, v: kgen.jit(path=v),
    "device": lambda k, v: kgen.jit("out = x", device=v),
    "name": lambda k, v: kgen.jit("out = x", name=v),
    "fmad": lambda k, v: kgen.jit("out = x", fmad=v, fast=v),
}


@pytest.mark.parametrize("method", METHODS)
def test_junk_for_every_argument(method: str) -> None:
    """Whatever is passed, what comes out is a result or a diagnostic."""
    kernel = kgen.jit("param n: int = 1\nout = x * n", device="cpu")
    for value in JUNK:
        with suppress(KgenError):
            METHODS[method](kernel, value)


WRONG_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"device": 3}, "bad-device"),
    ({"device": "tpu"}, "bad-device"),
    ({"device": "cuda:x"}, "bad-device"),
    ({"name": 3}, "bad-name"),
    ({"name": ""}, "bad-name"),
    ({"name": "a b"}, "bad-name"),
    ({"fast": True, "fmad": False}, "bad-call"),
    ({"fmad": "off"}, "bad-call"),
]


@pytest.mark.parametrize(("options", "code"), WRONG_OPTIONS, ids=str)
def test_wrong_options_of_jit(options: dict[str, Any], code: str) -> None:
    """Are refused at once, not at the first call."""
    with pytest.raises(KgenError) as caught:
        kgen.jit("out = x", **options)
    assert caught.value.code == code


def test_wrong_programs() -> None:
    """A program is a str, a path is a path, and the path of a file is no program."""
    wrong: list[tuple[Any, Any, str]] = [
        (3, None, "bad-call"),
        (None, 3, "bad-call"),
        (None, "a\0b", "unreadable-file"),
        ("out = x", "x.k", "bad-call"),
        ("examples/axpy.k", None, "bad-call"),
    ]
    for text, path, code in wrong:
        with pytest.raises(KgenError) as caught:
            kgen.jit(text, path=path)
        assert caught.value.code == code
    assert "kgen.jit(path='examples/axpy.k')" in str(caught.value)


NO_SHAPES: list[Any] = [-1, 5.5, (2, -3), (2.0,), "ab", (2, "3"), object(), (1,) * 65, (2**40, 2**40), 2**70]


@pytest.mark.parametrize("shape", NO_SHAPES, ids=lambda shape: f"{shape!r:.20}")
def test_shapes_that_no_array_has(shape: Any) -> None:
    """Negative extents, fractions, text, too many dimensions or elements: the same error everywhere."""
    kernel = kgen.jit("out = index(0)", device="cpu")
    for ask in (kernel, kernel.meta, kernel.source, kernel.explain, lambda shape: kgen.spec(shape, "f32")):
        with pytest.raises(KgenError) as caught:
            ask(shape=shape)
        assert caught.value.code == "bad-shape"


def said(text: str, *args: Any, **named: Any) -> str:
    """The error that a call ends in."""
    with pytest.raises(KgenError) as caught:
        kgen.jit(text, device="cpu")(*args, **named)
    return str(caught.value)


def test_a_mistyped_name_is_shown_where_it_stands() -> None:
    """A name that nothing assigns is an input; where it is not given, the error shows its first use."""
    message = said("param alpha: float = 1.0\nout = alpha * x + alhpa", X)
    assert message.startswith("<string>:2:19: error[missing-argument]: `alhpa` is not given")
    assert "did you mean `alpha`? A name that nothing assigns is an input" in message
    for text in ("let scale = x * 2\nout = scal + x", "total = x * 2\nout = totl + x", "out = gate * 2 + gaet"):
        assert "did you mean" in said(text, X)
    assert "did you mean" not in said("out = beta1 * beta2", X)
    assert "the inputs in order are (x, y)" in said("param a: float\nout = a * x + y", X)
    assert "comments start with `#`" in said("out = x // scaled", X)


def test_an_option_of_the_kernel_that_is_given_to_a_call() -> None:
    for option in ("device", "fmad", "fast", "deterministic"):
        assert f"`kgen.jit(text, {option}=...)`" in said("out = x", X, **{option: True})


def test_hints_of_wrong_arguments() -> None:
    """Each says how the argument is given."""
    text = "param a: float\nout = a * x + y"
    assert "hint: pass `a=...` by keyword" in said(text, X, X)
    assert "hint: params are given by keyword, such as `a=...`" in said(text, X, X, 2)
    assert "hint: give it once; by position the inputs are (x, y)" in said(text, X, X, a=1, x=X)
    assert "hint: an array to write to is given as `out=...`" in said("out = x", X, X)


def test_a_shape_of_one_dimension() -> None:
    """An integer is a shape, as in NumPy; so is anything that NumPy takes for one."""
    kernel = kgen.jit("out = index(0)", device="cpu")
    shapes: list[Any] = [5, (5,), [np.int64(5)], np.array([5]), np.int32(5)]
    for shape in shapes:
        assert kernel(shape=shape).tolist() == [0, 1, 2, 3, 4]
        assert kernel.meta(shape=shape) == kgen.spec(shape, "int64")
        assert kernel.explain(shape=shape).steps[0].shape == (5,)
        assert "kernel" in kernel.source(shape=shape)


def test_specs_that_no_array_has() -> None:
    """Shapes that are none, and strides of another length or kind."""
    shape: Any = None
    strides: Any
    with pytest.raises(KgenError, match="bad-shape"):
        kgen.spec(shape, "f32")
    for strides in ((1, 2), (1.5,), "a", 2.5):
        with pytest.raises(KgenError, match="bad-strides"):
            kgen.spec((3,), "f32", strides)


DRIVERS = [
    DriverState(False, "no-driver", "the CUDA driver cannot be loaded", "install NVIDIA's driver"),
    DriverState(False, "driver-too-old", "this driver supports CUDA 11.8 only", "install a newer one", (11, 8)),
    DriverState(False, "no-gpu", "the driver sees no GPU", None, (13, 0)),
]


@pytest.fixture
def state(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> DriverState:
    """A machine whose driver is in this state."""
    found: DriverState = request.param
    monkeypatch.setattr(driver, "_state", found)
    return found


@pytest.mark.parametrize("state", DRIVERS, indirect=True, ids=lambda s: s.code)
def test_machines_without_a_usable_gpu(state: DriverState, run: Run, tmp_path: Path) -> None:  # noqa: F811
    """Asking for CUDA is an error with the reason; not asking runs on the CPU; ``doctor`` says what to install."""
    assert code_of(kgen.jit("out = a * 2", device="cuda"), X) == state.code
    kernel = kgen.jit("out = a * 2")
    np.testing.assert_array_equal(kernel(X), X * 2)
    assert kernel.ran_on == "cpu"
    status, out, _ = run("doctor", "--json")
    assert status == 0
    assert state.reason in out
    np.save(tmp_path / "a.npy", X)
    argv = ["run", "-", "--input", "a=a.npy", "--device", "cuda"]
    status, _, err = run(*argv, stdin="out = a")
    assert status == 1
    assert f"error[{state.code}]: {state.reason}" in err


def test_machines_without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run) -> None:  # noqa: F811
    """Without a host compiler the CPU target says what to install; so does ``doctor``, which exits with 1."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("KGEN_CXX", raising=False)
    monkeypatch.setenv("KGEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "ziglang", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(driver, "_state", DRIVERS[0])
    with pytest.raises(KgenError, match=r"apt install g\+\+") as caught:
        kgen.jit("out = a * 2.25", device="cpu")(X)
    assert caught.value.code == "no-host-compiler"
    status, out, _ = run("doctor")
    assert status == 1
    assert "apt install g++" in " ".join(out.split())


def test_a_compiler_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """``KGEN_CXX`` is believed: what it names has to exist."""
    monkeypatch.setenv("KGEN_CXX", str(tmp_path / "g++"))
    monkeypatch.setenv("KGEN_CACHE_DIR", str(tmp_path / "cache"))
    assert code_of(kgen.jit("out = a * 2.125", device="cpu"), X) == "no-host-compiler"
