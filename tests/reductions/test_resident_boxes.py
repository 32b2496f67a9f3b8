"""Chains whose operands are consecutive along different dimensions: one kernel, boxes in shared memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unittest import mock

import numpy as np
import pytest

import kgen
from tests.forced import forced
from tests.fuzz.arrays import Array

SOFTMAX = "let q = exp(z - max(z, axis={0}, keepdims=true))\nout = q / sum(q, axis={0}, keepdims=true)"


@pytest.fixture
def always() -> Iterator[None]:
    """Boxes wherever they may be."""
    slow = mock.patch("kgen.schedule.reduction.resident_boxes.row_seconds", return_value=1e9)
    with slow, forced({"traffic": {"slow": 1e9}}, only=("resident_boxes", "row_reduce")):
        yield


def softmax(z: Array, axis: int) -> Array:
    q = np.exp(z - z.max(axis, keepdims=True))
    return np.asarray(q / q.sum(axis, keepdims=True))


def boxed(text: str, *arrays: Array) -> Array:
    """What a kernel gives that has boxes."""
    kernel = kgen.jit(text, device="cpu")
    (step,) = kernel.explain(*arrays).steps
    assert re.fullmatch(r"columns_regs\d+_boxes_\d+(x\d+)?", step.kernel)
    return np.asarray(kernel(*arrays))


@pytest.mark.parametrize(("height", "columns"), [(128, 2000), (127, 1001), (172, 640), (255, 330)])
@pytest.mark.usefixtures("always")
def test_an_operand_that_is_transposed(height: int, columns: int) -> None:
    """Whole columns, which need not divide the threads of a block."""
    rng = np.random.default_rng(height)
    x, y = rng.standard_normal((height, columns)), rng.standard_normal((columns, height))
    x, y = x.astype(np.float32), y.astype(np.float32)
    out = boxed("let z = x + transpose(y)\n" + SOFTMAX.format(0), x, y)
    np.testing.assert_allclose(out, softmax((x + y.T).astype(np.float64), 0), rtol=1e-4, atol=1e-7)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("dtypes", [("float32", "float16", "int8"), ("float16", "float64", "uint8")], ids=str)
def test_three_orders(dtypes: tuple[str, str, str]) -> None:
    rng = np.random.default_rng(1)
    whole = rng.integers(-3, 4, (3, 61, 40, 83))
    a, b, c = (
        abs(x).astype(dtype) if dtype == "uint8" else x.astype(dtype) for x, dtype in zip(whole, dtypes, strict=True)
    )
    b, c = np.ascontiguousarray(b.T).T, np.ascontiguousarray(c.transpose(2, 0, 1)).transpose(1, 2, 0)
    out = boxed("let z = cast<float>(a) + cast<float>(b) * cast<float>(c)\n" + SOFTMAX.format(1), a, b, c)
    want = softmax(a.astype(np.float64) + b.astype(np.float64) * c, 1)
    np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-7)


@pytest.mark.usefixtures("always")
def test_in_place() -> None:
    """Threads beyond the last column read the last one of their block before it is written."""
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((130, 1003)).astype(np.float32), rng.standard_normal((1003, 130)).astype(np.float32)
    want = softmax((x + y.T).astype(np.float64), 0)
    kernel = kgen.jit(
        "inout x\ninput y\nlet z = x + transpose(y)\n" + SOFTMAX.format(0).replace("out", "x"), device="cpu"
    )
    (step,) = kernel.explain(x, y).steps
    assert "_boxes_" in step.kernel
    kernel(x, y)
    np.testing.assert_allclose(x, want, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_indices_of_64_bits(arch: str) -> None:
    """It compiles."""
    x, y = kgen.spec((200, 30_000_000), "f32"), kgen.spec((30_000_000, 200), "f32")
    (step,) = kgen.jit("let z = x + transpose(y)\n" + SOFTMAX.format(0)).explain(x, y, arch=arch).steps
    assert step.kernel.endswith("_64bit")
    assert step.usage is not None


def test_pieces_of_a_few_bytes_are_copied() -> None:
    """Two places of halves are a small part of a sector (*Boxes under chains*)."""
    shape = (77, 255, 21, 128)
    a, c = kgen.spec(shape, "bf16"), kgen.spec(shape, "bf16", strides=(685440, 21, 1, 5355))
    text = "let z = cast<float>(a) + cast<float>(c)\n" + SOFTMAX.format(1)
    kernels = [s.kernel for s in kgen.jit(text).explain(a, c, arch="sm_90").steps]
    assert not any(re.search(r"_boxes_\d+x2", kernel) for kernel in kernels)
