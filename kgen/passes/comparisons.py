"""Two conditions as one: ``a <= b && b < a`` and ``c && !c`` are false, ``a < b || a == b`` is ``a <= b``."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.ir.builder import Builder
from kgen.ir.graph import Op

_LESS, _EQUAL, _GREATER, _UNORDERED = 1, 2, 4, 8
#: When each comparison is true.
_TRUE_IF = {
    "lt": _LESS, "le": _LESS | _EQUAL, "gt": _GREATER, "ge": _GREATER | _EQUAL, "eq": _EQUAL,
    "ne": _LESS | _GREATER | _UNORDERED,
}  # fmt: skip
#: The same comparison with its sides exchanged.
EXCHANGED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def combined(builder: Builder, op: Op, args: Sequence[Op]) -> int | None:
    """The ``and`` or ``or`` of two comparisons of the same values, or of a condition and its opposite; None where it is
    no single one."""
    if not op.dtype.is_bool or op.name not in ("and", "or", "xor"):
        return None
    if any(arg.name == "not" and arg.args[0] in op.args for arg in args):
        return builder.const(op.name != "and", op.dtype)
    one, other = args
    comparable = one.name in _TRUE_IF and other.name in _TRUE_IF and {*one.args} == {*other.args}
    return _compared(builder, op, one, other) if comparable and op.name != "xor" else None


def _compared(builder: Builder, op: Op, one: Op, other: Op) -> int | None:
    second = other.name if other.args == one.args else EXCHANGED[other.name]
    a, b = _TRUE_IF[one.name], _TRUE_IF[second]
    dtype = builder.ops[one.args[0]].dtype
    every = _LESS | _EQUAL | _GREATER | (_UNORDERED if dtype.is_float or dtype.is_complex else 0)
    wanted = (a & b if op.name == "and" else a | b) & every
    if wanted in (0, every):
        return builder.const(wanted != 0, op.dtype)
    found = next((name for name, when in _TRUE_IF.items() if when & every == wanted), None)
    return None if found is None else builder.op(found, one.args, dtype=op.dtype, shape=op.shape)
