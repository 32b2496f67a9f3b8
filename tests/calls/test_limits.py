"""Calls as large as the C extension takes, and larger: each runs exactly once, whoever recognises it."""

from __future__ import annotations

import gc
import itertools
import random
import signal
from typing import Any

import numpy as np
import pytest

import kgen

X = np.ones(3, np.float32)


def jit(text: str) -> kgen.Kernel:
    return kgen.jit(text, device="cpu")


@pytest.mark.parametrize("count", [61, 62, 63, 64, 65, 80])
def test_many_arrays(count: int) -> None:
    """Inputs up to and beyond what the extension has room for; an ``inout`` beside them is updated once a call."""
    names = [f"a{i}" for i in range(count)]
    kernel = jit(f"inout p\np = p + {' + '.join(names)}")
    p = np.zeros(3, np.float32)
    for number in range(1, 6):
        kernel(p, *[X] * count)
        assert (p == number * count).all()
    plan = kernel.plan(p, *[X] * count)
    for number in range(6, 8):
        plan()
        assert (p == number * count).all()
    plan(p, *[X] * count)
    assert (p == 8 * count).all()


@pytest.mark.parametrize("count", [62, 63, 64, 65])
def test_many_outputs(count: int) -> None:
    """Allocated and given ones."""
    kernel = jit("\n".join(f"o{i} = a + {i}" for i in range(count)))
    mine = tuple(np.empty(3, np.float32) for _ in range(count))
    for _ in range(5):
        for found in (kernel(X), kernel(X, out=mine)):
            assert [o[0] for o in found] == [i + 1 for i in range(count)]


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("count", [60, 63, 250])
def test_many_params(count: int, given: bool) -> None:
    """By keyword, and as defaults; an ``inout`` is updated once a call."""
    names = [f"s{i}" for i in range(count)]
    text = "\n".join(f"param {name}: float = 1.0" for name in names)
    kernel = jit(f"{text}\ninout p\np = p + {' + '.join(names)}")
    named: dict[str, Any] = dict.fromkeys(names, 2.0) if given else {}
    p = np.zeros(3, np.float32)
    for number in range(1, 6):
        kernel(p, **named)
        assert (p == number * count * (2 if given else 1)).all()
    kernel.plan(p, **named)()
    assert (p == 6 * count * (2 if given else 1)).all()


@pytest.mark.parametrize(("count", "given"), [(500, True), (600, False)])
def test_more_params_than_memory_for_them(count: int, given: bool) -> None:
    """What faulted after the kernel had run."""
    test_many_params(count, given)


