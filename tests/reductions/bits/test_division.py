"""What is divided by a row's value is the IEEE quotient, bit for bit, by way of a reciprocal or not."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.codegen.narrow import ROUND_GROUP, is_fp8, rounded
from kgen.codegen.reduction.narrow import QUOTIENT
from kgen.dtypes import DTYPES, FLOAT32, DType
from kgen.runtime.cpu.module import CpuModule
from tests.fuzz.arrays import Array, edges
from tests.fuzz.oracle import same
from tests.fuzz.test_reductions import expected

from .device import for_each, module, run

POINTERS = "const float* const a, const float* const b, float* const q"
GROUP = """
        bool quick = reciprocal(b[i]) == reciprocal(b[i]);
        q[i] = divide<true>(a[i], b[i], reciprocal(b[i]), quick);
        done[i] = quick;
        if (!quick) {
            q[i] = divide<false>(a[i], b[i], reciprocal(b[i]), quick);
        }"""
NARROW = """
        float floats[4];
        struct {{ {c_type} at[4]; }} group;
        bool quick = true;
        for (int j = 0; j < 4; ++j) {{
            const float r = positive_reciprocal(b[4 * i + j]);
            quick = quick && r == r;
            floats[j] = quotient<true>(a[4 * i + j], b[4 * i + j], r);
        }}
        quick = quick & {rounded};
        done[i] = quick;
        if (!quick) {{
            for (int j = 0; j < 4; ++j) {{
                floats[j] = quotient<false>(a[4 * i + j], b[4 * i + j], 0.0f);
            }}
            {rounded};
        }}
        memcpy(q + 4 * i, &group, 4);"""
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


@pytest.mark.parametrize("dtype", [t for t in DTYPES if is_fp8(t)], ids=lambda d: d.name)
def test_fp8(dtype: DType) -> None:
    """Of a group of quotients that are rounded further."""
    c_type = dtype.storage
    body = NARROW.format(c_type=c_type, rounded=rounded(dtype, "floats", "group"))
    pointers = POINTERS.replace("float* const q", f"{c_type}* const q") + ", bool* const done"
    built = module([QUOTIENT, ROUND_GROUP], {"fp8": "#include <cuda_fp8.h>\n" + for_each("fp8", pointers, body)})
    rng = np.random.default_rng(3)
    divisors = (1 + rng.random(100_000, np.float32)) / 100
    near = np.array(divisors * rng.integers(-900, 901, divisors.size) / 2, np.float32)  # halves of the divisor
    near = np.nextafter(near, np.float32(rng.choice([-np.inf, 0, np.inf], near.shape)), dtype=np.float32)
    spread = divisors * 2.0 ** rng.uniform(-12, 9, divisors.size).astype(np.float32)
    edge = pairs(1000)
    a, b = np.concatenate([near, spread, edge[0]]), np.concatenate([divisors, divisors, edge[1]])
    a, b = (np.ascontiguousarray(x[: x.size // 4 * 4]) for x in (a, b))
    q, done = np.empty(a.shape, np.uint8), np.empty(a.size // 4, np.bool_)
    run(built, "fp8", a, b, q, done, n=a.size // 4)
    text = f"out = cast<{dtype.name}, sat, rne>(a / b)"
    with np.errstate(all="ignore"):
        (want,) = expected(text, {"a": a, "b": b})
    differ = ~same(q.view(want.dtype), want)
    assert not differ.any(), list(zip(a[differ][:5], b[differ][:5], q[differ][:5], want[differ][:5], strict=True))
    usual, others = done[: 2 * near.size // 4], done[2 * near.size // 4 :]
    assert usual.all()
    assert others.any()
    assert not others.all()


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
