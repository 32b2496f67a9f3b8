"""``kgen compile``: a program -> files.  Needs no GPU."""

from __future__ import annotations

import json
from pathlib import Path

import click

from kgen.cli import options
from kgen.codegen.writer import write
from kgen.diagnostics import error

_KINDS = ("cu", "ir", "ptx", "cubin")


@click.command("compile")
@options.program_argument
@click.option("-o", "--out", "out", metavar="PATH", help="where to write [default: standard output]")
@options.layout_options
@click.option(
    "--layout",
    type=click.Choice(["any", "contiguous", "strided"]),
    default="any",
    show_default=True,
    help="which layouts the file's kernels cover, when no shapes are given",
)
@click.option(
    "--rank", type=int, default=4, show_default=True, help="dimensions that strided kernels cover, after merging"
)
@click.option(
    "--emit", default="cu", show_default=True, metavar="cu,ir,ptx,cubin", help="what to write, each beside the other"
)
@click.option("--arch", metavar="sm_90", help="architecture of ptx and cubin [default: the GPU that is here]")
@click.option("--name", metavar="NAME", help="base name of the kernels [default: the file's]")
@options.floating_point
@click.option("--json", "as_json", is_flag=True, help="print what was written, and its kernels, as JSON")
def command(
    file: str, out: str | None, dtypes: str | None, shapes: str | None, strides: str | None, layout: str, rank: int,
    emit: str, arch: str | None, name: str | None, fmad: str, fast: bool, as_json: bool,
) -> None:  # fmt: skip
    """Compile the program FILE (`-`: standard input) to a standalone CUDA file."""
    from kgen.ahead import ir_ahead, module_ahead
    from kgen.runtime.backend import compile_for

    kinds = [k for k in emit.split(",") if k]
    for kind in kinds:
        if kind not in _KINDS:
            raise error(
                "bad-option", f"--emit: `{kind}` is not something kgen writes", f"one or more of {', '.join(_KINDS)}"
            )
    program, base = options.read(file, name)
    flags = options.options_of(fmad, fast)
    known = {"dtypes": options.parse_dtypes(dtypes), "shapes": options.parse_shapes(shapes, program)}
    module = module_ahead(
        program, base, flags, layout=layout, rank=rank, strides=options.parse_strides(strides), **known
    )
    made: dict[str, str | bytes] = {}
    for kind in kinds:
        if kind == "cu":
            made[kind] = module.text
        elif kind == "ir":
            made[kind] = ir_ahead(program, **known)
        else:
            made[kind] = compile_for(module.text, base, flags, kind, arch)
    written = _deliver(made, out)
    if as_json:
        kernels = [{"name": e.name, "schedule": e.schedule.to_dict()} for e in module.entries]
        click.echo(json.dumps({"written": written, "kernels": kernels}, indent=2))
    elif out not in (None, "-"):
        noun = "kernel" if len(module.entries) == 1 else "kernels"
        click.echo(f"wrote {', '.join(written)}: {len(module.entries)} {noun}", err=True)


def _deliver(made: dict[str, str | bytes], out: str | None) -> list[str]:
    """Write every file, or print the only one.  Everything was made before the first byte is written."""
    if out in (None, "-"):
        if len(made) > 1:
            raise error(
                "bad-option", "several files need a place to go", "give -o kernel.cu; the others are put beside it"
            )
        for content in made.values():
            click.echo(content, nl=False)
        return []
    assert out is not None
    path = Path(out)
    names = {kind: path if len(made) == 1 else path.with_suffix(f".{kind}") for kind in made}
    for kind, content in made.items():
        write(names[kind], content)
    return [str(p) for p in names.values()]
