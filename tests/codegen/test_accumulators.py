"""Each struct of ``templates/device/accumulators``, alone, on the CPU target: identity, add, merge, result, size.

A struct stands in a namespace with nothing but the helpers that it names.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from kgen import resources
from kgen.codegen.c_types import register_type
from kgen.codegen.helpers import ACCUMULATORS, HELPERS, helper_texts
from kgen.codegen.reduction.accumulators import Accumulator, accumulator, with_32bit_index, with_shared_count
from kgen.codegen.reduction.states import first_of, part_of, thread_state
from kgen.codegen.reduction.two_steps import two_steps
from kgen.dtypes import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT32,
    UINT64,
    DType,
)  # fmt: skip
from kgen.ir.graph import Op, Reduction
from kgen.ir.rounding import numpy_dtype
from kgen.runtime.cpu.module import CpuModule
from tests.cpu.harness import Array, launch

ROWS, WIDTH, GROUP = 200, 12, 2
SIZES = (4, WIDTH)  # elements of the first of two parts of a row, and of the whole


def _complex_log_sum(x: Array) -> Array:
    peak = x.real.max(1)
    return np.asarray(np.log(np.exp(x - peak[:, None]).sum(1)) + peak)


def _log_sum(x: Array) -> Array:
    return _complex_log_sum(x).real


#: For each kind: what it gives of rows in double precision, and whether that is exact for small integers.
REFERENCES: dict[str, tuple[Callable[[Array], Array], bool]] = {
    "sum": (lambda x: x.sum(1), True),
    "prod": (lambda x: x.prod(1), True),
    "mean": (lambda x: x.mean(1), True),
    "norm": (lambda x: np.sqrt((x * x).sum(1)), True),
    "min": (lambda x: x.min(1), True),
    "max": (lambda x: x.max(1), True),
    "argmin": (lambda x: x.argmin(1), True),
    "argmax": (lambda x: x.argmax(1), True),
    "any": (lambda x: np.asarray(x.any(1)), True),
    "all": (lambda x: np.asarray(x.all(1)), True),
    "count_nonzero": (lambda x: np.count_nonzero(x, 1), True),
    "var": (lambda x: x.var(1), False),
    "std": (lambda x: x.std(1), False),
    "logsumexp": (_log_sum, False),
    "exp_sum": (lambda x: np.exp(x - x.max(1)[:, None]).sum(1), False),
}


@dataclass(frozen=True, slots=True)
class Case:
    """``way``: in one step, in two, or the elements of several columns ``counted`` once."""

    kind: str
    source: DType
    target: DType
    way: str = "one"
    correction: float = 0

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.source.short}_{self.way}" + (f"_{self.correction}".replace(".", "_"))

    @property
    def accumulator(self) -> Accumulator:
        attr = Reduction(self.kind, (0,), False, self.correction)
        found = accumulator(attr, self.source, self.target)
        if self.way == "shared_operand":
            return with_32bit_index(found)
        return with_shared_count(found) if self.way == "counted" else replace(found, local=None)


FLOATS = (FLOAT32, FLOAT64)
CASES = (
    *(Case(k, t, t) for k in ("sum", "prod", "mean", "norm", "min", "max") for t in FLOATS),
    *(Case(k, t, t) for k in ("var", "std", "logsumexp", "exp_sum") for t in FLOATS),
    *(Case("var", t, t, "one", c) for t in FLOATS for c in (1, 0.5)),
    *(Case(k, t, FLOAT32) for k in ("mean", "var", "std") for t in (INT8, UINT8)),
    *(Case("var", UINT8, FLOAT64, "one", c) for c in (1, 0.5)),
    *(Case(k, t, t, "two") for k in ("var", "std", "logsumexp", "exp_sum") for t in FLOATS),
    *(Case(k, t, t, "counted") for k in ("var", "sum", "mean") for t in FLOATS),
    *(Case(k, t, INT64) for k in ("argmin", "argmax") for t in (FLOAT32, INT8, INT64, BOOL)),
    *(Case(k, t, INT64, "shared_operand") for k in ("argmin", "argmax") for t in (FLOAT32, INT8, INT64, BOOL)),
    *(Case(k, t, t) for k in ("min", "max") for t in (INT8, INT16, INT32, UINT8, UINT32, UINT64, INT64, BOOL)),
    *(Case(k, t, INT64) for k in ("sum", "prod") for t in (INT8, INT16, INT32, INT64)),
    *(Case(k, UINT64, UINT64) for k in ("sum", "prod")),
    *(Case(k, BOOL, BOOL) for k in ("any", "all")),
    Case("count_nonzero", BOOL, INT64),
    *(Case(k, t, t) for k in ("prod", "logsumexp") for t in (COMPLEX64, COMPLEX128)),
)  # fmt: skip


def c_type(dtype: DType) -> str:
    return "bool" if dtype.is_bool else register_type(dtype)


def accumulated(mine: Accumulator, state: str, first: int, last: int) -> list[str]:
    """Lines that take elements ``first`` to ``last`` of a row, as kernels do, into a state."""
    thread = thread_state(mine, state)
    number = "float" if mine.collects == "float" else "double"
    of_element = {"part": "PART", "group": "PART[j - i]", "direct": thread}[mine.mode]
    of_element = of_element.replace("PART", f"{state.removesuffix('_acc')}_part")
    add = f"{of_element} = x[j];" if mine.mode == "group" else f"{of_element}.{mine.add}(x[j]PLACE);"
    part = part_of(mine, state, thread, GROUP)
    begin = f"{part.type} {part.name}{f' = {part.first}' if part.first else f'[{GROUP}]'};" if part is not None else ""
    return [
        f"auto {thread} = {first_of(mine)};",
        f"{number} seen_{state} = 0;",
        f"for (int i = {first}; i < {last}; i += {GROUP}) {{",
        f"    const {number} seen = seen_{state}, weight = {GROUP} / (seen + {GROUP});",
        begin,
        f"    for (int j = i; j < i + {GROUP}; ++j) {{",
        add.replace("PLACE", ", j" if mine.places else ""),
        "    }",
        f"{part.into}.{part.take};" if part is not None else "",
        f"    seen_{state} += weight > 0 ? {GROUP} : 0 * seen;",
        "}",
        f"auto {state} = {thread}.{mine.local.total};".replace("seen", f"seen_{state}") if mine.local else "",
    ]


def made(case: Case, state: str, first: int, last: int) -> list[str]:
    mine = case.accumulator
    if case.way != "two":
        return accumulated(mine, state, first, last)
    steps = two_steps(Op("reduce", (0,), case.target, (), Reduction(case.kind, (0,), False, case.correction)), mine)
    assert steps is not None
    found = f"{state}_found_acc"
    return [*accumulated(steps.first, found, first, last), *accumulated(steps.after(found), state, first, last)]


def helpers_of(case: Case) -> list[str]:
    mine = case.accumulator
    steps = two_steps(Op("reduce", (0,), case.target, (), Reduction(case.kind, (0,), False)), mine)
    second = [*steps.first.helpers, *steps.second.all_helpers] if steps is not None and case.way == "two" else []
    return [*mine.part_helpers, *mine.all_helpers, *second]


def kernel(case: Case) -> str:
    """A row's result: of all at once, of two parts merged either way, and with the identity on either side."""
    mine = case.accumulator
    result = mine.result.format(count=str(WIDTH))
    lines = [
        f"static_assert(sizeof({mine.type}) == {mine.size}, \"bytes of a state\");",
        *made(case, "whole_acc", 0, WIDTH), *made(case, "left_acc", 0, SIZES[0]), *made(case, "right_acc", *SIZES),
        "auto either = left_acc, other = right_acc, before = left_acc, after = left_acc;",
        f"auto nothing = {mine.initial};",
        "either.merge(right_acc); other.merge(left_acc); after.merge(nothing); nothing.merge(before);",
        *(
            f"out[{n} * {ROWS} + row] = {name}.{result};"
            for n, name in enumerate(("whole_acc", "either", "other", "left_acc", "after", "nothing"))
        ),
    ]  # fmt: skip
    body = "\n".join(lines)
    return f"""namespace of_{case.name} {{
{chr(10).join(helper_texts(dict.fromkeys(helpers_of(case))))}
}}
extern "C" __global__ void {case.name}(const {c_type(case.source)}* rows, {c_type(case.target)}* const out, int)
{{
    using namespace of_{case.name};
    for (int row = blockIdx.x; row < {ROWS}; row += gridDim.x) {{
    const auto* const x = rows + row * {WIDTH};
{body}
    }}
}}
"""


