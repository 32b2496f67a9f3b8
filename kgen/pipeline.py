"""The whole compiler on one page: text in, standalone CUDA out.

    text --parse, resolve--> program --check, optimise--> IR --split--> steps
    step + layouts --iteration_space, choose--> schedule --emit--> .cu

Everything here is pure; compiling, loading and launching the text is ``runtime/``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kgen.check import ArgType, check
from kgen.codegen.element import Statement
from kgen.codegen.emit import Module, emit
from kgen.diagnostics import Diagnostic, KgenError, Reporter
from kgen.dtypes import DType
from kgen.ir.kernel import Kernel, Op, Reduction
from kgen.passes import optimise
from kgen.program import Program
from kgen.resolve import resolve
from kgen.schedule.bind import Placed, place
from kgen.schedule.plan import Schedule
from kgen.schedule.policy import Choice, choose
from kgen.schedule.split import Step, split
from kgen.source import Source
from kgen.syntax.parser import parse


@dataclass(frozen=True, slots=True)
class Specialised:
    """A program for certain dtypes, ranks and broadcast dimensions: its IR, cut into steps."""

    kernel: Kernel
    steps: tuple[Step, ...]
    lints: tuple[Diagnostic, ...]


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
    _refuse_reductions(program, kernel)
    return Specialised(kernel, split(kernel), checked.lints)


def _refuse_reductions(program: Program, kernel: Kernel) -> None:
    found = [op for op in kernel.ops if op.name == "reduce"]
    if found:
        message = "reductions are typed, but no kernel is made for them yet"
        raise KgenError(
            Diagnostic("reductions-not-yet", message, _instead(op), op.span, (), program.source) for op in found
        )


def _instead(op: Op) -> str:
    hint = "compute it with your array library and pass the result as an input"
    if isinstance(op.attr, Reduction) and op.attr.kind in ("min", "max"):
        hint += f"; elementwise is `{op.attr.kind}(a, b)`"
    return hint


def schedule(step: Step, placed: Placed) -> Choice:
    """Decide one step for where its operands lie."""
    return choose(step, placed.space, placed.itemsizes, placed.addresses, placed.aliased)


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


__all__ = ["Placed", "Specialised", "load", "place", "schedule", "source", "specialise", "statements"]
