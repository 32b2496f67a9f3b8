"""Programs that update arguments beside reductions, over any axes: each kernel reads what it should, at its time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import pipeline
from kgen.call.arguments import ArrayValue, bind, describe
from kgen.check import check
from kgen.ir.evaluator import evaluate
from kgen.ir.graph import Graph, IndexMap
from kgen.ir.verifier import check as verify
from kgen.partition.cut import cut
from kgen.partition.reduction_step import ReductionStep
from kgen.passes import optimise
from kgen.passes.online import online_reductions
from kgen.schedule.step_layout import extents_of
from tests.check.typing import type_of

from .arrays import Array
from .batch import Batch, Collected, collecting, running
from .reductions import Program
from .steps import simulate
from .updates import generate

BATCH = 30
FIRST_SEED = 90_000
EACH_IS = 2  # programs that are cut and simulated for each that is compiled


def typed(program: Program) -> tuple[Graph, dict[str, Array]]:
    """The program's kernel, as it is typed, and its arrays."""
    arrays = program.arrays()
    loaded = pipeline.load(program.text)
    values = describe(loaded, bind(loaded, [], arrays))
    kernel = check(loaded, {n: type_of(v) for n, v in values.items()}).kernel
    return kernel, {n: v.array for n, v in values.items() if isinstance(v, ArrayValue)}


def expected(kernel: Graph, given: dict[str, Array]) -> dict[str, Array]:
    arrays = [given[o.name].copy() if o.role != "output" else None for o in kernel.operands]
    found = evaluate(kernel, arrays)
    return dict(zip([o.name for o in kernel.results], found, strict=True))


def assert_equal(program: Program, got: dict[str, Array], want: dict[str, Array]) -> None:
    for name, other in want.items():
        one = got[name]
        assert (one.shape, one.dtype) == (other.shape, other.dtype), f"{name}: {program}"
        if one.dtype.kind in "iub":
            assert np.array_equal(one, other), f"{name}: {program}\n{one}\n{other}"
            continue
        wide = np.complex128 if one.dtype.kind == "c" else np.float64
        a, b = (np.ascontiguousarray(each, wide).view(np.float64) for each in (one, other))
        unit = float(np.finfo(np.float32).eps) if one.dtype.itemsize >= 4 else 2.0**-7
        scale = float(np.abs(b[np.isfinite(b)]).max(initial=1.0))
        # What is left of a sum that cancels is as large as the roundings of its terms, which are below 16.
        scale = max(scale, max((prod(r.shape) for r in program.recipes.values()), default=0) / 16)
        close = np.isclose(a, b, rtol=64 * unit, atol=64 * unit * scale, equal_nan=True)
        assert close.all(), f"{name}: {program}\n{one}\n{other}"


def cuts(kernel: Graph) -> dict[str, Graph]:
    """The optimised kernel, and the same in fewer rounds."""
    best = optimise(kernel)
    return {"as written": best, "in fewer rounds": online_reductions(best)}


@pytest.mark.parametrize("group", range(4))
def test_every_cut_computes_the_program(group: int, programs: int) -> None:
    """Typed, cut in each way, and run step by step in one memory: no step reads what is updated, or not there yet."""
    each = programs * EACH_IS // 4
    simulated(range(FIRST_SEED + group * each, FIRST_SEED + (group + 1) * each))


def simulated(seeds: Iterable[int]) -> None:
    """Raises AssertionError with the first program that goes wrong."""
    for seed in seeds:
        program = generate(seed, long=False)
        kernel, given = typed(program)
        verify(kernel)
        want = expected(kernel, given)
        extents = extents_of(kernel, [given[o.name].shape if o.name in given else None for o in kernel.operands])
        assert extents is not None
        for how, one in cuts(kernel).items():
            verify(one)
            for chained in (True, False):
                operands, steps = cut(one, chained=chained)
                try:
                    assert_equal(program, simulate(operands, steps, given, extents), want)
                except AssertionError as problem:
                    raise AssertionError(
                        f"seed {seed}, {how}, chained={chained}\n{program.text}\n{problem}"
                    ) from problem


def test_found() -> None:
    """What longer runs have found: an update that joined a kernel where it could have reduced what it updates."""
    simulated([20_582])


def run(programs: Sequence[Program]) -> None:
    """All of these, compiled together; updated arguments are compared, too."""
    batch = Batch()
    kernels = [kgen.jit(p.text, device="cpu", name=f"k{i}", fmad=False) for i, p in enumerate(programs)]
    with collecting(batch):
        for kernel, program in zip(kernels, programs, strict=True):
            try:
                kernel(**dict[str, Any](program.arrays()))
            except Collected:
                continue
    batch.compile()
    with running(batch):
        for kernel, program in zip(kernels, programs, strict=True):
            typed_kernel, given = typed(program)
            with np.errstate(all="ignore"):
                want = expected(typed_kernel, given)
            for _ in range(2):  # the second call is recognised
                arrays: dict[str, Any] = dict(program.arrays())
                result = kernel(**arrays)
                results = result if isinstance(result, tuple) else (result,)
                names = [o.name for o in typed_kernel.results if o.role == "output"]
                assert_equal(program, arrays | dict(zip(names, results, strict=False)), want)


@pytest.mark.parametrize("group", range(4))
def test_random_updates(group: int, programs: int) -> None:
    """The same compiled and called, on arrays of any layout."""
    each = programs // 10
    for start in range(0, each, BATCH):
        first = FIRST_SEED + group * each + start
        run([generate(seed) for seed in range(first, first + min(BATCH, each - start))])


def test_programs_are_varied() -> None:
    """Updates that are read before and after, expand, axes of extent 1 and of none, several kernels: all come up."""
    seen: Counter[str] = Counter()
    for seed in range(400):
        program = generate(seed)
        lines = program.text.split("\n")
        updated = {line.split()[1] for line in lines if line.startswith("inout")}
        seen["updates"] += bool(updated)
        seen["several updates"] += len(updated) > 1
        seen.update(w for w in ("expand", "axis=()", "axis=(", "keepdims", "index", "arg", "let") if w in program.text)
        seen["empty"] += any(0 in r.shape for r in program.recipes.values())
        seen["one"] += any(1 in r.shape for r in program.recipes.values())
        kernel, _ = typed(program)
        _, steps = cut(optimise(kernel))
        seen["several kernels"] += len(steps) > 1
        seen["reductions"] += any(isinstance(s, ReductionStep) for s in steps)
        for step in steps:
            loads = {a.operand for op in step.graph.ops if op.name == "load" and isinstance(a := op.attr, IndexMap)}
            seen["in place"] += isinstance(step, ReductionStep) and any(
                t.writes and t.operand in loads for t in step.accesses
            )
    assert min(seen.values()) >= 8, seen
    assert len(seen) == 14, seen
