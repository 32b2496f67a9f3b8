"""``kgen explain``: types and schedules, with reasons."""

from __future__ import annotations

import json

import click

from kgen.cli import options, terminal
from kgen.diagnostics import error


@click.command("explain")
@options.program_argument
@options.layout_options
@options.floating_point
@click.option("--arch", metavar="sm_90", help="count registers and memory for it [default: the GPU that is here]")
@click.option("--json", "as_json", is_flag=True, help="print as JSON")
# many: click passes each option as a parameter
def command(
    file: str | None,
    text: str | None,
    dtype_text: str | None,
    shape_text: str | None,
    strides_text: str | None,
    fast: bool,
    fmad: str,
    deterministic: bool,
    tuning: int,
    arch: str | None,
    as_json: bool,
) -> None:
    """Say what kgen decides for the program FILE (`-`: standard input) or TEXT, and why."""
    from kgen.aot import aot_explain
    from kgen.compile_spec import CompileSpec

    program, base = options.read(file, text)
    if not program.arguments and shape_text is None:
        raise error("shape-needed", "without inputs, nothing gives the output's shape", "--shape 4x3")
    shapes = options.parse_shapes(shape_text, program)
    strides = options.parse_strides(strides_text, program, shapes)
    flags = options.options_of(fmad, fast, deterministic, tuning)
    spec = CompileSpec(options.parse_dtypes(dtype_text), shapes or {}, strides, arch=arch, tuning=tuning)
    with terminal.working(f"compiling {base}, to count registers", quiet=as_json):
        explanation = aot_explain(program, base, flags, spec)
    if as_json:
        click.echo(json.dumps(explanation.to_dict(), indent=2))
    else:
        terminal.show_explanation(str(explanation))
