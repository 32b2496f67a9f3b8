"""What ``kgen compile --emit`` writes besides CUDA and compiled code: the text form of each stage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from kgen import pipeline
from kgen.aot import aot_lower
from kgen.codegen.kernels import Module
from kgen.compile_spec import CompileSpec
from kgen.diagnostics import Reporter
from kgen.dtypes import DType
from kgen.ir.printer import print_kernel
from kgen.lowering import Lowered
from kgen.partition.step import Step
from kgen.program import Parameter, Program
from kgen.records import dataclass
from kgen.syntax.parser import parse
from kgen.syntax.printer import print_tree, show, show_statement


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program, what is stated of its operands, and the file made of it."""

    program: Program
    spec: CompileSpec
    module: Module
    after: str | None = None  # one of pipeline.IR_STAGES


def tree(made: Compiled) -> str:
    """What was parsed, one s-expression a statement."""
    source = made.program.source
    return print_tree(parse(source, Reporter(source)))


def program(made: Compiled) -> str:
    """What names were found to be: arguments in call order, params, outputs; then functions and statements."""
    found = made.program
    lines = [f"{a.role} {a.name}{_declared(a.dtype)}" for a in found.arguments]
    lines += [f"param {p.name}{_declared(p.dtype)}{_default(p)}" for p in found.parameters]
    lines += [f"output {o.name}{_declared(o.dtype)}" for o in found.outputs]
    lines += [f"def {d.name}({', '.join(p.name for p in d.params)}) = {show(d.body)}" for d in found.defs.values()]
    lines += [show_statement(s) for s in found.statements]
    return "\n".join(lines) + "\n"


def ir(made: Compiled) -> str:
    """The optimised IR, or as it was after ``--after``."""
    operands = made.spec.operands(made.program)
    if made.after is not None:
        return print_kernel(pipeline.ir_after(made.program, operands, made.after))
    return print_kernel(pipeline.specialise_for(made.program, operands).graph)


def steps(made: Compiled) -> str:
    """How the IR is cut: for each kernel its space, the operands that it accesses, and its own IR."""
    cut, _ = aot_lower(made.program, made.spec)
    return "\n".join(_step(number, step) for number, step in enumerate(cut.specialised.steps, 1))


def _step(number: int, step: Step) -> str:
    kept, reduced = (", ".join(map(str, dims)) for dims in (step.kept_dims, step.reduced_dims))
    space = f"[{kept}]" + (f", reduces [{reduced}]" if reduced else "")
    names = [step.graph.operands[t.operand].name for t in step.accesses]
    writes = [step.graph.operands[number].name for number in sorted(step.written)]
    reads = [name for name, t in zip(names, step.accesses, strict=True) if t.reads]
    facts = f"over {space}; writes {', '.join(writes)}" + (f"; reads {', '.join(reads)}" if reads else "")
    return f"# step {number}: {facts}\n{print_kernel(step.graph)}"


def schedule(made: Compiled) -> str:
    """What was chosen for each kernel, as JSON: reasons, schedule, and where all extents are known the launch."""
    return json.dumps(list(_schedules(made)), indent=2) + "\n"


def _schedules(made: Compiled) -> Iterator[dict[str, Any]]:
    lowered, _ = aot_lower(made.program, made.spec)
    for entry in made.module.entries:
        facts: dict[str, Any] = {"kernel": entry.name, "step": entry.step + 1}
        if isinstance(lowered, Lowered):
            step = lowered.steps[entry.step]
            if entry.schedule == step.schedule:  # others are for other extents than those that were assumed
                facts["reasons"] = list(step.reasons)
            if not lowered.sizes.assumed:
                facts["space"] = list(step.placed.space.shape)
                facts["launch"] = {"grid": list(step.launch.grid), "block": list(step.launch.block), "n": step.launch.n}
        yield facts | {"schedule": entry.schedule.to_dict()}


def _default(parameter: Parameter) -> str:
    default = parameter.default
    if default is None:
        return ""
    return f" = {str(default).lower() if isinstance(default, bool) else default}"


def _declared(dtype: DType | None) -> str:
    return "" if dtype is None else f": {dtype}"


STAGES: dict[str, Callable[[Compiled], str]] = {
    "tree": tree, "program": program, "ir": ir, "steps": steps, "schedule": schedule,
}  # fmt: skip