def test_learning_comes_before_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where looking at a call fails, nothing has run: a second try does not apply an update twice."""
    kernel, p = jit("inout p\np = p + 1"), np.zeros(3, np.float32)
    kernel(p)

    def broken(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("kgen.call.fastpath.same_layout_call", broken)
    with pytest.raises(MemoryError):
        kernel(p)
    assert (p == 1).all()


# --- signals ------------------------------------------------------------------------------------------------------


class Interrupt(Exception):
    """What a signal handler raises."""


def test_signal_handlers_are_never_swallowed() -> None:
    """Every exception of a handler comes out, wherever in a recognised call the signal arrives."""
    kernel, out = jit("out = a + b"), np.empty(3, np.float32)
    for _ in range(4):
        kernel(X, X, out=out)
    raised = caught = 0

    def handler(*_: Any) -> None:
        nonlocal raised
        raised += 1
        raise Interrupt

    before = signal.signal(signal.SIGALRM, handler)
    generator = random.Random(1)
    gc.disable()  # what is raised within a callback of the collector (JAX has one) is printed and dropped
    try:
        for _ in range(400):
            try:
                signal.setitimer(signal.ITIMER_REAL, generator.uniform(2e-5, 4e-4))
                for _ in range(1_000_000):
                    kernel(X, X, out=out)
            except Interrupt:
                caught += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        gc.enable()
        signal.signal(signal.SIGALRM, before)
    assert caught == 400
    assert raised == 400
    assert (out == 2).all()


# --- the extension by itself ---------------------------------------------------------------------------------------


class Engine:
    ran_on = ""


def description(**changed: Any) -> dict[str, Any]:
    """Of a call that launches nothing: one array given, one allocated."""
    good: dict[str, Any] = {
        "args": 1, "names": (), "outs": 0, "out_is_tuple": False, "types": (np.ndarray,), "alike": None,
        "checked": (0,), "same": (), "conditions": ((0, ("ndim",), False, 1),), "unless": None,
        "pointer": lambda x: x.ctypes.data, "pointer_is_method": False, "where": (0, -1), "place": (0, 0),
        "apart": (), "fresh": ((np.empty, 3),), "mark_written": None, "written": (), "results": (-1,),
        "one_result": True, "moves": True, "views": None, "current": None, "handle": int, "failed": print,
        "engine": Engine(), "here": "cpu", "image": bytes(64), "variables": ((0, "P", 0, 0), (16, "P", 1, 0)),
        "kernels": (), "scratch": None, "launch": 0, "get_context": 0, "set_context": 0, "context": 0,
        "rules": None,
    }  # fmt: skip
    return {**good, **changed}


def rules(
    count: int = 4,
    sources: Any = ((0, 1, 4),),
    constants: Any = (),
    steps: Any = (),
    stored: Any = (),
    sizes: Any = (((0,), (1,)),),
    keys: Any = ((), ()),
) -> tuple[Any, ...]:
    """Of one array of one dimension: registers 0 to 2 are its extent, stride and address."""
    return count, sources, constants, steps, stored, (), sizes, keys[0], set(keys[1]), "shape", "strides", False


NO_PATCH = (int, int, ("a",))
WRONG: list[dict[str, Any]] = [
    {name: value}
    for name, values in {
        "args": (-1, 2, 1 << 40),
        "outs": (-1, 3),
        "types": ((), (int, int)),
        "checked": ((1,), (-1,), (1 << 40,), ("a",)),
        "same": ((0,), (0, 1), (-1, 0)),
        "conditions": (((1, ("a",), False, 1),), ((-1, ("a",), False, 1),), (3,), ((0,),)),
        "where": ((0,), (0, -2), (1, -1), (-1, -1), (0, 1 << 33)),
        "place": ((0,), (0, 16), (0, -2)),
        "apart": (((0, 2, True, 0, 0),), ((-1, 0, True, 0, 0),), ((0, 1, True, 0, 0),), (1,)),
        "fresh": (((),), (3,), (), ((np.empty, 3), (np.empty, 3))),
        "written": ((1,), (-1,)),
        "results": ((1,), (-2,), ()),
        "variables": tuple(
            (v,)
            for v in (
                (57, "P", 0, 0), (-1, "P", 0, 0), (0, "P", 2, 0), (0, "f", 1, 0), (0, "x", 0, 0), (61, "f", 0, 0), 1,
                (0, "P", 0), (0, "P", 0, 1 << 80),
            )
        ),
        "kernels": (((0, (1, 1, 1), (1, 1, 1), 0, 1, (1, 1, 1), False, (64,)),), ((0, (1, 1, 1)),), (1,)),
        "rules": (
            3, (3,), rules(-1), rules(2), rules(1 << 40), rules(sources=((1, 1, 4),)), rules(sources=((0, -1, 4),)),
            rules(sources=((0, 1 << 30, 4),) * 9), rules(constants=(1, 2)), rules(constants=(1 << 80,)),
            rules(steps=(("+", 4, 0, 0),)), rules(steps=(("+", 0, -1, 0),)), rules(steps=(("?", 0, 0, 0),)),
            rules(steps=(1,)),
            rules(stored=((61, "I", 0),)), rules(stored=((0, "d", 0),)), rules(stored=((0, "q", 4),)), rules(sizes=()),
            rules(sizes=(((4,), (1,)),)), rules(sizes=((3, (1,)),)), rules(keys=((4,), ())),
            (*rules()[:5], (0, 0, 0), *rules()[6:]),
        ),
        "scratch": ((*NO_PATCH, ((57, 0),)), (*NO_PATCH, ((-1, 0),)), (*NO_PATCH, (3,)), (1, 2)),
    }.items()
    for value in values
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_descriptions_out_of_range(extension: Any, how: str, wrong: dict[str, Any]) -> None:
    """Numbers that point outside of what is described are refused when a Call is made."""
    with pytest.raises((ValueError, TypeError, OverflowError)):
        extension.Call(**description(**wrong))


def test_descriptions_too_large(extension: Any) -> None:
    """The limits themselves are fine; one more is ``OverflowError``, by which kgen knows them."""
    for types, image in itertools.product((64, 65), (8192, 8193)):
        changed = {"args": types, "types": (np.ndarray,) * types, "image": bytes(image)}
        if (types, image) == (64, 8192):
            assert extension.Call(**description(**changed))
            continue
        with pytest.raises(OverflowError, match="too large"):
            extension.Call(**description(**changed))


def test_calls_of_a_description(extension: Any) -> None:
    """It tells its own arguments from others; errors of what it calls come out as they are."""
    call = extension.Call(**description())
    assert call((X,), None, None, {}).shape == (3,)
    for args, out, named in [((X, X), None, {}), ((3,), None, {}), ((X,), X, {}), ((X,), None, {"a": 1})]:
        assert call(args, out, None, named) is NotImplemented

    def interrupted(_: Any) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extension.Call(**description(pointer=interrupted))((X,), None, None, {})
    missing = ((0, ("no_such_attribute",), False, 1),)
    assert extension.Call(**description(conditions=missing))((X,), None, None, {}) is NotImplemented
    several: list[Any] = [(X,), ((X,), None, None), ([X], None, None, {}), ((X,), None, None, ())]
    for wrong in several:
        with pytest.raises(TypeError):
            call(*wrong)
