"""``kgen grad``: the program of the gradients of a program."""

from __future__ import annotations

from pathlib import Path

import click

from kgen.cli import options
from kgen.codegen.writer import write_all


@click.command("grad")
@options.program_argument
@options.wrt
@options.per_array("--scalar", "alpha=int", "kinds of Python scalars that stand for inputs or params")
@options.per_array(
    "--shape", "a=4x?,b=?", "shapes of the inputs: the text depends on ranks and extents of 1 [default: ?]"
)
@options.per_array("--dtype", "a=f16,b=f32 | f32", "dtypes of the inputs [default: f32]")
@click.option("-o", "--out", "out", metavar="PATH", help="where to write it [default: standard output]")
def command(
    file: str | None,
    text: str | None,
    wrt: str | None,
    scalar_text: str | None,
    shape_text: str | None,
    dtype_text: str | None,
    out: str | None,
) -> None:
    """Write the program of the gradients of FILE (`-`: standard input) or TEXT.

    It takes the same arguments, and the gradient of each output `out` as `out_grad`.
    """
    from kgen.call.gradient import gradient_text
    from kgen.compile_spec import CompileSpec

    program, _ = options.read(file, text)
    scalars = options.parse_scalars(scalar_text, program)
    shapes = options.parse_shapes(shape_text, program, scalars)
    spec = CompileSpec(options.parse_dtypes(dtype_text), shapes or {}, scalars=scalars)
    names = None if wrt is None else [name.strip() for name in wrt.split(",")]
    found = gradient_text(program, spec.operands(program), names)
    if out is None or out == "-":
        click.echo(found, nl=False)
    else:
        write_all({Path(out): found})
