"""What names mean at one place of a program, and which expressions depend on the shape of that place."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import field

from kgen.check.values import Value
from kgen.functions import FUNCTIONS
from kgen.ir.graph import Shape
from kgen.records import dataclass
from kgen.syntax.tree import Call, Def, Expr, Index, Name, children


@dataclass(frozen=True, slots=True)
class Scope:
    """What names mean at one place.

    ``place`` is the shape that ``index`` and ``size`` refer to. It is None while that shape is still unknown; both are
    scalars then. ``depth`` counts the defs being inlined. ``late`` holds names whose value depends on the place where
    they are read. ``inlined`` caches calls of defs, ``reduced`` the results of reductions by node, and ``passed`` the
    late arguments of defs by node.
    """

    names: Mapping[str, Value | None]
    defs: Mapping[str, Def]
    place: Shape | None
    depth: int = 0
    inlined: dict[tuple[object, ...], tuple[Value | None, tuple[Value | Late, ...]]] = field(default_factory=dict)
    late: Mapping[str, Late] = field(default_factory=dict)
    reduced: dict[int, Value | None] = field(default_factory=dict)
    passed: dict[int, Late] = field(default_factory=dict)


@dataclass(slots=True)
class Late:
    """An expression that reads ``index`` or ``size``: the value of a let, or an argument of a def.

    ``scope`` is where it is written. ``order`` numbers the lets: each reads only those before it. ``found`` caches its
    value for each place.
    """

    value: Expr
    scope: Scope
    name: str | None = None
    order: int = 0
    found: dict[Shape | None, Value | None] = field(default_factory=dict)


def is_reduction(scope: Scope, node: Expr) -> bool:
    """Whether a node is a call of a reduction on one array."""
    return _rule(scope, node) == "reduction" and isinstance(node, Call) and len(node.args) == 1


def is_view(scope: Scope, node: Expr) -> bool:
    """Whether a node takes elements of others in other places: an index, or a call of a function such as ``flip``."""
    return isinstance(node, Index) or _rule(scope, node) == "view"


def _rule(scope: Scope, node: Expr) -> str | None:
    """The rule of a built-in function; None for other nodes."""
    if not isinstance(node, Call) or node.function in scope.defs or node.function not in FUNCTIONS:
        return None
    return FUNCTIONS[node.function].rule


def uses_place(defs: Mapping[str, Def], late: Container[str], root: Expr) -> bool:
    """Whether an expression reads ``index`` or ``size`` of its place, or a name that does."""
    stack: list[Expr] = [root]
    seen: set[str] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, Name) and node.id in late:
            return True
        if isinstance(node, Call):
            if node.function in defs:
                if node.function not in seen:
                    seen.add(node.function)
                    stack.append(defs[node.function].body)
            elif node.function == "index" or (node.function == "size" and len(node.args) == 1):
                return True
        stack.extend(children(node))
    return False
