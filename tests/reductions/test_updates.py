"""Arguments that are updated beside reductions, reductions of narrow operands and of axes of extent 1, long chains."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import pytest

import kgen
from kgen import pipeline
from kgen.argument_types import ArrayArg, WeakArg
from kgen.dtypes import FLOAT32
from kgen.partition import fusion as sharing, kernel_body
from tests.fuzz import test_updates as fuzzed

Array = np.ndarray[Any, Any]


def some(*shape: int, dtype: str = "f4", seed: int = 0) -> Array:
    """Small whole numbers, whose sums are exact."""
    return np.random.default_rng(seed).integers(1, 9, shape).astype(dtype)


X, Y, P, Q = some(6, 40), some(6, 40, seed=1), some(6, 1, seed=2), some(40, seed=3)
S = some(40, 40, seed=4)
ADD_NORM = "res = res + x\ny = res * rsqrt(mean(res * res, axis=-1, keepdims=true) + 1.0)"


def add_norm(res: Array, x: Array) -> list[Array]:
    new = (res + x).astype(res.dtype)
    wide = new.astype(np.float32)
    return [new, wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + 1)]


@pytest.mark.parametrize(
    ("text", "arrays", "kernels", "want"),
    [
        (f"inout res\n{ADD_NORM}", (X, Y), 1, add_norm),
        (f"inout res\n{ADD_NORM}", (X.astype("f2") / 7, Y.astype("f2")), 1, add_norm),
        (
            "inout p\no = sum(p, axis=-1, keepdims=true) + p\np = p * 2", (X,), 1,
            lambda p: [p * 2, p.sum(-1, keepdims=True) + p],
        ),
        ("inout p\np = p / sum(p)", (X,), 1, lambda p: [p / p.sum()]),
        # over one set of axes and over another: the kernel that updates comes last
        ("inout p\no = sum(p, axis=0)\np = p - max(p, axis=1, keepdims=true)", (X,), 2,
         lambda p: [p - p.max(1, keepdims=True), p.sum(0)]),
        ("inout p\np = p - max(p, axis=1, keepdims=true)\no = sum(p, axis=0)", (X,), 3,
         lambda p: [n := p - p.max(1, keepdims=True), n.sum(0)]),
        # read, or updated, by parts
        ("inout p\no = sum(p, axis=-1)\np = concat(y, y, axis=1)", (X, Y[:, :20]), 2,
         lambda p, y: [np.concatenate([y, y], 1), p.sum(-1)]),
        ("inout p\no = sum(p[:, 1:], axis=-1)\np = y * 2", (X, Y), 2, lambda p, y: [y * 2, p[:, 1:].sum(-1)]),
        ("inout p\no = sum(p[:, 1:], axis=0)\np = y - max(y, axis=1, keepdims=true)", (X, Y), 2,
         lambda p, y: [y - y.max(1, keepdims=True), p[:, 1:].sum(0)]),
        ("inout p\no = p * 2\np = repeat(y, 2, axis=1)", (X, Y[:, :20]), 2,
         lambda p, y: [np.repeat(y, 2, 1), p * 2]),
        # each is read for the other's update
        ("inout p\ninout q\nlet t = p\np = q\nq = t", (X, Y), 1, lambda p, q: [q, p]),
        ("inout p\ninout q\nlet t = sum(q)\nlet d = p - q\nq = d + sum(p)\np = d + t", (X, Y), 1,
         lambda p, q: [p - q + q.sum(), p - q + p.sum()]),
        ("inout p\ninout q\nlet t = q\nq = q + sum(p, axis=0)\np = p * t", (X, Q), 2,
         lambda p, q: [p * q, q + p.sum(0)]),
        ("inout p\ninout q\nq = q + p\np = q - max(q, axis=-1, keepdims=true)", (X, Y), 1,
         lambda p, q: [(p + q) - (p + q).max(-1, keepdims=True), p + q]),
        # all threads of a row read what one of them would write
        ("inout p\np = p + sum(x * p, axis=1, keepdims=true)", (P, X), 2,
         lambda p, x: [p + (x * p).sum(1, keepdims=True)]),
        ("inout p\ny = x - p\np = p + sum(x, axis=1, keepdims=true)", (P, X), 2,
         lambda p, x: [p + x.sum(1, keepdims=True), x - p]),
        # rows read every element of what they would update one of
        ("inout p\np = sum(x * p, axis=1)", (Q, S), 2, lambda p, x: [(x * p).sum(1)]),
        ("inout p\np = sum(expand(p, axis=1) * p, axis=1)", (Q,), 2, lambda p: [p * p.sum()]),
        # running statistics: only the thread that writes them reads them
        ("inout m\nlet s = sum(x, axis=1)\nm = m * 0.5 + s\ny = x - expand(s, axis=1)", (Q[:6], X), 1,
         lambda m, x: [m * 0.5 + x.sum(1), x - x.sum(1, keepdims=True)]),
    ],
)  # fmt: skip
def test_updates(text: str, arrays: tuple[Array, ...], kernels: int, want: Callable[..., list[Array]]) -> None:
    """What is read before an update is the old value, after it the new one, as it is stored; in this many kernels."""
    kernel = kgen.jit(text, device="cpu")
    given = [a.copy() for a in arrays]
    expected = want(*arrays)
    result = kernel(*given)
    results = [] if result is None else [result]
    updated = text.count("inout")
    for got, right in zip([*given[:updated], *results], expected, strict=True):
        np.testing.assert_allclose(got, right, rtol=2e-3 if got.dtype == np.float16 else 1e-6)
    assert len(kernel.explain(*arrays).steps) == kernels


@pytest.mark.parametrize("width", [7, 40, 1003, 40_000])
@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_sum_as_stored(width: int, dtype: str) -> None:
    """Rows in registers, read again, and of odd lengths: the norm is that of what is stored."""
    res, x = (some(5, width, dtype=dtype, seed=s) / 7 for s in (0, 1))
    before = res.copy()
    y = kgen.jit(f"inout res\n{ADD_NORM}", device="cpu")(res, x)
    new, norm = add_norm(before, x)
    assert np.array_equal(res, new)
    np.testing.assert_allclose(y.astype(np.float32), norm, rtol=2e-3 if dtype == "f2" else 1e-5)


@pytest.mark.parametrize(
    ("text", "dtypes", "code"),
    [
        ("inout p: float; p = a", ("f8", "f8"), "dtype-mismatch"),
        ("inout p: i32; p = a", ("f4", "i4"), "dtype-mismatch"),
        ("inout p: i32; p = a", ("i4", "f4"), "lossy-cast"),
        ("inout p: i32; p = p / sum(a)", ("i4", "i4"), "lossy-cast"),
        ("inout p: float; p = a; o = p + 1", ("f8", "f4"), "dtype-mismatch"),
    ],
)
def test_dtypes_of_updates(text: str, dtypes: tuple[str, str], code: str) -> None:
    """An argument of another dtype, or a value that it cannot hold, is a diagnostic, and nothing is written."""
    p, a = (some(3, 4, dtype=d) for d in dtypes)
    before = p.copy()
    with pytest.raises(kgen.KgenError) as caught:
        kgen.jit(text, device="cpu")(p, a)
    assert caught.value.code == code
    assert np.array_equal(p, before)


def test_updated_numbers() -> None:
    """A Python number cannot be updated, nor can a file be made for one."""
    with pytest.raises(kgen.KgenError, match="not-an-array"):
        kgen.jit("inout p; p = p + a", device="cpu")(1.0, X)
    program = pipeline.load("inout p; p = p + a")
    with pytest.raises(kgen.KgenError, match="not-an-array"):
        pipeline.specialise(program, {"p": WeakArg(kgen.dtypes.Kind.FLOAT), "a": ArrayArg(FLOAT32, (None,))})


def test_output_over_an_input_of_several_kernels() -> None:
    """What a later kernel reads may not be written over; what only earlier ones read may."""
    first = kgen.jit("o = x - sum(x, axis=-1, keepdims=true)\ns = sum(o, axis=0)", device="cpu")
    x = X.copy()
    with pytest.raises(kgen.KgenError, match="overlap"):
        first(x, out=(x, None))
    assert np.array_equal(x, X)
    last = kgen.jit("s = sum(x, axis=0)\no = x - s", device="cpu")
    s, o = last(x)
    s2, _ = last(x, out=(None, x))
    assert np.array_equal(s, s2)
    assert np.array_equal(x, o)
    both = kgen.jit("inout p\np = p + 1\ns = sum(x, axis=0)", device="cpu")
    with pytest.raises(kgen.KgenError, match="overlap"):
        both(x, x)


def test_output_over_what_a_row_reads() -> None:
    """One element that a whole row reads may not be written over by one of its threads."""
    kernel = kgen.jit("s = sum(x * w, axis=-1, keepdims=true)", device="cpu")
    w = P.copy()
    with pytest.raises(kgen.KgenError, match="overlap"):
        kernel(X, w, out=w)
    assert np.array_equal(w, P)
    only_result = kgen.jit("s = sum(x, axis=-1, keepdims=true) + w", device="cpu")
    assert np.array_equal(only_result(X, w, out=w), X.sum(-1, keepdims=True) + P)


@pytest.mark.parametrize(
    ("text", "arrays", "want"),
    [
        ("q = sum(expand(a, axis=0))", (Q,), lambda a: a.sum()),
        ("q = sum(expand(a, axis=0), axis=0)", (Q,), lambda a: a),
        ("q = sum(expand(a, axis=1), axis=0)", (Q,), lambda a: a.sum()[None]),
        ("q = any(expand(a, axis=0), axis=())", (Q,), lambda a: (a != 0)[None]),
        (
            "q = sum(expand(w, axis=(1, 2)) * x, axis=(1, 2))",
            (np.ones(1, "f2"), some(1, 4, 5, dtype="f2")), lambda w, x: x.sum((1, 2)),
        ),
        ("q = var(expand(w, axis=(1, 2)) * x, axis=0)", (some(3), some(3, 4, 1)),
         lambda w, x: (w[:, None, None] * x).var(0)),
        ("q = expand(sum(x, axis=1), axis=1) * x", (X,), lambda x: x.sum(1, keepdims=True) * x),
        ("q = expand(sum(x, axis=1), axis=1) - expand(sum(x, axis=1), axis=0)", (X,),
         lambda x: x.sum(1)[:, None] - x.sum(1)[None]),
        ("let s = sum(x, axis=1)\nq = exp(expand(s, axis=(0, 2)) * 0.001) + 1", (X,),
         lambda x: np.exp(x.sum(1)[None, :, None] * 0.001) + 1),
        ("q = expand(expand(max(x), axis=0), axis=(0, 1))", (X,), lambda x: x.max().reshape(1, 1, 1)),
        ("q = expand(sum(x * index(1), axis=1), axis=1) + x", (X,),
         lambda x: (x * np.arange(40)).sum(1, keepdims=True) + x),
        ("q = sum(expand(sum(z, axis=1), axis=1) * z)", (X + 1j * Y,), lambda z: (z.sum(1, keepdims=True) * z).sum()),
        ("q = expand(sum(x, axis=()), axis=0)", (X,), lambda x: x[None]),
        ("q = sum(expand(k + 0 * s, axis=0))", (np.float32(2), some()), lambda k, s: k),
    ],
)  # fmt: skip
def test_expand(text: str, arrays: tuple[Array, ...], want: Callable[..., Array]) -> None:
    """Inside reductions, of reductions, of what has one element."""
    got = kgen.jit(text, device="cpu")(*arrays)
    right = np.asarray(want(*arrays))
    assert got.shape == right.shape
    np.testing.assert_allclose(got, right, rtol=2e-5)


def test_expanded_reductions_are_one_kernel() -> None:
    """``expand`` in the place of the axis is ``keepdims``, and does not cost a kernel elsewhere."""
    softmax = "let m = max(x, axis=-1)\nlet e = exp(x - expand(m, axis=-1))\nout = e / expand(sum(e, axis=-1), axis=-1)"
    kernel = kgen.jit(softmax)
    assert [s.kernel for s in kernel.explain(kgen.spec((4096, 1024), "f32")).steps] == ["reduce_regs1024"]
    both = kgen.jit("let s = sum(x, axis=1)\nq = x - expand(s, axis=1)\nr = expand(s, axis=0)")
    assert len(both.explain(kgen.spec((64, 64), "f32")).steps) == 1


# --- chains -----------------------------------------------------------------------------------------------

CHAINS = {
    "whole rows": "{p} / sum({p}, axis=-1, keepdims=true)",
    "all of them": "{p} * 0.5 + mean({p}, keepdims=true)",
    "results": "sum(x * {p}, axis=-1, keepdims=true) * 0.001",
    "in turn": "{p} / sum({p}, axis=0, keepdims=true) / sum({p}, axis=1, keepdims=true)",
}


def chain(form: str, length: int) -> str:
    names = ["x", *(f"a{i}" for i in range(length))]
    lets = [f"let {name} = {CHAINS[form].format(p=before)}" for before, name in pairwise(names)]
    return "\n".join([*lets, f"out = {names[-1]}"])


def outputs(length: int) -> str:
    """Each made of the one before, and a sum of the last."""
    names = ["x", *(f"o{i}" for i in range(length))]
    return "\n".join(
        [*(f"{name} = {before} * 1.5" for before, name in pairwise(names)), f"s = sum({names[-1]}, axis=0)"]
    )


def evaluated(form: str, length: int, x: Array) -> Array:
    value = x.astype(np.float64)
    for _ in range(length):
        p, sums = value, {axis: value.sum(axis, keepdims=True) for axis in (0, 1)}
        value = {
            "whole rows": lambda p=p, s=sums: p / s[1],
            "all of them": lambda p=p, s=sums: p * 0.5 + p.mean(keepdims=True),
            "results": lambda p=p, s=sums: (x * p).sum(1, keepdims=True) * 0.001,
            "in turn": lambda p=p, s=sums: p / s[0] / s[1],
        }[form]()
    return value


@pytest.mark.parametrize("form", CHAINS)
def test_long_chains(form: str) -> None:
    """Chains of many rounds go on from memory now and then, and give what short ones do."""
    length = 2 * kernel_body.LONGEST_CHAIN + 3
    if form == "results":
        length = kernel_body.LONGEST_CHAIN + 2
    x = some(6, 40) / 8
    got = kgen.jit(chain(form, length), device="cpu")(x)
    np.testing.assert_allclose(got, evaluated(form, length, x), rtol=1e-3)


@pytest.mark.parametrize("form", [*CHAINS, "outputs"])
def test_work_is_linear(form: str) -> None:
    """Four times the program is four times the work of the cut, and of what it gives; it was cubic."""

    def work(length: int) -> tuple[int, int]:
        visited = 0
        real = kernel_body.below

        def counted(*args: Any) -> Any:
            nonlocal visited
            visited += 1
            return real(*args)

        program = pipeline.load(outputs(length) if form == "outputs" else chain(form, length))
        with mock.patch.object(kernel_body, "below", counted):
            found = pipeline.specialise(program, {"x": ArrayArg(FLOAT32, (None, None))})
        cuts = [c for c in (found, found.online, found.split) if c is not None]
        return visited, sum(len(step.graph.ops) for c in cuts for step in c.steps)

    short, long = work(50), work(200)
    assert all(after <= 5 * before for before, after in zip(short, long, strict=True)), (short, long)


# --- the tests themselves ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["races", "order"])
def test_random_updates_find_what_is_wrong(rule: str) -> None:
    """Without either rule of ``sharing.py``, the simulated programs fail."""
    place, name, broken = {
        "races": (sharing, "races", False),
        "order": (sharing.Fuser, "_updates", {}),
    }[rule]
    with mock.patch.object(place, name, return_value=broken), pytest.raises(AssertionError, match="seed"):
        fuzzed.simulated(range(200))


def test_explained() -> None:
    """``explain`` says why there are several kernels, and why in this order."""
    kernel = kgen.jit("inout p\no = max(p, axis=0)\np = p - max(p, axis=1, keepdims=true)")
    said = str(kernel.explain(kgen.spec((512, 512), "f32")))
    assert "order: updates `p` after its reads in kernel 1" in said
    said = str(kgen.jit("out = sum(x) / max(x, axis=0)").explain(kgen.spec((512, 512), "f32")))
    assert "order: writes `sum_buffer` for kernel 2: a kernel reduces one set of axes, or rows and segments" in said
