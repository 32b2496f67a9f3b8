"""Random programs as data: an expression tree a statement, and recipes for the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kgen.dtypes import DType, Kind

from .arrays import Array, Recipe, build

Type = DType | Kind  #: a dtype, or the kind of a weak value


@dataclass(frozen=True, slots=True)
class Node:
    """``form`` with ``args`` in its places.

    ``shape`` is the node's own; ``needs`` the rank that its statement must have (for ``index``), and ``rank`` the rank
    that it must have exactly (for an axis counted from the left), or None.
    """

    form: str
    args: tuple[Node, ...] = ()
    type: Type = Kind.INT
    shape: tuple[int, ...] = ()
    needs: int = 0
    exact: bool = True
    literal: bool = False

    @property
    def text(self) -> str:
        return self.form.format(*(a.text for a in self.args)) if self.args else self.form


def key(node: Node) -> tuple[object, str]:
    """What its type depends on, for what is made of it."""
    return (node.type if isinstance(node.type, DType) else str(int(node.type)), node.text if node.literal else "")


def broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    rank = max(map(len, shapes), default=0)
    out = [1] * rank
    for shape in shapes:
        for i, n in enumerate(reversed(shape)):
            out[-1 - i] = n if n != 1 else out[-1 - i]
    return tuple(out)


@dataclass(frozen=True, slots=True)
class Statement:
    """``let name = node``, or ``name: declared = node``."""

    name: str
    node: Node
    is_let: bool = False
    declared: DType | None = None

    @property
    def text(self) -> str:
        prefix = "let " if self.is_let else ""
        suffix = "" if self.declared is None else f": {self.declared}"
        return f"{prefix}{self.name}{suffix} = {self.node.text}"


@dataclass(frozen=True, slots=True)
class Call:
    """One program and the arguments to call it with.

    ``inputs`` are in call order: recipes, or Python scalars.  ``params`` holds (line of the text, name, value given or
    None).  ``outs`` has an entry for each output when ``out=`` is given: a recipe, the name of an input (in place), or
    None.
    """

    statements: tuple[Statement, ...]
    inputs: dict[str, Recipe | Any]
    declared: dict[str, DType] = field(default_factory=dict)  # by ``input`` lines
    inout: tuple[str, ...] = ()
    params: tuple[tuple[str, str, Any], ...] = ()
    defs: tuple[str, ...] = ()
    outs: tuple[Recipe | str | None, ...] | None = None
    shape: tuple[int, ...] | None = None
    seed: int = 0
    fmad: bool = False
    fast: bool = False

    @property
    def text(self) -> str:
        lines = [self._argument(name) for name in self.inputs]
        lines += [line for line, _, _ in self.params]
        return "\n".join([*lines, *self.defs, *(s.text for s in self.statements)])

    def _argument(self, name: str) -> str:
        word = "inout" if name in self.inout else "input"
        return f"{word} {name}" + (f": {self.declared[name]}" if name in self.declared else "")

    def arguments(self, exact_size: bool = False) -> Arguments:
        arrays = {n: build(r, exact_size) if isinstance(r, Recipe) else r for n, r in self.inputs.items()}
        outs: tuple[Array | None, ...] | None = None
        if self.outs is not None:
            outs = tuple(
                arrays[o] if isinstance(o, str) else None if o is None else build(o, exact_size) for o in self.outs
            )
        return Arguments(arrays, {n: v for _, n, v in self.params if v is not None}, outs, self.shape)

    def show(self) -> str:
        lines = ["--- program", self.text, "--- arguments"]
        lines += [f"{name} = {value!r}" for name, value in self.inputs.items()]
        lines += [f"{name} = {value!r}" for _, name, value in self.params if value is not None]
        lines += [f"out = {self.outs!r}"] if self.outs is not None else []
        lines += [f"shape = {self.shape}"] if self.shape is not None else []
        return "\n".join([*lines, f"--- seed {self.seed}, fmad={self.fmad}, fast={self.fast}"])


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a call is made with."""

    inputs: dict[str, Any]
    params: dict[str, Any]
    outs: tuple[Array | None, ...] | None
    shape: tuple[int, ...] | None

    @property
    def keywords(self) -> dict[str, Any]:
        words: dict[str, Any] = dict(self.params)
        if self.outs is not None:
            words["out"] = self.outs[0] if len(self.outs) == 1 else self.outs
        if self.shape is not None:
            words["shape"] = self.shape
        return words
