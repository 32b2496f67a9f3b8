"""Random reductions give on the CPU target what the oracle says, over any axes and layouts, in any combination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import kgen
from kgen.arguments import ArrayValue, bind, describe, type_of
from kgen.check import check
from kgen.ir.evaluator import evaluate
from kgen.pipeline import load

from .arrays import Array
from .batch import Batch, Collected, collecting, running
from .reductions import Generator, Program, generate

BATCH = 30
FIRST_SEED = 50_000


def expected(text: str, arrays: dict[str, Array]) -> list[Array]:
    program = load(text)
    values = describe(program, bind(program, [], arrays))
    kernel = check(program, {n: type_of(v) for n, v in values.items()}).kernel
    given = {n: v.array for n, v in values.items() if isinstance(v, ArrayValue)}
    return evaluate(kernel, [given.get(o.name) if o.role == "input" else None for o in kernel.operands])


def assert_close(program: Program, got: Any, want: Sequence[Array]) -> None:
    for one, other in zip(got if isinstance(got, tuple) else (got,), want, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype), program
        if one.dtype.kind in "iub":
            assert np.array_equal(one, other), program
            continue
        wide = np.complex128 if one.dtype.kind == "c" else np.float64
        a, b = (np.ascontiguousarray(each, wide).view(np.float64) for each in (one, other))
        unit = float(np.finfo(np.float32).eps) if one.dtype.itemsize >= 4 else 2.0**-8
        scale = float(np.abs(b[np.isfinite(b)]).max(initial=1.0))
        close = np.isclose(a, b, rtol=64 * unit, atol=64 * unit * min(scale, 64.0), equal_nan=True)
        if wide is np.complex128:  # a product with 1 + 0j keeps a NaN in one part, or spreads it
            close |= np.repeat(np.isnan(one) & np.isnan(other), 2, axis=-1).reshape(close.shape)
        assert close.all(), f"{program}\n{a[~close]}\n{b[~close]}"


def run(programs: Sequence[Program], sanitize: str | None = None, *, exact_size: bool = False) -> None:
    """All of these, compiled together."""
    batch = Batch(sanitize)
    with np.errstate(all="ignore"):
        kernels = [kgen.jit(p.text, device="cpu", name=f"k{i}", fmad=False) for i, p in enumerate(programs)]
        arrays: list[dict[str, Any]] = [dict(p.arrays(exact_size=exact_size)) for p in programs]
        with collecting(batch):
            for kernel, given in zip(kernels, arrays, strict=True):
                try:
                    kernel(**given)
                except Collected:
                    continue
        batch.compile()
        with running(batch):
            for program, kernel, given in zip(programs, kernels, arrays, strict=True):
                got = kernel(**given)
                assert_close(program, got, expected(program.text, given))
                first = got if isinstance(got, tuple) else (got,)
                second = kernel(**given)
                for one, other in zip(first, second if isinstance(second, tuple) else (second,), strict=True):
                    assert one.tobytes() == other.tobytes(), f"another answer the second time: {program}"
                outs = tuple(np.empty(o.shape, o.dtype) for o in first)
                kernel(**given, out=outs)
                assert_close(program, outs, expected(program.text, given))


@pytest.mark.parametrize("group", range(5))
def test_random_reductions(group: int, programs: int) -> None:
    """Values, shapes and dtypes are the oracle's, and a second call gives the same bits."""
    each = -(-programs // 5)
    seeds = range(FIRST_SEED + group * each, FIRST_SEED + (group + 1) * each)
    for start in range(0, each, BATCH):
        run([generate(seed) for seed in seeds[start : start + BATCH]])


@settings(
    max_examples=10, deadline=None, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(st.randoms(use_true_random=False))
def test_drawn_reductions(rng: Random) -> None:
    """The same by way of hypothesis."""
    run([Generator(rng).program()])


def test_programs_are_varied() -> None:
    """Kinds, axes, layouts, several kernels and several outputs all come up."""
    seen: Counter[str] = Counter()
    for seed in range(400):
        program = generate(seed)
        seen.update(
            w for w in ("keepdims", "correction", "let", "axis=(", "out1", "arg", "logsumexp") if w in program.text
        )
        seen["without axis"] += "axis" not in program.text
        seen["permuted"] += any(r.order != tuple(sorted(r.order)) for r in program.recipes.values())
        seen["backwards"] += any(s < 0 for r in program.recipes.values() for s in r.steps)
        seen["misaligned"] += any(r.offset for r in program.recipes.values())
        seen["empty"] += any(0 in r.shape for r in program.recipes.values())
        seen["half"] += any(r.dtype.is_narrow for r in program.recipes.values())
    assert min(seen.values()) >= 8, seen
    assert len(seen) == 13, seen
