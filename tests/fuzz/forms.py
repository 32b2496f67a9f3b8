"""What random programs are made of: operators, functions and casts, and which types each of them takes."""

from __future__ import annotations

from functools import cache

from kgen.argument_types import ArrayArg, WeakArg
from kgen.check import check
from kgen.diagnostics import KgenError
from kgen.dtypes import DTYPES, DType, Kind
from kgen.functions import FUNCTIONS
from kgen.ir.graph import Graph, Op
from kgen.ir.ops import EXACT
from kgen.pipeline import load

OPERATORS = [
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "<",
    "<=",
    ">",
    ">=",
    "==",
    "!=",
    "&&",
    "||",
    "and",
    "or",
]
UNARY = ["-", "+", "~", "!", "not "]
MODES = ["rne", "rz", "ru", "rd"]
POWERS = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "0.5", "-1", "-2", "-3"]
LITERALS = [
    "0", "1", "2", "3", "7", "100", "300", "70000", "0.5", "1.5", "-1.0", "0.1", "1e-3", "-3",
    "2.5e10", "pi", "e", "inf", "nan", "true", "false", "2j", "0x1f", "-0.0",
    "256", "-129", "(2 ** 64)",
]  # fmt: skip
CHOICE = "({0} ? {1} : {2})"
#: What makes weak values of weak ones.
WEAK = {
    *(f"({{0}} {op} {{1}})" for op in "+-*"), "(-{0})", "abs({0})", "clip({0}, {1}, {2})", "clamp({0}, {1}, {2})",
    *(f"{name}({{0}}, {{1}})" for name in ("min", "max", "fmin", "fmax", "minimum", "maximum", "add", "multiply")),
}  # fmt: skip

#: Functions of the table that are not elementwise (min and max of several arguments are), or that need literals.
_APART = {"index", "size", "expand"}


def is_exact(kernel: Graph) -> bool:
    """Whether every op has one defined result; the power of integers has."""
    return not any(is_inexact(op) for op in kernel.ops)


def is_inexact(op: Op) -> bool:
    """Whether the op has an error bound; the power of integers has none."""
    return op.name not in EXACT and not (op.name == "pow" and op.dtype.is_int)


@cache
def functions() -> tuple[tuple[str, int], ...]:
    """Every elementwise function of the table, with each number of arguments that it takes."""
    found = []
    for name, row in FUNCTIONS.items():
        if name in _APART or row.rule == "view" or (row.rule == "reduction" and len(row.arity) == 1):
            continue
        found += [(name, n) for n in row.arity if n <= 4 and not (row.rule == "reduction" and n == 1)]
    return tuple(found)


def spelled(name: str, count: int) -> str:
    """A call of the function.  Orders of Bessel functions stay small: their cost grows with the order."""
    if FUNCTIONS[name].target in ("jn", "yn"):
        return f"{name}(({{0}} & 15), {{1}})"
    return f"{name}({', '.join(f'{{{i}}}' for i in range(count))})"


@cache
def casts() -> tuple[str, ...]:
    """Every ``cast<...>`` and ``bitcast<...>`` form."""
    forms = []
    for dtype in DTYPES:
        for name in dict.fromkeys((dtype.name, dtype.short)):
            forms += [f"cast<{name}>({{0}})", f"cast<{name}, sat>({{0}})", f"bitcast<{name}>({{0}})"]
        for mode in MODES:
            forms += [f"cast<{dtype}, {mode}>({{0}})", f"cast<{dtype}, sat, {mode}>({{0}})"]
    return tuple(forms)


@cache
def typed(form: str, args: tuple[tuple[object, str], ...]) -> tuple[DType, bool] | None:
    """The dtype of ``form`` for operands of these types, and whether it is exact; None where it is refused.

    An operand is a dtype, a weak kind, or a literal with its text.
    """
    names = [text or f"x{i}" for i, (_, text) in enumerate(args)]
    types = {
        f"x{i}": ArrayArg(type, ()) if isinstance(type, DType) else WeakArg(Kind(int(str(type))))
        for i, (type, text) in enumerate(args)
        if not text
    }
    program = load("\n".join([*(f"input {n}" for n in types), "out = " + form.format(*names)]))
    try:
        kernel = check(program, dict(types), shape=()).kernel
    except KgenError:
        return None
    return kernel.operands[-1].dtype, is_exact(kernel)
