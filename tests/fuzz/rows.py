"""Random programs that reduce rows which lie at computed places, and store what they compute at others.

The text of a seed does not depend on ``variant``, which chooses extents, layouts and values.  All values are small
integers, so every result is exact, in whatever order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import Any

import numpy as np

from kgen.dtypes import BY_NAME
from kgen.ir.rounding import numpy_dtype

from .arrays import Array
from .reach import HOSTILE, MOST, Program, Value, laid_out, taken, updated

DTYPES = ("float32", "float32", "float16", "bfloat16", "int32", "int8")
TARGETS = ("float32", "int32", "int64", "float64")  # sums of these are exact
STORED = (*TARGETS, "float16", "bfloat16")
ROWS = (1, 2, 5, 12, 40, 130)
COLUMNS = (1, 4, 16, 31, 64, 96, 100, 128, 257, 512, 1000, 2048)
GROUPS = (4, 8, 16, 32, 128)
LARGEST = 1 << 15  # elements of an array


def generate(seed: int, variant: int = 0) -> Program:
    return _Generator(seed, variant).program()


@dataclass(slots=True)
class _Generator:
    seed: int
    variant: int
    rng: Random = field(init=False)  # decides the text
    sizes: Random = field(init=False)  # decides the arrays
    numbers: Any = field(init=False)
    inputs: dict[str, Array] = field(default_factory=dict)
    inouts: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    shape: tuple[int, ...] = ()
    group: int = 1
    lets: int = 0

    def __post_init__(self) -> None:
        self.rng, self.sizes = Random(self.seed), Random(self.seed * 1000 + self.variant)
        self.numbers = np.random.default_rng([self.seed, self.variant])

    def program(self) -> Program:
        rng, want = self.rng, dict[str, Array]()
        rank, grouped = rng.choice((2, 2, 3)), rng.random() < 0.3
        self.group = rng.choice(GROUPS) if grouped else 1
        self.shape = self._extents(rank)
        rows = self._let(self._rows())
        if accumulates := rng.random() < 0.25:
            rows = self._accumulated(rows, want)
        if grouped:
            groups = rows.array.reshape(*self.shape[:-1], -1, self.group)
            rows = self._let(Value(f"split({rows.text}, by={self.group})", groups, rows.most))
        reduced, axes = self._reduced(rows)
        results = [self._let(self._beside(rows, reduced))]
        if rng.random() < 0.4:
            results.append(self._let(self._beside(results[0], self._reduced(results[0])[0])))
        for n in range(rng.choice((1, 1, 2, 3))):
            rng.choice(_STATEMENTS[:-1] if accumulates else _STATEMENTS)(
                self, n, rng.choice(results), (reduced, axes), want
            )
        given = [f"{'inout' if name in self.inouts else 'input'} {name}" for name in self.inputs]
        deterministic = any("] = " in line for line in self.lines) or rng.random() < 0.1
        return Program(self.seed, "\n".join([*given, *self.lines]), self.inputs, want, deterministic)

    def _extents(self, rank: int) -> tuple[int, ...]:
        sizes = self.sizes
        columns = self.group * sizes.choice((1, 2, 4, 7, 16)) if self.group > 1 else sizes.choice(COLUMNS)
        heads = (sizes.choice((1, 2, 3, 8)),) * (rank - 2)
        fitting = [n for n in ROWS if n * prod(heads) * columns <= LARGEST]
        return (sizes.choice(fitting), *heads, columns)

    # --- arrays ---------------------------------------------------------------------------------------

    def _input(self, array: Array) -> str:
        name = f"a{len(self.inputs)}"
        self.inputs[name] = laid_out(self.sizes, array)
        return name

    def _array(self, *shape: int) -> Value:
        kind = numpy_dtype(BY_NAME[self.rng.choice(DTYPES)])
        array = self.numbers.integers(-4, 5, shape)
        return Value(self._input(array.astype(kind)), array, 4)

    def _places(self, count: int, extent: int) -> tuple[str, Array]:
        """Indices along an axis, some beyond it."""
        kind = self.rng.choice(("int64", "int32"))
        found = self.numbers.integers(-extent - 1, extent + 2, count)
        if kind == "int64" and self.sizes.random() < 0.3:
            found[self.sizes.randrange(count)] = self.sizes.choice(HOSTILE)
        return self._input(found.astype(kind)), found

    def _let(self, of: Value) -> Value:
        self.lets += 1
        self.lines.append(f"let t{self.lets} = {of.text}")
        return Value(f"t{self.lets}", of.array, of.most)

    # --- operands of rows -----------------------------------------------------------------------------

    def _rows(self) -> Value:
        found = self.rng.choice(_WHOLE)(self)
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            found = self._combined(found, self.rng.choice((*_WHOLE, *_PARTS))(self))
        return found

    def _combined(self, a: Value, b: Value) -> Value:
        match self.rng.randrange(3):
            case 0:
                return Value(f"({a.text} - {b.text})", a.array - b.array, a.most + b.most)
            case 1:
                return Value(f"min({a.text}, {b.text})", np.minimum(a.array, b.array), max(a.most, b.most))
            case _:
                found = np.where(a.array > b.array, a.array, b.array + 0 * a.array)
                return Value(f"({a.text} > {b.text} ? {a.text} : {b.text})", found, max(a.most, b.most))

    def direct(self) -> Value:
        return self._array(*self.shape)

    def gathered(self) -> Value:
        of = self._array(self.sizes.choice((1, 3, 17)), *self.shape[1:])
        index, places = self._places(self.shape[0], of.array.shape[0])
        return Value(f"{of.text}[{index}]", taken(of.array, [places]), of.most)

    def paged(self) -> Value:
        """Rows of pages, as a cache has them."""
        of = self._array(self.sizes.choice((1, 3)), self.sizes.choice((2, 8)), *self.shape[1:])
        pages, size = of.array.shape[:2]
        index, places = self._places(self.shape[0], pages * size)
        found = taken(of.array, [places // size, places % size])
        return Value(f"{of.text}[{index} // size({of.text}, 1), {index} % size({of.text}, 1)]", found, of.most)

    def columns(self) -> Value:
        of = self._array(*self.shape[:-1], self.sizes.choice((1, 5, 64)))
        index, places = self._places(self.shape[-1], of.array.shape[-1])
        found = np.moveaxis(taken(np.moveaxis(of.array, -1, 0), [places]), 0, -1)
        return Value(f"{of.text}[{':, ' * (len(self.shape) - 1)}{index}]", found, of.most)

    def weight(self) -> Value:
        return self._array(self.shape[-1])

    def weight_of_row(self) -> Value:
        of = self._array(self.sizes.choice((1, 4)), self.shape[-1])
        index, places = self._places(self.shape[0], of.array.shape[0])
        return self._row_by_row(Value(f"{of.text}[{index}]", taken(of.array, [places]), of.most))

    def scalar_of_row(self) -> Value:
        of = self._array(self.sizes.choice((1, 6)))
        index, places = self._places(self.shape[0], of.array.shape[0])
        return self._row_by_row(Value(f"{of.text}[{index}][:, None]", taken(of.array, [places])[:, None], of.most))

    def element_of_row(self) -> Value:
        of = self._array(self.shape[0], self.sizes.choice((1, 9)))
        index, places = self._places(self.shape[0], of.array.shape[1])
        found = taken(of.array, [np.arange(self.shape[0]), places])[:, None]
        return self._row_by_row(Value(f"{of.text}[index(0), {index}][:, None]", found, of.most))

    def _row_by_row(self, of: Value) -> Value:
        """Of two axes; the same for all heads."""
        if len(self.shape) == 2:
            return of
        return Value(f"({of.text})[:, None]", of.array[:, None], of.most)

    # --- reductions -----------------------------------------------------------------------------------

    def _reduced(self, of: Value) -> tuple[Value, tuple[int, ...]]:
        """A reduction that keeps its axes, and these."""
        last = of.array.ndim - 1
        axes = self.rng.choice(((last,), (last,), (last,), (0,), tuple(range(1, last + 1)), (last - 1,)))
        return Value(*self._reduction(of.text, of.array, of.most, axes)), axes

    def _reduction(self, text: str, array: Array, most: int, axes: tuple[int, ...]) -> tuple[str, Array, int]:
        name = self.rng.choice(("sum", "sum", "max", "min", "count_nonzero"))
        count = prod(array.shape[axis] for axis in axes)
        if name == "sum" and most * LARGEST > MOST:  # by the most that a variant has: the text is that of all
            name = "max"
        where = f"axis=({', '.join(map(str, axes))},), keepdims=true"
        if name == "count_nonzero":
            return f"{name}({text} > 0, {where})", np.count_nonzero(array > 0, axes, keepdims=True), LARGEST
        found = getattr(array, name)(axes, keepdims=True)
        return f"{name}({text}, {where})", found, most * (LARGEST if name == "sum" else 1) if count else most

    def _beside(self, of: Value, reduced: Value) -> Value:
        match self.rng.randrange(3):
            case 0:
                return Value(f"({of.text} - {reduced.text})", of.array - reduced.array, of.most + reduced.most)
            case 1:
                return Value(f"min({of.text}, {reduced.text})", np.minimum(of.array, reduced.array), MOST)
            case _:
                found = np.where(of.array >= reduced.array, of.array, 0)
                return Value(f"({of.text} >= {reduced.text} ? {of.text} : 0)", found, of.most)

    # --- statements -----------------------------------------------------------------------------------

    def _accumulated(self, of: Value, want: dict[str, Array]) -> Value:
        """An argument that the rows are added to; what follows reads the sum as it is stored."""
        kind = numpy_dtype(BY_NAME[self.rng.choice(("float32", "float16", "bfloat16", "int32"))])
        before = self.numbers.integers(-4, 5, of.array.shape)
        name = self._input(before.astype(kind))
        self.inouts.append(name)
        self.lines.append(f"{name} = cast<typeof({name})>({name} + {of.text})")
        want[name] = (before + of.array).astype(kind)
        return Value(name, before + of.array, of.most + 4)

    def whole(self, n: int, of: Value, _: tuple[Value, tuple[int, ...]], want: dict[str, Array]) -> None:
        of = self._merged(of)
        self.lines.append(f"out{n}: int64 = cast<int64>({of.text})")
        want[f"out{n}"] = of.array

    def _merged(self, of: Value) -> Value:
        """Without groups."""
        if self.group == 1:
            return of
        return Value(f"merge({of.text})", of.array.reshape(*of.array.shape[:-2], -1), of.most)

    def reduction(self, n: int, _: Value, reduced: tuple[Value, tuple[int, ...]], want: dict[str, Array]) -> None:
        of, axes = reduced
        index = ", ".join("0" if axis in axes else ":" for axis in range(of.array.ndim))
        shorter = self.rng.random() < 0.7
        self.lines.append(f"out{n}: float64 = ({of.text}){f'[{index}]' * shorter}")
        want[f"out{n}"] = (of.array.squeeze(axes) if shorter else of.array).astype(np.float64)

    def scattered(self, n: int, of: Value, _: tuple[Value, tuple[int, ...]], want: dict[str, Array]) -> None:
        """Rows stored at computed places, or combined with what is there."""
        rng, rank, of = self.rng, len(self.shape), self._merged(of)
        kind = rng.choice(("=", "=", "+=", "min=", "max="))
        dtype = numpy_dtype(BY_NAME[rng.choice(STORED if kind == "=" else TARGETS)])
        paged = rng.random() < 0.3
        slots = self.sizes.choice((1, 3, 20)), self.sizes.choice((1, 4))
        before = self.numbers.integers(-9, 9, (*slots[: 1 + paged], *self.shape[1:])).astype(dtype)
        index, places = self._places(self.shape[0], prod(slots[: 1 + paged]))
        name = self._target(n, before)
        at = [places // slots[1], places % slots[1]] if paged else [places]
        items = f"{index} // size({name}, 1), {index} % size({name}, 1)" if paged else index
        keep, condition = np.ones(of.array.shape, bool), ""
        if rng.random() < 0.4:
            chosen = self._array(self.shape[0])
            keep = np.broadcast_to(chosen.array.reshape(-1, *[1] * (rank - 1)) > 0, of.array.shape)
            condition = f" if {chosen.text}[:{', None' * (rank - 1)}] > 0"
        self.lines.append(f"{name}[{items}] {kind} cast<{dtype}>({of.text}){condition}")
        want[name] = updated(before, at, of.array, keep, kind)

    def counted(self, n: int, of: Value, _: tuple[Value, tuple[int, ...]], want: dict[str, Array]) -> None:
        """The sum of each row, added to one element of a small array."""
        axes = tuple(range(1, of.array.ndim))
        total, kind = of.array.sum(axes), self.rng.choice(("+=", "max="))
        reduced = f"max({of.text}, axis={axes})"
        if of.most * LARGEST <= MOST:
            reduced = f"sum({of.text}, axis={axes})"
        else:
            total = of.array.max(axes)
        before = self.numbers.integers(-9, 9, self.sizes.choice((1, 7))).astype(self.rng.choice(TARGETS))
        index, places = self._places(self.shape[0], before.shape[0])
        name = self._target(n, before)
        self.lines.append(f"{name}[{index}] {kind} cast<{before.dtype}>({reduced})")
        want[name] = updated(before, [places], total, np.ones(total.shape, bool), kind)

    def taken_again(self, n: int, of: Value, _: tuple[Value, tuple[int, ...]], want: dict[str, Array]) -> None:
        """Computed rows, in another order.  Of an argument that is updated this is refused."""
        index = self.numbers.integers(-self.shape[0], self.shape[0], self.sizes.choice((1, 6)))
        found = self._merged(Value(f"{of.text}[{self._input(index)}]", of.array[index], of.most))
        self.lines.append(f"out{n}: int64 = cast<int64>({found.text})")
        want[f"out{n}"] = found.array

    def _target(self, n: int, before: Array) -> str:
        name = f"o{n}"
        self.inputs[name] = laid_out(self.sizes, before)
        self.inouts.append(name)
        return name


_WHOLE: tuple[Callable[[_Generator], Value], ...] = (
    _Generator.direct, _Generator.gathered, _Generator.gathered, _Generator.paged, _Generator.columns,
)  # fmt: skip
_PARTS: tuple[Callable[[_Generator], Value], ...] = (
    _Generator.weight, _Generator.weight_of_row, _Generator.scalar_of_row, _Generator.element_of_row,
)  # fmt: skip
_STATEMENTS: Sequence[Callable[..., None]] = (
    _Generator.whole, _Generator.whole, _Generator.reduction, _Generator.scattered, _Generator.scattered,
    _Generator.counted, _Generator.taken_again,
)  # fmt: skip
