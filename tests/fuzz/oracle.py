"""What a call has to give, element by element, and how far the result may be from it.

The program is typed and evaluated on NumPy arrays.  Two things the contract leaves open are found by evaluating again:
the bits of a NaN (each NaN that is computed gets another sign and payload: what changes is not compared), and the
error of functions (each inexact result is moved by its bound, up, down and at random: results lie within the envelope).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from kgen.call.arguments import ArrayValue, ScalarValue, bind, describe
from kgen.check import check
from kgen.codegen.short_results import short_results
from kgen.ir import evaluator
from kgen.ir.graph import Graph, IndexMap, Op, Scatter
from kgen.ir.ops import OPS
from kgen.passes import PIPELINE
from kgen.passes.reflections import reflections
from kgen.program import Program
from kgen.runtime.scalars import pack
from tests.check.typing import type_of

from .arrays import Array
from .contraction import contracted
from .forms import is_inexact
from .program import Arguments

#: Ops that hand the bits of a NaN on; all others may give any NaN.
_KEEP = {"load", "store", "where", "bitcast", "const", "scalar", "real", "imag", "complex"}
#: Where the CUDA guide gives an absolute bound, or none: the result may be off by this much of its magnitude plus one.
_OUTSIDE = {4: 2e-5, 8: 1e-12}

Nudge = Callable[[Op, Sequence[Array], Array], Array]


@dataclass(frozen=True, slots=True)
class Expected:
    """One output: its value and, where the contract leaves room, what else it may be."""

    name: str
    value: Array
    compared: Array  # False where the bits of a NaN decide
    samples: tuple[Array, ...]  # further values, of inexact programs and with contraction
    inexact: int  # how many inexact ops it is made of
    mantissa: int  # of the narrowest float that is rounded to after an inexact op


@dataclass(frozen=True, slots=True)
class Reference:
    """A call's typed kernel and what it gives: outputs, then updated arguments, by name."""

    kernel: Graph
    expected: dict[str, Expected]
    contracts: bool = True  # what contraction gives is among the samples, if that was asked for


def reference(program: Program, arguments: Arguments, *, contract: bool = False) -> Reference:
    """Type and evaluate a call; ``contract``: products may go into sums.

    Raises :class:`~kgen.KgenError` where it is refused, AssertionError if optimising changes a single bit.
    """
    values = describe(program, bind(program, list(arguments.inputs.values()), arguments.params))
    types = {name: type_of(value) for name, value in values.items()}
    outs: dict[str, Any] = {}
    if arguments.outs is not None:
        outs = {o.name: a for o, a in zip(program.outputs, arguments.outs, strict=True) if a is not None}
    from kgen.arrays.numpy_ import dtype_of

    shape = arguments.shape
    no_arrays = not any(isinstance(v, ArrayValue) for v in values.values())
    if no_arrays and shape is None and outs:
        shape = next(iter(outs.values())).shape
    kernel = check(program, types, shape=shape or (), out_dtypes={n: dtype_of(a.dtype) for n, a in outs.items()}).kernel
    arrays = {n: v.array for n, v in values.items() if isinstance(v, ArrayValue)}
    scalars = {n: v.value for n, v in values.items() if isinstance(v, ScalarValue)}
    for scalar in kernel.scalars:
        pack(scalar.name, scalars[scalar.name], scalar.dtype)  # raises where it does not fit
    variants = contracted(kernel) if contract else []
    expected = _expected(kernel, arrays, scalars, shape if no_arrays else None, variants or [])
    return Reference(kernel, expected, contracts=variants is not None)


def _expected(
    kernel: Graph,
    arrays: dict[str, Array],
    scalars: dict[str, Any],
    shape: tuple[int, ...] | None,
    variants: Sequence[Graph],
) -> dict[str, Expected]:
    names = [o.name for o in kernel.results]

    cache: dict[object, Array] = {}  # of casts and inexact functions, some of which take long

    def run(kernel: Graph, nudge: Nudge | None = None) -> list[Array]:
        with nudged(nudge, cache):
            return evaluator.evaluate(
                kernel, [None if o.role == "output" else arrays.get(o.name) for o in kernel.operands],
                [scalars[s.name] for s in kernel.scalars], shape,
            )  # fmt: skip

    nans: list[bool] = []
    plain = run(kernel, _sees_nans(nans))
    flipped = [run(kernel, _nans(negative)) if any(nans) else plain for negative in (False, True)]
    compared = [same(a, b) for a, b in zip(*flipped, strict=True)]
    better = run(_optimised_exactly(kernel))
    behind = _inexact_behind(kernel)
    for name, a, b, mask in zip(names, plain, better, compared, strict=True):
        assert bool(np.all(same(a, b) | ~mask)), f"optimising changes {name}: {a} became {b}"
    samples: list[tuple[Array, ...]] = [() for _ in plain]
    if any(count for count, _ in behind.values()):
        runs = [run(kernel, _moved(way, _short(kernel))) for way in (1, -1, 2, -2, 3, 4, 5, 6)]
        samples = [tuple(each) for each in zip(*flipped, *runs, strict=True)]
    fused = [run(variant) for variant in variants]
    rows = zip(names, plain, compared, samples, *fused, strict=True)
    return {n: Expected(n, a, mask, (*(more if behind[n][0] else ()), *f), *behind[n]) for n, a, mask, more, *f in rows}


