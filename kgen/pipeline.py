"""The whole compiler on one page: text in, standalone CUDA out.

    text --load--> program
    program + operands + target --specialise, find_sizes, choose_variant, allocate, decide--> Lowered
    Lowered --source--> .cu

:func:`kgen.lowering.run_stages` alone has the order of the stages.  Everything here is pure: ``runtime/`` compiles,
loads and launches the text, and ``call/`` has the calls on arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from kgen.argument_types import ArgType
from kgen.check import Checked, check
from kgen.codegen.context import ModuleContext
from kgen.codegen.emit import emit, text_of
from kgen.codegen.kernels import Entry, Module
from kgen.codegen.statements import Statement
from kgen.dtypes import DType
from kgen.families import choose, choose_part, covering, facts_of, family, fuse_horizontally
from kgen.header import header
from kgen.ir.graph import Graph
from kgen.load import load
from kgen.lowering import (
    Covered,
    Layouts,
    Lowered,
    LoweredStep,
    Specialised,
    Stages,
    allocate,
    refuse_indices,
    refuse_unshaped,
    run_stages,
)
from kgen.operands import Operands, Sizes
from kgen.options import Options
from kgen.overlaps import allocate_apart
from kgen.partition.cut import cut, refuse_empty
from kgen.partition.horizontal import HorizontalStep, horizontal as horizontal_step
from kgen.partition.kernel_body import KernelSpace
from kgen.partition.reasons import order_reasons
from kgen.partition.reduction_step import ReductionStep
from kgen.partition.step import Step
from kgen.passes import PIPELINE, optimise
from kgen.program import Program
from kgen.records import replace
from kgen.schedule.facts import Choice
from kgen.schedule.step_layout import Placed, place
from kgen.schedule.target import PORTABLE, Target
from kgen.source import Source
from kgen.spec import counted

if TYPE_CHECKING:  # what only reductions need is imported where they are
    from kgen.schedule.any_layout import LayoutClass
    from kgen.variant_search import Ahead, Prepared

#: The schedule of one step of a program, where its operands lie as they are placed.
ChoiceOf = Callable[[Step, Placed, Sizes, Target], Choice]


def lower(program: Program, operands: Operands, target: Target = PORTABLE) -> Lowered:
    """Lower a program: its IR, its steps, the layouts of operands, and the schedule of each kernel with the reasons.

    Raises :class:`~kgen.KgenError` with every dtype, shape and cast error, and where parts of an array overlap.
    """
    return run_stages(STAGES, program, operands, target)


def cover(program: Program, operands: Operands, layout: LayoutClass, rank: int) -> Covered:
    """The kernels for every layout of a class, up to ``rank`` dimensions after merging, for operands without shapes.

    Raises :class:`~kgen.KgenError`, also (``shape-needed``) for programs that need their rank.
    """
    refuse_indices(program)
    typed = specialise_for(program, operands)
    refuse_unshaped(typed)
    variants = [(n, s) for n, step in enumerate(typed.steps) for s in covering(step, layout, rank)]
    up_to = f", up to {counted(rank, 'dimension')} after merging" if layout != "contiguous" else ""
    return Covered(typed, variants, [f"Layout: {layout}{up_to}."])


def specialise_for(program: Program, operands: Operands) -> Specialised:
    """:func:`specialise` for these operands."""
    return specialise(program, operands.types, operands.shape, operands.out_dtypes)


def typed_kernel(
    program: Program, args: Mapping[str, ArgType], shape: Sequence[int | None], out_dtypes: Mapping[str, DType] | None
) -> Checked:
    """The typed IR, rewritten where the program asks for it."""
    checked = check(program, args, shape=shape, out_dtypes=out_dtypes)
    if program.rewriting is None:
        return checked
    from kgen.passes.requested import REQUESTED

    return replace(checked, kernel=REQUESTED[program.rewriting](checked.kernel, program.source))


def specialise(
    program: Program,
    args: Mapping[str, ArgType],
    shape: Sequence[int | None] = (),
    out_dtypes: Mapping[str, DType] | None = None,
) -> Specialised:
    """Type, optimise and cut.  Raises :class:`~kgen.KgenError` with every dtype, shape and cast error."""
    checked = typed_kernel(program, args, shape, out_dtypes)
    kernel = optimise(checked.kernel)
    if not any(op.name == "reduce" for op in kernel.ops):
        steps = cut(kernel)[1]
        fused = horizontal_step(kernel, steps)
        variant = None if fused is None else Specialised(kernel, (fused,), checked.lints)
        return Specialised(kernel, steps, checked.lints, horizontal=variant)
    from kgen.partition.column_sums import with_column_sums
    from kgen.partition.nesting import nested_spaces
    from kgen.passes.linear_sums import linear_sums
    from kgen.passes.online import online_reductions

    fewer_rounds = online_reductions(kernel)

    def steps_of(whole: Graph, *, chained: bool, nested: Mapping[int, KernelSpace] | None = None) -> Specialised:
        operands, steps = cut(whole, chained=chained, spaces=nested)
        return Specialised(replace(whole, operands=operands), steps, checked.lints, chained)

    usual, spaces = steps_of(kernel, chained=True), nested_spaces(kernel)
    nested = steps_of(kernel, chained=True, nested=spaces) if spaces else usual
    summing = with_column_sums(linear_sums(kernel))
    return replace(
        usual,
        online=None if fewer_rounds is kernel else steps_of(fewer_rounds, chained=True),
        nested=nested if len(nested.steps) < len(usual.steps) else None,
        split=steps_of(fewer_rounds, chained=False),
        column_sums=None if summing is None else Specialised(*summing, checked.lints),
    )


#: The stages of :func:`ir_after`: typing, the passes, and online reductions (``rounds``), which only some variants use.
IR_STAGES = ("check", *dict.fromkeys(one.__name__ for one in PIPELINE), "rounds")


def ir_after(program: Program, operands: Operands, stage: str) -> Graph:
    """The IR after one of :data:`IR_STAGES`; of a pass that runs several times, after the last."""
    kernel = typed_kernel(program, operands.types, operands.shape, operands.out_dtypes).kernel
    if stage == "check":
        return kernel
    from kgen.passes.online import online_reductions

    return online_reductions(optimise(kernel)) if stage == "rounds" else optimise(kernel, stage)


def select_variant(typed: Specialised, sizes: Sizes, operands: Operands, source: Source, target: Target) -> Specialised:
    """The variant for these extents and layouts, on this target.  ``source``: the program's text, for diagnostics.

    Raises :class:`~kgen.KgenError` (``nothing-to-reduce``).
    """
    if typed.split is None:  # nothing is reduced
        return _horizontal(typed, sizes, operands, target) or typed
    if not all(sizes.are_known(step.reduced_dims) for step in typed.steps):
        return typed.online or typed  # rows of unknown length are read once for each round
    from kgen.schedule.reduction.chains import prefers_online, prefers_split

    refuse_empty(typed.graph, sizes.extents, source)
    if (summing := _summing(typed, sizes, operands, target)) is not None:
        return summing
    given = operands.inputs(typed.graph, sizes)
    rows = [s for s in typed.steps if isinstance(s, ReductionStep)]
    if any(prefers_split(s, sizes.extents, given, target) for s in rows):
        return typed.split
    if (nested := _nested(typed, sizes, operands, target)) is not None:
        return nested
    if typed.online is not None and any(prefers_online(s, sizes.extents, target) for s in rows):
        return typed.online
    return typed


def prepared(base: Specialised, ahead: Ahead) -> Specialised:
    """A variant whose kernels read what another kernel prepares."""
    if isinstance(ahead, int):
        last = max(base.graph.stored_buffers, default=-1)  # the program's own; others come behind
        kept = tuple(o for n, o in enumerate(base.graph.operands) if o.role != "buffer" or n <= last)
        kernel = replace(base.graph, operands=kept)
        operands, steps = cut(kernel, chained=base.chained, stored=(ahead,))
        graph = replace(kernel, operands=operands)
    else:
        from kgen.partition.relayout import with_copies

        graph, steps = with_copies(base.graph, base.steps, ahead)
    return replace(base, graph=graph, steps=steps, online=None, split=None)


def choice_of(step: Step, placed: Placed, sizes: Sizes, target: Target) -> Choice:
    """:data:`ChoiceOf`, computed anew."""
    along, across = sizes.are_known(step.reduced_dims), sizes.are_known(step.kept_dims)
    return schedule(step, placed, target, along=along, across=across)


def choose_variant(
    typed: Specialised,
    sizes: Sizes,
    operands: Operands,
    source: Source,
    target: Target,
    prepared: Prepared = prepared,
    choice_of: ChoiceOf = choice_of,
) -> Specialised:
    """:func:`select_variant`; but where it would use only a part of most sectors of memory, the variant that is
    predicted to take the least time: with a kernel for each reduction, with copies of some operands, or with what is
    computed from all of them.

    Addresses take no part.  ``prepared``: makes a variant with a kernel ahead.  ``choice_of``: as in :func:`decide`.
    """
    usual = select_variant(typed, sizes, operands, source, target)
    if typed.split is None or sizes.assumed:
        return usual
    from kgen.schedule.reduction.orders import lie_alike, writes_across

    given = operands.inputs(typed.graph, sizes)
    summing = usual is typed.column_sums  # chosen because blocks can; it writes rows along memory
    if lie_alike(given) and (summing or not any(writes_across(s, sizes.extents, given) for s in typed.steps)):
        return usual
    from kgen.variant_search import Undecided, VariantSearch

    here = operands.without_addresses()

    def decided(number: int, step: Step, placed: Placed) -> LoweredStep:
        return _decided(number, step, placed, sizes, choice_of(step, placed, sizes, target))

    def kernels(whole: Specialised) -> list[Undecided]:
        placed = _placed(whole, sizes, allocate(whole, sizes, here))
        pairs = enumerate(zip(whole.steps, placed, strict=True))
        return [Undecided(step, where, partial(decided, n, step, where)) for n, (step, where) in pairs]

    return VariantSearch(typed, usual, sizes, operands, target, kernels, prepared).fastest()


def _summing(typed: Specialised, sizes: Sizes, operands: Operands, target: Target) -> Specialised | None:
    """The variant whose kernels along rows also sum over these, where blocks can."""
    found = typed.column_sums
    if found is None or sizes.assumed:
        return None
    from kgen.schedule.reduction.row_columns import suits_blocks

    fits = suits_blocks(found.steps, sizes.extents, operands.inputs(found.graph, sizes), target)
    return found if fits else None


def _nested(typed: Specialised, sizes: Sizes, operands: Operands, target: Target) -> Specialised | None:
    """The variant with nested reductions, if in all its kernels rows and their segments fit registers of threads that
    can share them."""
    if typed.nested is None:
        return None
    from kgen.schedule.reduction.schedule import RowSchedule

    lowered = decide(typed.nested, sizes, allocate(typed.nested, sizes, operands.without_addresses()), target)
    nesting = (s.schedule for s in lowered.steps if isinstance(s.step, ReductionStep) and s.step.inner)
    fits = all(isinstance(one, RowSchedule) and one.segment_threads for one in nesting)
    return typed.nested if fits else None


def _horizontal(typed: Specialised, sizes: Sizes, operands: Operands, target: Target) -> Specialised | None:
    """The variant with one launch, if the kernels of the steps can share one."""
    if typed.horizontal is None or not all(sizes.are_known(step.shape) for step in typed.steps):
        return None
    lowered = decide(typed, sizes, allocate(typed, sizes, operands.without_addresses()), target)
    return typed.horizontal if fuse_horizontally(lowered.schedules) else None


def decide(
    whole: Specialised, sizes: Sizes, layouts: Layouts, target: Target, choice_of: ChoiceOf = choice_of
) -> Lowered:
    """Choose a schedule for every step.  ``choice_of``: does so for one; a caller may keep what it chose."""
    placed, reasons = _placed(whole, sizes, layouts), order_reasons(whole.steps, chained=whole.chained)
    steps = [
        _decided(n, step, where, sizes, choice_of(step, where, sizes, target), why)
        for n, (step, where, why) in enumerate(zip(whole.steps, placed, reasons, strict=True))
    ]
    later = [_in_turn(ahead, step) if sizes.are_known(step.step.shape) else step for ahead, step in pairwise(steps)]
    return Lowered(whole, sizes, layouts.arrays, (*steps[:1], *later), target)


def _in_turn(ahead: LoweredStep, step: LoweredStep) -> LoweredStep:
    """The step; with its blocks in the opposite order where it reads again what the one ahead read last."""
    from kgen.schedule.backward import REASON, takes_last_first

    if not takes_last_first(step.step, step.schedule, step.placed, ahead.step, ahead.schedule):
        return step
    return replace(step, schedule=replace(step.schedule, backward=True), reasons=(*step.reasons, REASON))


def _placed(whole: Specialised, sizes: Sizes, layouts: Layouts) -> list[Placed]:
    pairs = zip(whole.steps, layouts.aliased, strict=True)
    return [place(step, layouts.arrays, sizes.extents, aliased) for step, aliased in pairs]


def _decided(
    number: int, step: Step, placed: Placed, sizes: Sizes, choice: Choice, why: Sequence[str] = ()
) -> LoweredStep:
    """``why``: the reasons for a kernel of its own, and for its position."""
    reasons = sizes.hide_assumed((*choice.reasons, *why))
    there = replace(placed, space=choice.space)
    return LoweredStep(number, step, there, choice.schedule, reasons, choice.seconds, choice.others)


STAGES = Stages(specialise_for, choose_variant, allocate_apart, decide)


def schedule(
    step: Step, placed: Placed, target: Target = PORTABLE, *, along: bool = True, across: bool = True
) -> Choice:
    """Choose the schedule of one step, for the layouts of its operands.  ``along``, ``across``: as in
    :func:`~kgen.families.facts_of`.
    """
    if isinstance(step, HorizontalStep):
        from kgen.schedule.elementwise.horizontal import horizontal

        parts = zip(step.parts, placed.parts, strict=True)
        return horizontal([choose_part(facts_of(part, where, target, across=across)) for part, where in parts])
    if not isinstance(step, ReductionStep):
        return choose(facts_of(step, placed, target, across=across))
    from kgen.schedule.reduction.single_row import beside_another, of_one_row

    space = beside_another(step, placed.space, placed.reduced)
    choice = choose(facts_of(step, replace(placed, space=space), target, along=along, across=across))
    return choice if space is placed.space else replace(choice, space=of_one_row(choice.space, placed.reduced))


def source(
    program: Program,
    lowered: Lowered | Covered,
    base: str,
    options: Options,
    command: Sequence[str],
    notes: Sequence[str] = (),
) -> Module:
    """The ``.cu`` text.

    ``command``: as in :func:`~kgen.header.header`; ``notes``: more lines for the header comment.
    """
    file, entries = contents(program, lowered, base, options, command, notes)
    return Module(text_of(file), entries, lowered.specialised.lints)


def contents(
    program: Program,
    lowered: Lowered | Covered,
    base: str,
    options: Options,
    command: Sequence[str],
    notes: Sequence[str] = (),
) -> tuple[ModuleContext, tuple[Entry, ...]]:
    """What the ``.cu`` text has, and its kernels."""
    whole = lowered.specialised
    head = header(program, whole.graph, options, command, [*notes, *lowered.chosen])
    return emit(base, whole.steps, lowered.variants, statements(program, options), head, family, fast=options.fast)


def statements(program: Program, options: Options) -> tuple[Statement, ...]:
    """The lets and assignments of a program, as comments show them."""
    source = program.source
    found: list[Statement] = []
    for start, end in ((s.span.start, s.span.end) for s in program.statements):
        lines = tuple(line.strip() for line in source.text[start:end].split("\n"))
        found.append(Statement(start, end, lines, _mark(source.line_of(start)) if options.line_directives else ""))
    return tuple(found)


def _mark(line: int) -> str:
    from kgen.codegen.line_directives import mark

    return mark(line)


__all__ = [
    "IR_STAGES", "STAGES", "Covered", "Layouts", "Lowered", "Placed", "Specialised",
    "Stages", "allocate", "choose_variant", "contents", "cover", "decide", "ir_after", "load",
    "lower", "place", "prepared", "run_stages", "schedule", "select_variant", "source", "specialise",
    "specialise_for", "statements",
]  # fmt: skip
