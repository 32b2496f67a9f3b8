"""``k.plan`` and ``k.warmup`` on the CPU target."""

from __future__ import annotations

import array
import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.runtime.cpu import build


def random(*shape: int) -> Any:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def equal(x: Any, y: Any) -> bool:
    return bool(np.array_equal(x, y))


def test_a_plan_runs_again() -> None:
    """``plan()`` sees new data in the same arrays, and writes the same output."""
    a, b = random(50), random(50)
    plan = kgen.jit("param s: float\nout = a * b + s", device="cpu", fmad=False).plan(a, b, s=3.0)
    out = plan()
    assert repr(plan) == "<kgen plan of kernel on cpu>"
    assert equal(out, a * b + 3)
    a += 1
    assert plan() is out
    assert out is plan.out
    assert equal(out, a * b + 3)


def test_making_a_plan_writes_nothing() -> None:
    """Nothing runs until the plan is called."""
    a, out = np.ones(50, np.float32), np.zeros(50, np.float32)
    plan = kgen.jit("out = a + 1", device="cpu").plan(a, out=out)
    assert not out.any()
    plan()
    assert (out == 2).all()


def test_other_arrays() -> None:
    """``plan(a2, b2)`` computes with these, into the plan's output or another; every other layout is named."""
    a, b = random(6, 8), random(8)
    plan = kgen.jit("out = a * b", device="cpu").plan(a, b)
    a2 = random(6, 8)
    assert equal(plan(a2, b), a2 * b)
    assert equal(plan(), a * b)
    mine = np.empty((6, 8), np.float32)
    assert plan(a2, b, out=mine) is mine
    assert equal(mine, a2 * b)
    for arrays, message in [
        ((random(5, 8), b), "`a` is f32\\[5, 8\\]"),
        ((a.astype(np.float64), b), "`a` is f64"),
        ((random(8, 6).T, b), "strides"),
        ((array.array("f", a.ravel()), b), "`a` is buffer"),
        ((a, 2.0), "`b` was an array"),
        ((plan.out[:, :], random(9)[1:]), "aligned"),
        ((a,), "missing-argument"),
    ]:
        with pytest.raises(kgen.KgenError, match=message):
            plan(*arrays)
    base = random(12, 8)
    with pytest.raises(kgen.KgenError, match="overlap"):
        plan(base[:6], b, out=base[2:8])


def test_other_arrays_of_calls_that_are_taken_apart_anew() -> None:
    """Where no function recognises the call, here for a NumPy scalar, other arrays are compared the long way."""
    a, b = random(6, 8), random(8)
    plan = kgen.jit("param s\nout = a * b * s", device="cpu").plan(a, b, s=np.float32(2))
    assert plan._fast_call is None
    assert equal(plan(), a * b * 2)
    a2 = random(6, 8) + 1
    assert equal(plan(a2, b), a2 * b * 2)
    assert equal(plan(), a * b * 2)
    with pytest.raises(kgen.KgenError, match="`a` is f32\\[5, 8\\]"):
        plan(random(5, 8), b)
    with pytest.raises(kgen.KgenError, match=r"plan-mismatch.*aligned"):
        plan(random(49)[1:].reshape(6, 8), b)


def test_in_place_and_several_outputs() -> None:
    """Plans of programs that update, and of several results."""
    p, g = np.zeros(8, np.float32), np.ones(8, np.float32)
    step = kgen.jit("inout p; p = p - 0.5 * g", device="cpu").plan(p, g)
    assert step() is None
    step()
    assert (p == -1).all()
    s, d = kgen.jit("s = a + b; d = a - b", device="cpu").plan(p, g)()
    assert (s == 0).all()
    assert (d == -2).all()


def test_programs_without_arrays() -> None:
    """``shape=`` is the plan's."""
    plan = kgen.jit("out = cast<float>(index(0))", device="cpu").plan(shape=5)
    assert np.asarray(plan()).tolist() == [0, 1, 2, 3, 4]


def test_a_plan_keeps_its_arrays() -> None:
    """Arrays that the caller lets go of live as long as the plan."""
    plan = kgen.jit("out = a + 1", device="cpu").plan(np.full(1000, 4, np.float32))
    junk = [np.full(1000, 9, np.float32) for _ in range(50)]
    assert (plan() == 5).all()
    del junk


def test_graphs_are_for_cuda() -> None:
    """A plan on the CPU has no graph, and says so."""
    with pytest.raises(kgen.KgenError, match="bad-plan"):
        kgen.jit("out = a", device="cpu").plan(np.ones(3, np.float32)).graph()


