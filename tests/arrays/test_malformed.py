"""Objects that lie: interfaces that are none, forged capsules, subclasses that say anything of their shape."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.arrays import dlpack
from kgen.diagnostics import KgenError
from kgen.runtime.stream import stream_handle

from .fakes import DlpackArray, InterfaceArray

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def refused(x: Any, *codes: str) -> None:
    """Both as an argument and as ``out=``, with one of these codes."""
    kernel = kgen.jit("out = x * 2")
    calls: list[Callable[[], Any]] = [lambda: kernel(x), lambda: kernel(X, out=x)]
    for call in calls:
        with pytest.raises(KgenError) as caught:
            call()
        assert caught.value.code in codes, caught.value


class Speaks:
    """An object with one attribute, which may be an exception to raise."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value

    def __getattr__(self, name: str) -> Any:
        if name != object.__getattribute__(self, "name"):
            raise AttributeError(name)
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


def speaks(name: str, value: Any) -> Any:
    """One, of a class of its own: what a class speaks is remembered."""
    return type("Speaks", (Speaks,), {})(name, value)


JUNK: list[Any] = [None, 3, "text", (), {}, [1, 2, 3], ValueError("no"), RuntimeError("no"), KeyError("no")]


@pytest.mark.parametrize("name", ["__cuda_array_interface__", "__array_interface__", "__array_struct__"])
@pytest.mark.parametrize("value", JUNK, ids=repr)
def test_interfaces_that_are_none(name: str, value: Any) -> None:
    """Of another type, without what they have to say, or raising."""
    refused(speaks(name, value), "not-an-array", "unsupported-dtype")


def test_an_interface_without_memory() -> None:
    """An address of 0."""
    claim = {"version": 3, "shape": (3,), "typestr": "<f4", "data": (0, False)}
    refused(speaks("__array_interface__", claim), "not-an-array")


@pytest.mark.parametrize("device", [*JUNK, ("a", 0), (1, None), (2, -1), (2, 1 << 40), (1, 0, 0)], ids=repr)
def test_dlpack_devices_that_are_none(device: Any) -> None:
    """``__dlpack_device__`` that returns anything, or raises."""

    class Liar(DlpackArray):
        def __dlpack_device__(self) -> Any:
            if isinstance(device, Exception):
                raise device
            return device

    refused(Liar(X), "not-an-array", "unsupported-device", "bad-array")


@pytest.mark.parametrize("capsule", JUNK, ids=repr)
def test_capsules_that_are_none(capsule: Any) -> None:
    """``__dlpack__`` that returns anything, or raises."""

    class Liar(DlpackArray):
        def __dlpack__(self, **_: Any) -> Any:
            if isinstance(capsule, Exception):
                raise capsule
            return capsule

    refused(Liar(X), "not-an-array")


FIELDS: list[dict[str, Any]] = [
    {"shape": None}, {"shape": 3}, {"shape": ("a",)}, {"shape": (1.5,)}, {"shape": (-1, 4)}, {"shape": (1 << 62, 4)},
    {"strides": (4,)}, {"strides": "ab"}, {"strides": (0.5, 1)}, {"data": None}, {"data": 5}, {"data": (1, 2, 3)},
    {"data": ("a", False)}, {"data": (-8, False), "shape": (2,)}, {"data": (0, False), "shape": (2,)},
    {"data": (1 << 64, False), "shape": (2,)}, {"typestr": None}, {"typestr": 4}, {"stream": "one"}, {"stream": 1.5},
]  # fmt: skip


@pytest.mark.parametrize("fields", FIELDS, ids=str)
def test_cuda_array_interfaces_that_contradict_themselves(fields: dict[str, Any]) -> None:
    """Fields of other types, negative extents, memory where there is none."""
    refused(InterfaceArray(**fields), "not-an-array", "bad-array", "bad-strides", "unsupported-dtype")


def _forged(change: Callable[[Any], None]) -> Any:
    """An array whose capsule says something else than it is."""

    class Forged(DlpackArray):
        def __dlpack__(self, **_: Any) -> Any:
            made = self.data.__dlpack__()
            change(dlpack.ManagedTensor.from_address(dlpack._pointer(made, b"dltensor") or 0).tensor)
            return made

    return Forged(X.copy())


