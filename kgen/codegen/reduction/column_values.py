"""What is computed once a column, in loops over the columns that a thread has."""

from __future__ import annotations

from dataclasses import dataclass, field

from kgen.codegen.element import PRIMARY
from kgen.codegen.reduction.sections import Parts, RowWriter
from kgen.codegen.spelling import Expr, register_type


@dataclass(slots=True)
class ValueWriter(RowWriter):
    """What is computed once a column, in a loop over those that a thread has.

    ``group``: how many these are.  ``lasting``: values that are read beyond the loop; ``arrays``: their declarations.
    """

    group: int = 1
    lasting: frozenset[int] = frozenset()
    arrays: list[str] = field(default_factory=list)

    def _name(self, number: int, expr: Expr, name: str) -> None:
        super(ValueWriter, self)._name(number, expr, name)
        if self.group > 1 and number in self.lasting:
            unique, c_type = self.exprs[number].code, register_type(self.step.kernel.ops[number].dtype)
            self.body[-1] = self.place(unique, c_type, expr.code)  # instead of the line that declares it
            self.exprs[number] = Expr(f"{unique}[j]", PRIMARY)

    def place(self, name: str, c_type: str, value: str) -> str:
        """The line that gives a column's place in an array its value."""
        self.arrays.append(f"{c_type} {name}[{self.group}];")
        return f"{name}[j] = {value};"

    def taken(self) -> tuple[str, ...]:
        """The declarations that came since the last time."""
        found, self.arrays = tuple(self.arrays), []
        return found


def lasting(parts: Parts) -> frozenset[int]:
    """Values of a column that are read beyond the loop that computes them."""
    found: set[int] = set()
    for n, op in enumerate(parts.step.kernel.ops):
        apart = parts.wide[n] or op.name in ("reduce", "store") or n not in parts.common
        mine = {a for a in op.args if not parts.wide[a] and (apart or parts.phase[a] != parts.phase[n])}
        found |= {a for a in mine if not parts.is_raised_share(n, a)}
    return frozenset(found)
