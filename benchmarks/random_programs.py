"""Random programs with arrays of any size and layout, for ``benchmarks/random.py``.

Most programs are what networks and numerical code have: elementwise work, one reduction, and chains of reductions along
rows, over random axes.  The others are those of the fuzzers (``tests/fuzz``), which leave nothing out that can be said.
Dtypes are mixed, and every operand has a layout of its own.  Those of kind ``places`` (``--kinds places``) read rows,
columns or elements at computed places.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from kgen import KgenError, LintWarning, jit, spec
from kgen.dtypes import BY_NAME
from tests.fuzz import generate, reductions
from tests.fuzz.arrays import Recipe

ELEMENTWISE = (
    "a + b", "a * b + c", "(a - b) * (a + c)", "max(a, b) + min(b, c)", "a > b ? c : a", "a / 255 - b / c",
    "gelu(cast<float>(a)) + b * c", "exp(-cast<float>(a)) * b - c", "silu(cast<float>(a)) * b",
    "tanh(cast<float>(a)) / (b + c)",
)  # fmt: skip
REDUCTIONS = ("sum", "mean", "max", "norm", "var", "logsumexp")
CHAINS = (
    "let m = max(z, axis={0}, keepdims=true)\nlet q = exp(z - m)\nout = q / sum(q, axis={0}, keepdims=true)",
    "let d = z - mean(z, axis={0}, keepdims=true)\nout = d * rsqrt(mean(d * d, axis={0}, keepdims=true) + 1e-5)",
    "out = z * rsqrt(mean(z * z, axis={0}, keepdims=true) + 1e-6)",
    "s = max(abs(z), axis={0}, keepdims=true) / 127\nq = cast<i8, sat, rne>(z / s)",
)
#: Rows of a table ``t``, an element of each row, and columns, at computed places; of the shapes of ``_at_places``.
PLACES = (
    "out = t[i] + a", "out = silu(cast<float>(t[i])) * b - a", "out = cast<half>(max(a, t[i]))",
    "out = sum(cast<float>(t[i] * a), axis=-1)", "let z = cast<float>(t[i])\n{}", "let z = cast<float>(a + t[i])\n{}",
    "out = logsumexp(cast<float>(a), axis=-1) - cast<float>(a[index(0), j])", "out = a[:, k]", "out = b + a[:, k]",
    "out = cast<float>(t[i]) * a[index(0), j][:, None]",
)  # fmt: skip
LARGEST_TABLE = 1 << 28  # elements
DTYPES = ("float32", "float32", "float16", "bfloat16", "bfloat16", "float64", "int8", "uint8", "int32")
EXTENTS = (2, 3, 4, 7, 8, 13, 16, 21, 26, 32, 49, 64, 65, 96, 100, 127, 128, 196, 255, 256, 512, 668, 768, 1000, 1024,
           1711, 2048, 4096, 5000, 8192)  # fmt: skip
KINDS = ("elementwise", "reduction", "row chain", "any expression", "any reduction")
WEIGHTS = {"elementwise": 4, "reduction": 3, "row chain": 3, "any expression": 1, "any reduction": 1, "places": 1}
TRIES = 100  # calls of a fuzzer until one has arrays only
LAYOUTS = ("dense", "permuted", "sliced", "step", "broadcast", "offset")


@dataclass(frozen=True, slots=True)
class Operand:
    """An array of ``shape`` in memory: ``order`` has the axes from the slowest to the fastest, ``steps`` the strides in
    multiples of what dense memory needs (0: one element for all), ``slack`` the elements of memory behind each axis's
    last one, ``offset`` the elements before the first.  ``below``: of indices, what they are less than.
    """

    dtype: str
    shape: tuple[int, ...]
    layout: str
    order: tuple[int, ...]
    steps: tuple[int, ...]
    slack: tuple[int, ...]
    offset: int = 0
    below: int = 0

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements."""
        found = [0] * len(self.shape)
        step = 1
        for axis in reversed(self.order):
            found[axis] = step * self.steps[axis]
            step *= self.shape[axis] * self.steps[axis] + self.slack[axis] if self.steps[axis] else 1
        return tuple(found)

    @property
    def extent(self) -> int:
        """Elements of memory from the first to the last."""
        return 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))

    @property
    def elements(self) -> int:
        return math.prod(n for n, s in zip(self.shape, self.steps, strict=True) if s)

    def make(self, torch: Any, values: Any) -> Any:
        """The tensor, filled with ``values`` over and over."""
        count = self.offset + self.extent
        memory = values.repeat(-(-count // values.numel()))[:count]
        return memory.as_strided(self.shape, self.strides, self.offset)

    def __str__(self) -> str:
        what = self.layout
        if what == "permuted":
            what += str(list(self.order)).replace(" ", "")
        elif what in ("step", "sliced", "broadcast"):
            changed = {"step": [s > 1 for s in self.steps], "broadcast": [s == 0 for s in self.steps]}
            what += str([i for i, c in enumerate(changed.get(what, map(bool, self.slack))) if c]).replace(" ", "")
        return f"{self.dtype}:{what}"


@dataclass(frozen=True, slots=True)
class RandomProgram:
    """A text with its operands by name."""

    seed: int
    kind: str
    text: str
    operands: dict[str, Operand]

    @property
    def bytes(self) -> int:
        """Of all operands."""
        return sum(o.elements * BY_NAME[o.dtype].size for o in self.operands.values())

    @property
    def layout(self) -> str:
        """The class of its layouts."""
        found = {o.layout for o in self.operands.values()}
        return "permuted" if "permuted" in found else "step" if "step" in found else "other"

    def __str__(self) -> str:
        shape = next(iter(self.operands.values())).shape
        what = " ".join(f"{n}:{o}" for n, o in self.operands.items())
        return f"`{self.text}` {shape} {what}".replace("\n", "; ")


def program(seed: int, kinds: tuple[str, ...] = KINDS) -> RandomProgram:
    """The program of a seed; one of ``kinds``."""
    rng = Random(seed)
    kind = rng.choices(kinds, [WEIGHTS[k] for k in kinds])[0]
    shape = _shape(rng)
    if kind.startswith("any "):
        return RandomProgram(seed, kind, *_of_a_fuzzer(rng, kind, shape))
    if kind == "places":
        return RandomProgram(seed, kind, *_at_places(rng, shape))
    body = rng.choice(ELEMENTWISE)
    operands = {name: _operand(rng, shape) for name in sorted(set(re.findall(r"\b[abc]\b", body)))}
    if kind == "elementwise":
        text = f"out{rng.choice(('', '', ': bf16', ': f16', ': f32'))} = {body}"
    elif kind == "reduction":
        axes = sorted(rng.sample(range(len(shape)), rng.choice((1, 1, min(2, len(shape))))))
        text = f"out = {rng.choice(REDUCTIONS)}(cast<float>({body}), axis=({', '.join(map(str, axes))},))"
    else:
        text = f"let z = cast<float>({body})\n" + rng.choice(CHAINS).format(rng.randrange(len(shape)))
    return RandomProgram(seed, kind, text, operands)


def _at_places(rng: Random, shape: tuple[int, ...]) -> tuple[str, dict[str, Operand]]:
    """A program of rows: its text and operands."""
    rows, columns = math.prod(shape[:-1]), shape[-1]
    table = min(rng.choice((64, 4096, 50257, rows)), max(1, LARGEST_TABLE // columns))
    text = rng.choice(PLACES).format(rng.choice(CHAINS).format(-1))
    shapes: dict[str, tuple[int, ...]] = {"a": (rows, columns), "b": (rows, columns), "t": (table, columns)}
    shapes |= {"i": (rows,), "j": (rows,), "k": (columns,)}
    below = {"i": table, "j": columns, "k": columns}
    operands: dict[str, Operand] = {}
    for name in sorted(set(re.findall(r"\b[abtijk]\b", text))):
        kind = rng.choice(("int32", "int64")) if name in below else rng.choice(DTYPES)
        rank = len(shapes[name])
        dense = Operand(kind, shapes[name], "dense", tuple(range(rank)), (1,) * rank, (0,) * rank)
        operands[name] = replace(dense, below=below[name]) if name in below else _operand(rng, shapes[name])
    return text, operands


def _of_a_fuzzer(rng: Random, kind: str, shape: tuple[int, ...]) -> tuple[str, dict[str, Operand]]:
    """A program without params and updates: its text and operands."""
    for _ in range(TRIES):
        seed = rng.randrange(1 << 30)
        if kind == "any reduction":
            found = reductions.generate(seed, shape)
            text, recipes, others = found.text, dict[str, Any](found.recipes), bool(found.params or found.updated)
        else:
            call = generate.generate(seed, exact=True, shape=shape)
            text, recipes, others = call.text, call.inputs, bool(call.params or call.inout)
        if not others and all(isinstance(recipe, Recipe) for recipe in recipes.values()):
            operands = {name: _of_a_recipe(recipe) for name, recipe in recipes.items()}
            if _is_accepted(text, operands):
                return text, operands
    raise AssertionError("no program has arrays only")


def _is_accepted(text: str, operands: Mapping[str, Operand]) -> bool:
    """Whether a program keeps the rules of dtypes: those of fuzzers may add an fp8 to an integer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LintWarning)
        try:
            jit(text).meta(**{name: spec(o.shape, o.dtype, o.strides) for name, o in operands.items()})
        except KgenError:
            return False
    return True


def _of_a_recipe(recipe: Recipe) -> Operand:
    """The same layout, going forwards."""
    steps, rank = tuple(map(abs, recipe.steps)), len(recipe.shape)
    plain = recipe.order == tuple(range(rank))
    layout = "broadcast" if 0 in steps else "step" if max(steps, default=1) > 1 else "dense" if plain else "permuted"
    return Operand(recipe.dtype.name, recipe.shape, layout, recipe.order, steps, (0,) * rank, recipe.offset)


def _shape(rng: Random) -> tuple[int, ...]:
    """2^8 to 2^28 elements: the largest with a long or a short axis at any place."""
    rank = rng.choice((1, 2, 2, 3, 3, 3, 4, 4))
    target = 2 ** (rng.uniform(8, 28) if rng.random() < 0.3 else rng.uniform(23, 27))
    shape = [rng.choice([n for n in EXTENTS if n <= target ** (1.5 / rank)] or [2]) for _ in range(rank)]
    place = rng.randrange(rank)
    others = math.prod(n for i, n in enumerate(shape) if i != place)
    shape[place] = max(1, round(target / others))
    return tuple(shape)


def _operand(rng: Random, shape: tuple[int, ...]) -> Operand:
    rank = len(shape)
    layout = rng.choices(LAYOUTS, (8, 4, 3, 2, 1, 2))[0]
    order, steps, slack, offset = list(range(rank)), [1] * rank, [0] * rank, 0
    axis = rng.randrange(rank)
    match layout:
        case "permuted":
            rng.shuffle(order)
        case "sliced":
            slack[axis] = rng.choice((1, 3, 8, 64))
        case "step":
            steps[axis] = rng.choice((2, 2, 3))
        case "broadcast":
            steps[axis] = 0
        case "offset":
            offset = rng.choice((1, 2, 3))
        case _:
            pass
    return Operand(rng.choice(DTYPES), shape, layout, tuple(order), tuple(steps), tuple(slack), offset)
