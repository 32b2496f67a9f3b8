"""Random programs with reductions, over arrays of any layout, whose results are far from every discontinuity.

Of three sorts.  ``plain``: elements are small multiples of one half, so that sums are exact in every order; what is
not exact after that may be off by a tolerance.  ``special``: zeros of both signs, NaN and infinities among them.
``exact``: any values at all, for work that is exact, and compared bit for bit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Literal

import numpy as np

from kgen.dtypes import BY_NAME, DType
from kgen.ir.rounding import numpy_dtype

from . import indices
from .arrays import Array, Recipe, build, fill, random_recipe

FLOATS = ("float32", "float32", "float64", "float16", "bfloat16")
NARROW = ("float8_e4m3fn", "float8_e5m2")
COMPLEX = ("complex64", "complex64", "complex128")
OTHERS = ("int8", "uint8", "int32", "int64", "bool", "int16", "uint16", "uint32", "uint64")
SMOOTH = ("sum", "mean", "var", "std", "min", "max", "norm", "logsumexp", "prod", "count_nonzero", "any", "all")
PLACES = ("argmin", "argmax")
EXACT = ("min", "max", "any", "all", "count_nonzero", *PLACES)
OF_COMPLEX = ("sum", "mean", "prod", "var", "std", "norm", "count_nonzero", "any", "all")

#: What a program is compared by; see above.
Sort = Literal["plain", "special", "exact"]

#: What programs may have beside what all have: arguments that are updated, and axes that are inserted.
UPDATES = True
EXPANDS = True

MOST_ELEMENTS = 1 << 20  # a long row and the same as a column broadcast to billions


@dataclass(frozen=True, slots=True)
class Value:
    """An expression with its shape; ``exact`` where it has no rounding in it.  Complex numbers are floats here, too."""

    text: str
    shape: tuple[int, ...]
    is_float: bool
    exact: bool
    is_bool: bool = False
    is_complex: bool = False

    @property
    def number(self) -> str:
        """The text, as a number."""
        return f"cast<i32>({self.text})" if self.is_bool else self.text


@dataclass(frozen=True, slots=True)
class Program:
    """A text, and the arrays and params to call it with.

    ``updated``: arguments that it updates.  ``exact``: which of its outputs are compared as they are.
    """

    text: str
    recipes: dict[str, Recipe]
    sort: Sort = field(default="plain", kw_only=True)
    params: dict[str, float] = field(default_factory=dict, kw_only=True)
    updated: tuple[str, ...] = field(default=(), kw_only=True)
    exact: tuple[bool, ...] = field(default=(), kw_only=True)

    def arguments(self, *, exact_size: bool = False) -> dict[str, Any]:
        """Made anew each time."""
        return {**self.arrays(exact_size=exact_size), **self.params}

    def arrays(self, *, exact_size: bool = False) -> dict[str, Array]:
        found: dict[str, Array] = {}
        for name, recipe in self.recipes.items():
            # One element stands for all along an axis with a step of 0.
            shape = tuple(min(n, 1) if step == 0 else n for n, step in zip(recipe.shape, recipe.steps, strict=True))
            dense = replace(recipe, shape=shape, steps=tuple(step or 1 for step in recipe.steps))
            array = build(dense, exact_size, filled=False)
            array[...] = _values(recipe.dtype, array.shape, recipe.seed, self.sort)
            found[name] = array if shape == recipe.shape else np.broadcast_to(array, recipe.shape)
        return found


def _values(dtype: DType, shape: tuple[int, ...], seed: int, sort: Sort) -> Array:
    if sort == "exact" and seed % 2:  # the others are tame, so that what is quick for ordinary rows is met as well
        return fill(dtype, int(np.prod(shape)), seed).reshape(shape)
    rng = np.random.default_rng(seed)
    found = _small(dtype, shape, rng)
    if sort != "plain" and dtype.is_float:
        few = 0.02 if seed % 3 == 0 else 0.3
        values = [-0.0, 0.0, np.nan, np.inf, -np.inf][: 2 if sort == "exact" else 2 + seed % 4]
        chosen = rng.choice(np.asarray(values, found.dtype), shape)
        found = np.where(rng.random(shape) < few, chosen, found)
    return found


def _small(dtype: DType, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    if dtype.is_bool:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_complex:
        real, imaginary = rng.integers(-4, 5, (2, *shape)) / 2
        return np.asarray(real + 1j * imaginary, numpy_dtype(dtype))
    low = -4 if dtype.signed else 0
    whole = rng.integers(low, 5, shape)
    return np.asarray(whole / 2 if dtype.is_float else whole, numpy_dtype(dtype))


class Generator:
    def __init__(self, rng: Random, shape: tuple[int, ...] | None = None) -> None:
        self.rng = rng
        self.given = shape
        self.sort: Sort = rng.choices(("plain", "special", "exact"), (5, 2, 3))[0]
        complex_too = 4 if self.sort == "plain" else 0
        self.kinds = rng.choices((FLOATS, NARROW[:1], NARROW[1:], COMPLEX), (16, 1, 1, complex_too))[0]
        self.params: dict[str, float] = {}
        self.recipes: dict[str, Recipe] = {}
        self.lines: list[str] = []

    def _shape(self) -> tuple[int, ...]:
        rng = self.rng
        rank = rng.choice((1, 2, 2, 3, 3, 4))
        long = rng.random() < 0.25
        sizes = (1, 2, 3, 4, 5, 8, 16, 17)
        shape = [rng.choice(sizes) for _ in range(rank)]
        if long:
            shape[rng.randrange(rank)] = rng.choice(
                (33, 64, 77, 100, 257, 265, 1000, 1003, 2048, 4099) if rank < 3 else (63, 64, 130, 300, 301)
            )
            if rank < 3 and rng.random() < 0.3:
                shape[rng.randrange(rank)] = rng.choice((5000, 8192, 16385, 40_001, 70_003))
                shape = [n if n > 4099 else min(n, 5) for n in shape]
        if rng.random() < 0.04:
            shape[rng.randrange(rank)] = 0
        return tuple(shape)

    def program(self) -> Program:
        rng = self.rng
        self.shape = self._shape() if self.given is None else self.given
        rank = len(self.shape)
        pool = [self._input("x", self.shape)]
        if self.sort != "plain" or rng.random() < 0.25:
            self.params["p"] = rng.choice((0.5, 2.0, -1.5))
        if rng.random() < 0.5:
            part = self.shape[rng.randrange(rank + 1) :]
            pool.append(self._input("y", tuple(1 if rng.random() < 0.3 else n for n in part)))
            if EXPANDS and len(part) < rank and rng.random() < 0.5:
                at = rng.randrange(len(part) + 1)
                shape_of = (*pool[1].shape[:at], 1, *pool[1].shape[at:])
                pool[1] = replace(pool[1], text=f"expand({pool[1].text}, axis={at})", shape=shape_of)
        for step in range(rng.choice((1, 1, 2, 3))):
            value = self._reduced(rng.choice(pool[:2] + pool[-1:]))
            if value is None:
                continue
            if rng.random() < 0.6:
                value = self._combined(value, rng.choice(pool))
            if self.given is None and rng.random() < 0.15:
                taken, items = indices.part(rng, value.shape, like=rng.random() < 0.5)
                value = replace(value, text=f"{value.text}{items}", shape=taken)
            if rng.random() < 0.5:
                self.lines.append(f"let t{step} = {value.text}")
                value = replace(value, text=f"t{step}")
            pool.append(value)
        outputs = [pool[-1]]
        if len(pool) > 3 and rng.random() < 0.5:
            outputs.append(rng.choice(pool[1:-1]))
        if rng.random() < 0.2:
            outputs.append(self._combined(pool[0], pool[-1]))
        lines = [*self.lines, *(f"out{i} = {value.text}" for i, value in enumerate(outputs))]
        updated = self._updated(pool, lines)
        used = set(re.findall(r"\w+", "\n".join(lines)))
        head = [f"inout {name}" for name in updated]
        head += [f"param {name}: float = {value}" for name, value in self.params.items() if name in used]
        exact = tuple((v.exact and self.sort == "plain") or self.sort == "exact" for v in outputs)
        return Program(
            "\n".join([*head, *lines]),
            {n: r for n, r in self.recipes.items() if n in used},
            sort=self.sort,
            params={n: v for n, v in self.params.items() if n in used and rng.random() < 0.5},
            updated=updated,
            exact=exact,
        )

    def _updated(self, pool: list[Value], lines: list[str]) -> tuple[str, ...]:
        """An argument that the last line updates, from what the lines before have."""
        x, value = pool[0], pool[-1]
        recipe = self.recipes["x"]
        if not UPDATES or self.rng.random() < 0.6 or not (recipe.writable and recipe.dtype.is_float):
            return ()
        sides = zip(reversed(x.shape), reversed(value.shape), strict=False)
        if (
            x.text != "x"
            or value.is_complex
            or len(value.shape) > len(x.shape)
            or any(n not in (1, m) for m, n in sides)
        ):
            return ()
        lines.append(f"x = cast<typeof(x)>({self._combined(value, x).text})")
        return ("x",)

    def _input(self, name: str, shape: tuple[int, ...]) -> Value:
        rng = self.rng
        # No dtype holds what one fp8 does and what the other or integers do.
        others = FLOATS if self.kinds[0] in NARROW else OTHERS
        dtype = BY_NAME[rng.choice(self.kinds) if rng.random() < 0.7 else rng.choice(others)]
        of, form = indices.source(rng, shape, name) if self.given is None and rng.random() < 0.2 else (shape, "{0}")
        self.recipes[name] = random_recipe(rng, dtype, of, writable=rng.random() < 0.7)
        return Value(
            form.format(name), shape, dtype.is_float or dtype.is_complex, True, dtype.is_bool, dtype.is_complex
        )

    def _reduced(self, value: Value) -> Value | None:
        rng = self.rng
        rank = len(value.shape)
        kind = rng.choice(OF_COMPLEX if value.is_complex else EXACT if self.sort == "exact" else SMOOTH)
        if self.sort == "exact" and not value.is_float and rng.random() < 0.4:
            kind = rng.choice(("sum", "prod"))
        if self.sort == "special" and kind in ("any", "all", "count_nonzero") and not value.exact:
            kind = "max"
        if value.exact and not value.is_complex and rng.random() < 0.15:
            kind = rng.choice(PLACES)
        text = value.number if kind in ("min", "max") else value.text
        if value.exact and kind not in ("prod", *PLACES) and rng.random() < 0.4:
            forms: tuple[str, ...] = (
                "{0} * {0}",
                "abs({0}) + 1",  # differences of uint64 wrap to what is large when it is squared
                "({0} + {0}) * 0.5",
                "max({0}, 0)",
                "{0} > 0 ? {0} : {0} + 1",
            )
            if self.sort == "exact":
                forms = ("abs({0})", "{0} * 2", "{0} == 0", "{0} != {0}", "{0} > 0 ? {0} : {0} + 1", "-({0})")
            if value.shape and rng.random() < 0.2:
                forms = ("{0} + cast<i8>(index(-1) % 3)", "index(0) % 2 == 0 ? {0} : {0} * 2")
            of_complex = ("{0} * {0}", "conj({0}) - 1", "({0} + {0}) * 0.5")
            text = rng.choice(of_complex if value.is_complex else forms).format(value.number)
        axes = sorted(rng.sample(range(rank), rng.randrange(rank + 1)))
        if kind in PLACES:
            axes = axes[:1] or list(range(rank))
        if kind in ("min", "max", *PLACES) and any(value.shape[a] == 0 for a in axes):
            kind = "sum"
        if kind == "prod" and self.sort != "exact" and np.prod([value.shape[a] for a in axes]) > 16:
            kind = "sum"
        if self.sort != "exact" and not value.exact and kind in ("any", "all", "count_nonzero", "var", "std"):
            kind = "mean"
        everything = len(axes) == rank and rng.random() < 0.5
        keep = rng.random() < 0.5
        words = [] if everything else [f"axis={self._axes(axes, rank)}"]
        words += ["keepdims=true"] if keep else []
        if kind in ("var", "std") and rng.random() < 0.3:
            words.append("correction=1")
        wide = kind in ("sum", "prod", "mean") and self.sort != "exact" and not value.is_complex and rng.random() < 0.2
        if wide:
            words.append(f"dtype={rng.choice(('f64', 'f64', 'f32'))}")
        shape = tuple(1 if a in axes else n for a, n in enumerate(value.shape) if keep or a not in axes)
        is_float = (
            wide
            or kind in ("mean", "var", "std", "norm", "logsumexp")
            or (value.is_float and kind in ("sum", "prod", "min", "max"))
        )
        is_complex = value.is_complex and kind in ("sum", "mean", "prod")
        exact = kind in ("min", "max", *(["sum"] if self.sort == "plain" else [])) and value.exact and value.is_float
        exact = exact or self.sort == "exact"
        of_bools = kind in ("min", "max") and (value.is_bool if text == value.number else "==" in text or "!=" in text)
        is_bool = kind in ("any", "all") or of_bools
        return Value(f"{kind}({', '.join([text, *words])})", shape, is_float, exact, is_bool, is_complex)

    def _axes(self, axes: list[int], rank: int) -> str:
        shown = [a if self.rng.random() < 0.5 else a - rank for a in axes]
        return str(shown[0]) if len(shown) == 1 else f"({', '.join(map(str, shown))})"

    def _combined(self, value: Value, other: Value) -> Value:
        """With another value, where shapes broadcast."""
        try:
            shape = np.broadcast_shapes(value.shape, other.shape)
        except ValueError:
            return value
        if np.prod(shape) > MOST_ELEMENTS:
            return value
        forms = ["{0} + {1}", "({1} - {0}) * 0.5", "{0} * 0.25 + {1}"]
        if "p" in self.params:
            forms.append("{0} * p + {1}")
        if self.sort == "exact":
            forms = [
                "{0} + {1}",
                "{1} - {0}",
                "{1} / {0}",
                "{1} / abs({0})",
                "1 / ({1} / {0})",
                "{1} == {0}",
                "{1} > {0}",
            ]
            forms += ["{1} / {0} * p"] if "p" in self.params else []
            is_complex = value.is_complex or other.is_complex
            form = self.rng.choice(["{0} + {1}", "{1} - {0}", "{1} == {0}"] if is_complex else forms)
            return Value(
                f"({form.format(value.number, other.number)})",
                shape,
                "=" not in form and ">" not in form,
                True,
                "=" in form or ">" in form,
                is_complex and "=" not in form,
            )
        if other.exact or not other.is_complex:  # what is large turns far in the complex plane
            forms.append("exp({1} * 0.125 - 1) + {0}")
        form = self.rng.choice(forms)
        a, b = (
            f"cast<float>({v.text})" if self.kinds[0] in NARROW and not v.is_float else v.number for v in (value, other)
        )
        is_complex = value.is_complex or other.is_complex
        return Value(f"({form.format(a, b)})", shape, True, False, is_complex=is_complex)


def generate(seed: int, shape: tuple[int, ...] | None = None) -> Program:
    """The program of a seed: over arrays of any shape, some of them indexed, or of the shape that is given."""
    return Generator(Random(seed), shape).program()
