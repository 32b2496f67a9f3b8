"""Lowering: the order of its stages, and their results as frozen values.

What the stages do is in ``pipeline.py``, which a call does not import where it has all results from before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from kgen.diagnostics import Diagnostic, KgenError, error
from kgen.functions import VIEWS
from kgen.header import chosen_lines
from kgen.ir.graph import Graph, IndexMap
from kgen.ir.views import Bound
from kgen.operands import Extent, Operands, Sizes
from kgen.partition.step import Step
from kgen.program import Program
from kgen.records import dataclass, replace
from kgen.schedule.launch import Launch
from kgen.schedule.schedule import Schedule
from kgen.schedule.step_layout import Array, Placed, allocated_strides, buffers, concrete, with_views
from kgen.schedule.target import Target
from kgen.source import Source
from kgen.syntax.tree import Call, Index, postorder


@dataclass(frozen=True, slots=True)
class Specialised:
    """A program for certain dtypes, ranks and broadcast dimensions: its IR, cut into steps."""

    graph: Graph
    steps: tuple[Step, ...]
    lints: tuple[Diagnostic, ...]
    chained: bool = True  # whether a kernel may use the results of its own reductions
    online: Specialised | None = None  # variant with online reductions, for long rows
    nested: Specialised | None = None  # variant with fewer kernels, of rows and segments of them
    split: Specialised | None = None  # variant with a kernel for each reduction of a chain, for few, long rows
    horizontal: Specialised | None = None  # variant in which all steps share one launch
    column_sums: Specialised | None = None  # variant whose kernels along rows also sum over these

    @property
    def derived(self) -> tuple[tuple[str, Bound], ...]:
        """The dimensions of all variants that follow from others."""
        return (self if self.column_sums is None else self.column_sums).graph.derived


@dataclass(frozen=True, slots=True)
class Layouts:
    """The layout of each operand, and for each access of each step whether its memory is also another access's."""

    arrays: tuple[Array, ...]
    aliased: tuple[tuple[bool, ...], ...]


@dataclass(frozen=True, slots=True)
class LoweredStep:
    """One kernel.  ``number``: the index of its step.  ``seconds``, ``others``: see
    :class:`~kgen.schedule.facts.Choice`."""

    number: int
    step: Step
    placed: Placed
    schedule: Schedule
    reasons: tuple[str, ...]
    seconds: float | None = None
    others: tuple[tuple[str, float], ...] = ()

    @property
    def launch(self) -> Launch:
        """Grid, block, counts and the bytes of the layout struct."""
        from kgen.families import launch_of

        return launch_of(self.schedule, self.placed.space)


@dataclass(frozen=True, slots=True)
class Batch:
    """The dimension of a lowering that stands for any number of dimensions of arrays.

    ``shapes``: those that the program was lowered for.  ``comment``: what a file says of it.  ``apart``: inputs whose
    rows a call may have anywhere apart, or once for all rows.
    """

    dim: str
    shapes: Mapping[str, tuple[Extent, ...]]
    comment: str
    apart: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Lowered:
    """A program for certain operands and a target, with the schedules of its kernels.  Equality is identity.

    ``batch``: in files for arrays of any rank.
    """

    specialised: Specialised  # the selected variant
    sizes: Sizes
    arrays: tuple[Array, ...]  # one for each operand, including those that a call allocates
    steps: tuple[LoweredStep, ...]
    target: Target
    batch: Batch | None = None

    @cached_property
    def schedules(self) -> tuple[Schedule, ...]:
        return tuple(s.schedule for s in self.steps)

    @property
    def variants(self) -> list[tuple[int, Schedule]]:
        return [(s.number, s.schedule) for s in self.steps]

    @property
    def chosen(self) -> list[str]:
        batch = [] if self.batch is None else [self.batch.comment]
        return [*chosen_lines([s.reasons for s in self.steps]), *batch]


Allocate = Callable[[Specialised, Sizes, Operands], Layouts]


