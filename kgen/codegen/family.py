"""A kernel family: one kind of kernel, with the rule that chooses it, its text and its launch.

The families themselves are in ``kgen/families/``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from kgen.codegen import names
from kgen.codegen.c_types import layout_type
from kgen.codegen.kernels import Parameter
from kgen.codegen.spelling import storage_type
from kgen.partition.step import Step
from kgen.records import dataclass
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.schedule import Schedule

if TYPE_CHECKING:
    from kgen.codegen.context import KernelText
    from kgen.codegen.element import Element
    from kgen.codegen.statements import Statement
    from kgen.layout.iterator import IterationSpace
    from kgen.schedule.any_layout import LayoutClass
    from kgen.schedule.cost import Walk
    from kgen.schedule.launch import Labels, Rule
    from kgen.schedule.operand_summary import Class

F = TypeVar("F", bound=Facts)
S = TypeVar("S", bound=Schedule)


@dataclass(frozen=True)
class Unit(Generic[S]):
    """One kernel to write.

    ``base``: the start of the names of its device functions.  ``element``: the function that computes one element, in
    families with ``has_element``.  ``declare``: gives another device function its final name in the file.
    ``write_element``: the function of one element of another step, by this name.  ``body``: as in
    :class:`~kgen.codegen.kernels.Entry`; ``is_body``: whether that function template is to be written.  ``is_part``:
    whether it is a function that blocks of a horizontal kernel call.  ``shared_layout``: as in ``Entry``;
    ``declares_layout``: whether the kernel's text declares its layout struct.
    """

    step: Step
    schedule: S
    name: str
    base: str
    statements: Sequence[Statement]
    element: Element | None
    declare: Callable[[Element], Element]
    write_element: Callable[[Step, Schedule, str], Element]
    rule: Rule
    body: str = ""
    is_body: bool = False
    is_part: bool = False
    shared_layout: str = ""
    declares_layout: bool = True

    @property
    def layout_name(self) -> str:
        """The name of the layout struct."""
        return self.shared_layout or f"{self.body or self.name}_layout"

    @property
    def is_generic(self) -> bool:
        """Whether coordinates and offsets are computed by functions for any rank."""
        return self.is_body or bool(self.shared_layout)

    @property
    def layout_type(self) -> str:
        """The type of the layout parameter."""
        if self.is_body:
            return f"{self.layout_name}<Rank, Index, Count>&"
        is_template = bool(self.shared_layout or self.body)
        return layout_type(self.layout_name, self.schedule, is_template=is_template) + "&" * self.is_part


@dataclass(slots=True)
class Parameters:
    """The parameters of a kernel, in order, and their declarations."""

    known: list[Parameter] = field(default_factory=list)
    declarations: list[str] = field(default_factory=list)

    def add(self, parameter: Parameter, declaration: str) -> None:
        self.known.append(parameter)
        self.declarations.append(declaration)

    @staticmethod
    def of_operands(step: Step, schedule: Schedule) -> Parameters:
        """The parameters that are operands in memory.

        Only written ones are ``__restrict__``, which is enough to tell loads and stores apart.  Others would become
        ``ld.global.nc``, which compilers move ahead of the wait for earlier kernels.
        """
        found = Parameters()
        written = step.written
        for number in step.operands:
            operand = step.graph.operands[number]
            accesses = zip(step.accesses, schedule.accesses, strict=True)
            alone = number in written and all(s.restrict for t, s in accesses if t.operand == number)
            const, restrict = "" if number in written else "const ", "__restrict__ " if alone else ""
            declaration = f"{const}{storage_type(operand.dtype)}* {restrict}{names.pointer(operand.name)}"
            found.add(Parameter("buffer" if operand.role == "buffer" else "pointer", number), declaration)
        for number in sorted(step.graph.gathered | step.graph.scattered):
            operand = step.graph.operands[number]
            if not operand.shape:
                continue
            declaration = f"const ArrayShape<{len(operand.shape)}> {names.shape(operand.name)}"
            found.add(Parameter("shape", number, rank=len(operand.shape)), declaration)
        return found


@dataclass(frozen=True, slots=True)
class Written:
    """A kernel: its template's context, its parameters, and the headers and helpers of its text.

    ``movers``: the helpers that load and store operands; a file has them before all others.
    """

    context: KernelText
    parameters: Parameters
    headers: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    movers: tuple[str, ...] = ()


def covers_nothing(step: Step, layout: LayoutClass, rank: int) -> Iterator[Schedule]:
    """``covers`` of families that are chosen for known layouts only: no kernels ahead of time."""
    return iter(())


def predicts_nothing(facts: Facts, choice: Choice) -> float | None:
    """``seconds`` of families without a prediction of their own."""
    return None


@dataclass(frozen=True)
class Family(Generic[F, S]):
    """A row in the table of families.

    ``name``: that of the template's file, and ``template`` in schedules.  ``facts``: the type of the facts about a step
    that it chooses from.  ``choose``: the schedule and its reasons, or None where the family does not apply.
    ``launch``: the launch rule.  ``write``: the kernel for a unit.  ``suffix``: the end of a kernel's name, from the
    sizes of its accesses.  ``classes``: how the kernel classifies each operand.  ``covers``: the kernels for files made
    ahead of time.  ``has_element``: whether kernels call one function for each element.  ``walk``: how a choice walks
    its space, by which families are compared; None: it is chosen where it applies.  ``seconds``: of a kernel beside
    others of its program; None where the choice itself was by predicted time, or traffic predicts it.
    """

    name: str
    facts: type[F]
    choose: Callable[[F], Choice | None]
    launch: Callable[[S, Labels], Rule]
    write: Callable[[Unit[S]], Written]
    suffix: Callable[[S, Sequence[int]], str]
    classes: Callable[[S, IterationSpace, Sequence[int]], tuple[Class, ...]]
    covers: Callable[[Step, LayoutClass, int], Iterator[Schedule]] = covers_nothing
    has_element: bool = True
    walk: Callable[[F, Choice], Walk] | None = None
    seconds: Callable[[F, Choice], float | None] = predicts_nothing


#: A family by its name.
FamilyOf: TypeAlias = Callable[[str], Family[Any, Any]]