def _set(**fields: Any) -> Callable[[Any], None]:
    def change(tensor: Any) -> None:
        for name, value in fields.items():
            setattr(tensor, name, value)

    return change


def _extents(*values: int) -> Callable[[Any], None]:
    def change(tensor: Any) -> None:
        for i, n in enumerate(values):
            tensor.shape[i] = n

    return change


FORGED = {
    "2^30 dimensions": _set(rank=1 << 30),
    "65 dimensions": _set(rank=65),
    "-1 dimensions": _set(rank=-1),
    "no shape": _set(shape=ctypes.POINTER(ctypes.c_int64)()),
    "no data": _set(data=None),
    "at the end of memory": _set(data=(1 << 64) - 16),
    "an offset beyond memory": _set(offset=(1 << 64) - 1),
    "negative extents": _extents(-3, 4),
    "an extent of 2^62": _extents(1 << 62, 4),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_forged_capsules(forgery: str) -> None:
    """What a capsule claims is looked at before anything is read by it."""
    refused(_forged(FORGED[forgery]), "bad-array")


def test_a_forged_capsule_that_is_misaligned() -> None:
    """An address that splits elements."""
    refused(_forged(_set(offset=1)), "misaligned")


def test_a_class_of_no_module() -> None:
    """``__module__`` may be anything."""
    for module in (None, 3, "", object()):
        refused(type("Thing", (), {"__module__": module})(), "not-an-array")
        mine: Any = X.view(type("Mine", (np.ndarray,), {"__module__": module}))
        assert np.array_equal(kgen.jit("out = x * 2", device="cpu")(mine), X * 2)


LIES: dict[str, Any] = {
    "shape": property(lambda self: (1000, 1000)),
    "strides": property(lambda self: (1 << 20, 4)),
    "dtype": property(lambda self: np.dtype(np.float64)),
    "itemsize": property(lambda self: 400),
    "ndim": property(lambda self: 7),
    "size": property(lambda self: 1 << 30),
    "nbytes": property(lambda self: 1 << 30),
    "flags": property(lambda self: np.empty(3).flags),
}


@pytest.mark.parametrize("name", LIES)
def test_subclasses_that_lie(name: str) -> None:
    """What NumPy itself knows of an array is believed, on the first call, on later ones and in plans."""
    liar: Any = X.view(type("Liar", (np.ndarray,), {name: LIES[name]}))
    kernel = kgen.jit("out = x * 2", device="cpu")
    plan = kernel.plan(liar)
    for _ in range(4):
        assert np.array_equal(kernel(liar), X * 2)
        assert np.array_equal(plan(), X * 2)


def test_subclasses_that_answer_for_every_attribute() -> None:
    """``__getattribute__`` is not asked."""

    class Liar(np.ndarray[Any, Any]):
        def __getattribute__(self, name: str) -> Any:
            return (1000, 1000) if name == "shape" else super().__getattribute__(name)

    kernel = kgen.jit("out = x * 2", device="cpu")
    for _ in range(4):
        assert np.array_equal(kernel(X.view(Liar)), X * 2)


def test_a_subclass_that_says_it_is_writable() -> None:
    """A read-only array stays as it is."""
    frozen: Any = X.copy().view(type("Liar", (np.ndarray,), {"flags": property(lambda self: np.empty(3).flags)}))
    np.ndarray.setflags(frozen, write=False)
    for _ in range(4):
        with pytest.raises(KgenError, match="read-only"):
            kgen.jit("out = x * 2", device="cpu")(X, out=frozen)
    assert np.array_equal(np.asarray(frozen), X)


def test_plain_subclasses_are_learnt() -> None:
    """A subclass that overrides none of this is as fast as NumPy's own."""
    mine: Any = X.view(type("Mine", (np.ndarray,), {"unit": "m"}))
    kernel = kgen.jit("out = x * 2", device="cpu")
    for _ in range(3):
        kernel(mine)
    assert kernel._fast_calls
    assert np.array_equal(kernel(mine), X * 2)


@pytest.mark.parametrize(
    "stream", ["text", -1, 1 << 64, 2.5, object(), speaks("ptr", "x"), speaks("ptr", ValueError())]
)
def test_streams_that_are_none(stream: Any) -> None:
    """Anything but a handle, or an object that has one."""
    with pytest.raises(KgenError, match="bad-stream"):
        stream_handle(stream)
