"""Every operator, function and cast of the language, as one program for each combination of dtypes.

The table is the product of ``kgen.functions.FUNCTIONS``, the operators and the casts with the dtypes, less what the
checker refuses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from kgen import KgenError
from kgen.argument_types import ArrayArg
from kgen.check import check
from kgen.dtypes import DTYPES, FLOAT32, INT32, DType
from kgen.functions import FUNCTIONS
from kgen.load import load
from tests.fuzz.arrays import Array, edges
from tests.fuzz.forms import MODES, OPERATORS, POWERS, UNARY, functions, spelled

#: The unary forms that are not functions.
SIGNS = [*(f"({op}{{0}})" for op in UNARY), *(f"({{0}} ** {n})" for n in POWERS)]
#: Operands with a literal, whose dtype is the other's.
WITH_LITERAL = [
    "({0} + 1)", "({0} + 0.1)", "(2 - {0})", "({0} / 8)", "({0} / 3)", "({0} // 3)", "({0} % 3)",
    "({0} % 0.75)", "(1 / {0})", "({0} // 0)", "({0} % 0)", "(7 % {0})", "({0} << 3)", "({0} >> 1)",
    "({0} << 70)", "({0} == 0.1)", "(0 < {0} <= 2)", "({0} * 1.5)", "({0} * 0)", "({0} + 0.0)", "({0} - 0.0)",
    "({0} * -1)", "({0} ? {0} : 1)", "clip({0}, 1, 2)", "({0} ** 2.5)",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """The forms that are compiled into one program, and the dtypes of its operands."""

    name: str
    of: tuple[DType, ...]
    forms: tuple[str, ...]

    @property
    def text(self) -> str:
        names = [f"x{i}" for i in range(len(self.of))]
        lines = [f"input {name}" for name in names]
        lines += [f"o{i} = {form.format(*names)}" for i, form in enumerate(self.forms)]
        return "\n".join(lines)

    def arrays(self) -> list[Array]:
        """Every combination of edge values, as many as stay quick."""
        most = {1: 5000, 2: 26, 3: 9, 4: 6}[len(self.of)]
        sides = [_some(edges(t), most) for t in self.of]
        grid = np.meshgrid(*[np.arange(len(side)) for side in sides], indexing="ij")
        return [side[index.ravel()] for side, index in zip(sides, grid, strict=True)]


def _some(values: Array, most: int) -> Array:
    """An even choice of them."""
    kind = np.dtype(f"u{values.itemsize}") if values.dtype.kind != "c" else values.dtype
    values = np.unique(values.view(kind)).view(values.dtype)
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).astype(np.int64)]


def _table(name: str, of: Sequence[DType], forms: Sequence[str]) -> Iterator[Table]:
    """The table of the forms that take these dtypes, if there are any."""
    table = Table(f"{name}-{'-'.join(t.short for t in of)}", tuple(of), tuple(dict.fromkeys(forms)))
    types = {f"x{i}": ArrayArg(t, ()) for i, t in enumerate(of)}
    while table.forms:
        program = load(table.text)
        try:
            check(program, types, shape=())
        except KgenError as problem:
            starts = [d.at.start for d in problem.diagnostics if d.at is not None]
            refused = {program.source.text.count("\n", 0, start) - len(of) for start in starts}  # a line for each form
            assert refused
            table = replace(table, forms=tuple(f for i, f in enumerate(table.forms) if i not in refused))
        else:
            yield table
            return


def calls_of(count: int) -> list[str]:
    ordered = {n for n, f in FUNCTIONS.items() if f.rule == "ordered"}
    return [spelled(name, n) for name, n in functions() if n == count and name not in ordered]


def cast_forms(to: DType) -> list[str]:
    forms = [f"cast<{to}>({{0}})", f"cast<{to}, sat>({{0}})", f"bitcast<{to}>({{0}})"]
    for mode in MODES:
        forms += [f"cast<{to}, {mode}>({{0}})", f"cast<{to}, sat, {mode}>({{0}})"]
    return forms


def tables() -> tuple[Table, ...]:
    """All of them; typing every form takes seconds."""
    return tuple(table for t in DTYPES for table in tables_of(t))


@cache
def tables_of(t: DType) -> tuple[Table, ...]:
    """Those whose first argument has this dtype."""
    found: list[Table] = []
    found += _table("unary", [t], [*SIGNS, *calls_of(1), *WITH_LITERAL])
    found += _table("cast", [t], [form for to in DTYPES for form in cast_forms(to)])
    binary = [*(f"({{0}} {op} {{1}})" for op in [*OPERATORS, "**"]), *calls_of(2)]
    found += _table("binary", [t, t], binary)
    found += _table("ternary", [t, t, t], ["({0} ? {1} : {2})", "({0} < {1} <= {2})", *calls_of(3)])
    found += _table("quaternary", [t, t, t, t], calls_of(4))
    if t.is_float:
        found += _table("scaled", [t, INT32], ["ldexp({0}, {1})", "scalbn({0}, {1})", "scalbln({0}, {1})"])
    for other in DTYPES:
        if t is INT32 and other.is_float:
            found += _table("ordered", [t, other], [spelled("jn", 2), spelled("yn", 2)])
        if t is not other and (t.is_int or other.is_int) and FLOAT32 not in (t, other):
            found += _table("mixed", [t, other], [f"({{0}} {op} {{1}})" for op in ("<", "==", "+", "//", ">>", "/")])
    return tuple(found)
