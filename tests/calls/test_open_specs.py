"""Specs with open extents (``"?"``): what a file is made for, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.aot import aot_module
from kgen.compile_spec import CompileSpec
from kgen.dtypes import Kind

wrong: Any = kgen.spec  # whose types refuse some of these
WEAK = "param alpha\nparam beta = 2\nout = alpha * x + beta * y"


def test_what_they_are() -> None:
    """Their extents are None, and strides only what is given."""
    found = kgen.spec(("?", 8), "bf16")
    assert isinstance(found, kgen.OpenSpec)
    assert (found.shape, found.dtype, found.strides) == ((None, 8), kgen.bfloat16, None)
    assert str(found) == "bf16[?, 8]"
    assert kgen.spec("?", "f32").shape == (None,)
    assert kgen.spec([3, "?"], "f32", (1, 3)).strides == (1, 3)
    assert isinstance(kgen.spec([3, 4], "f32"), kgen.Spec)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: wrong(("?", -1), "f32"), "bad-shape"),
        (lambda: wrong(("?", "x"), "f32"), "bad-shape"),
        (lambda: wrong("?x8", "f32"), "bad-shape"),
        (lambda: wrong(("?", 2.5), "f32"), "bad-shape"),
        (lambda: wrong(("?", 2**62, 4), "f32"), "bad-shape"),
        (lambda: wrong(("?",) * 65, "f32"), "bad-shape"),
        (lambda: wrong(("?", 8), "f7"), "unknown-dtype"),
        (lambda: wrong(("?", 8), "f32", (1,)), "bad-strides"),
        (lambda: wrong(("?", 8), "f32", ("?", 1)), "bad-strides"),
    ],
)
def test_bad_specs(make: Callable[[], Any], code: str) -> None:
    """Errors of other specs."""
    with pytest.raises(kgen.KgenError) as caught:
        make()
    assert caught.value.code == code


def test_sources() -> None:
    """Beside closed specs, arrays, scalars and params; and for programs without arrays."""
    k = kgen.jit(WEAK, name="weak")
    y = np.ones((4, 6), np.float16)[:, ::2]
    text = k.source(kgen.spec(("?", 3), "f32"), y, alpha=1.5, beta=2)
    shapes = {"x": (None, 3), "y": (4, 3)}
    scalars = {"alpha": Kind.FLOAT, "beta": Kind.INT}
    spec = CompileSpec({"x": "f32", "y": "f16"}, shapes, {"y": (6, 2)}, scalars)
    assert text == aot_module(k.program, "weak", k.options, spec).text
    assert "--shape 'x=?x3,y=4x3' --strides y=6x2" in text
    assert "--scalar y=int" in k.source(kgen.spec("?", "f32"), 3, alpha=1.0)
    index = kgen.jit("out = index(0)", name="index")
    assert (
        index.source(shape=("?", 4))
        == aot_module(index.program, "index", index.options, CompileSpec(shapes={"": (None, 4)})).text
    )


def test_where_they_have_no_meaning() -> None:
    """A call, its metadata, a plan and reasons are of arrays whose extents are known."""
    k = kgen.jit("out = 2 * x", device="cpu")
    x = kgen.spec(("?", 8), "f32")
    for use in (k, k.meta, k.plan, k.explain, lambda one: k.warmup([one])):
        with pytest.raises(kgen.KgenError, match=r"`x` is f32\[\?, 8\], whose open extents belong to no array"):
            use(x)
    with pytest.raises(kgen.KgenError, match="shape= is for programs without array arguments"):
        k.source(x, shape=("?",))
    with pytest.raises(kgen.KgenError) as caught:
        kgen.jit("param a: float\nout = a * x").source(x, a=x)
    assert caught.value.code == "bad-value"
    with pytest.raises(kgen.KgenError, match="not both"):
        k.source(x, dtypes="f16")
