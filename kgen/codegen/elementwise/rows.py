"""The text of ``rows`` kernels, in which a thread has a group of elements of one row."""

from __future__ import annotations

from kgen.codegen.arguments import Argument
from kgen.codegen.elementwise.groups import GroupWriter
from kgen.codegen.family import Unit, Written
from kgen.schedule.schedule import Schedule


def write_rows(unit: Unit[Schedule]) -> Written:
    """A kernel that computes the offsets of rows once for each group."""
    return RowsWriter(unit).write()


class RowsWriter(GroupWriter):
    """Writes kernels in which a thread has a group of elements of one row."""

    template = "rows.cu.j2"

    def argument(self, argument: Argument, p: str, *, packed: bool) -> str:
        if argument.kind in ("gathered", "row"):
            return self.rows[int(argument.key)].argument(argument.kind, p, packed=packed)
        return super().argument(argument, p, packed=packed)

    def covered(self, note: str) -> list[str]:
        group, block = self.schedule.group, self.schedule.block
        per = f"{group} elements of a row a thread" if group > 1 else "one element a thread"
        across = ", neighbouring rows by neighbouring threads" if self.schedule.across else ""
        return [
            f"Rows, {per}{across}.{note}",
            f"Launch: ceil(n / {block}) blocks of {block} threads, for n groups.",
        ]