@pytest.fixture(scope="module")
def built() -> CpuModule:
    return _built()


@cache
def _built() -> CpuModule:
    return CpuModule.load("\n".join(map(kernel, CASES)), [case.name for case in CASES])


def elements(dtype: DType) -> Array:
    """Small integers: sums and products of them are exact in every dtype."""
    rng = np.random.default_rng(3)
    x = rng.integers(0 if dtype.is_bool or dtype.name.startswith("u") else -2, 2 if dtype.is_bool else 3, (ROWS, WIDTH))
    found = x.astype(numpy_dtype(dtype))
    return found + (1j * rng.integers(-1, 2, x.shape)).astype(found.dtype) if dtype.is_complex else found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results(built: CpuModule, case: Case) -> None:
    """Whole rows and merged halves give the reference; the identity changes no bit; halves merge either way alike."""
    x = elements(case.source)
    out = np.empty((6, ROWS), numpy_dtype(case.target))
    launch(built, case.name, x, out, ctypes.c_int(0), grid=4, block=1)
    reference, exact = REFERENCES[case.kind]
    if case.target.is_complex and case.kind == "logsumexp":
        reference = _complex_log_sum
    wide = np.complex128 if case.source.is_complex else np.float64
    expected = reference(x.astype(wide) if case.source.is_float or case.source.is_complex else x.astype(np.int64))
    expected = expected * (WIDTH / (WIDTH - case.correction))
    for got in out[:3]:
        if exact:
            assert np.array_equal(got, expected.astype(got.dtype))
        elif case.target.is_complex:
            assert np.allclose(np.exp(got), np.exp(expected), rtol=1e-5)  # angles are so modulo 2 pi
        else:
            assert np.allclose(got, expected, rtol=1e-5)
    if not case.accumulator.agrees:
        assert out[1].tobytes() == out[2].tobytes()
    for merged in out[4:]:
        same_bits = merged.tobytes() == out[3].tobytes()
        assert same_bits or (case.source.is_complex and np.array_equal(merged, out[3]))  # but for the sign of a zero


