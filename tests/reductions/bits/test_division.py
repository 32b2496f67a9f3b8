"""What is divided by a row's value is the IEEE quotient, bit for bit, by way of a reciprocal or not."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.dtypes import FLOAT32
from kgen.runtime.cpu.module import CpuModule
from tests.fuzz.arrays import Array, edges
from tests.fuzz.oracle import same

from .device import for_each, module, run

POINTERS = "const float* const a, const float* const b, float* const q"
GROUP = """
        bool quick = reciprocal(b[i]) == reciprocal(b[i]);
        q[i] = divide<true>(a[i], b[i], reciprocal(b[i]), quick);
        done[i] = quick;
        if (!quick) {
            q[i] = divide<false>(a[i], b[i], reciprocal(b[i]), quick);
        }"""
SINGLE = "        q[i] = divide(a[i], b[i], reciprocal(b[i]));"


@pytest.fixture(scope="module")
def built() -> CpuModule:
    return module(
        ["divide_group", "divide"],
        {"by_group": for_each("by_group", f"{POINTERS}, bool* const done", GROUP),
         "by_itself": for_each("by_itself", POINTERS, SINGLE)},
    )  # fmt: skip


def pairs(count: int) -> tuple[Array, Array]:
    """Edge values with each other, any bits, and significands that make quotients near halfway points."""
    rng = np.random.default_rng(15)
    edge = np.concatenate([edges(FLOAT32), np.array([0.0, -0.0], np.float32)])
    a, b = (x.reshape(-1) for x in np.meshgrid(edge, edge))
    bits = rng.integers(0, 1 << 32, (2, count), dtype=np.uint32).view(np.float32)
    mid = ((rng.integers(0, 1 << 24, (2, count), dtype=np.uint32) | 0x3F000000) & 0x3FFFFFFF).view(np.float32)
    mid[1, ::4] = np.nextafter(np.float32(2), np.float32(0)) - rng.integers(0, 9, mid[1, ::4].shape) * np.float32(
        2**-23
    )
    zeros = np.where(rng.random(count) < 0.5, np.float32(0), np.float32(-0.0))
    return np.concatenate([a, *bits[:1], mid[0], zeros]), np.concatenate([b, *bits[1:], mid[1], bits[0]])


@pytest.mark.parametrize("name", ["by_group", "by_itself"])
def test_quotients(built: CpuModule, name: str) -> None:
    a, b = pairs(1_000_000)
    q, done = np.empty_like(a), np.empty(a.shape, np.bool_)
    run(built, name, a, b, q, *([done] if name == "by_group" else []), n=a.size)
    with np.errstate(all="ignore"):
        want = a / b
    differ = ~same(q, want)
    assert not differ.any(), list(zip(a[differ][:5], b[differ][:5], q[differ][:5], want[differ][:5], strict=True))


def test_zeros_are_quick(built: CpuModule) -> None:
    """Rows of zeros are no slower than others, whatever the sign."""
    b = np.array([1.5, -1.5, 1e-9, -1e11], np.float32).repeat(2)
    a = np.tile(np.array([0.0, -0.0], np.float32), 4)
    q, done = np.empty_like(a), np.zeros(a.shape, np.bool_)
    run(built, "by_group", a, b, q, done, n=a.size)
    assert done.all()
    assert np.array_equal(np.signbit(q), np.signbit(a) ^ np.signbit(b))


@pytest.mark.parametrize("seed", range(3))
def test_shares(seed: int) -> None:
    """``divide_share``: of 0 <= a <= 1 <= b, but for quotients below 2^-100."""
    rng = np.random.default_rng(seed)
    a = np.concatenate([rng.random(300_000), 2.0 ** -rng.uniform(0, 90, 300_000), [0.0, 1.0]]).astype(np.float32)
    b = (1 + rng.random(a.size) * 2.0 ** rng.integers(0, 9, a.size)).astype(np.float32)
    q = np.empty_like(a)
    share = for_each("share", POINTERS, "        q[i] = divide_quotient(a[i], b[i], 1.0f / b[i]);")
    run(module(["divide_quotient"], {"share": share}), "share", a, b, q, n=a.size)
    assert same(q, a / b).all()
