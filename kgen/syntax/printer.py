"""The tree as text, one s-expression a statement: ``(= out (+ a (* b c)))``."""

from __future__ import annotations

from kgen.syntax.tree import (
    Assign,
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
    Conditional,
    Declared,
    Def,
    Ellipsis,
    Expr,
    Index,
    Inout,
    Input,
    Keyword,
    Let,
    Name,
    NewAxis,
    Number,
    Param,
    Parameter,
    Slice,
    Statement,
    Tree,
    Tuple,
    TypeName,
    Unary,
)


def print_tree(tree: Tree) -> str:
    """The text form, ending in a newline."""
    return "".join(f"{show_statement(statement)}\n" for statement in tree.statements)


def show(node: Expr | Tuple | TypeName) -> str:
    match node:
        case Number(value=value):
            return str(value).lower() if isinstance(value, bool) else repr(value)
        case Name():
            return node.id
        case Unary():
            return f"({node.op} {show(node.operand)})"
        case Binary():
            return f"({node.op} {show(node.left)} {show(node.right)})"
        case Compare():
            return f"({' '.join(node.ops)} {' '.join(show(operand) for operand in node.operands)})"
        case Conditional():
            return f"(? {show(node.condition)} {show(node.then)} {show(node.otherwise)})"
        case Call():
            parts = [node.function, *map(show, node.args), *map(_keyword, node.keywords)]
            return f"({' '.join(parts)})"
        case Cast():
            options = [show(node.type), *(["sat"] if node.saturate else []), *([node.mode] if node.mode else [])]
            return f"(cast<{','.join(options)}> {show(node.operand)})"
        case Bitcast():
            return f"(bitcast<{show(node.type)}> {show(node.operand)})"
        case Index():
            return f"([] {show(node.of)} {' '.join(map(_item, node.items))})"
        case Tuple():
            return f"[{' '.join(map(show, node.items))}]"
        case TypeName():
            return f"typeof {node.of.id}" if node.of is not None else str(node.dtype)


def _item(item: Expr | Slice | Ellipsis | NewAxis) -> str:
    match item:
        case Slice():
            parts = [item.start, item.stop, *([] if item.step is None else [item.step])]
            return ":".join("" if part is None else show(part) for part in parts)
        case Ellipsis():
            return "..."
        case NewAxis():
            return "None"
        case _:
            return show(item)


def _keyword(keyword: Keyword) -> str:
    return f"{keyword.name}={show(keyword.value)}"


def _declared(declared: Declared) -> str:
    return declared.name if declared.type is None else f"{declared.name}:{show(declared.type)}"


def _parameter(parameter: Parameter) -> str:
    default = f"={show(parameter.default)}" if parameter.default is not None else ""
    return f"{_declared(parameter.name)}{default}"


def show_statement(node: Statement) -> str:
    match node:
        case Input():
            return f"(input {' '.join(map(_declared, node.names))})"
        case Inout():
            return f"(inout {' '.join(map(_declared, node.names))})"
        case Param():
            return f"(param {' '.join(map(_parameter, node.parameters))})"
        case Def():
            return f"(def {node.name} [{' '.join(map(_declared, node.params))}] {show(node.body)})"
        case Let():
            return f"(let {node.name} {show(node.value)})"
        case Assign():
            kind = f":{show(node.type)}" if node.type is not None else ""
            target = f"{node.name}{kind}" if node.at is None else show(node.at)
            sign = {"set": "=", "add": "+=", "min": "min=", "max": "max="}[node.combine]
            condition = "" if node.condition is None else f" (if {show(node.condition)})"
            return f"({sign} {target} {show(node.value)}{condition})"
