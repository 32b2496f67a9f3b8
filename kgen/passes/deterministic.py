"""Updates at computed places whose results do not depend on the order in which threads make them.

Integers, ``min=`` and ``max=`` are exact in any order.  A sum of floats becomes one of integers: where the greatest
magnitude that is added to an element is less than 2^(e + 1), every addend is rounded to a multiple of 2^(e - 30):

    high[i] max= v;  low[i] min= v                  # from -inf and inf
    sum[i] += round(v * 2^(30 - e))                 # int64; e: the exponent of max(high[i], -low[i])
    o = o + sum * 2^(e - 30)

So an element depends only on what is added to it.  Another integer has what float64 leaves, in multiples of 2^(e - 61).
Where several elements are written to one place by ``=``, that with the greatest number in C order wins.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.diagnostics import Reporter
from kgen.dtypes import FLOAT64, INT32, INT64, DType
from kgen.ir.builder import Builder, broadcast
from kgen.ir.graph import CastMode, Gather, Graph, IndexMap, Op, Operand, Scatter, Shape, is_within
from kgen.records import replace
from kgen.source import Source

_BITS = 30
_NEAREST = CastMode("rne", False)


def deterministic(kernel: Graph, source: Source) -> Graph:
    """Raises :class:`~kgen.KgenError` (``not-yet``) for sums in several parts of one array."""
    sums = _sums(kernel)
    _refuse_parts(kernel, sums, source)
    replaced = _replaced(kernel)
    made = _Made(kernel)
    for number, op in enumerate(kernel.ops):
        operand = _stored(op)
        if operand is None or not (operand in sums or op in replaced.get(operand, ())):
            made.put(number, made.moved(op))
        elif operand in sums and op is sums[operand][-1]:  # those of a buffer are before it is read
            made.add(operand, [made.moved(one) for one in sums[operand]])
        elif operand in replaced and op is replaced[operand][-1]:
            own = [_own(kernel, one) for one in replaced[operand]]
            made.last_wins([made.moved(one) for one in replaced[operand]], own)
    return replace(kernel, operands=tuple(made.operands), ops=tuple(made.builder.ops))


def _stored(op: Op) -> int | None:
    """The operand of a store; None for other ops."""
    return op.attr.operand if op.name == "store" and isinstance(op.attr, IndexMap | Scatter) else None


def _sums(kernel: Graph) -> dict[int, list[Op]]:
    """By operand that floats are added to at places that may repeat, all stores to it."""
    found: dict[int, list[Op]] = {}
    for operand in sorted(kernel.scattered):
        stores = [op for op in kernel.stores if _stored(op) == operand]
        added = [op for op in stores if op.attr == Scatter(operand, "add")]
        repeats = len(added) > 1 or any(_computed(kernel, op) for op in added)
        if repeats and not kernel.operands[operand].dtype.is_int:
            found[operand] = stores
    return found


def _replaced(kernel: Graph) -> dict[int, list[Op]]:
    """By operand, the stores by ``=`` to places that may repeat: one, or one for each part of a value."""
    found: dict[int, list[Op]] = {}
    for operand in sorted(kernel.scattered):
        stores = [op for op in kernel.stores if op.attr == Scatter(operand)]
        if any(_computed(kernel, op) for op in stores):
            found[operand] = stores
    return found


def _refuse_parts(kernel: Graph, sums: dict[int, list[Op]], source: Source) -> None:
    """Those of one statement are apart from each other."""
    reporter = Reporter(source)
    for operand, stores in sums.items():
        base, span = kernel.base(operand), stores[0].span
        others = ((at, op.span) for op in kernel.stores if (at := _stored(op)) is not None)
        if any(at != operand and kernel.base(at) == base and other != span for at, other in others):
            message = f"with deterministic=True, floats are added to one part of `{kernel.operands[base].name}` only"
            hint = "add to each part in a program of its own, or by an index of the whole array"
            reporter.error("not-yet", message, span, hint=hint)
    reporter.raise_errors()


def _own(kernel: Graph, op: Op) -> dict[int, int]:
    """The axes of an array that an axis of a store walks from end to end, and no other place varies along.

    Axes of the store are counted from the right.
    """
    assert isinstance(op.attr, Scatter)
    dims, places = kernel.operands[op.attr.operand].shape, [kernel.ops[n] for n in op.places]
    found: dict[int, int] = {}
    for axis, place in enumerate(places):
        if place.name == "index" and isinstance(place.attr, int) and is_within(place, dims[axis]):
            others = (other for n, other in enumerate(places) if n != axis)
            if not any(_varies(other, place.attr) for other in others):
                found[axis] = place.attr
    return found


def _varies(op: Op, right: int) -> bool:
    return len(op.shape) >= -right and op.shape[right] != 1


def _computed(kernel: Graph, op: Op) -> list[int]:
    """The axes of an array along which several elements of a store may have one place."""
    own = _own(kernel, op)
    return [a for a, n in enumerate(op.places) if a not in own and any(dim != 1 for dim in kernel.ops[n].shape)]


class _Made:
    """The ops and operands so far.  Buffers come last."""

    def __init__(self, kernel: Graph) -> None:
        self.builder = Builder()
        self.operands = list(kernel.operands)
        self._at: dict[int, int] = {}

    def moved(self, op: Op) -> Op:
        return replace(op, args=tuple(self._at[a] for a in op.args))

    def put(self, number: int, op: Op) -> None:
        self._at[number] = self.builder.add(op)

    def last_wins(self, stores: Sequence[Op], own: Sequence[dict[int, int]]) -> None:
        """Adds the parts of a store, whose elements are only those with the greatest number of all that have one place.

        ``own``: the axes of the array that an axis of each part walks from end to end.
        """
        builder, of = self.builder, self.operands[_stored(stores[0]) or 0]
        computed = [axis for axis in range(len(of.shape)) if not all(axis in walked for walked in own)]
        last = self._buffer(of, "last", INT64, tuple(of.shape[axis] for axis in computed))
        self._fill(last, -1)
        numbers: list[int] = []
        before = builder.const(0, INT64)
        for op, walked in zip(stores, own, strict=True):
            rows = {right for axis, right in walked.items() if axis not in computed}
            shape = tuple(1 if axis - len(op.shape) in rows else dim for axis, dim in enumerate(op.shape))
            number = builder.op("add", (builder.number(shape), before))
            places = [op.places[axis] for axis in computed]
            builder.add(Op("store", (number, *places), INT64, shape, Scatter(last, "max")))
            numbers.append(number)
            before = builder.op("add", (before, self._count(shape)))
        for op, number in zip(stores, numbers, strict=True):
            where = list(op.places)
            wins = builder.op("eq", (number, self._gather(last, [where[axis] for axis in computed])))
            where[computed[0]] = builder.op("where", (wins, where[computed[0]], builder.const(-1, INT64)))
            builder.add(replace(op, args=(op.args[0], *where)))

    def _count(self, shape: Shape) -> int:
        """The number of elements."""
        found = self.builder.const(1, INT64)
        for dim in shape:
            found = self.builder.op("mul", (found, self.builder.size(dim)))
        return found

    def add(self, operand: int, stores: Sequence[Op]) -> None:
        """Adds the values of stores at computed places to what an array holds, or is stored before."""
        of = self.operands[operand]
        whole = IndexMap(operand, tuple(range(len(of.shape))))
        first = next((op.args[0] for op in stores if isinstance(op.attr, IndexMap)), None)
        added = [op for op in stores if isinstance(op.attr, Scatter)]
        old = self.builder.add(Op("load", (), of.dtype, of.shape, whole)) if first is None else first
        names = ("real", "imag") if of.dtype.is_complex else ("",)
        parts = [self._sum(of, part, old, added) for part in names]
        if of.dtype.is_complex:
            new = self.builder.op("complex", parts, dtype=of.dtype)
        else:
            new = self._cast(parts[0], of.dtype)
        self.builder.add(Op("store", (new,), of.dtype, of.shape, whole, span=added[0].span))

    def _sum(self, of: Operand, part: str, old: int, added: Sequence[Op]) -> int:
        """A part of what an array holds then, in the dtype of its computation."""
        builder = self.builder
        dtype = of.dtype.real if of.dtype.is_complex else of.dtype.compute
        high, low = (self._buffer(of, f"{part}{name}", dtype, of.shape) for name in ("high", "low"))
        self._fill(high, float("-inf"))
        self._fill(low, float("inf"))
        sums = [self._buffer(of, f"{part}sum{n or ''}", INT64, of.shape) for n in range(1 + (dtype is FLOAT64))]
        for one in sums:
            self._fill(one, 0)
        values = [self._part(op.args[0], part, dtype) for op in added]
        for op, value in zip(added, values, strict=True):
            for bound, combine in ((high, "max"), (low, "min")):
                attr = Scatter(bound, "max" if combine == "max" else "min")
                builder.add(Op("store", (value, *op.places), dtype, op.shape, attr, span=op.span))
        for op, value in zip(added, values, strict=True):
            largest = self._magnitude(self._gather(high, op.places), self._gather(low, op.places))
            rest = builder.op("ldexp", (value, self._scale(largest)))
            for one in sums:
                count = self._cast(rest, INT64)
                builder.add(Op("store", (count, *op.places), INT64, op.shape, Scatter(one, "add"), span=op.span))
                rest = builder.op("sub", (rest, builder.op("round", (rest,))))
                rest = builder.op("ldexp", (rest, builder.const(_BITS + 1, INT32)))
        return self._total(self._part(old, part, dtype), *(self._load(n) for n in (high, low, *sums)))

    def _total(self, old: int, high: int, low: int, *sums: int) -> int:
        """What an element holds then: ``old`` where nothing was added, so that its bounds are as at first."""
        builder, dtype = self.builder, self.builder.ops[old].dtype
        largest = self._magnitude(high, low)
        scale = builder.op("neg", (self._scale(largest),))
        total = builder.op("ldexp", (self._cast(sums[0], dtype), scale))
        for one in sums[1:]:
            scale = builder.op("sub", (scale, builder.const(_BITS + 1, INT32)))
            total = builder.op("add", (total, builder.op("ldexp", (self._cast(one, dtype), scale))))
        is_finite = builder.op("isfinite", (largest,))
        total = builder.op("where", (is_finite, total, builder.op("add", (high, low))))
        return builder.op("where", (builder.op("lt", (high, low)), old, builder.op("add", (old, total))))

    def _magnitude(self, high: int, low: int) -> int:
        return self.builder.op("max", (high, self.builder.op("neg", (low,))))

    def _scale(self, largest: int) -> int:
        """The exponent of what the addends are multiplied by."""
        return self.builder.op("sub", (self.builder.const(_BITS, INT32), self.builder.op("ilogb", (largest,))))

    def _part(self, value: int, part: str, dtype: DType) -> int:
        return self.builder.op(part, (value,), dtype=dtype) if part else self._cast(value, dtype)

    def _cast(self, value: int, dtype: DType) -> int:
        if self.builder.ops[value].dtype is dtype:
            return value
        return self.builder.op("cast", (value,), dtype=dtype, attr=_NEAREST)

    def _buffer(self, of: Operand, what: str, dtype: DType, shape: Shape) -> int:
        taken, name = {operand.name for operand in self.operands}, f"{of.name}_{what}_buffer"
        while name in taken:
            name += "_"
        self.operands.append(Operand(name, dtype, shape, "buffer"))
        return len(self.operands) - 1

    def _fill(self, buffer: int, value: int | float) -> None:
        of = self.operands[buffer]
        whole = IndexMap(buffer, tuple(range(len(of.shape))))
        self.builder.add(Op("store", (self.builder.const(value, of.dtype),), of.dtype, of.shape, whole))

    def _gather(self, buffer: int, places: Sequence[int]) -> int:
        shape = broadcast([self.builder.ops[place].shape for place in places])
        return self.builder.op("gather", places, dtype=self.operands[buffer].dtype, shape=shape, attr=Gather(buffer))

    def _load(self, buffer: int) -> int:
        of = self.operands[buffer]
        return self.builder.add(Op("load", (), of.dtype, of.shape, IndexMap(buffer, tuple(range(len(of.shape))))))