def _short(kernel: Graph) -> frozenset[Op]:
    """The values that only go into results of 16 bits."""
    return frozenset(kernel.ops[n] for n in short_results(kernel.ops).values)


def _optimised_exactly(kernel: Graph) -> Graph:
    """By every pass that keeps all bits; ``reflections`` keeps the bounds."""
    for one in PIPELINE:
        kernel = kernel if one is reflections else one(kernel)
    return kernel


def _inexact_behind(kernel: Graph) -> dict[str, tuple[int, int]]:
    """``inexact`` and ``mantissa`` of each output and updated argument."""
    rounded = _after_inexact(kernel)
    found: dict[str, tuple[int, int]] = {}
    for store in kernel.stores:
        assert isinstance(store.attr, IndexMap | Scatter)
        reached: set[int] = set()
        stack = list(store.args)
        while stack:
            number = stack.pop()
            if number not in reached:
                reached.add(number)
                stack.extend(kernel.ops[number].args)
        count = sum(is_inexact(kernel.ops[n]) for n in reached)
        mantissas = [kernel.ops[n].dtype.real.mantissa for n in reached & rounded]
        found[kernel.operands[store.attr.operand].name] = count, min(mantissas, default=0)
    return found


def _after_inexact(kernel: Graph) -> set[int]:
    """Ops with a float or complex result that is, or depends on, that of an inexact op."""
    found: set[int] = set()
    for number, op in enumerate(kernel.ops):
        if op.dtype.real.is_float and (is_inexact(op) or not found.isdisjoint(op.args)):
            found.add(number)
    return found


@contextmanager
def nudged(nudge: Nudge | None, cache: dict[object, Array]) -> Iterator[None]:
    rows = dict(evaluator.ROWS)

    def wrap(name: str, row: Callable[..., Array]) -> Callable[..., Array]:
        def wrapped(frame: evaluator.Frame, op: Op, *args: Array) -> Array:
            if name != "cast" and not is_inexact(op):
                value = np.asarray(row(frame, op, *args))
            else:
                bits = [a if name == "cast" else _one_nan(a) for a in args]
                key = (name, op.dtype, op.attr, *((a.dtype, a.shape, a.tobytes()) for a in bits))
                if key not in cache:
                    cache[key] = np.asarray(row(frame, op, *args))
                value = cache[key]
            return value if nudge is None or name in _KEEP else nudge(op, args, value)

        return wrapped

    try:
        evaluator.ROWS.update({name: wrap(name, row) for name, row in rows.items()})
        yield
    finally:
        evaluator.ROWS.update(rows)


def _one_nan(a: Array) -> Array:
    return np.where(np.isnan(a), a.dtype.type(np.nan), a) if a.dtype.kind == "f" else a


def _nans(negative: bool) -> Nudge:
    """The same values, but that every NaN is the ordinary one, or the one whose bits are all 1."""

    def nudge(op: Op, args: Sequence[Array], value: Array) -> Array:
        if not op.dtype.is_float:
            return value
        kind = np.dtype(f"u{value.dtype.itemsize}")
        bits = np.array(value).view(kind)
        payload = (1 << op.dtype.mantissa) - 1 if negative else 0  # an odd number: powers of an even one are soon 0
        one = np.array(np.nan).astype(value.dtype).view(kind) & kind.type((1 << (op.dtype.bits - 1)) - 1)
        other = one | kind.type((negative << (op.dtype.bits - 1)) | payload)
        return np.asarray(np.where(np.isnan(value), other, bits), kind).view(value.dtype).reshape(value.shape)

    return nudge


def _sees_nans(found: list[bool]) -> Nudge:
    """The same values; ``found`` gets for each op whether :func:`_nans` would change it."""

    def nudge(op: Op, args: Sequence[Array], value: Array) -> Array:
        found.append(op.dtype.is_float and bool(np.isnan(value).any()))
        return value

    return nudge


def _moved(way: int, short: frozenset[Op]) -> Nudge:
    """Inexact results moved by their bound: up or down (±1), away from or to zero (±2), or each its way (a seed).

    ``short``: those that only go into results of 16 bits, which are within 2^-16.
    """

    def nudge(op: Op, args: Sequence[Array], value: Array) -> Array:
        wide = op.dtype.size == 8
        ulp = OPS[op.name].ulp[wide]
        if not ulp or not op.dtype.is_float:
            return value
        if op in short:
            ulp = max(ulp, 2**7)
        rng = np.random.default_rng(abs(way))
        steps = np.asarray(way, np.float64) if abs(way) == 1 else rng.choice((-1.0, -0.5, 0.0, 0.5, 1.0), value.shape)
        if abs(way) == 2:
            steps = np.where(np.signbit(value), -way / 2, way / 2)
        moved = _step(value, np.asarray(np.trunc(steps * (np.ceil(ulp) + 1)), np.int64))
        outside = np.broadcast_to(_outside(op.name, args), value.shape)
        with np.errstate(all="ignore"):
            far = value + np.asarray(steps * _OUTSIDE[op.dtype.size] * (1 + np.abs(value)), value.dtype)
        return np.asarray(np.where(outside, far, moved), value.dtype)

    return nudge