def test_warmup(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What was warmed up is not compiled by the call; a mistake in a spec is raised."""
    kernel = kgen.jit("out = a * b", device="cpu")
    kernel.warmup(
        [(kgen.spec((4, 5), "f32"), kgen.spec(5, "f64")), {"b": kgen.spec(3, "i8"), "a": kgen.spec(3, "i16")}],
        progress=True,
    )
    assert "compiling" in capsys.readouterr().err

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("compiled after all")

    monkeypatch.setattr(build, "recipe", refused)
    kernel(np.ones((4, 5), np.float32), np.ones(5))
    kernel(np.ones(3, np.int16), np.ones(3, np.int8))
    with pytest.raises(AssertionError, match="after all"):
        kernel(np.ones(3, np.int8), np.ones(3, np.int8))
    with pytest.raises(kgen.KgenError, match="shape-mismatch"):
        kernel.warmup([(kgen.spec(4, "f32"), kgen.spec(5, "f32"))], progress=False)


def moved_numpy() -> Any:
    """Ways for an array to lose the memory that a plan knows; each gives the array and the change."""
    small = np.zeros(4, np.float32)

    def replaced(o: Any) -> None:
        o.__setstate__((1, (4,), np.dtype("f4"), False, small.tobytes()))

    def resized(o: Any) -> None:
        o.resize(1, refcheck=False)

    def reshaped(o: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # NumPy 2.5 asks for views instead
            o.shape = (100, 10)

    def frozen(o: Any) -> None:
        o.flags.writeable = False

    return [replaced, resized, reshaped, frozen]


@pytest.mark.parametrize("change", moved_numpy(), ids=lambda f: f.__name__)
@pytest.mark.parametrize("which", ["input", "out"])
def test_numpy_arrays_that_change(change: Any, which: str) -> None:
    """An array that is resized, replaced, reshaped or frozen is seen; nothing is read or written where it was."""
    if which == "input" and change.__name__ == "frozen":
        pytest.skip("a frozen input is an input")
    x, out = np.ones(1000, np.float32), np.zeros(1000, np.float32)
    plan = kgen.jit("out = x * 2", device="cpu").plan(x, out=out)
    plan()
    change(x if which == "input" else out)
    before = out.copy()
    for _ in range(2):
        with pytest.raises(kgen.KgenError, match=r"plan-mismatch|read-only"):
            plan()
    assert equal(out, before)


def test_numpy_arrays_that_move() -> None:
    """Other memory of the same layout is an error, too."""
    x: Any = np.ones(1000, np.float32)
    held = x[:], np.zeros(1000, np.float32)
    plan = kgen.jit("out = x * 2", device="cpu").plan(x, out=held[1])
    x.__setstate__((1, (1000,), np.dtype("f4"), False, np.full(1000, 3, np.float32).tobytes()))
    address = x.ctypes.data
    if address == held[0].ctypes.data:
        pytest.skip("the same memory was given out again")
    with pytest.raises(kgen.KgenError, match="plan-mismatch"):
        plan()
    assert not held[1].any()


def test_arrays_that_move_under_calls_that_are_taken_apart_anew() -> None:
    """Where no function recognises the call, here for a NumPy scalar."""
    x, out = random(1000), np.zeros(1000, np.float32)
    plan = kgen.jit("param s\nout = x * s", device="cpu").plan(x, s=np.float32(2), out=out)
    assert equal(plan(), x * 2)
    out.resize(1, refcheck=False)
    with pytest.raises(kgen.KgenError, match="plan-mismatch"):
        plan()


def test_tensors_that_move() -> None:
    """``resize_``, ``set_`` and a storage that shrinks; and a tensor that records gradients since."""
    torch: Any = pytest.importorskip("torch", reason="these are tensors of torch")
    kernel = kgen.jit("out = x * 2", device="cpu")
    changes: list[tuple[Any, str]] = [
        (lambda t: t.resize_(10**6), "plan-mismatch"),
        (lambda t: t.set_(torch.zeros(3)), "plan-mismatch"),
        (lambda t: setattr(t, "data", torch.zeros(3)), "plan-mismatch"),
        (lambda t: t.untyped_storage().resize_(0), "bad-array"),
        (lambda t: t.requires_grad_(), "requires-grad"),
    ]
    for change, code in changes:
        for which in (0, 1):
            arrays = [torch.ones(1000), torch.zeros(1000)]
            plan = kernel.plan(arrays[0], out=arrays[1])
            plan()
            change(arrays[which])
            with pytest.raises(kgen.KgenError, match=code):
                plan()


def test_tensors_that_look_otherwise_where_they_were() -> None:
    """Other strides, another dtype, a lazy view or a gradient of a tensor whose address stays."""
    torch: Any = pytest.importorskip("torch", reason="these are tensors of torch")

    def as_integers(t: Any) -> None:
        t.data = t.view(torch.int32)

    def conjugated(t: Any) -> None:
        t.data = t.conj()

    def negated(t: Any) -> None:
        t.data = t._base.conj().imag if t._base is not None else torch._neg_view(t)

    real, imaginary = torch.randn(3, 3), torch.randn(3, 3, dtype=torch.complex64)
    changes: list[tuple[Any, Any, str]] = [
        (lambda t: t.t_(), real, "plan-mismatch"),
        (lambda t: t.unsqueeze_(0), real, "plan-mismatch"),
        (lambda t: t.resize_(2, 3), real, "plan-mismatch"),
        (as_integers, real, "plan-mismatch"),
        (lambda t: t.mul_(torch.ones(3, requires_grad=True)), real, "requires-grad"),
        (conjugated, imaginary, "lazy-tensor"),
        (negated, torch.view_as_real(imaginary)[..., 1], "lazy-tensor"),
    ]
    kernel = kgen.jit("out = x * 2", device="cpu")
    for change, like, code in changes:
        for which in (0, 1):
            arrays = [torch.empty_strided(like.shape, like.stride(), dtype=like.dtype).zero_() for _ in range(2)]
            plan = kernel.plan(arrays[0], out=arrays[1])
            plan()
            change(arrays[which])
            with pytest.raises(kgen.KgenError, match=code):
                plan()


def test_a_plan_in_c_sees_at_once_that_nothing_changed(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of what tells calls apart in general is asked while the arrays stay; all of it once they changed."""
    if how != "c":
        pytest.skip("generated Python looks the long way")
    from kgen.arrays import numpy_, torch_

    torch: Any = pytest.importorskip("torch", reason="half of this is about torch")
    asked: list[str] = []

    def address_of(x: Any) -> int:
        asked.append("numpy")
        return int(x.ctypes.data)

    def noted(make: Any) -> Any:
        """The same guards, which note that they are asked; None, which newer versions of torch have, stays None."""

        def guards(*args: Any) -> Any:
            found = make(*args)

            def check(*now: Any) -> bool:
                asked.append("torch")
                return bool(found(*now))

            return None if found is None else check

        return guards

    monkeypatch.setattr(numpy_, "address_of", address_of)
    monkeypatch.setattr(torch_, "_torch_guards", noted(torch_._torch_guards))
    monkeypatch.setattr(torch_, "_same_keys", noted(torch_._same_keys))
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this torch has no DLPack functions for C")
    kernel = kgen.jit("out = x * 2", device="cpu")
    arrays = [np.ones(9, np.float32), np.ones(9, np.float32)]
    tensors = [torch.ones(9), torch.ones(9)]
    for x, out in (arrays, tensors):
        plan = kernel.plan(x, out=out)
        asked.clear()
        for _ in range(3):
            x += 1
            plan()
            assert equal(out, x * 2)
        assert not asked
    plan = kernel.plan(tensors[0], out=tensors[1])
    asked.clear()
    tensors[0].resize_(5)
    with pytest.raises(kgen.KgenError, match="plan-mismatch"):
        plan()
    assert asked


def test_arrays_that_are_copied_have_no_plan() -> None:
    """An unaligned or byte-swapped array is copied by every call, so a plan would never see it change."""
    kernel = kgen.jit("out = x * 2", device="cpu")
    unaligned = np.zeros(41, np.uint8)[1:].view(np.float32)
    for x in (np.ones(10, ">f4"), unaligned):
        with pytest.raises(kgen.KgenError, match=r"bad-plan.*`x`"):
            kernel.plan(x)
    assert equal(kernel.plan(array.array("f", [1, 2]))(), [2, 4])


def test_plans_have_no_copy() -> None:
    """A plan belongs to its arrays; the error says what to copy instead."""
    plan = kgen.jit("out = x * 2", device="cpu").plan(random(3))
    for take in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(kgen.KgenError, match=r"bad-plan[^$]*pickle the kernel"):
            take(plan)
