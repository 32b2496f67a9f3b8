"""``k.plan`` and ``k.warmup`` on the CPU target."""

from __future__ import annotations

import array
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
    assert plan._again is None
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
