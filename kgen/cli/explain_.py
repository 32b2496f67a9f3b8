"""``kgen explain``: types and policy, with reasons."""

from __future__ import annotations

import json

import click

from kgen.cli import options


@click.command("explain")
@options.program_argument
@options.layout_options
@click.option("--json", "as_json", is_flag=True, help="print as JSON")
def command(file: str, dtypes: str | None, shapes: str | None, strides: str | None, as_json: bool) -> None:
    """Say what kgen decides for the program FILE (`-`: standard input), and why."""
    from kgen.ahead import explain_ahead

    program, base = options.read(file, None)
    explanation = explain_ahead(
        program,
        base,
        dtypes=options.parse_dtypes(dtypes),
        shapes=options.parse_shapes(shapes, program),
        strides=options.parse_strides(strides),
    )
    click.echo(json.dumps(explanation.to_dict(), indent=2) if as_json else str(explanation))
