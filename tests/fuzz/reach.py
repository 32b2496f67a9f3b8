"""Random programs that reach: views, elements at computed places, updates, merged outputs and nested reductions.

Each has its results by NumPy.  All values are small integers, so every result is exact, in whatever order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import Any

import numpy as np

from .arrays import Array

DTYPES = ("float32", "int32", "float16", "int64", "int8")
TARGETS = ("float32", "int32", "int64", "float64")
I64 = np.iinfo(np.int64)
HOSTILE = (I64.min, I64.max, 2**31, -(2**31) - 1, 2**32)
MOST = 1 << 20  #: magnitudes that float32 adds up without rounding


@dataclass(frozen=True, slots=True)
class Value:
    """An expression.  ``most``: what no element is greater than, in magnitude."""

    text: str
    array: Array
    most: int


@dataclass(frozen=True, slots=True)
class Program:
    """``want``: outputs and updated arguments afterwards, by name."""

    seed: int
    text: str
    inputs: dict[str, Array]
    want: dict[str, Array]
    deterministic: bool


def generate(seed: int) -> Program:
    return _Generator(seed).program()


def laid_out(rng: Random, array: Array) -> Array:
    """The same elements in another layout."""
    if array.ndim == 0 or rng.random() < 0.5:
        return array
    if rng.random() < 0.4:
        order = rng.sample(range(array.ndim), array.ndim)
        return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))
    cut = rng.choice((slice(None, None, 2), slice(1, None), slice(None, None, -1)))
    places = range(2 * array.shape[-1] + 1)[cut][: array.shape[-1]]
    view = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)[..., cut][..., : len(places)]
    view[...] = array
    return view


def taken(array: Array, index: Sequence[Array]) -> Array:
    """``array[index]`` of its first axes; 0 for places beyond them."""
    whole = [i.astype(object) for i in np.broadcast_arrays(*index)]  # no sum overflows
    places = [np.where(i < 0, i + n, i) for i, n in zip(whole, array.shape, strict=False)]
    inside = np.ones(whole[0].shape, bool)
    for place, n in zip(places, array.shape, strict=False):
        inside &= ((place >= 0) & (place < n)).astype(bool)
    found = np.zeros(inside.shape + array.shape[len(whole) :], array.dtype)
    found[inside] = array[tuple(place[inside].astype(np.int64) for place in places)]
    return found


@dataclass(slots=True)
class _Generator:
    seed: int
    rng: Random = field(init=False)
    numbers: Any = field(init=False)
    inputs: dict[str, Array] = field(default_factory=dict)
    lets: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng, self.numbers = Random(self.seed), np.random.default_rng(self.seed)

    def program(self) -> Program:
        rng, lines, want = self.rng, list[str](), dict[str, Array]()
        shape = [rng.choice((1, 2, 3, 7, 16)), rng.choice((1, 2, 4, 8)), rng.choice((0, 1, 8, 32, 64))]
        shape = shape[rng.choice((0, 0, 1)) :]
        updated = [self._update(n, lines, want) for n in range(rng.choice((0, 0, 1, 2)))]
        for n in range(0 if updated and rng.random() < 0.4 else rng.choice((1, 1, 2))):
            found = self._output(self.value(shape, rng.choice((1, 2, 3))))
            lines.append(f"out{n}: int64 = cast<int64>({found.text})")
            want[f"out{n}"] = found.array
        given = [f"{'inout' if name in updated else 'input'} {name}" for name in self.inputs]
        deterministic = any("] = " in line for line in lines) or rng.random() < 0.2
        return Program(self.seed, "\n".join([*given, *self.lets, *lines]), self.inputs, want, deterministic)

    # --- arrays ---------------------------------------------------------------------------------------

    def _input(self, array: Array) -> str:
        name = f"a{len(self.inputs)}"
        self.inputs[name] = laid_out(self.rng, array)
        return name

    def _array(self, shape: Sequence[int]) -> Value:
        array = self.numbers.integers(-4, 5, tuple(shape)).astype(self.rng.choice(DTYPES))
        alike = [
            a for name, a in self.inputs.items() if a.shape == array.shape and a.dtype in DTYPES and name[0] == "a"
        ]
        if alike and self.rng.random() < 0.1:  # the memory of another argument
            other = self.rng.choice(alike)
            if np.abs(other.astype(np.float64)).max(initial=0) <= 4:
                self.inputs[name := f"a{len(self.inputs)}"] = other
                return Value(name, other.astype(np.int64), 4)
        return Value(self._input(array), array.astype(np.int64), 4)

    def _index(self, shape: Sequence[int], extent: int, *, within: bool = False) -> tuple[str, Array]:
        """An array of indices along an axis, as a program has it and as integers."""
        low, high = (-extent, extent) if within else (-extent - 2, extent + 3)
        found = self.numbers.integers(low, max(high, low + 1), tuple(shape))
        roll = self.rng.random()
        if roll < 0.1 and not within and found.size:  # NaN is 0, infinities saturate
            floats = found.astype(np.float32)
            floats.flat[self.rng.randrange(found.size)] = self.rng.choice((np.nan, np.inf, -np.inf))
            whole = np.nan_to_num(floats, nan=0, posinf=2**31 - 1, neginf=-(2**31)).astype(np.float64).astype(np.int64)
            return f"cast<int>({self._input(floats)})", whole
        if roll < 0.25 and not within and found.size:
            found.flat[self.rng.randrange(found.size)] = self.rng.choice(HOSTILE)
            return self._input(found), found
        found = found.astype(self.rng.choice(("int64", "int32", "int8")))
        return self._input(found), found.astype(np.int64)

    # --- values ---------------------------------------------------------------------------------------

    def value(self, shape: Sequence[int], depth: int) -> Value:
        shape = tuple(shape)
        if depth <= 0 or not shape or prod(shape) > 1 << 14 or self.rng.random() < 0.1:
            return self._array(shape)
        return self.rng.choice(_VALUES)(self, shape, depth - 1)

    def combined(self, shape: tuple[int, ...], depth: int) -> Value:
        a, b = self.value(shape, depth), self.value([1 if self.rng.random() < 0.15 else n for n in shape], depth)
        if self.rng.random() < 0.5:
            return Value(f"({a.text} - {b.text})", a.array - b.array, a.most + b.most)
        return Value(f"min({a.text}, {b.text})", np.minimum(a.array, b.array), max(a.most, b.most))

    def rows(self, shape: tuple[int, ...], depth: int) -> Value:
        """An index along one axis."""
        axis, extent = self.rng.randrange(len(shape)), self.rng.choice((0, 1, 2, 5, 7))
        of = self._array((*shape[:axis], extent, *shape[axis + 1 :]))
        index, places = self._index((shape[axis],), extent)
        found = np.moveaxis(taken(np.moveaxis(of.array, axis, 0), [places]), 0, axis)
        return Value(f"{of.text}[{', '.join([':'] * axis + [index])}]", found, of.most)

    def elements(self, shape: tuple[int, ...], depth: int) -> Value:
        """Indices along all axes of an array."""
        extents = [self.rng.choice((1, 3, 6)) for _ in range(self.rng.choice((1, 2)))]
        of = self._array(extents)
        axis = self.rng.randrange(len(shape))
        shapes = [shape, [1 if n == axis and len(extents) > 1 else s for n, s in enumerate(shape)]]
        indices = [self._index(s, n) for s, n in zip(shapes, extents, strict=False)]
        return Value(
            f"{of.text}[{', '.join(t for t, _ in indices)}]", taken(of.array, [i for _, i in indices]), of.most
        )

    def of_a_value(self, shape: tuple[int, ...], depth: int) -> Value:
        """An index of an expression, which may reduce."""
        axis, extent = self.rng.randrange(len(shape)), self.rng.choice((2, 5))
        of = self.value((*shape[:axis], extent, *shape[axis + 1 :]), depth)
        index, places = self._index((shape[axis],), extent, within=True)
        return Value(f"({of.text})[{', '.join([':'] * axis + [index])}]", np.take(of.array, places, axis), of.most)

    def sliced(self, shape: tuple[int, ...], depth: int) -> Value:
        extents, items, cuts = list[int](), list[str](), list[slice]()
        for n in shape:
            if n == 0:
                extents.append(0)
                items.append(":")
                cuts.append(slice(None))
                continue
            first, step, behind = self.rng.choice((0, 0, 2)), self.rng.choice((1, 2, -1)), self.rng.choice((0, 1))
            span = (n - 1) * abs(step) + 1
            extents.append(first + span + behind)
            start, stop = (first, first + span) if step > 0 else (first + span - 1, first - 1)
            cuts.append(slice(start, stop if stop >= 0 else None, step))
            items.append(f"{start}:{stop if stop >= 0 else ''}:{step}")
        of = self.value(extents, depth)
        return Value(f"({of.text})[{', '.join(items)}]", of.array[tuple(cuts)], of.most)

    def transposed(self, shape: tuple[int, ...], depth: int) -> Value:
        order = self.rng.sample(range(len(shape)), len(shape))
        of = self.value([shape[order.index(axis)] for axis in range(len(shape))], depth)
        return Value(f"transpose({of.text}, ({', '.join(map(str, order))},))", of.array.transpose(order), of.most)

    def split(self, shape: tuple[int, ...], depth: int) -> Value:
        if len(shape) < 2 or 0 in shape:
            return self.combined(shape, depth)
        axis = self.rng.randrange(len(shape) - 1)
        of = self.value((*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]), depth)
        return Value(f"split({of.text}, axis={axis}, by={shape[axis + 1]})", of.array.reshape(shape), of.most)

    def centred(self, shape: tuple[int, ...], depth: int) -> Value:
        """A value beside its reduction over some axes."""
        of, beside = self.value(shape, depth), self.value(shape, depth)
        axes = self._axes(len(shape))
        count = prod(shape[axis] for axis in axes)
        name = "sum" if count == 0 or (of.most * count < MOST and self.rng.random() < 0.5) else "max"
        reduced = getattr(of.array, name)(axes, keepdims=True)
        text = f"({beside.text} - {name}({of.text}, axis={_shown(axes)}, keepdims=true))"
        return Value(text, beside.array - reduced, beside.most + of.most * (count if name == "sum" else 1))

    def named(self, shape: tuple[int, ...], depth: int) -> Value:
        of, name = self.value(shape, depth), f"t{len(self.lets)}"
        self.lets.append(f"let {name} = {of.text}")
        return Value(name, of.array, of.most)

    def _axes(self, rank: int) -> tuple[int, ...]:
        first = self.rng.randrange(rank)
        return tuple(range(first, rank)) if self.rng.random() < 0.6 else (first,)

    # --- statements -----------------------------------------------------------------------------------

    def _output(self, of: Value) -> Value:
        """The value of an output, sometimes at computed places, which may lie in several parts."""
        found = self._arranged(of)
        if found is of or 0 in found.array.shape or not found.array.ndim or self.rng.random() < 0.6:
            return found
        axis = self.rng.randrange(found.array.ndim)
        index, places = self._index((self.rng.choice((1, 4, 9)),), found.array.shape[axis], within=True)
        text = f"({found.text})[{', '.join([':'] * axis + [index])}]"
        return Value(text, np.take(found.array, places, axis), found.most)

    def _arranged(self, of: Value) -> Value:
        """A value as it is, merged, stacked, joined, repeated or reduced."""
        rank, shape = of.array.ndim, of.array.shape
        axis = self.rng.randrange(rank) if rank else 0
        beside = self.value(shape, 1)
        match self.rng.randrange(9) if rank else 8:
            case 0 if axis < rank - 1:
                merged = of.array.reshape(*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])
                return Value(f"merge({of.text}, axis=({axis}, {axis + 1}))", merged, of.most)
            case 1:
                stacked = np.stack([of.array, beside.array], axis)
                return Value(f"stack({of.text}, {beside.text}, axis={axis})", stacked, MOST)
            case 2:
                merged = np.stack([of.array, beside.array], -1).reshape(*shape[:-1], 2 * shape[-1])
                return Value(f"merge(stack({of.text}, {beside.text}, axis=-1))", merged, MOST)
            case 3:
                joined = np.concatenate([of.array, beside.array], axis)
                return Value(f"concat({of.text}, {beside.text}, axis={axis})", joined, MOST)
            case 4:
                return Value(f"repeat({of.text}, 3, axis={axis})", np.repeat(of.array, 3, axis), MOST)
            case 5:
                axes = self._axes(rank)
                name = "sum" if of.most * max(1, of.array.size) < MOST or 0 in shape else "max"
                return Value(f"{name}({of.text}, axis={_shown(axes)})", getattr(of.array, name)(axes), MOST)
        return of

    def _update(self, number: int, lines: list[str], want: dict[str, Array]) -> str:
        """Adds an update of an argument at computed places; its name."""
        rng, name = self.rng, f"o{number}"
        rows, columns, count = rng.choice((1, 3, 9)), rng.choice((1, 4, 8, 64)), rng.choice((1, 5, 12))
        target = self.numbers.integers(-9, 9, (rows, columns)).astype(rng.choice(TARGETS))
        self.inputs[name] = laid_out(rng, target)
        by_rows = rng.random() < 0.7
        index, places = self._index((count,), rows)
        text, at = (f"{name}[{index}]", [places]) if by_rows else (f"{name}[{index}, {index}]", [places, places])
        shape = (count, columns) if by_rows else (count,)
        value = self.value(shape, rng.choice((1, 2)))
        value = self._output_of(value, shape) if by_rows else value  # of several parts, the last one wins
        keep, condition = np.ones(shape, bool), ""
        if rng.random() < 0.4:
            other = self._array([shape[0], 1] if by_rows else shape)
            keep, condition = np.broadcast_to(other.array > 0, shape), f" if {other.text} > 0"
        kind = rng.choice(("+=", "min=", "max=", "="))
        lines.append(f"{text} {kind} cast<{target.dtype}>({value.text}){condition}")
        want[name] = updated(target, at, value.array, keep, kind)
        return name

    def _output_of(self, of: Value, shape: tuple[int, ...]) -> Value:
        """A value of this shape, sometimes in two parts."""
        if self.rng.random() < 0.7 or shape[-1] % 2:
            return of
        half = (*shape[:-1], shape[-1] // 2)
        a, b = self.value(half, 1), self.value(half, 1)
        if self.rng.random() < 0.5:
            return Value(f"concat({a.text}, {b.text}, axis=-1)", np.concatenate([a.array, b.array], -1), MOST)
        return Value(
            f"merge(stack({a.text}, {b.text}, axis=-1))", np.stack([a.array, b.array], -1).reshape(shape), MOST
        )


_VALUES: tuple[Callable[..., Value], ...] = (
    _Generator.combined, _Generator.combined, _Generator.rows, _Generator.elements, _Generator.of_a_value,
    _Generator.sliced, _Generator.transposed, _Generator.split, _Generator.centred, _Generator.centred,
    _Generator.named,
)  # fmt: skip
_COMBINE: dict[str, Callable[..., Any]] = {
    "+=": np.add,
    "min=": np.minimum,
    "max=": np.maximum,
    "=": lambda old, new: new,
}


def _shown(axes: tuple[int, ...]) -> str:
    return str(axes) if len(axes) > 1 else str(axes[0])


def updated(target: Array, at: Sequence[Array], values: Array, keep: Array, kind: str) -> Array:
    """The target after an update, row by row: those of one place follow each other."""
    found = target.copy()
    for row, new in enumerate(values):
        places = [int(i[row]) for i in at]
        places = [p + n if p < 0 else p for p, n in zip(places, target.shape, strict=False)]
        if all(0 <= p < n for p, n in zip(places, target.shape, strict=False)):
            one: Any = (*places, ...)
            old, kept = found[one], keep[row]
            old[kept] = _COMBINE[kind](old[kept], new[kept].astype(target.dtype))
    return found
