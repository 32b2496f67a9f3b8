"""``kgen compile``: a program -> files.  Needs no GPU."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from kgen.cli import options, terminal
from kgen.cli.depfile import rule
from kgen.cli.pair import with_backward
from kgen.codegen.names import kernel_base
from kgen.codegen.writer import write_all
from kgen.diagnostics import error
from kgen.spec import counted

_STAGES = ("tree", "program", "ir", "steps", "schedule")
_KINDS = ("cu", "h", "json", *_STAGES, "ptx", "cubin")


@click.command("compile")
@options.program_argument
@click.option(
    "-o",
    "--out",
    "out",
    metavar="PATH",
    help="the file to write, named as it stands; several kinds have suffixes of their own [default: standard output]",
)
@options.request_options
@click.option(
    "--emit",
    metavar="cu,ir,...",
    help=f"what to write, each beside the other: {', '.join(_KINDS)} [default: cu, or ir with --after]",
)
@options.grad
@options.abi("write sources that call the file from other libraries, too, and its header")
@click.option("--after", metavar="PASS", help="write the IR as it is after this pass")
@click.option(
    "--arch",
    metavar="sm_90",
    help="oldest architecture to run on [default: any; for ptx and cubin, that of the GPU here]",
)
@click.option("--name", metavar="NAME", help="base name of the kernels [default: the file's]")
@options.depfile
@click.option("--json", "as_json", is_flag=True, help="print what was written, and its kernels, as JSON")
# many: click passes each option as a parameter
def command(
    file: str | None, text: str | None, out: str | None, emit: str | None, after: str | None, name: str | None,
    grad: bool, wrt: str | None, depfile: str | None, as_json: bool, **request: Any,
) -> None:  # fmt: skip
    """Compile the program FILE (`-`: standard input) or TEXT to a standalone CUDA file."""
    from kgen.cli.request import Request, contents, prepare

    program, base = options.read(file, text, name)
    abi = request.pop("abi")
    kinds = _kinds(emit or ("cu" if after is None else "ir"), after) if abi is None else _bound(abi, emit, base, out)
    with terminal.working(f"compiling {base}", quiet=as_json) as say:
        made = prepare(program, base, Request(**request), kinds)
        backward = None
        if grad:
            _check_grad(base, out, abi, depfile)
            made, backward = with_backward(made, wrt)
        places = _places(kinds, made.spec.arch, out, as_json)  # only now: what is wrong with the program comes first
        options.keep_program(file, places.values())
        content = contents(made, kinds, after, say)
        beside = {} if backward is None else contents(backward, kinds, after, say)
    more: dict[Path, str | bytes] = {_backward(places[kind]): text for kind, text in beside.items()}
    more.update({} if depfile is None else rule(depfile, list(places.values()), [file or "-"]))
    written = _deliver(content, places, more)
    entries, lints = made.module.entries, made.module.lints
    if as_json:
        kernels = [{"name": e.name, "schedule": e.schedule.to_dict()} for e in entries]
        said = {"written": written, "kernels": kernels, "lints": [d.render() for d in lints]}
        click.echo(json.dumps(said, indent=2))
        return
    terminal.show(lints)
    if written:
        terminal.say(f"wrote {', '.join(written)}: {counted(len(entries), 'kernel')}", err=True)


def _check_grad(base: str, out: str | None, abi: str | None, depfile: str | None) -> None:
    if abi is not None or depfile is not None or out in (None, "-"):
        raise error("bad-option", "--grad writes two files, without --abi and --depfile", f"-o {base}.cu")


def _backward(path: Path) -> Path:
    return path.with_name(f"{path.stem}_backward{path.suffix}")


def _kinds(emit: str, after: str | None) -> list[str]:
    """What ``--emit`` names; ``--after`` is about the IR."""
    kinds = list(dict.fromkeys(k for k in emit.split(",") if k))
    unknown = [k for k in kinds if k not in _KINDS]
    if unknown or not kinds:
        message = f"--emit: `{unknown[0] if unknown else emit}` is not something kgen writes"
        raise error("bad-option", message, f"one or more of {', '.join(_KINDS)}")
    if after is not None:
        from kgen.pipeline import IR_STAGES

        if after not in IR_STAGES:
            raise error("bad-option", f"--after: `{after}` is not a pass", f"one of {', '.join(IR_STAGES)}")
        if "ir" not in kinds:
            raise error(
                "bad-option", "--after is about the IR, and --emit writes none", f"--emit {','.join([*kinds, 'ir'])}"
            )
    return kinds


def _bound(abi: str, emit: str | None, base: str, out: str | None) -> list[str]:
    """What ``--abi`` names, after the file and its header, which it includes by the name of the kernels."""
    names = options.parse_abis(abi)
    if emit not in (None, "cu", "cu,h"):
        raise error("bad-option", f"--abi writes a .cu file and its header, and not {emit}", "leave --emit out")
    if out is not None and Path(out).name not in (base, f"{base}.cu"):
        hint = f"-o {Path(out).with_name(base)}.cu, or --name {kernel_base(Path(out).stem)}"
        raise error("bad-option", f"-o {out}: with --abi, files have the name of the kernels, {base}", hint)
    return ["cu", "h", *(kind for name in names for kind in options.ABIS[name])]


def _places(kinds: list[str], arch: str | None, out: str | None, as_json: bool) -> dict[str, Path]:
    """Where each kind goes, once it is known that there is a way to make it.  Nothing for standard output."""
    if out in (None, "-") and (len(kinds) > 1 or as_json):
        what = "the files need" if len(kinds) > 1 else "--json describes the file, which needs"
        raise error("bad-option", f"{what} a place to go", "give -o kernel.cu; others are put beside it")
    if arch is None and not {"ptx", "cubin"}.isdisjoint(kinds):
        from kgen.runtime.cuda.driver import probe

        if not probe().available:
            message = "--emit ptx and cubin are for one architecture, and there is no GPU here to ask for its own"
            raise error("arch-needed", message, "say which: --arch sm_90")
    return {} if out is None or out == "-" else _files(kinds, out)


def _files(kinds: list[str], out: str) -> dict[str, Path]:
    """To ``out`` itself where there is one kind, else beside it, each with its own suffix.

    Raises :class:`~kgen.KgenError` where ``out`` has the suffix of a kind that is not written, so that no file holds
    what its name denies.
    """
    path = Path(out)
    named = path.suffix.removeprefix(".")
    if named in _KINDS and named not in kinds:
        right = path.with_suffix(f".{kinds[0]}")
        message = f"-o {out} is the name of a .{named} file, and --emit writes {', '.join(kinds)}"
        raise error("bad-option", message, f"-o {right}, or --emit {','.join([*kinds, named])} for both")
    if out.endswith("/") or (len(kinds) > 1 and os.path.isdir(path)):
        raise error("unwritable", f"{path} is a folder", "name a file")
    if len(kinds) == 1:
        return {kinds[0]: path}
    stem = path.with_suffix("") if named in _KINDS else path
    return {kind: stem.with_name(f"{stem.name}{'_' if '.' in kind else '.'}{kind}") for kind in kinds}


def _deliver(made: dict[str, str | bytes], places: dict[str, Path], more: Mapping[Path, str | bytes]) -> list[str]:
    """Write every file, or print the only one.  Everything was made before the first byte is written."""
    if not places:
        for content in made.values():
            click.echo(content, nl=False)
        return []
    write_all({**{places[kind]: content for kind, content in made.items()}, **more})
    return [str(places[kind]) for kind in made]
