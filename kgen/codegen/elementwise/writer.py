"""The base of the writers of elementwise kernels: operands, stride patterns, parameters."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import field

from kgen.codegen import names
from kgen.codegen.arguments import Argument
from kgen.codegen.bodies import LAYOUT_TYPES, template_fields
from kgen.codegen.byte_packs import are_words, byte_packs, is_only_moved
from kgen.codegen.c_types import index_types
from kgen.codegen.context import FieldContext
from kgen.codegen.element import Element
from kgen.codegen.elementwise.context import EntryContext, OperandContext, TransposedContext
from kgen.codegen.family import Parameters, Unit, Written
from kgen.codegen.helpers import FIND_COORDINATES, LOAD_WORDS, OFFSET_OF
from kgen.codegen.kernels import Parameter
from kgen.codegen.layouts import OFFSETS_32, access_labels, call_lines, filled, member, struct_fields
from kgen.codegen.limits import check_parameters
from kgen.codegen.lines import sum_lines
from kgen.codegen.spelling import register_type
from kgen.ir.graph import Operand
from kgen.partition.step import Step
from kgen.records import dataclass
from kgen.schedule.schedule import Schedule
from kgen.spec import counted


@dataclass(frozen=True)
class ElementWriter:
    """Writes one kernel that calls a function for each element.  ``labels``: a name for each access."""

    unit: Unit[Schedule]
    labels: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", access_labels(self.unit.step))

    @property
    def step(self) -> Step:
        return self.unit.step

    @property
    def schedule(self) -> Schedule:
        return self.unit.schedule

    @property
    def element(self) -> Element:
        assert self.unit.element is not None
        return self.unit.element

    @property
    def index(self) -> str:
        """The type of element numbers."""
        if self.unit.body:
            return "Count" if self.unit.is_body else index_types(self.schedule)[1]
        return "unsigned int" if self.schedule.count_bits == 32 else "long long"

    @property
    def signed(self) -> str:
        """The type of offsets."""
        return "Index" if self.unit.is_body else self.schedule.signed

    @property
    def counted(self) -> str:
        """The type of coordinates."""
        return "Index" if self.unit.is_body else self.schedule.counted

    @property
    def dimensions(self) -> str:
        """How many there are, for comments."""
        return "Rank dimensions" if self.unit.is_body else counted(self.schedule.rank, "dimension")

    @property
    def types(self) -> str:
        """What the kernel's text is a template over; empty for a kernel of its own."""
        if not self.unit.is_body:
            return ""
        return LAYOUT_TYPES if self.has_layout else "typename Count"

    def thread(self, elements: int) -> str:
        """The number of a thread, where each block has so many numbers."""
        wide = (
            f"Count({elements})"
            if self.unit.is_body
            else f"{elements}{'u' if self.schedule.count_bits == 32 else 'll'}"
        )
        is_named = self.unit.is_part or self.schedule.backward
        return f"{'block' if is_named else 'blockIdx.x'} * {wide} + threadIdx.x"

    def fields(self) -> tuple[FieldContext, ...]:
        """The members of the layout struct."""
        struct = self.unit.rule.struct
        return template_fields(struct, self.schedule.rank) if self.unit.is_generic else struct_fields(struct)

    def decomposition(self, lines: Sequence[str]) -> tuple[str, ...]:
        """Lines that find the coordinates of ``$i``; ``lines``: those for the rank of the schedule."""
        if not self.unit.is_generic:
            return tuple(lines)
        declared = "Index c[Rank];" if self.unit.is_body else f"{self.signed} c[{self.schedule.rank}];"
        return declared, "find_coordinates($i, layout, c);"

    def along(self, dimension: int) -> str:
        """The coordinate along a dimension."""
        return f"c[{dimension}]" if self.unit.is_generic else f"c{dimension}"

    def offset_lines(self, label: str, first: int, strided: int, name: str = "") -> tuple[str, ...]:
        """Lines that compute the offset of a stride pattern along the dimensions from ``first`` on, if there are any.

        ``strided``: the first dimension that the pattern has a stride for.  ``name``: of the result.
        """
        start = self.offset_start(name or names.offset(label))
        if self.unit.is_generic:
            return (f"{start}offset_of<{first}>(c, layout.{label}_stride);",)
        count = self.schedule.rank - strided
        strides = {d: member(f"{label}_stride", d - strided, count) for d in range(first, self.schedule.rank)}
        terms = [f"c{d} * {stride}" for d, stride in strides.items()]
        return sum_lines(start, terms) if terms else ()

    def offset_start(self, name: str) -> str:
        """The start of the statement that computes the offset of a stride pattern."""
        return f"const {self.signed} {name} = "

    def entry(self) -> Written:
        """A kernel that calls the function template it shares with others."""
        parameters = self.parameters()
        rank = f"{self.dimensions}. " if self.has_layout else ""
        limits = OFFSETS_32 if self.has_layout else "For n < 2^31 elements."
        comment = f"{rank}{limits if self.schedule.index_bits == 32 else 'Indices are 64-bit.'}"
        arguments = [declared.rpartition(" ")[2] for declared in parameters.declarations]
        signature = filled(f"{self.unit.name}(", parameters.declarations, ")")
        call = filled(f"{self.unit.body}(", arguments, ");")
        return Written(EntryContext(self.unit.name, comment, self.schedule.block, signature, call), parameters)

    def shared_movers(self) -> tuple[str, ...]:
        """The helpers of a function template."""
        return (FIND_COORDINATES, OFFSET_OF) if self.unit.is_generic and self.has_layout else ()

    def loads_words(self, access: int, alignment: int) -> bool:
        """Whether ``load_words`` reads groups of an operand, from memory or a tile."""
        if self.schedule.accesses[access].kind == "shifted" or access in byte_packs(self.step, self.schedule):
            return False
        if is_only_moved(self.step, access):
            return False
        return are_words(self.operand(access).dtype, self.schedule.group, alignment)

    def word_movers(self, *read: OperandContext | TransposedContext) -> tuple[str, ...]:
        """The helper that loads groups of bytes as words, if any of those that are read are."""
        return (LOAD_WORDS,) if any(t.by_words for t in read) else ()

    @property
    def has_layout(self) -> bool:
        """Whether the kernel has a layout struct."""
        return bool(self.unit.rule.struct)

    @property
    def needs_n(self) -> bool:
        """Whether the amount of work is a parameter: not if the grid fits it exactly."""
        return True

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Those of all device functions that the kernel calls, each once."""
        return self.element.arguments

    def operand(self, access: int) -> Operand:
        return self.step.graph.operands[self.step.accesses[access].operand]

    def pointer(self, access: int) -> str:
        return names.pointer(self.operand(access).name)

    def by_kind(self, kind: str) -> list[str]:
        """The names of the operands with accesses of this kind."""
        return [self.operand(i).name for i, t in enumerate(self.schedule.accesses) if t.kind == kind]

    def pattern(self, number: int) -> str:
        """A stride pattern has the name of the first access that uses it."""
        return next(self.labels[i] for i, t in enumerate(self.schedule.accesses) if t.pattern == number)

    def once(self, kind: str, among: Container[int] | None = None) -> tuple[OperandContext, ...]:
        """Operands with one element for all work or for a row, which are read before all others.  ``among``: only of
        these accesses.
        """
        found: list[OperandContext] = []
        for argument in self.arguments:
            if argument.kind == "read" and self.schedule.accesses[int(argument.key)].kind == kind:
                access = int(argument.key)
                if among is not None and access not in among:
                    continue
                type_ = register_type(self.operand(access).dtype)
                found.append(OperandContext(self.one(access), type_, argument.name, pack=""))
        return tuple(found)

    def one(self, access: int) -> str:
        """The text of an operand's one element."""
        return self.pointer(access)

    def call_element(self, arguments: Sequence[str], *, is_group: bool = False) -> tuple[str, ...]:
        """A call of the element function.  ``is_group``: in a group, whose result is used if its conditions hold."""
        variant = ("<true>" if is_group else "<false>") if self.element.conditions else ""
        return call_lines(self.element, arguments, variant)

    def declared(self, parameters: Parameters) -> tuple[str, ...]:
        """The declarations of the parameters; a part of a horizontal kernel also takes the number of its block."""
        block = (f"const {self.index} block",) if self.unit.is_part else ()
        return *parameters.declarations, *block

    def parameters(self) -> Parameters:
        """Pointers, then by-value scalars, then the layout struct, then ``n``.

        Raises :class:`~kgen.KgenError` (``too-many-parameters``).
        """
        found = Parameters.of_operands(self.step, self.schedule)
        for argument in self.arguments:
            if argument.kind == "scalar":
                dtype = self.step.graph.scalars[int(argument.key)].dtype
                found.add(Parameter("scalar", argument.key, dtype), argument.declaration)
            elif argument.kind == "size":
                found.add(Parameter("size", argument.key), argument.declaration)
        if self.has_layout:
            found.add(Parameter("layout", 0), f"const {self.unit.layout_type} layout")
        if self.needs_n:
            found.add(Parameter("n", 0), f"const {self.index} n")
        check_parameters(self.unit.name, self.schedule, self.unit.rule, found.known)
        return found
