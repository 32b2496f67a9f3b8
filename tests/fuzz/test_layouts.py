"""Every access class, at extents where rows, tiles, groups and their edges all occur."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import families
from kgen.arrays.numpy_ import TO_NUMPY
from kgen.dtypes import BFLOAT16, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT32, UINT8, DType
from tests.forced import AS_MANY, both, forced

from .arrays import Array
from .batch import Batch, Collected, collecting, running

DTYPES = (UINT8, FLOAT16, BFLOAT16, INT32, FLOAT32, FLOAT64, COMPLEX128)
FAMILIES = families.ELEMENTWISE
#: Not for sums, which share too little and have no computed places: tests/calls/test_row_pairs.py, test_row_batches.py,
#: test_bins.py; or for few layouts of two halves only: tests/cpu/test_skewed.py.
OTHERS = {"row_pairs", "row_batches", "bins", "skewed"}
#: For less than three operands, of some MiB: so that sums take it.
BATCHES = {"elementwise": {"batched_bytes": (0, 1 << 40), "batched_group_bytes": 1 << 10}}
EXTENTS = (1, 2, 3, 15, 16, 17, 31, 33, 64, 65, 100, 130, 257)


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> np.ndarray[Any, Any]:
    """Small whole numbers, so that sums are exact in every dtype."""
    return rng.integers(0, 8, shape).astype(TO_NUMPY[dtype])


def operand(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> np.ndarray[Any, Any]:
    """An array of this shape in a random layout: permuted, stepped, reversed, offset, broadcast."""
    order = rng.permutation(len(shape))
    steps = rng.choice([1, 1, 1, 2, -1], len(shape))
    pads = rng.choice([0, 0, 1, 3], len(shape))
    whole = [shape[d] * abs(int(steps[d])) + int(pads[d]) for d in order]
    base = values(rng, tuple(whole), dtype).transpose(np.argsort(order))
    view = base[tuple(slice(int(p), None) for p in pads)]
    view = view[tuple(slice(None, None, int(s)) for s in steps)]
    view = view[tuple(slice(0, n) for n in shape)]
    if rng.random() < 0.3:
        axis = int(rng.integers(len(shape)))
        kept = tuple(slice(0, 1) if d == axis else slice(None) for d in range(len(shape)))
        view = np.broadcast_to(view[kept], shape) if rng.random() < 0.5 else view[kept]
    return view


def some_shape(rng: np.random.Generator) -> tuple[int, ...]:
    rank = int(rng.integers(1, 5))
    while True:
        shape = tuple(int(n) for n in rng.choice(EXTENTS, rank))
        if np.prod(shape) <= 40_000:
            return shape


@dataclass(frozen=True, slots=True)
class Sum:
    """``a + b + c`` of any layouts, in a fresh output and in a given one of any layout."""

    operands: tuple[Array, Array, Array]
    given: Array | None
    fresh: kgen.Kernel
    into: kgen.Kernel

    @classmethod
    def of(cls, seed: int) -> Sum:
        rng = np.random.default_rng(seed)
        shape = some_shape(rng)
        dtypes = [DTYPES[int(i)] for i in rng.integers(len(DTYPES), size=2)]
        if UINT8 in dtypes or INT32 in dtypes:
            dtypes = [dtypes[0]] * 2  # an integer meets a float32 of its own value only when widened alike
        a, b = operand(rng, shape, dtypes[0]), operand(rng, shape, dtypes[1])
        c = operand(rng, shape, dtypes[0])
        fresh, into = (kgen.jit("out = a + b + c", device="cpu", name=f"{name}{seed}") for name in ("fresh", "into"))
        spec = fresh.meta(a, b, c)
        assert isinstance(spec, kgen.Spec)
        given = operand(np.random.default_rng(seed + 1000), spec.shape, spec.dtype)
        dense = 0 not in [s for s, n in zip(given.strides, given.shape, strict=True) if n > 1]
        if not given.flags.writeable:
            given = given.copy(order="K")
        return cls((a, b, c), given if dense and given.shape == spec.shape else None, fresh, into)

    def call(self) -> None:
        """NumPy's sum, where and as the metadata say."""
        a, b, c = self.operands
        expected = a.astype(complex) + b.astype(complex) + c.astype(complex)
        out, spec = self.fresh(a, b, c), self.fresh.meta(a, b, c)
        assert np.array_equal(out.astype(complex), expected)
        assert isinstance(spec, kgen.Spec)
        assert out.shape == spec.shape
        steps = zip(out.strides, spec.strides, spec.shape, strict=True)
        assert all(s // out.itemsize == t for s, t, n in steps if n > 1)

    def call_into(self) -> None:
        a, b, c = self.operands
        if self.given is not None:
            self.into(a, b, c, out=self.given)
            assert np.array_equal(self.given.astype(complex), a.astype(complex) + b.astype(complex) + c.astype(complex))


@pytest.mark.parametrize("group", range(4))
def test_any_layout(group: int) -> None:
    """30 sums of any layouts, compiled together."""
    batch = Batch()
    sums = [Sum.of(seed) for seed in range(30 * group, 30 * (group + 1))]
    calls = [call for one in sums for call in (one.call, one.call_into)]
    with collecting(batch):
        for call in calls:
            with suppress(Collected):
                call()
    batch.compile()
    with running(batch):
        for call in calls:
            call()


@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in OTHERS])
def test_any_family(family: str) -> None:
    """The same by every family that applies, whatever it costs."""
    batch = Batch()
    with forced(both(AS_MANY, BATCHES if family == "batches" else {}), elementwise=family):
        sums = [Sum.of(seed) for seed in range(200, 240)]
        with collecting(batch):
            for one in sums:
                with suppress(Collected):
                    one.call()
        batch.compile()
        with running(batch):
            for one in sums:
                one.call()
        assert any(scheduled(one.fresh, *one.operands) == family for one in sums)


def scheduled(kernel: kgen.Kernel, *operands: Array | kgen.Spec) -> str:
    """The family of the kernel for these arrays."""
    template = kernel.explain(*operands).to_dict()["kernels"][0]["schedule"]["template"]
    assert isinstance(template, str)
    return template


def test_every_class_occurs() -> None:
    """The layouts above reach every access class, and with large ones every template."""
    templates: set[str] = set()
    classes: set[str] = set()
    box = (26, 5000, 8, 32)
    for strides in ((1280000, 256, 32, 1), (1, 26, 130000, 1040000)):
        templates.add(scheduled(kgen.jit("out = a + b"), kgen.spec(box, FLOAT16), kgen.spec(box, FLOAT16, strides)))
    square = (4096, 4096)
    templates.add(scheduled(kgen.jit("out = a + b"), kgen.spec(square, FLOAT32), kgen.spec(square, FLOAT32, (1, 4096))))
    templates.add(scheduled(kgen.jit("inout p; p = 2 * p"), kgen.spec(square, FLOAT32, (8192, 2))))
    for seed in range(120):
        rng = np.random.default_rng(seed)
        shape = some_shape(rng)
        rng.integers(len(DTYPES), size=2)
        a, b = operand(rng, shape, FLOAT32), operand(rng, shape, FLOAT32)
        explained = kgen.jit("out = a + b").explain(a, b).to_dict()["kernels"][0]["schedule"]
        templates.add(explained["template"])
        classes |= {t["kind"] for t in explained["accesses"]}
    assert templates == {*FAMILIES} - OTHERS - {"batches"}
    assert classes >= {"vector", "column", "gather", "strided"}
