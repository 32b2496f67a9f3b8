"""``kgen explain``: types and policy, with reasons."""

from __future__ import annotations

import json

import click

from kgen.cli import options
from kgen.diagnostics import error


@click.command("explain")
@options.program_argument
@options.layout_options
@click.option("--json", "as_json", is_flag=True, help="print as JSON")
def command(file: str, dtype_text: str | None, shape_text: str | None, strides_text: str | None, as_json: bool) -> None:
    """Say what kgen decides for the program FILE (`-`: standard input), and why."""
    from kgen.ahead import explain_ahead

    program, base = options.read(file, None)
    if not program.arguments and shape_text is None:
        raise error("shape-needed", "without inputs, nothing gives the output's shape", "--shape 4x3")
    shapes = options.parse_shapes(shape_text, program)
    strides = options.parse_strides(strides_text, program, shapes)
    explanation = explain_ahead(program, base, dtypes=options.parse_dtypes(dtype_text), shapes=shapes, strides=strides)
    click.echo(json.dumps(explanation.to_dict(), indent=2) if as_json else str(explanation))
