"""The fuzzer's own parts: what contraction may give, and many programs in one text."""

from __future__ import annotations

import numpy as np
import pytest

from kgen import jit, pipeline, spec
from kgen.argument_types import ArrayArg
from kgen.check import check
from kgen.dtypes import FLOAT32, INT32, DType
from kgen.ir.evaluator import evaluate
from kgen.ir.graph import Graph
from kgen.ir.verifier import verify
from kgen.runtime.cuda import nvrtc
from kgen.runtime.cuda.compiler import flags

from .batch import joined
from .contraction import contracted


def kernel_of(text: str, dtype: DType = FLOAT32) -> Graph:
    program = pipeline.load(text)
    return check(program, {a.name: ArrayArg(dtype, (None,)) for a in program.arguments}).kernel


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("out = a * b + c", 1),
        ("out = a * b - c * d", 2),
        ("out = c - a * b", 1),
        ("out = -(a * b) + c", 1),
        ("let t = a * b\nout = (t + c) * (t - c)", 3),
        ("out = a * b * c", 0),
        ("out = a ** 2 + b", 1),
    ],
)
def test_choices(text: str, count: int) -> None:
    """Each sum takes one of its products or none."""
    variants = contracted(kernel_of(text))
    assert variants is not None
    assert len(variants) == count
    assert not any(verify(v) for v in variants)


def test_integers_are_never_contracted() -> None:
    assert contracted(kernel_of("out = a * b + c", INT32)) == []


def test_too_many_to_try() -> None:
    assert contracted(kernel_of("\n".join(f"o{i} = a * {i}.5 + b" for i in range(12)))) is None


@pytest.mark.parametrize(
    ("text", "sign"),
    [("out = a * b + c", -1), ("out = c - a * b", 1), ("out = a * b - c", 1), ("out = -(a * b) - c", -1)],
)
def test_rounded_once(text: str, sign: int) -> None:
    """The product's last digits are there: 2^-24 of (1 + 2^-12)^2 - (1 + 2^-11)."""
    near = np.float32(1 + 2.0**-12)
    given = {"a": near, "b": near, "c": np.float32(sign * (1 + 2.0**-11))}
    variants = contracted(kernel_of(text))
    assert variants is not None
    (variant,) = variants
    arrays = [np.array([given[o.name]]) if o.role == "input" else None for o in variant.operands]
    assert abs(evaluate(variant, arrays)[0][0]) == 2.0**-24


def test_many_programs_in_one_text() -> None:
    """NVRTC takes what a campaign gives it."""
    texts = ["out = fmod(cast<int>(a), b)", "out = a * b + 1", "out = sum(x, axis=-1)", "out = max(x, axis=0)"]
    texts += ["out = cast<e4m3fn>(a) + cast<half>(b)", "out = erf(a) % b", "out = fmod(cast<int>(a), b) + 1"]
    kernels = [jit(text, name=f"k{i}") for i, text in enumerate(texts)]
    sources = [k.source(*[spec((40, 300), "f32")] * len(k.inputs)) for k in kernels]
    both = joined([(text, ()) for text in sources])
    assert nvrtc.build(both, "cubin", name="batch.cu", options=flags("sm_90"))[0]
