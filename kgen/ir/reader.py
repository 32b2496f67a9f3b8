"""Reads the text form of ``printer.py`` back, so that golden tests of passes can be written as text.

For tests: it checks only the syntax; ``verifier.py`` checks the rest.  Ops must be numbered in order from 0, stores
included; lines that begin with ``^`` are notes.
"""

from __future__ import annotations

import ast
import re
from typing import cast, get_args

from kgen.dtypes import BY_NAME, DType
from kgen.ir.graph import (
    Attr,
    CastMode,
    Dim,
    Gather,
    Graph,
    IndexMap,
    Op,
    Operand,
    Reduction,
    Role,
    Scalar,
    Scatter,
    Shape,
    to_bits,
)
from kgen.ir.printer import accessed, default_mode
from kgen.ir.views import WHOLE, Bound, Computed, Cut, Item, Pick, Split, View
from kgen.records import replace
from kgen.syntax.tree import Combine, Outside, RoundingMode

_HEADER = re.compile(r"kernel\((?P<inputs>.*)\) -> \((?P<outputs>.*)\)(?: where (?P<derived>.*))?")
_DECLARED = re.compile(
    r"(?P<role>inout |buffer )?(?P<name>\w+): (?P<dtype>\w+)(?:\[(?P<shape>[^\]]*)\])?"
    r"(?: = (?P<view>\w+\[[^\]]*\]|split\([^)]*\)))?"
)
_OP = re.compile(
    r"(?:%(?P<number>\d+) = )?(?P<name>\w+)(?:<(?P<modes>[^>]*)>)?(?P<rest>[^:#]*)"
    r"(?:: (?P<dtype>\w+)\[(?P<shape>[^\]]*)\])?(?:\s*# (?P<label>.*))?"
)
_TARGET = re.compile(r"(?P<name>\w+)(?:\[(?P<axes>[^\]]*)\])?")


def parse_kernel(text: str) -> Graph:
    """The kernel that prints as ``text``; blank lines and comment lines are skipped."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and line[0] not in "^#"]
    header = _HEADER.fullmatch(lines[0]) if lines else None
    if header is None:
        raise ValueError("an IR text begins with `kernel(...) -> (...)`")
    operands: list[Operand] = []
    scalars: list[Scalar] = []
    views: list[tuple[Operand, str]] = []
    buffers: list[Operand] = []
    for group, plain in (("inputs", "input"), ("outputs", "output")):
        for match in _DECLARED.finditer(header[group]):
            dtype = BY_NAME[match["dtype"]]
            if match["shape"] is None:
                scalars.append(Scalar(match["name"], dtype))
                continue
            role = cast(Role, (match["role"] or plain).strip())
            one = Operand(match["name"], dtype, _shape(match["shape"]), role)
            if role == "buffer":
                buffers.append(one)
            elif match["view"]:
                views.append((one, match["view"]))
            else:
                operands.append(one)
    for one, view in views:  # they come behind arrays, and buffers last
        operands.append(replace(one, view=_view(view, operands)))
    operands += buffers
    ops: list[Op] = []
    for line in lines[1:]:
        ops.append(_op(line, ops, operands, scalars))
    return Graph(tuple(operands), tuple(scalars), tuple(ops), tuple(map(_derived, _words(header["derived"]))))


def _derived(text: str) -> tuple[str, Bound]:
    """``n4 = n2 * n3``."""
    dim, bound = text.split(" = ")
    return dim, _bound(ast.parse(bound, mode="eval").body)


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _shape(text: str) -> Shape:
    dims: list[Dim] = [1 if word == "1" else word for word in _words(text)]
    return tuple(dims)


def _view(text: str, operands: list[Operand]) -> View:
    """``x[:, n1 // 2:]`` or ``split(x, axis=1, by=n2)``, which Python's own parser reads."""
    found = ast.parse(text, mode="eval").body
    names = [operand.name for operand in operands]
    if isinstance(found, ast.Call):
        axis, by, *count = (_bound(keyword.value) for keyword in found.keywords)
        of = names.index(ast.unparse(found.args[0]))
        return View(of, tuple(Split(by, *count) if i == axis else WHOLE for i in range(len(operands[of].shape))))
    assert isinstance(found, ast.Subscript)
    assert isinstance(found.value, ast.Name)
    items = found.slice.elts if isinstance(found.slice, ast.Tuple) else [found.slice]
    of = names.index(found.value.id)
    return View(of, tuple(map(_item, items)))


def _item(node: ast.expr) -> Item:
    if not isinstance(node, ast.Slice):
        return Pick(_bound(node))
    start, stop = (None if b is None else _bound(b) for b in (node.lower, node.upper))
    step = 1 if node.step is None else _bound(node.step)
    assert isinstance(step, int)
    return Cut(start, stop, step)


_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}


