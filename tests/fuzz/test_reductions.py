"""Random reductions give on the CPU target what the oracle says, over any axes and layouts, in any combination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

import kgen
from kgen import KgenError
from kgen.call.arguments import ArrayValue, ScalarValue, bind, describe
from kgen.check import check
from kgen.dtypes import DTYPES
from kgen.ir.evaluator import evaluate
from kgen.ir.graph import Op, Reduction
from kgen.ir.rounding import numpy_dtype
from kgen.pipeline import load
from tests.check.typing import type_of
from tests.forced import AS_MANY, forced

from .arrays import Array, build, random_recipe
from .batch import Batch, Collected, collecting, running
from .harness import REFUSED
from .oracle import Nudge, nudged, same
from .reductions import EXACT, Generator, Program, generate

BY_NUMPY = {numpy_dtype(dtype): dtype for dtype in DTYPES}

BATCH = 30
FIRST_SEED = 50_000


def reference(text: str, arguments: Mapping[str, Any], nudge: Nudge | None = None) -> dict[str, Array]:
    """What outputs and updated arguments are; ``nudge`` changes results of ops on the way."""
    program = load(text)
    values = describe(program, bind(program, [], arguments))
    kernel = check(program, {n: type_of(v) for n, v in values.items()}).kernel
    given = {n: v.array for n, v in values.items() if isinstance(v, ArrayValue)}
    scalars = {n: v.value for n, v in values.items() if isinstance(v, ScalarValue)}
    operands = [given.get(o.name) if o.role != "output" else None for o in kernel.operands]
    with nullcontext() if nudge is None else nudged(nudge, {}):
        found = evaluate(kernel, operands, [scalars[s.name] for s in kernel.scalars])
    return dict(zip([o.name for o in kernel.results], found, strict=True))


def expected(text: str, arguments: Mapping[str, Any]) -> list[Array]:
    """The same of a program that updates nothing, in the order of its outputs."""
    return list(reference(text, arguments).values())


def assert_close(program: Program, got: Any, want: Mapping[str, Array]) -> None:
    """``got`` are these outputs or updated arguments, in their order."""
    exact = program.exact or (False,) * len(want)
    for (name, other), one, is_exact in zip(want.items(), as_tuple(got), exact, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype), program
        if is_exact and program.sort == "exact":
            close = same(one, other)
            assert close.all(), f"{program}\n{one[~close]}\n{other[~close]}"
            continue
        if one.dtype.kind in "iub" or is_exact:
            assert np.array_equal(one, other, equal_nan=one.dtype.kind not in "iub"), program
            continue
        wide = np.complex128 if one.dtype.kind == "c" else np.float64
        a, b = _parts(one), _parts(other)
        unit = float(np.finfo(np.float32).eps) if one.dtype.itemsize >= 4 else 2.0**-8
        scale = np.asarray(min(float(np.abs(b[np.isfinite(b)]).max(initial=1.0)), 64.0))
        if wide is np.complex128:  # errors are relative to the magnitude of both parts
            size = np.abs(np.where(np.isfinite(other), other, 0))
            scale = np.maximum(scale, np.repeat(size, 2, axis=-1).reshape(b.shape))
        close = np.isclose(a, b, rtol=64 * unit, atol=64 * unit * scale, equal_nan=True)
        if wide is np.complex128:  # a product with 1 + 0j keeps a NaN in one part, or spreads it
            close |= np.repeat(np.isnan(one) & np.isnan(other), 2, axis=-1).reshape(close.shape)
        if not close.all():
            close |= np.abs(a - b) <= _spread(program, name)
        assert close.all(), f"{program}\n{a[~close]}\n{b[~close]}"


def _parts(a: Array) -> Array:
    """Floats; of complex numbers the real and the imaginary parts."""
    return np.ascontiguousarray(a, np.complex128 if a.dtype.kind == "c" else np.float64).view(np.float64)


def _spread(program: Program, name: str) -> Array:
    """How far a result moves when each reduction on the way is off by its bound: far, where their values cancel."""
    given = program.arguments()
    want = _parts(reference(program.text, given)[name])
    moved = [_parts(reference(program.text, given, _moved(seed))[name]) for seed in range(4)]
    return np.asarray(np.nan_to_num(np.max(np.abs(np.stack(moved) - want), axis=0), nan=0.0, posinf=np.inf))


def _moved(seed: int) -> Nudge:
    """Float results of reductions moved by their bound, each its way.  Narrow ones are rounded once."""
    rng = np.random.default_rng(seed)

    def nudge(op: Op, args: Sequence[Array], value: Array) -> Array:
        exact = not isinstance(op.attr, Reduction) or op.attr.kind in EXACT
        if exact or not (op.dtype.is_float or op.dtype.is_complex):
            return value
        bound = (2 if op.dtype.is_narrow else 32) * 2.0**-op.dtype.real.mantissa
        wide = value.astype(np.complex128 if op.dtype.is_complex else np.float64)
        way = rng.choice((-1, 1), value.shape) + (1j * rng.choice((-1, 1), value.shape) if op.dtype.is_complex else 0)
        return np.asarray(wide + np.abs(wide) * bound * way).astype(value.dtype)

    return nudge


def as_tuple(results: Any) -> tuple[Any, ...]:
    return () if results is None else results if isinstance(results, tuple) else (results,)


def is_refused(problem: KgenError) -> bool:
    """Whether a rule of the language refuses what a program asks for."""
    return {d.code for d in problem.diagnostics} <= REFUSED


#: Where results go: into new arrays, into given ones that are dense, in any layout, or an argument.
OUTS = ("new", "dense", "laid", "in place")


def outs_of(
    program: Program, names: Sequence[str], where: str, given: Mapping[str, Any], want: Mapping[str, Array]
) -> Any:
    """What ``out=`` is given; None for new arrays."""
    results = [want[name] for name in names]
    outs: tuple[Array | None, ...] = ()
    if where == "dense":
        outs = tuple(np.empty(o.shape, o.dtype) for o in results)
    elif where == "laid":
        rng = Random(program.text)
        outs = tuple(build(random_recipe(rng, BY_NUMPY[o.dtype], o.shape, writable=True)) for o in results)
    elif where == "in place":
        x = given.get("x", np.empty(0))
        may = x.flags.writeable and x.flags.aligned and x.dtype.isnative and bool(x.size)
        fits = [may and (o.shape, o.dtype) == (x.shape, x.dtype) for o in results]
        first = fits.index(True) if True in fits and "x" not in program.updated else None
        outs = tuple(x if n == first else None for n in range(len(results)))
    return outs[0] if len(outs) == 1 else outs or None


def assert_given(
    program: Program, kernel: kgen.Kernel, where: str, want: Mapping[str, Array], *, exact_size: bool = False
) -> tuple[Any, ...]:
    """One call gives ``want``, and leaves its arguments as they should be."""
    given = program.arguments(exact_size=exact_size)
    kept = {name: value.tobytes() for name, value in given.items() if isinstance(value, np.ndarray)}
    out = outs_of(program, kernel.outputs, where, given, want)
    got = as_tuple(kernel(**given, out=out))
    assert_close(program, got, {name: want[name] for name in kernel.outputs})
    for name, before in kept.items():
        if name in program.updated:
            assert_close(replace(program, exact=()), given[name], {name: want[name]})
        elif not any(given[name] is each for each in as_tuple(out)):
            assert given[name].tobytes() == before, f"{name} was written: {program}"
    return got


def assert_all_given(
    program: Program, kernels: Mapping[str, kgen.Kernel], want: Mapping[str, Array], *, exact_size: bool
) -> None:
    """Every kernel with the outputs that it is for; the first twice, alike."""
    first, second = (assert_given(program, kernels["new"], "new", want, exact_size=exact_size) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one.tobytes() == other.tobytes(), f"another answer the second time: {program}"
    for where in list(kernels)[1:]:
        assert_given(program, kernels[where], where, want, exact_size=exact_size)


Around = Callable[[], AbstractContextManager[None]]


def run(
    programs: Sequence[Program],
    sanitize: str | None = None,
    *,
    exact_size: bool = False,
    around: Sequence[Around] = (),
    times: Callable[[], Iterable[None]] = lambda: [None],
) -> int:
    """All of these, compiled together, into outputs of every sort; how many of them were not refused.

    ``around``: for each program, what its calls are made in; ``times``: how often they are made.
    """
    batch = Batch(sanitize)
    accepted: list[tuple[Program, dict[str, kgen.Kernel], dict[str, Array], Around]] = []
    with np.errstate(all="ignore"):
        with collecting(batch):
            for number, program in enumerate(programs):
                within = around[number] if around else nullcontext
                sorts = OUTS if sanitize is None else OUTS[:2]
                kernels = {w: kgen.jit(program.text, device="cpu", name=f"{w[0]}{number}", fmad=False) for w in sorts}
                try:
                    want = reference(program.text, program.arguments(exact_size=exact_size))
                    for where, kernel in kernels.items():
                        with suppress(Collected), within():
                            assert_given(program, kernel, where, want, exact_size=exact_size)
                    accepted.append((program, kernels, want, within))
                except KgenError as problem:
                    if not is_refused(problem):
                        raise
        batch.compile()
        with running(batch):
            for program, kernels, want, within in accepted:
                for _ in times():
                    with within():
                        assert_all_given(program, kernels, want, exact_size=exact_size)
    return len(accepted)


@pytest.mark.parametrize("group", range(5))
def test_random_reductions(group: int, programs: int) -> None:
    """Values, shapes and dtypes are the oracle's, and a second call gives the same bits.

    Every other group takes its few elements as many are.
    """
    each = -(-programs // 5)
    seeds = range(FIRST_SEED + group * each, FIRST_SEED + (group + 1) * each)
    with forced(AS_MANY if group % 2 else {}):
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
            w
            for w in (
                "keepdims",
                "correction",
                "let",
                "axis=(",
                "out1",
                "arg",
                "logsumexp",
                "dtype=",
                "index(",
                "param",
            )
            if w in program.text
        )
        seen[program.sort] += 1
        seen["without axis"] += "axis" not in program.text
        seen["permuted"] += any(r.order != tuple(sorted(r.order)) for r in program.recipes.values())
        seen["backwards"] += any(s < 0 for r in program.recipes.values() for s in r.steps)
        seen["misaligned"] += any(r.offset for r in program.recipes.values())
        seen["empty"] += any(0 in r.shape for r in program.recipes.values())
        seen["repeated"] += any(0 in r.steps for r in program.recipes.values())
        seen["long"] += any(max(r.shape, default=0) > 4099 for r in program.recipes.values())
        seen["half"] += any(r.dtype.is_narrow for r in program.recipes.values())
    assert min(seen.values()) >= 8, seen
    assert len(seen) == 21, seen
