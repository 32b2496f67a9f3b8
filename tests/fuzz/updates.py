"""Random programs that update their arguments beside reductions: what the cut into kernels has to get right.

Elements are small multiples of one half and most results are exact, so that they are compared bit for bit.  Shapes are
one base shape, with parts of it left out or of extent 1, so that reductions have operands narrower than their space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log2, prod
from random import Random

import numpy as np

from kgen.dtypes import BY_NAME

from .arrays import random_recipe
from .reductions import Program

PROFILES = (
    ("float32", "float32", "float16", "bfloat16", "float64"),
    ("int32", "int8", "uint8", "int64", "bool"),
    ("float32", "float16", "int32", "uint8", "bool"),
    ("complex64", "complex64", "float32", "complex128"),
)
KINDS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
SIZES = (1, 1, 2, 3, 4, 5, 8)
LONG = (17, 33, 64, 77, 130, 257)
MOST_BITS = 20.0  # of an exact value: float32 holds it, and sums of it in any order


@dataclass(frozen=True, slots=True)
class Value:
    """An expression: ``kind`` as in KINDS; ``bits`` that its elements take at most, None where they are rounded."""

    text: str
    shape: tuple[int, ...]
    kind: int
    bits: float | None

    @property
    def number(self) -> str:
        return f"cast<i32>({self.text})" if self.kind == 0 else self.text

    @property
    def exact(self) -> bool:
        return self.bits is not None and self.kind < 3


def bounded(bits: float | None) -> float | None:
    return bits if bits is not None and bits <= MOST_BITS else None


class Generator:
    def __init__(self, rng: Random, *, long: bool = True) -> None:
        self.rng = rng
        self.dtypes = rng.choice(PROFILES)
        rank = rng.choice((1, 2, 2, 2, 3, 3, 4))
        shape = [rng.choice(SIZES) for _ in range(rank)]
        if long and rng.random() < 0.3:
            shape[rng.randrange(rank)] = rng.choice(LONG)
        if rank > 1 and rng.random() < 0.2:
            shape[1] = shape[0]  # squares broadcast along either axis
        if rng.random() < 0.05:
            shape[rng.randrange(rank)] = 0
        self.base = tuple(shape)
        self.program = Program("", {})
        self.lines: list[str] = []
        self.pool: list[Value] = []
        self.targets: list[Value] = []  # arguments that are still to be updated
        self.made = 0

    def generate(self) -> Program:
        rng = self.rng
        for name in "abc"[: rng.choice((1, 2, 2, 3))]:
            self.pool.append(self._array(name, self._part()))
        for name in "pqr"[: rng.choice((0, 1, 1, 1, 2, 3))]:
            value = self._array(name, self._part())
            self.lines.append(f"inout {name}")
            self.pool.append(value)
            self.targets.append(value)
        for _ in range(rng.choice((1, 2, 3, 4, 5))):
            self._statement()
        for target in list(self.targets):
            self._update(target)
        if not any("=" in line and not line.startswith("let") for line in self.lines):
            self._output()
        text = "\n".join(self.lines)
        words = set(text.replace("(", " ").replace(")", " ").replace(",", " ").split())
        return Program(text, {n: r for n, r in self.program.recipes.items() if n in words})

    # --- statements -----------------------------------------------------------------------------------

    def _statement(self) -> None:
        kind = self.rng.random()
        if kind < 0.35:
            value = self._expression()
            self.made += 1
            self.lines.append(f"let t{self.made} = {value.text}")
            self.pool.append(replace(value, text=f"t{self.made}"))
        elif kind < 0.65 and self.targets:
            self._update(self.rng.choice(self.targets))
        else:
            self._output()

    def _output(self) -> None:
        value = self._expression()
        self.made += 1
        self.lines.append(f"o{self.made} = {value.text}")
        self.pool.append(replace(value, text=f"o{self.made}"))

    def _update(self, target: Value) -> None:
        """The new value has the argument's own shape, and is cast to its dtype."""
        self.targets.remove(target)
        value = self._expression()
        if np.broadcast_shapes(value.shape, target.shape) != target.shape if self._fits(value, target) else True:
            value = self._reduced_to(target)
        value = self._combined(value, target) if self.rng.random() < 0.7 or value.shape != target.shape else value
        dtype = self.program.recipes[target.text].dtype
        text, kind = value.text, KINDS[np.dtype(dtype.name).kind if dtype.name in ("bool",) else _letter(dtype.name)]
        if value.kind > kind:
            text = f"real({text})" if value.kind == 3 else text
            text = f"cast<{dtype.name}>({text})"
            exact = value.exact and dtype.size >= 4
        else:
            exact = value.bits is not None
        self.lines.append(f"{target.text} = {text}")
        bits = bounded(value.bits) if exact else None
        at = self.pool.index(next(v for v in self.pool if v.text == target.text))
        self.pool[at] = Value(target.text, target.shape, kind, bits)

    def _fits(self, value: Value, target: Value) -> bool:
        try:
            np.broadcast_shapes(value.shape, target.shape)
        except ValueError:
            return False
        return True

    def _reduced_to(self, target: Value) -> Value:
        """Something that broadcasts to the shape of an argument: a reduction over all axes, or itself."""
        value = self.rng.choice(self.pool)
        found = self._reduction(value, tuple(range(len(value.shape))), keep=False)
        return found if found is not None else target

    # --- expressions ----------------------------------------------------------------------------------

    def _expression(self) -> Value:
        rng = self.rng
        value = rng.choice(self.pool)
        for _ in range(rng.choice((1, 1, 2, 2, 3))):
            kind = rng.random()
            if kind < 0.5:
                axes = tuple(sorted(rng.sample(range(len(value.shape)), rng.randrange(len(value.shape) + 1))))
                value = self._reduction(value, axes, keep=rng.random() < 0.6) or value
            elif kind < 0.65 and len(value.shape) < 5:
                value = self._expanded(value)
            else:
                value = self._combined(value, rng.choice(self.pool))
        return value

    def _expanded(self, value: Value) -> Value:
        rng = self.rng
        rank = len(value.shape) + rng.choice((1, 1, 2))
        axes = sorted(rng.sample(range(rank), rank - len(value.shape)))
        shape = list(value.shape)
        for axis in axes:
            shape.insert(axis, 1)
        return replace(value, text=f"expand({value.text}, axis={_axes(axes)})", shape=tuple(shape))

    def _reduction(self, value: Value, axes: tuple[int, ...], *, keep: bool) -> Value | None:
        rng = self.rng
        count = prod(value.shape[a] for a in axes)
        kinds = ["sum", "sum", "mean", "any", "all", "count_nonzero"]
        kinds += [] if value.kind == 3 or count == 0 else ["max", "min", "max", "min"]
        kinds += ["norm", "var"] if value.bits is not None else []
        kind = rng.choice(kinds)
        if not value.exact and kind in ("any", "all", "count_nonzero"):
            kind = "sum"
        if value.exact and count and rng.random() < 0.08 and (len(axes) in (1, len(value.shape)) and axes):
            kind = rng.choice(("argmin", "argmax"))
        text = value.number if kind in ("max", "min", "argmin", "argmax") else value.text
        bits = value.bits
        if bits is not None and value.shape and rng.random() < 0.12 and kind == "sum" and value.kind < 3:
            axis = rng.randrange(len(value.shape))
            text, bits = f"{value.number} * index({axis - len(value.shape)})", bits + 8
        words = [] if len(axes) == len(value.shape) and rng.random() < 0.5 else [f"axis={_axes(axes)}"]
        words += ["keepdims=true"] if keep else []
        shape = tuple(1 if a in axes else n for a, n in enumerate(value.shape) if keep or a not in axes)
        result = value.kind
        if kind in ("any", "all"):
            result, bits = 0, 1.0
        elif kind in ("count_nonzero", "argmin", "argmax"):
            result, bits = 1, log2(max(count, 1)) + 1
        elif kind in ("mean", "norm", "var"):
            result, bits = (3 if value.kind == 3 and kind == "mean" else 2), None
        elif kind == "sum":
            result = max(1, value.kind)
            bits = None if bits is None else bounded(bits + log2(max(count, 1)))
        elif value.kind == 0:
            result = 1
        return Value(f"{kind}({', '.join([text, *words])})", shape, result, bits)

    def _combined(self, value: Value, other: Value) -> Value:
        if not self._fits(value, other):
            return value
        rng = self.rng
        shape = np.broadcast_shapes(value.shape, other.shape)
        if prod(shape) > 6000 or len(shape) > 5:
            return value
        kind = max(1, value.kind, other.kind)
        known = None if value.bits is None or other.bits is None else max(value.bits, other.bits) + 1
        form, bits = rng.choice((("{0} + {1}", known), ("{0} - {1}", known), ("({0} + {1}) * 0.5", known)))
        if kind < 3 and rng.random() < 0.3:
            form, bits = rng.choice(
                (("max({0}, {1})", known), ("{0} > 0 ? {0} : {1}", known), ("{1} * 0.25 + {0}", known))
            )
            bits = None if bits is None else bits + 2
        if not value.exact and ">" in form:
            form = "{0} + {1}"
        if "." in form:
            kind, bits = max(kind, 2), None if bits is None else bits + 2
        text = "(" + form.format(value.number, other.number) + ")"
        return Value(text, shape, kind, bounded(bits))

    # --- arrays ---------------------------------------------------------------------------------------

    def _part(self) -> tuple[int, ...]:
        """The base shape, or a part of it, some of its axes of extent 1."""
        rng = self.rng
        base = self.base
        if rng.random() < 0.45:
            return base
        start = rng.randrange(len(base) + 1)
        part = base[start:] if rng.random() < 0.6 else base[:start]
        return tuple(1 if rng.random() < 0.3 else n for n in part)

    def _array(self, name: str, shape: tuple[int, ...]) -> Value:
        dtype = BY_NAME[self.rng.choice(self.dtypes)]
        self.program.recipes[name] = random_recipe(self.rng, dtype, shape, writable=True)
        return Value(name, shape, KINDS[_letter(dtype.name)], 4.0 if not dtype.is_bool else 1.0)


def _letter(name: str) -> str:
    return {"b": "f" if name.startswith("bf") else "b"}.get(name[0], name[0])


def _axes(axes: Sequence[int]) -> str:
    return str(axes[0]) if len(axes) == 1 else f"({', '.join(map(str, axes))})"


def generate(seed: int, *, long: bool = True) -> Program:
    return Generator(Random(seed), long=long).generate()
