"""The header comment of a generated file: its program, the choices made, and the command that makes it again."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgen.codegen.names import kernel_base
from kgen.dtypes import Kind
from kgen.version import VERSION

if TYPE_CHECKING:
    from kgen.compile_spec import CompileSpec
    from kgen.ir.graph import Graph
    from kgen.options import Options
    from kgen.program import Program

#: The start of a note that no option of the command line expresses.
UNALIGNED = "Made for bases past multiples of 16 bytes, unlike the command's"

_MOST_LINES = 40  #: of a program that is in a file of its own
_COLUMNS, _INDENT = 117, 8  #: of a line behind `// `, and of what continues a reason


def header(
    program: Program, kernel: Graph, options: Options, command: Sequence[str], chosen: Sequence[str]
) -> tuple[str, ...]:
    """Lines for the file's first comment.  ``chosen``: the decisions.

    ``command``: the argv that makes the file again; empty for one of several sets of dtypes, whose file says it first.
    """
    lines = [*origin_lines(program, command), ""] if command else []
    lines += [*_signature(kernel), "", *chosen]
    if any(op.dtype.kind >= Kind.FLOAT for op in kernel.ops):
        lines.append(_floating_point(options))
    return tuple(lines)


def origin_lines(program: Program, command: Sequence[str]) -> list[str]:
    """What a file is made from: the command and the program."""
    origin = "the text below" if is_text(program) else program.source.name
    lines = [f"Made by kgen {VERSION} from {origin}. Do not edit; remake it with", f"    {shlex.join(command)}", ""]
    quoted = program.source.text.strip("\n").split("\n")
    shown = quoted if is_text(program) else quoted[:_MOST_LINES]  # a text is nowhere else
    return lines + [f"    {line}" if line.strip() else "" for line in shown]


def chosen_lines(reasons: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the ``reasons`` of each kernel."""
    which = [f" for kernel {n}" if len(reasons) > 1 else "" for n in range(1, len(reasons) + 1)]
    return [
        line
        for of, mine in zip(which, reasons, strict=True)
        for reason in mine
        for line in _balanced(f"Chosen{of}: {reason}.")
    ]


def _balanced(text: str) -> list[str]:
    """A text in lines of about the same length, so that no last word has one of its own."""
    if len(text) <= _COLUMNS:
        return [text]
    width = len(text) // -(-len(text) // _COLUMNS) + _INDENT
    return textwrap.wrap(text, min(width, _COLUMNS), subsequent_indent=" " * _INDENT, break_on_hyphens=False)


# branches: one for each option of the command line
def command_line(program: Program, base: str, options: Options, spec: CompileSpec) -> list[str]:
    """The ``kgen compile`` that makes the same file again, byte for byte, from a spec with explicit dtypes."""
    name = "-" if is_text(program) else program.source.name
    command = ["kgen", "compile", f"./{name}" if name.startswith("-") and name != "-" else name, "-o", f"{base}.cu"]
    if spec.dtypes:
        command += ["--dtype", ",".join(f"{n}={t.short}" for n, t in spec.dtypes.items())]
    if spec.scalars:
        command += ["--scalar", ",".join(f"{n}={kind.name.lower()}" for n, kind in spec.scalars.items())]
    if spec.shapes:
        shapes = (f"{n}={extents_text(s)}" if n else extents_text(s) for n, s in spec.shapes.items())
        command += ["--shape", ",".join(shapes)]
        if spec.strides:
            command += ["--strides", ",".join(f"{n}={extents_text(s)}" for n, s in spec.strides.items())]
    else:
        command += ["--layout", spec.layout, *(["--rank", str(spec.rank)] if spec.rank != 4 else [])]
    if base != default_base(program):
        command += ["--name", base]
    if spec.arch is not None:
        command += ["--arch", spec.arch]
    if spec.tuning:
        command += ["--tuning", str(spec.tuning)]
    return [*command, *options.command_flags]


def default_base(program: Program) -> str:
    """The default name of kernels: the file's, else ``kernel``."""
    return "kernel" if is_text(program) else kernel_base(program.source.name.rpartition(".")[0] or program.source.name)


def is_text(program: Program) -> bool:
    """Whether the program is in no file."""
    return program.source.name in ("<string>", "<stdin>")


def extents_text(extents: Sequence[int | None]) -> str:
    """A shape or strides as the command line takes them: ``4x?``."""
    return "x".join("?" if n is None else str(n) for n in extents) or "()"


def _signature(kernel: Graph) -> list[str]:
    def one(name: str, dtype: object) -> str:
        return f"{name}: {dtype}"

    arrays = [o for o in kernel.operands if o.view is None]
    inputs = [one(o.name, o.dtype) for o in arrays if o.role == "input"]
    inputs += [f"{one(o.name, o.dtype)} (updated in place)" for o in arrays if o.role == "inout"]
    inputs += [f"{one(s.name, s.dtype)} (by value)" for s in kernel.scalars]
    outputs = [one(o.name, o.dtype) for o in arrays if o.role == "output"]
    lines = [f"Inputs:  {', '.join(inputs)}"] if inputs else []
    views = [f"{o.name} = {kernel.show_view(o.view, by_name=True)}" for o in kernel.operands if o.view is not None]
    lines += [f"Views:   {', '.join(views)}"] if views else []
    return lines + ([f"Outputs: {', '.join(outputs)}"] if outputs else [])


def _floating_point(options: Options) -> str:
    flags = " ".join(options.nvrtc_flags)
    if options.fast:
        return f"Floating point: fast math is allowed; compile with {flags}."
    if options.fmad:
        return f"Floating point: a*b+c may contract to one fma; compile with {flags} (the default)."
    return f"Floating point: no contraction, results are defined bit for bit; compile with {flags}."
