"""Runs cases of the spelling table on arrays of edge values, on a target and in the oracle."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.codegen.expressions import Level
from kgen.codegen.helpers import helper_texts
from kgen.codegen.spelling import Expr, register_type, spell, storage_type
from kgen.dtypes import INT32, DType
from kgen.ir.evaluator import evaluate
from kgen.ir.graph import Graph, IndexMap, Op, Operand
from kgen.ir.rounding import numpy_dtype
from kgen.runtime.cpu.module import CpuModule

from .cases import Case

Array = npt.NDArray[Any]
SLOT = 16  # bytes that an output element may take: a complex128


def text(*groups: Sequence[Case]) -> str:
    """A file whose kernel ``run<g>`` computes the cases of group ``g``; output ``k`` is at byte ``k * n * SLOT``."""
    helpers: dict[str, None] = {}
    headers: dict[str, None] = {}
    kernels: list[str] = []
    for group, cases in enumerate(groups):
        of = cases[0].of
        args = [Expr(name, Level.PRIMARY) for name in "abcd"[: len(of)]]
        parameters = [
            "unsigned char* out",
            "int n",
            *(f"const {storage_type(t)}* {a.code}_ptr" for a, t in zip(args, of, strict=True)),
        ]
        lines = [f"  const {register_type(t)} {a.code} = {a.code}_ptr[i];" for a, t in zip(args, of, strict=True)]
        for number, case in enumerate(cases):
            spelling = spell(case.name, case.attr, case.dtype, args, case.of)
            helpers |= dict.fromkeys(spelling.helpers)
            headers |= dict.fromkeys(spelling.headers)
            target = f"(({storage_type(case.dtype)}*)(out + {number * SLOT}ll * n))[i]"
            lines.append(f"  {target} = {spelling.expr.code};  // {case}")
        start = ["{", "  const int i = blockIdx.x * 128 + threadIdx.x;", "  if (i >= n) return;"]
        signature = f'extern "C" __global__ void run{group}({", ".join(parameters)})'
        kernels.append("\n".join([signature, *start, *lines, "}"]))
    return "\n".join([*(f"#include <{h}>" for h in headers), *helper_texts(helpers), *kernels]) + "\n"


def edges(dtype: DType) -> Array:
    """Extremes, zeros, NaN, subnormals, powers of two and halfway points and what lies next to them."""
    kind = numpy_dtype(dtype)
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.size == 1:
        return np.arange(256, dtype=np.uint8).view(kind)
    if dtype.is_complex:
        parts = edges(dtype.real)
        whole = np.empty((len(parts), 5), kind)
        whole.real, whole.imag = parts[:, None], np.roll(parts, 5)[None, :5]
        return whole.ravel()
    if dtype.is_int:
        near = {0, 1, 2, 3, 5, 7, 100, dtype.bits - 1, dtype.bits, dtype.int_max, dtype.int_min}
        near |= {(1 << k) + d for k in range(dtype.bits) for d in (-1, 0, 1)} | {448, 465, 65519, 65520, 0x1000001}
        near |= {-x for x in near}
        return np.array(sorted(x for x in near if dtype.int_min <= x <= dtype.int_max), kind)
    with np.errstate(over="ignore"):
        values = _float_edges(dtype).astype(kind)
    _, first = np.unique(values.view(f"u{dtype.size}"), return_index=True)  # by bits: -0.0 is not 0.0
    return values[first]


def _float_edges(dtype: DType) -> Array:
    """In float64: around every rounding boundary of the narrower floats and of the integers."""
    points = [0.0, 0.1, 0.3, 0.5, 1.5, 2.5, 1 / 3, 3.7, 5.0, 7.25, 100.3, 448.0, 464.0, 480.0, 57344.0, 61440.0]
    points += [65504.0, 65519.99, 65520.0, 65536.0, 127.5, 128.5, 255.5, 256.5, 32767.5, 65535.5]
    points += [2.0**k * m for k in range(-30, 70) for m in (1, 1.5, 1.25, 1.0625, 1.03125)]
    points += [
        2.0**k * m for k in (-1074, -1022, -150, -149, -134, -133, -127, -126, 127, 1023) for m in (1, 1.5, 1.75)
    ]
    points += [float(np.finfo(np.float32).max), 3.3895e38, 3.396e38, float(np.finfo(np.float64).max), np.inf]
    base = np.array(points)
    if dtype.size >= 4:
        kind = np.float32 if dtype.size == 4 else np.float64
        with np.errstate(all="ignore"):
            own = base.astype(kind)
            base = np.concatenate([own, np.nextafter(own, kind(0)), np.nextafter(own, kind(np.inf))]).astype(np.float64)
            if dtype.size == 8:  # next to what float32 holds: where rounding twice shows
                single = np.array(points).astype(np.float32)
                base = np.concatenate([base, np.nextafter(single, np.float32(0)).astype(np.float64) * (1 + 2.0**-40)])
    return np.concatenate([base, -base, [np.nan]])


def corners(dtype: DType) -> Array:
    """The few values whose combinations matter."""
    if dtype.is_bool or dtype.size == 1:
        return edges(dtype)
    kind = numpy_dtype(dtype)
    if dtype.is_int:
        ends = [dtype.int_min, dtype.int_min + 1, dtype.int_max - 1, dtype.int_max]
        return np.unique(
            np.array([*ends, 0, 1, 2, 3, 7, 8, 31, 32, 63, 64, *([-1, -2, -3, -8] if dtype.signed else [])], kind)
        )
    limits = np.finfo(kind)
    positive = [0.0, limits.smallest_subnormal, limits.tiny, 0.1, 0.5, 1.0, 1.5, 3.0, 1e8, limits.max, np.inf]
    return np.array([*positive, *(-x for x in positive), np.nan], kind)


def arguments(of: Sequence[DType], limit: int = 20_000) -> list[Array]:
    """All combinations of edge values where they are few; else those of the corners, and some of all edges."""
    columns = [edges(t) for t in of]
    if of[0] is INT32 and of[1:] != of[:-1]:
        columns[0] = np.arange(-3, 4, dtype=np.int32)  # orders of a Bessel function: errors grow with them
    elif np.prod([len(c) for c in columns]) > limit:
        random = np.random.default_rng(len(of))
        picks = [column[random.integers(0, len(column), limit)] for column in columns]
        few = _product([corners(t)[:: max(1, len(of) - 2)] for t in of])
        return [np.concatenate(pair) for pair in zip(few, picks, strict=True)]
    return _product(columns)


def _product(columns: Sequence[Array]) -> list[Array]:
    return [grid.ravel() for grid in np.meshgrid(*columns, indexing="ij")]


def oracle(case: Case, args: Sequence[Array]) -> Array:
    """What the contract says."""
    every = tuple(range(1))
    operands = [Operand("abcd"[i], t, ("n0",), "input") for i, t in enumerate(case.of)]
    operands.append(Operand("out", case.dtype, ("n0",), "output"))
    ops = [Op("load", (), t, ("n0",), IndexMap(i, every)) for i, t in enumerate(case.of)]
    ops.append(Op(case.name, tuple(range(len(ops))), case.dtype, ("n0",), case.attr))
    ops.append(Op("store", (len(ops) - 1,), case.dtype, ("n0",), IndexMap(len(operands) - 1, every)))
    return evaluate(Graph(tuple(operands), (), tuple(ops)), [*args, None])[0]


def on_cpu(cases: Sequence[Case], args: Sequence[Array]) -> list[Array]:
    """The spelled text, compiled for and run on the CPU target."""
    module = CpuModule.load(text(cases), ["run0"])
    n = len(args[0])
    out = np.zeros(len(cases) * n * SLOT, np.uint8)
    held = [np.ascontiguousarray(a) for a in args]
    values = [ctypes.c_void_p(out.ctypes.data), ctypes.c_int(n), *(ctypes.c_void_p(a.ctypes.data) for a in held)]
    params = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
    module.launch("run0", (-(-n // 128), 1, 1), (128, 1, 1), ctypes.addressof(params))
    return slots(cases, out, n)


def slots(cases: Sequence[Case], out: Array, n: int) -> list[Array]:
    """The output of each case, out of the kernel's one buffer."""
    return [
        out[k * SLOT * n : k * SLOT * n + n * case.dtype.size].view(numpy_dtype(case.dtype))
        for k, case in enumerate(cases)
    ]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first arguments at which a target disagrees with the oracle."""

    case: Case
    args: tuple[Any, ...]
    expected: Any
    got: Any
    count: int

    def __str__(self) -> str:
        return f"{self.case} of {self.args}: {self.expected!r} expected, {self.got!r} found ({self.count} such)"


def compare(case: Case, args: Sequence[Array], expected: Array, got: Array, ulps: float) -> Difference | None:
    """Equal bits, or within ``ulps`` units in the last place; any NaN equals any other."""
    bad = ~_agree(expected, got, ulps, case.dtype)
    if not bad.any():
        return None
    i = int(np.argmax(bad))
    return Difference(case, tuple(a[i] for a in args), expected[i], got[i], int(bad.sum()))


def _agree(expected: Array, got: Array, ulps: float, dtype: DType) -> npt.NDArray[np.bool_]:
    if dtype.is_complex:
        return _agree(expected.real, got.real, ulps, dtype.real) & _agree(expected.imag, got.imag, ulps, dtype.real)
    if not dtype.is_float:
        return np.asarray(expected == got)
    unsigned = f"u{dtype.size}"
    same = np.ascontiguousarray(expected).view(unsigned) == np.ascontiguousarray(got).view(unsigned)
    with np.errstate(all="ignore"):
        both_nan = (expected != expected) & (got != got)
        if not ulps:
            return np.asarray(same | both_nan)
        near = np.abs(expected.astype(np.longdouble) - got.astype(np.longdouble)) <= ulps * np.spacing(np.abs(expected))
    return np.asarray(same | both_nan | near)