def _bound(node: ast.expr) -> Bound:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name():
            return node.id
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
        case ast.BinOp():
            return Computed(_OPERATORS[type(node.op)], _bound(node.left), _bound(node.right))
    raise ValueError(f"cannot read the bound {ast.unparse(node)}")


def _op(line: str, ops: list[Op], operands: list[Operand], scalars: list[Scalar]) -> Op:
    match = _OP.fullmatch(line)
    if match is None:
        raise ValueError(f"cannot read the op {line!r}")
    name, rest = match["name"], match["rest"].strip()
    if match["number"] is not None and int(match["number"]) != len(ops):
        raise ValueError(f"op {len(ops)} is numbered {match['number']}: {line!r}")
    args = tuple(int(number) for number in re.findall(r"%(\d+)", rest))
    word = re.sub(r"%\d+,?", "", rest).strip()
    if match["dtype"] is None:  # a store of the operand's own type
        access = _access(word, operands)
        typed = accessed(operands, access)
        if name != "store" or typed is None:
            raise ValueError(f"the op has no type: {line!r}")
        return Op(name, args, *typed, access, match["label"])
    dtype = BY_NAME[match["dtype"]]
    attr = _attr(name, match["modes"], word, dtype, operands, scalars)
    return Op(name, args, dtype, _shape(match["shape"]), attr, match["label"])


def _attr(
    name: str,
    modes: str | None,
    word: str,
    dtype: DType,
    operands: list[Operand],
    scalars: list[Scalar],
) -> Attr:
    match name:
        case "load" | "store" if modes is None:
            return _access(word, operands)
        case "gather" | "store":
            return _computed(name, [operand.name for operand in operands].index(word), modes)
        case "const":
            return constant_bits(word, dtype)
        case "scalar":
            return scalars.index(Scalar(word, dtype))
        case "index":
            return int(word)
        case "size":
            return word
        case "powi":
            return int(modes or "")
        case "cast":
            if modes is None:
                return default_mode(dtype)
            rounding, *saturate = _words(modes)
            if rounding not in get_args(RoundingMode):
                raise ValueError(f"no rounding is called {rounding!r}")
            return CastMode(cast(RoundingMode, rounding), saturate == ["sat"])
        case "reduce":
            return _reduction(_words(modes))
    return None


def _computed(name: str, number: int, modes: str | None) -> Gather | Scatter:
    """``scatter`` or ``scatter add`` of a store; of a gather, what places outside mean."""
    if name == "gather":
        return Gather(number, cast(Outside, modes or "zero"))
    _, *combine = (modes or "").split()
    return Scatter(number, cast(Combine, combine[0])) if combine else Scatter(number)


def _access(word: str, operands: list[Operand]) -> IndexMap:
    match = _TARGET.fullmatch(word)
    if match is None:
        raise ValueError(f"cannot read the operand {word!r}")
    number = [operand.name for operand in operands].index(match["name"])
    if match["axes"] is None:
        return IndexMap(number, tuple(range(len(operands[number].shape))))
    return IndexMap(number, tuple(None if axis == "." else int(axis) for axis in _words(match["axes"])))


def _reduction(words: list[str]) -> Reduction:
    named = dict(word.split("=") for word in words[1:] if "=" in word)
    axes = tuple(int(axis) for axis in named.get("axes", "").split())
    return Reduction(words[0], axes, "keepdims" in words, _number(named.get("correction", "0")))


def _number(word: str) -> int | float:
    return float(word) if "." in word or "e" in word else int(word)


def constant_bits(word: str, dtype: DType) -> int:
    """The bits that ``printer.constant`` wrote."""
    if word.startswith("0x"):
        return int(word, 16)
    if dtype.is_bool:
        return int(word == "true")
    return to_bits(float(word) if dtype.is_float else int(word), dtype)
