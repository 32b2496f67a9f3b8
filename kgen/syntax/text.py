"""An expression as text of the language, with no more brackets than its meaning needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from kgen.syntax.tree import (
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
    Conditional,
    Ellipsis,
    Expr,
    Index,
    Keyword,
    Name,
    NewAxis,
    Number,
    Slice,
    Tuple,
    TypeName,
    Unary,
    postorder,
)

#: How tightly operators bind, loosest first: the rows of ``docs/language.md``.
_CONDITIONAL, _OR, _AND, _NOT, _COMPARE, _BIT_OR, _BIT_XOR, _BIT_AND, _SHIFT, _SUM, _PRODUCT, _PREFIX, _POWER, _ATOM = (
    range(14)
)
_BINARY = {
    "or": _OR, "and": _AND, "|": _BIT_OR, "^": _BIT_XOR, "&": _BIT_AND, "<<": _SHIFT, ">>": _SHIFT,
    "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT, "**": _POWER,
}  # fmt: skip


def text_of(root: Expr) -> str:
    """The text of an expression, such as ``a * (b + 1)``."""
    made: dict[int, tuple[str, int]] = {}
    for node in postorder(root):
        made[id(node)] = _text(node, made)
    return made[id(root)][0]


# branches: one for each kind of node
def _text(node: Expr, made: Mapping[int, tuple[str, int]]) -> tuple[str, int]:
    """The text of a node, and how tightly its loosest operator binds."""

    def at(child: Expr, level: int) -> str:
        text, own = made[id(child)]
        return text if own >= level else f"({text})"

    match node:
        case Number():
            return _number(node.value)
        case Name():
            return node.id, _ATOM
        case Unary(op="not"):
            return f"not {at(node.operand, _NOT)}", _NOT
        case Unary():
            return f"{node.op}{at(node.operand, _PREFIX)}", _PREFIX
        case Binary(op="**"):
            return f"{at(node.left, _ATOM)} ** {at(node.right, _PREFIX)}", _POWER
        case Binary():
            level = _BINARY[node.op]
            return f"{at(node.left, level)} {node.op} {at(node.right, level + 1)}", level
        case Compare():
            first, *others = (at(operand, _BIT_OR) for operand in node.operands)
            pairs = zip(node.ops, others, strict=True)
            return " ".join([first, *(f"{op} {other}" for op, other in pairs)]), _COMPARE
        case Conditional():
            then = at(node.then, _CONDITIONAL + 1)
            return f"{at(node.condition, _OR)} ? {then} : {at(node.otherwise, _CONDITIONAL)}", _CONDITIONAL
        case Call():
            parts = [*(made[id(a)][0] for a in node.args), *map(_keyword, node.keywords)]
            return f"{node.function}({', '.join(parts)})", _ATOM
        case Cast():
            options = [_type(node.type), *(["sat"] if node.saturate else []), *([node.mode] if node.mode else [])]
            return f"cast<{', '.join(options)}>({made[id(node.operand)][0]})", _ATOM
        case Bitcast():
            return f"bitcast<{_type(node.type)}>({made[id(node.operand)][0]})", _ATOM
        case Index():
            items = ", ".join(_item(item, made) for item in node.items)
            return f"{at(node.of, _ATOM)}[{items}]", _ATOM
        case _:
            assert_never(node)


def _number(value: bool | int | float | complex) -> tuple[str, int]:
    """Literals have no sign: a negative number is the negation of one."""
    if isinstance(value, bool):
        return str(value).lower(), _ATOM
    if isinstance(value, complex):
        assert value.real == 0
        return f"{value.imag!r}j", _ATOM
    return repr(value), _PREFIX if str(value).startswith("-") else _ATOM


def _item(item: Expr | Slice | Ellipsis | NewAxis, made: Mapping[int, tuple[str, int]]) -> str:
    match item:
        case Slice():
            parts = [item.start, item.stop, *([] if item.step is None else [item.step])]
            return ":".join("" if part is None else made[id(part)][0] for part in parts)
        case Ellipsis():
            return "..."
        case NewAxis():
            return "None"
        case _:
            return made[id(item)][0]


def _type(type: TypeName) -> str:
    return f"typeof({type.of.id})" if type.of is not None else str(type.dtype)


def _keyword(keyword: Keyword) -> str:
    return f"{keyword.name}={_value(keyword.value)}"


def _value(value: Expr | Tuple | TypeName) -> str:
    match value:
        case Tuple():
            items: Sequence[str] = [text_of(item) for item in value.items]
            return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
        case TypeName():
            return _type(value)
        case _:
            return text_of(value)
