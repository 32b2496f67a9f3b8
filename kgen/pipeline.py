"""The whole compiler on one page: text in, standalone CUDA out.

    text --parse, resolve--> program --check, optimise--> IR --cut--> steps
    step + layouts --iteration_space, choose--> schedule --emit--> .cu

Everything here is pure; compiling, loading and launching the text is ``runtime/``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kgen.check import ArgType, check
from kgen.codegen.element import Statement
from kgen.codegen.emit import Module, emit
from kgen.diagnostics import Diagnostic, Reporter
from kgen.dtypes import DType
from kgen.ir.kernel import Kernel
from kgen.partition.cut import RowStep, cut, refuse_empty
from kgen.partition.reasons import order_reasons
from kgen.partition.step import Step
from kgen.passes import optimise
from kgen.passes.rounds import join_rounds
from kgen.program import Program
from kgen.resolve import resolve
from kgen.schedule.bind import Array, Placed, place
from kgen.schedule.elementwise.policy import Choice, choose
from kgen.schedule.reduction.chains import better_apart, better_joined
from kgen.schedule.reduction.columns import choose_columns
from kgen.schedule.reduction.resident_columns import choose_held_columns
from kgen.schedule.reduction.rows import choose_rows
from kgen.schedule.schedule import Schedule
from kgen.schedule.target import PORTABLE, Target
from kgen.source import Source
from kgen.syntax.parser import parse


@dataclass(frozen=True, slots=True)
class Specialised:
    """A program for certain dtypes, ranks and broadcast dimensions: its IR, cut into steps."""

    kernel: Kernel
    steps: tuple[Step, ...]
    lints: tuple[Diagnostic, ...]
    chained: bool = True  # whether a kernel may use what it reduces for a whole row
    joined: Specialised | None = None  # with reductions: the same in fewer rounds, for long rows
    apart: Specialised | None = None  # with reductions: the same for few, long rows


def load(text: str, name: str = "<string>") -> Program:
    """Parse and resolve.  Raises :class:`~kgen.KgenError` with every syntax and name error of the text."""
    source = Source.of(text, name)
    reporter = Reporter(source)
    tree = parse(source, reporter)
    program = resolve(tree, source, reporter)
    reporter.raise_errors()
    return program


def specialise(
    program: Program,
    args: Mapping[str, ArgType],
    shape: Sequence[int | None] = (),
    out_dtypes: Mapping[str, DType] | None = None,
) -> Specialised:
    """Type, optimise and cut.  Raises :class:`~kgen.KgenError` with every dtype, shape and cast error."""
    checked = check(program, args, shape=shape, out_dtypes=out_dtypes)
    kernel = optimise(checked.kernel)
    if not any(op.name == "reduce" for op in kernel.ops):
        return Specialised(kernel, cut(kernel)[1], checked.lints)
    fewer = join_rounds(kernel)

    def steps_of(whole: Kernel, *, chained: bool) -> Specialised:
        operands, steps = cut(whole, chained=chained)
        return Specialised(replace(whole, operands=operands), steps, checked.lints, chained)

    joined = None if fewer is kernel else steps_of(fewer, chained=True)
    return replace(steps_of(kernel, chained=True), joined=joined, apart=steps_of(fewer, chained=False))


def fit(
    specialised: Specialised,
    extents: Mapping[str, int],
    arrays: Callable[[], Sequence[Array | None]],
    source: Source,
) -> Specialised:
    """The cut for these extents and ``arrays()`` (None: outputs), which only programs that reduce ask for.

    ``source``: the program's text, for diagnostics.

    Raises :class:`~kgen.KgenError` (``nothing-to-reduce``).
    """
    if specialised.apart is not None:
        refuse_empty(specialised.kernel, extents, source)
        given = arrays()
        rows = [s for s in specialised.steps if isinstance(s, RowStep)]
        if any(better_apart(s, extents, given) for s in rows):
            return specialised.apart
        if specialised.joined is not None and any(better_joined(s, extents) for s in rows):
            return specialised.joined
    return specialised


def schedule(
    step: Step, placed: Placed, target: Target = PORTABLE, *, bounded: bool = True, along: bool = True
) -> Choice:
    """Decide one step for where its operands lie.

    ``bounded``: whether the extents are all known; ``along``: whether those that are reduced are.
    """
    where = placed.space, placed.itemsizes, placed.addresses, placed.aliased
    if isinstance(step, RowStep):
        by_columns = choose_columns(step, placed.reduced, *where, bounded=bounded, target=target)
        if by_columns is None and along:
            by_columns = choose_held_columns(step, placed.reduced, *where, bounded=bounded, target=target)
        return by_columns or choose_rows(step, placed.reduced, *where, bounded=bounded, along=along, target=target)
    return choose(step, *where, target=target)


def order(specialised: Specialised) -> tuple[tuple[str, ...], ...]:
    """For each step, why it is a kernel of its own and where it stands; nothing where there is one."""
    return order_reasons(specialised.steps, chained=specialised.chained)


def source(
    program: Program,
    specialised: Specialised,
    variants: Sequence[tuple[int, Schedule]],
    base: str,
    banner: Sequence[str],
) -> Module:
    """The ``.cu`` text that holds a kernel for each ``(step, schedule)``."""
    return replace(emit(base, specialised.steps, variants, statements(program), banner), lints=specialised.lints)


def statements(program: Program) -> tuple[Statement, ...]:
    """The lets and assignments of a program, as comments show them."""
    text = program.source.text
    return tuple(
        Statement(s.span.start, s.span.end, tuple(line.strip() for line in text[s.span.start : s.span.end].split("\n")))
        for s in program.statements
    )


__all__ = ["Placed", "Specialised", "fit", "load", "order", "place", "schedule", "source", "specialise", "statements"]
