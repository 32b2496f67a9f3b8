"""The input and the output of the writers of kernels with reductions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.codegen.context import LayoutContext
from kgen.codegen.layouts import access_labels, struct_fields
from kgen.codegen.reduction.calls import Declare
from kgen.codegen.reduction.column_context import ColumnContext, NarrowContext, ResidentContext
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.row_context import RowsContext
from kgen.codegen.reduction.states import States
from kgen.codegen.statements import Statement
from kgen.partition.reduction_step import ReductionStep
from kgen.records import dataclass
from kgen.schedule.launch import Field
from kgen.schedule.reduction.schedule import RowSchedule


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that a kernel is written from.

    ``name``: the kernel's.  ``base``: the start of the names of its device functions, which ``declare`` makes unique.
    ``parameters``: the declarations of its parameters.  ``values``: the names of its scalars and sizes.  ``known``:
    reductions whose result is a member of another one's state.  ``struct``: the members of its layout struct,
    ``layout_name``.
    """

    step: ReductionStep
    schedule: RowSchedule
    name: str
    base: str
    statements: Sequence[Statement]
    declare: Declare
    parameters: Sequence[str]
    values: Mapping[tuple[str, int | str], str]
    states: States
    known: Mapping[int, tuple[int, str]]
    layout_name: str
    struct: Sequence[Field]

    def operands(self) -> Operands:
        return Operands(self.step, self.schedule, access_labels(self.step))

    def layout(self, what: str) -> LayoutContext:
        """The layout struct; ``what``: "rows" or "columns", for its comment."""
        comment = f"Where the {what} lie; strides and steps in elements."
        return LayoutContext(self.layout_name, comment, struct_fields(self.struct), ())


@dataclass(frozen=True, slots=True)
class Described:
    """A kernel: its context, and the headers and helpers of its text.  ``without_shape``: operands at computed places
    whose extents and strides it does not read."""

    context: RowsContext | ColumnContext | NarrowContext | ResidentContext
    headers: tuple[str, ...]
    helpers: tuple[str, ...]
    without_shape: frozenset[int] = frozenset()
