"""Recipes of arrays: a dtype, a shape, a layout in memory and a seed for the values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.dtypes import DType
from kgen.ir.rounding import numpy_dtype

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Recipe:
    """An array that :func:`build` can make again, and that prints as text.

    ``order`` lists the axes from the slowest to the fastest in memory; ``steps`` are the strides in multiples of what
    dense memory needs: negative ones walk backwards, 0 repeats one element.  ``offset`` elements come first.
    """

    dtype: DType
    shape: tuple[int, ...]
    order: tuple[int, ...]
    steps: tuple[int, ...]
    offset: int = 0
    seed: int = 0
    values: tuple[str, ...] | None = None  # of a shrunk array: its elements' bytes, as hexadecimal
    swapped: bool = False  # the other byte order
    unaligned: bool = False  # elements at odd addresses

    @property
    def writable(self) -> bool:
        """Whether kernels can write to it: one place an element, and no copy of it."""
        return not (self.swapped or self.unaligned or 0 in self.steps)


def dense(dtype: DType, shape: tuple[int, ...], seed: int = 0) -> Recipe:
    return Recipe(dtype, shape, tuple(range(len(shape))), (1,) * len(shape), 0, seed)


def random_shape(rng: Random, exact: bool) -> tuple[int, ...]:
    """``exact``: whether results are compared bit by bit, so that arrays may be large."""
    roll = rng.random()
    if exact and roll < 0.03:  # tiles and their edges
        rows = rng.choice((33, 64, 65, 100, 128, 257, 1000, 4096))
        return (rows, rng.choice([n for n in (32, 63, 64, 96, 130, 255, 1024, 4096) if n * rows <= 1 << 18]))
    if roll < 0.08:
        rank = rng.choice((5, 6, 7, 8))
        return tuple(rng.choice((1, 2, 2, 3)) for _ in range(rank))
    rank = rng.choice((0, 1, 1, 1, 2, 2, 2, 3, 3, 4))
    if rank == 1 and rng.random() < 0.3:
        return (rng.choice((255, 257, 1000, 1024, 1031, 2049)),)
    sizes = (1, 2, 3, 4, 5, 7, 8, 16, 17, 33)
    shape = tuple(rng.choice(sizes if rank < 3 else sizes[:7]) for _ in range(rank))
    if rank and rng.random() < 0.04:
        shape = tuple(0 if rng.random() < 0.5 else n for n in shape)
    return shape


def random_recipe(rng: Random, dtype: DType, shape: tuple[int, ...], *, writable: bool = False) -> Recipe:
    """Any layout; ``writable`` leaves out those where several elements are one place in memory."""
    order = list(range(len(shape)))
    steps = [1] * len(shape)
    if rng.random() < 0.35:
        rng.shuffle(order)
    if rng.random() < 0.35:
        choices = [1, 1, 2, 3, -1, -2] + ([] if writable else [0])
        steps = [rng.choice(choices) for _ in shape]
    offset = rng.choice((0, 0, 0, 1, 2, 3, 5))
    recipe = Recipe(dtype, shape, tuple(order), tuple(steps), offset, rng.randrange(1 << 30))
    if writable or rng.random() > 0.05:
        return recipe
    swaps = dtype.size > 1 and np.dtype(numpy_dtype(dtype)).isbuiltin == 1
    return replace(recipe, swapped=True) if swaps and rng.random() < 0.5 else replace(recipe, unaligned=True)


def build(recipe: Recipe, exact_size: bool = False, *, filled: bool = True) -> Array:
    """The array, of zeros unless ``filled``.  ``exact_size`` ends its memory right after its last element."""
    kind = numpy_dtype(recipe.dtype)
    extents = [1 if step == 0 else n * abs(step) for n, step in zip(recipe.shape, recipe.steps, strict=True)]
    memory_shape = [extents[axis] for axis in recipe.order]
    count = int(np.prod(memory_shape, dtype=np.int64)) if memory_shape else 1
    pad = 1024 + (-1024 * kind.itemsize) % 16  # NumPy keeps small blocks for itself, out of a sanitizer's sight
    whole = np.empty((pad * exact_size + recipe.offset + count) * kind.itemsize + 16 * (not exact_size), np.uint8)
    start = (-whole.ctypes.data) % 16 if not exact_size else 0
    start += (pad * exact_size + recipe.offset) * kind.itemsize
    flat = whole[start : start + count * kind.itemsize].view(kind)
    flat[...] = np.resize(fill(recipe.dtype, max(count, 1), recipe.seed), count) if filled else 0
    array = flat.reshape(memory_shape).transpose(np.argsort(recipe.order)) if memory_shape else flat.reshape(())
    places = tuple(slice(None, None, step or 1) for step in recipe.steps)
    array = np.broadcast_to(array[places], recipe.shape) if 0 in recipe.steps else _strided(array, places)
    if recipe.values is not None and array.size:
        data = np.frombuffer(bytes.fromhex("".join(recipe.values)), np.uint8).view(kind)
        target = array if 0 not in recipe.steps else flat
        target[...] = np.resize(data, target.size).reshape(target.shape)
    if recipe.swapped:
        array = array.astype(array.dtype.newbyteorder())
    return _unaligned(array) if recipe.unaligned else array


def _unaligned(array: Array) -> Array:
    """A copy one byte behind an aligned address."""
    memory = np.empty(array.nbytes + 17, np.uint8)
    start = (-memory.ctypes.data) % 16 + 1
    moved: Array = np.ndarray(array.shape, array.dtype, memory, start)
    moved[...] = array
    return moved


def native(array: Array) -> Array:
    """The same values as kernels read them."""
    return array if array.dtype.isnative and array.flags.aligned else array.astype(array.dtype.newbyteorder("="))


def _strided(array: Array, places: tuple[slice, ...]) -> Array:
    """A view, of an array of no dimensions as well."""
    view: Array = array[(*places, Ellipsis)]  # type: ignore[arg-type]
    return view


def pinned(recipe: Recipe, array: Array) -> Recipe:
    """A dense recipe with the values that ``array`` has."""
    data = [x.tobytes().hex() for x in np.ascontiguousarray(array).reshape(-1)]
    plain = dense(recipe.dtype, array.shape)
    return replace(plain, values=tuple(data)) if data else plain


def fill(dtype: DType, count: int, seed: int) -> Array:
    """A mix of edge values, small whole numbers, ordinary numbers and random bits."""
    rng = np.random.default_rng(seed)
    kind = numpy_dtype(dtype)
    if dtype.is_bool:
        return rng.integers(0, 2, count).astype(np.bool_)
    if dtype.is_complex:
        out = np.empty(count, kind)
        out.real = fill(dtype.real, count, seed)
        out.imag = fill(dtype.real, count, seed + 1)
        return out
    pool = [
        _small(dtype, rng, count),
        _ordinary(dtype, rng, count),
        _bits(dtype, rng, count),
        _edges(dtype, rng, count),
    ]
    which = rng.choice(4, count, p=(0.3, 0.4, 0.1, 0.2))
    chosen = np.choose(which, [p.view(f"u{kind.itemsize}") for p in pool]).view(kind)
    return np.asarray(chosen)


def _bits(dtype: DType, rng: np.random.Generator, count: int) -> Array:
    return np.frombuffer(rng.bytes(count * dtype.size), numpy_dtype(dtype)).copy()


def _small(dtype: DType, rng: np.random.Generator, count: int) -> Array:
    low = -6 if dtype.signed else 0
    return rng.integers(low, 9, count).astype(numpy_dtype(dtype))


def _ordinary(dtype: DType, rng: np.random.Generator, count: int) -> Array:
    with np.errstate(all="ignore"):
        if dtype.is_int:
            span = min(dtype.int_max, 1000)
            return rng.integers(-span if dtype.signed else 0, span, count).astype(numpy_dtype(dtype))
        return np.asarray(rng.standard_normal(count) * rng.choice((0.5, 1.0, 3.0, 40.0)), numpy_dtype(dtype))


def _edges(dtype: DType, rng: np.random.Generator, count: int) -> Array:
    return rng.choice(edges(dtype), count)


def edges(dtype: DType) -> Array:
    """The values where things go wrong: extremes, zeros, NaN, subnormals, powers of two, halfway points."""
    kind = numpy_dtype(dtype)
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_complex:
        parts = edges(dtype.real)
        out = np.empty((4, len(parts)), kind)
        out.real = parts
        out.imag = [np.roll(parts, k) for k in (1, 2, 3, 5)]
        return out.reshape(-1)
    if dtype.is_int:
        values = {
            0,
            1,
            2,
            3,
            7,
            dtype.bits - 1,
            dtype.bits,
            dtype.int_max,
            dtype.int_max - 1,
            dtype.int_min,
            dtype.int_min + 1,
        }
        values |= {
            sign * ((1 << k) + d)
            for k in (4, 7, 8, 11, 15, 16, 24, 31, 32, 53, 63)
            for d in (-1, 0, 1)
            for sign in (1, -1)
        }
        values |= {-1, -2, -3}
        return np.array(sorted(v for v in values if dtype.int_min <= v <= dtype.int_max), kind)
    if dtype.size == 1:
        return np.arange(256, dtype=np.uint8).view(kind)
    tiny, normal = 2.0**dtype.least_exponent, 2.0 ** (dtype.least_exponent + dtype.mantissa)
    largest = dtype.largest
    plain = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        3.5,
        0.1,
        1 / 3,
        0.75,
        10.0,
        100.0,
        127.5,
        128.0,
        255.5,
        256.0,
        448.0,
        464.0,
        465.0,
    ]
    plain += [2.0**k + d for k in (15, 16, 24, 31, 32, 52, 53, 63, 64) for d in (-1.0, 0.0, 1.0)]
    plain += [
        65504.0,
        65519.99,
        65520.0,
        57344.0,
        61440.0,
        2.0**-10,
        3 * 2.0**-11,
        2.0**-17,
        3 * 2.0**-18,
        2.0**-25,
        2.0**-9,
    ]
    plain += [
        1 + 2.0**-11,
        1 + 3 * 2.0**-11,
        1 + 2.0**-8,
        1 + 3 * 2.0**-9,
        1 + 2.0**-24,
        1 + 2.0**-4,
        1 + 3 * 2.0**-4,
        1 + 2.0**-3,
    ]
    plain += [
        tiny,
        tiny * 3,
        normal,
        normal - tiny,
        largest,
        np.pi,
        np.pi / 2,
        88.7,
        709.8,
        20.0,
        1e10,
        1e-10,
        3.4e38,
        1e300,
    ]
    with np.errstate(all="ignore"):
        both = np.array([*plain, *(-x for x in plain), np.inf, -np.inf, np.nan]).astype(kind)
        return np.concatenate([both, np.nextafter(both, kind.type(np.inf)), np.nextafter(both, kind.type(0))])