def _outside(name: str, args: Sequence[Array]) -> Array:
    """Arguments for which the guide's bound in units in the last place does not hold."""
    x = args[-1]
    if name in ("jn", "yn"):
        return np.ones(x.shape, np.bool_)
    if name in ("j0", "j1", "y0", "y1"):
        return ~(np.abs(x) < 8)
    if name == "lgamma":
        return x < 0
    if name == "gelu_derivative":  # its zero
        return (x > -1) & (x < -0.5)
    return np.zeros(x.shape, np.bool_)


def _step(value: Array, steps: Array) -> Array:
    """``value`` moved by so many representable values; NaN and infinities stay, and the largest may overflow."""
    kind = np.dtype(f"i{value.dtype.itemsize}")
    bits = np.array(value).view(kind)
    top = np.iinfo(kind).min
    ordered = np.where(bits < 0, top - bits, bits)
    largest = np.asarray(np.inf, value.dtype).view(kind)
    moved = np.clip(ordered + steps.astype(kind), -largest, largest)
    back = np.asarray(np.where(moved < 0, top - moved, moved), kind).view(value.dtype).reshape(value.shape)
    return np.where(np.isfinite(value), back, value)


# --- comparison -------------------------------------------------------------------------------------


def same(a: Array, b: Array) -> Array:
    """Where two arrays of one dtype have the same bits, or are both NaN."""
    if a.dtype.kind == "c":
        return same(a.real, b.real) & same(a.imag, b.imag)
    kind = f"u{a.dtype.itemsize}"
    equal = np.ascontiguousarray(a).view(kind) == np.ascontiguousarray(b).view(kind)
    if _is_float(a):
        with np.errstate(all="ignore"):
            nans = np.isnan(a) & np.isnan(b)
        equal = equal | nans.reshape(equal.shape)
    return np.asarray(equal).reshape(a.shape)


def _is_float(a: Array) -> bool:
    return a.dtype.kind not in "biu"


def accepted(expected: Expected, got: Array) -> Array:
    """Where ``got`` is what the contract allows."""
    good = same(expected.value, got) | ~expected.compared
    if not expected.samples:
        return good
    for sample in expected.samples:
        good |= same(sample, got)
    if not expected.inexact:
        return np.asarray(good)
    if got.dtype.kind == "c":
        # An error of one part shows in the other after a product.
        both = [[part(s) for s in (expected.value, *expected.samples)] for part in (np.real, np.imag)]
        spread = np.maximum(_spread(both[0]), _spread(both[1])) if expected.inexact > 1 else np.zeros(got.shape)
        parts = [_within(s, part, expected, spread) for s, part in zip(both, (got.real, got.imag), strict=True)]
        return np.asarray(good | (parts[0] & parts[1]))
    samples = [expected.value, *expected.samples]
    return np.asarray(good | _within(samples, got, expected, 0.5 * _spread(samples)))


def _spread(samples: Sequence[Array]) -> Array:
    """How far finite samples are apart."""
    with np.errstate(all="ignore"):
        stack = np.stack([np.asarray(s, np.longdouble) for s in samples])
        stack = np.where(np.isfinite(stack), stack, np.nan)
        apart = np.fmax.reduce(stack) - np.fmin.reduce(stack)
    return np.where(np.isnan(apart), 0, apart)


def _within(samples: Sequence[Array], got: Array, expected: Expected, spread: Array) -> Array:
    """Within the envelope of the samples, and a rounding: for several functions, half as wide again."""
    several = expected.inexact > 1
    with np.errstate(all="ignore"):
        value = np.asarray(got, np.longdouble)
        stack = np.stack([np.asarray(s, np.longdouble) for s in samples])
        any_nan = np.isnan(stack).any(axis=0)
        low, high = np.fmin.reduce(stack), np.fmax.reduce(stack)
        margin = spread if several else np.zeros(value.shape)
        if _is_float(got):
            # What follows a function rounds, too, and not in the same way on either side of it.
            rounding = (4 if several else 1) * 2.0 ** -min(_mantissa(got), expected.mantissa)
            margin = margin + rounding * np.where(np.isfinite(value), np.abs(value), _largest(got))
        inside = (value >= low - margin) & (value <= high + margin)
        # Next to an overflow either side is right.
        end = _largest(got)
        over = (high + margin > end) & (value > 0) & (value >= np.minimum(low, end) - margin)
        under = (low - margin < -end) & (value < 0) & (value <= np.maximum(high, -end) + margin)
        return np.asarray(inside | over | under | (np.isnan(value) & any_nan))


def _largest(a: Array) -> float:
    return float(ml_dtypes.finfo(a.dtype).max) if _is_float(a) else np.inf  # type: ignore[no-untyped-call]


def _mantissa(a: Array) -> int:
    return int(ml_dtypes.finfo(a.dtype).nmant)  # type: ignore[no-untyped-call]