@dataclass(frozen=True, slots=True)
class Covered:
    """A program for a class of layouts: the kernels for all operands of that class."""

    specialised: Specialised
    variants: Sequence[tuple[int, Schedule]]
    chosen: Sequence[str]


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of lowering.  A caller may replace some, to cache results or to allocate memory.

    The source is the program's, for diagnostics.
    """

    specialise: Callable[[Program, Operands], Specialised]
    choose_variant: Callable[[Specialised, Sizes, Operands, Source, Target], Specialised]
    allocate: Allocate
    decide: Callable[[Specialised, Sizes, Layouts, Target], Lowered]


def run_stages(stages: Stages, program: Program, operands: Operands, target: Target) -> Lowered:
    """Lower a program.  Raises :class:`~kgen.KgenError` with every dtype, shape and cast error."""
    typed = stages.specialise(program, operands)
    sizes = find_sizes(program, operands, typed)
    whole = stages.choose_variant(typed, sizes, operands, program.source, target)
    layouts = stages.allocate(whole, sizes, operands)
    return stages.decide(whole, sizes, layouts, target)


def find_sizes(program: Program, operands: Operands, typed: Specialised) -> Sizes:
    """The extent of every dimension.  Raises the shape error, with its place, where arguments do not broadcast."""
    found = operands.sizes(replace(typed.graph, derived=typed.derived))
    if found is None:
        from kgen.check import check

        # Typing with these extents reports the operation at fault.
        check(program, operands.types, shape=operands.shape)
        raise AssertionError("extents disagree, and typing found no shape error")
    return found


def allocate(cut: Specialised, sizes: Sizes, operands: Operands) -> Layouts:
    """The layouts that a call would allocate, with nothing overlapping."""
    arrays = operands.arrays(cut.graph, sizes)
    found = buffers(cut.graph, sizes.extents)
    full = [found.get(n, a) for n, a in enumerate(arrays)]
    for step in cut.steps:
        for access in step.accesses:
            number = cut.graph.base(access.operand)
            if full[number] is None:
                operand = cut.graph.operands[number]
                strides = allocated_strides(cut.graph, number, arrays, sizes.extents)
                full[number] = Array(concrete(operand.shape, sizes.extents), strides, operand.dtype.size)
    full = with_views(cut.graph, full, sizes.extents)
    unused = Array((), (), 1)
    return Layouts(
        tuple(a if a is not None else unused for a in full), tuple((False,) * len(s.accesses) for s in cut.steps)
    )


def refuse_indices(program: Program) -> None:
    """Raises :class:`~kgen.KgenError` (``shape-needed``) for a program that indexes: it has to know its rank."""
    inputs = [a.name for a in program.arguments]
    for root in (*(s.value for s in program.statements), *(d.body for d in program.defs.values())):
        for node in postorder(root):
            if isinstance(node, Index):
                raise _rank_needed("indexes", inputs)
            if isinstance(node, Call) and node.function not in program.defs and node.function in VIEWS:
                raise _rank_needed(f"has `{node.function}`", inputs)


def refuse_unshaped(typed: Specialised) -> None:
    """Raises :class:`~kgen.KgenError` (``shape-needed``) for a program whose kernels depend on its rank."""
    inputs = [o.name for o in typed.graph.operands if o.role in ("input", "inout")]
    for op, what in (("index", "reads index()"), ("reduce", "reduces"), ("expand", "expands")):
        if any(o.name == op for o in typed.graph.ops):
            raise _rank_needed(what, inputs)
    if any(isinstance(o.attr, IndexMap) and None in o.attr.axes for o in typed.graph.ops):
        raise _rank_needed("expands", inputs)  # an array: its access has the axis


def _rank_needed(what: str, inputs: list[str]) -> KgenError:
    shapes = ",".join(f"{name}=?x?" for name in inputs) or "?x?"
    left_out = (
        ", or of all but those of one shape, which then have any rank" if what == "reduces" and len(inputs) > 1 else ""
    )
    return error(
        "shape-needed",
        f"a program that {what} needs to know its rank ahead of time",
        f"give shapes with the ranks of your arrays, such as --shape {shapes} (`?` is any size){left_out}",
    )