def test_a_long_sum_keeps_what_rounding_takes() -> None:
    """2^24 + 1 + 1 + ... loses every 1 in float32."""
    mine = accumulator(Reduction("sum", (0,), False), FLOAT32, FLOAT32)
    body = "\n".join([
        f"auto s_sum = {first_of(mine)};", "for (int i = 0; i < 1001; ++i) {", "auto s_part = Sum<float>::identity();",
        "s_part.add(i ? 1.0f : 16777216.0f);", "s_sum.merge(s_part);", "}", "*out = s_sum.total().result();",
    ])  # fmt: skip
    text = f'extern "C" __global__ void long_sum(float* const out, int)\n{{\n{body}\n}}\n'
    out = np.zeros(1, np.float32)
    module = CpuModule.load("\n".join([*helper_texts(mine.all_helpers), text]), ["long_sum"])
    launch(module, "long_sum", out, ctypes.c_int(0), grid=1, block=1)
    assert out[0] == 2**24 + 1000


def test_every_struct_is_tested() -> None:
    """Each file of the folder, in one of the cases above; what takes whole groups is in ``test_places.py``."""
    files = {path.stem for path in (resources.folder("templates") / "device/accumulators").glob("*.cu")}
    assert {f"{ACCUMULATORS}{name}" for name in files} == {n for n in HELPERS if n.startswith(ACCUMULATORS)}
    texts = [text for case in CASES for text in helper_texts(helpers_of(case))]
    assert {name for name in files if HELPERS[f"{ACCUMULATORS}{name}"].text in texts} == files - {"first_place"}
