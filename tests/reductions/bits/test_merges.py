"""A state merged with another is the other merged with it, bit for bit, for every way to accumulate.

Threads that share a row merge each other's states: only so do they hold the same result.  States are made as kernels
make them, from random and special elements; the compiler may contract what it likes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from kgen.codegen.c_types import register_type
from kgen.codegen.reduction.accumulators import Accumulator, accumulator
from kgen.codegen.reduction.two_steps import two_steps
from kgen.dtypes import BOOL, COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, INT8, INT32, INT64, UINT64, DType
from kgen.ir.graph import Op, Reduction
from kgen.ir.rounding import numpy_dtype
from kgen.runtime.cpu.module import CpuModule
from tests.fuzz.arrays import Array
from tests.fuzz.oracle import same

from .device import CONTRACTED, for_each, has_fma, module, run
from .values import special_rows

#: Elements that a state is made of at most.
EACH = 4
STATES = 4000


@dataclass(frozen=True, slots=True)
class Case:
    kind: str
    source: DType
    target: DType

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.source.short}"

    @property
    def accumulator(self) -> Accumulator:
        return accumulator(Reduction(self.kind, (0,), False), self.source, self.target)


OF_FLOATS = ("sum", "prod", "mean", "norm", "min", "max", "logsumexp", "exp_sum")
CASES = (
    *(Case(k, t, t) for k in OF_FLOATS for t in (FLOAT32, FLOAT64)),
    *(Case(k, t, INT64) for k in ("argmin", "argmax") for t in (FLOAT32, FLOAT64, INT8, INT64, BOOL)),
    *(Case(k, t, t) for k in ("min", "max") for t in (INT8, INT32, UINT64, BOOL)),
    *(Case(k, t, INT64) for k in ("sum", "prod") for t in (INT8, INT64)),
    *(Case(k, BOOL, BOOL) for k in ("any", "all")),
    Case("count_nonzero", BOOL, INT64),
    *(Case(k, t, t) for k in ("prod", "logsumexp") for t in (COMPLEX64, COMPLEX128)),
)  # fmt: skip


def state(mine: Accumulator, name: str, values: str) -> str:
    """Lines that make a state of up to :data:`EACH` elements, as kernels do."""
    x, place = f"{values}[i * {EACH} + j]", f"{'0' if name == 'one' else EACH} + j"
    loop = f"for (int j = 0; j < {EACH} && !skip[i * {EACH} + j]; ++j) {{"
    lines = [f"auto {name} = {mine.initial};", loop]
    if mine.mode == "direct":
        lines.append(f"{name}.{mine.add}({x}{f', {place}' if mine.places else ''});")
    elif mine.mode == "part":
        lines += [f"auto part = {mine.start.format(a=name)};", f"part.{mine.add}({x});"]
    else:
        lines.append(f"{mine.collects} part[1] = {{{x}}};")
    if mine.take:
        lines.append(f"{name}.{mine.take.format(x='part', group=1)};")
    return "\n".join([*lines, "}"])


def c_type(dtype: DType) -> str:
    """As it is in memory."""
    return "bool" if dtype.is_bool else register_type(dtype)


def kernel(name: str, mine: Accumulator, source: DType, result: str) -> str:
    """Merges both ways; what each gives is written as ``result`` says."""
    body = f"""
        {{
{state(mine, "one", "x")}
{state(mine, "two", "y")}
        const auto other = two;
        two.merge(one);
        one.merge(other);
        ab[i] = one.{result.format(count="7")};
        ba[i] = two.{result.format(count="7")};
        }}"""
    pointers = f"const {c_type(source)}* const x, const {c_type(source)}* const y, const bool* const skip"
    return for_each(name, f"{pointers}, {{0}}* const ab, {{0}}* const ba", body)


@cache
def elements(source: DType, seed: int) -> Array:
    if source.is_complex:
        parts = [special_rows(source.real.name, STATES, EACH, seed + n) for n in (0, 1)]
        found = np.empty((STATES, EACH), numpy_dtype(source))
        found.real, found.imag = parts
        return found
    return special_rows(source.name, STATES, EACH, seed)


@pytest.fixture(scope="module", params=["-O0", CONTRACTED], ids=["as written", "contracted"])
def built(request: pytest.FixtureRequest, precompile: Callable[..., str]) -> CpuModule:
    """The merges of all cases."""
    if request.param and not has_fma():
        pytest.skip("a CPU with fma")
    helpers: list[str] = []
    kernels: dict[str, str] = {}
    for case in CASES:
        mine = case.accumulator
        helpers += [*mine.helpers, *mine.part_helpers]
        kernels[case.name] = kernel(case.name, mine, case.source, mine.result).replace("{0}", c_type(case.target))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGEN_CXXFLAGS", precompile(request.param) if request.param == "-O0" else request.param)
        return module(helpers, kernels)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_either_way(built: CpuModule, case: Case) -> None:
    assert not case.accumulator.agrees, "what depends on the order is made to agree"
    x, y = elements(case.source, 1), elements(case.source, 5)
    skip = np.random.default_rng(2).random((STATES, EACH)) < 0.2
    ab, ba = (np.empty(STATES, numpy_dtype(case.target)) for _ in range(2))
    run(built, case.name, x, y, skip, ab, ba, n=STATES)
    differ = ~same(ab, ba)
    assert not differ.any(), (x[differ][:3], y[differ][:3], ab[differ][:3], ba[differ][:3])


@pytest.mark.parametrize("kind", ["var", "std"])
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
def test_moments_depend_on_the_order(kind: str, dtype: DType) -> None:
    """Which is why lanes agree on the first one's; the totals of the first of two steps do not."""
    attr = Reduction(kind, (0,), False)
    mine = accumulator(attr, dtype, dtype)
    assert mine.agrees
    steps = two_steps(Op("reduce", (0,), dtype, (), attr), mine)
    assert steps is not None
    text = kernel("merges", steps.first, dtype, "result()").replace("{0}", register_type(dtype))
    x, y = elements(dtype, 1), elements(dtype, 5)
    ab, ba = (np.empty(STATES, numpy_dtype(dtype)) for _ in range(2))
    run(
        module(list(steps.first.helpers), {"merges": text}),
        "merges",
        x,
        y,
        np.zeros(x.shape, np.bool_),
        ab,
        ba,
        n=STATES,
    )
    assert same(ab, ba).all()
