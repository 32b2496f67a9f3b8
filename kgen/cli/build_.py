"""``kgen build``: programs -> a library for C and C++, and its header.  Needs no GPU."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from kgen.aot import lowered_sets
from kgen.cli import options, terminal
from kgen.cli.depfile import rule
from kgen.cli.pair import with_backward
from kgen.cli.request import Prepared, Request, contents, prepare
from kgen.codegen.names import kernel_base
from kgen.codegen.writer import write_all
from kgen.diagnostics import error
from kgen.launcher.header import Sets, header_text, launcher_names
from kgen.library import toolkit
from kgen.library.doors import compile_doors, exports, libraries
from kgen.library.link import archive, link_shared
from kgen.library.objects import Source, Work, compile_objects, generations
from kgen.library.toolkit import Compiler
from kgen.runtime import folders
from kgen.runtime.cuda.architectures import capability, require_known
from kgen.spec import counted
from kgen.version import VERSION

_SHARED, _STATIC = ".so", ".a"
_FUNCTIONS = ("launch", "workspace_size", "error_string")


@click.command("build")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("-o", "--out", "out", metavar="PATH", help="the library: libNAME.so or libNAME.a")
@options.request_options
@click.option(
    "--arch",
    metavar="sm_80,sm_90",
    help="architectures to compile for; later ones get PTX of the last [default: one of each generation]",
)
@click.option("--name", metavar="NAME", help="base name of the functions, for one FILE [default: the file's]")
@click.option(
    "--compiler", type=click.Choice(["nvcc", "nvrtc"]), help="what compiles kernels [default: nvcc where there is one]"
)
@click.option("-j", "--jobs", type=click.IntRange(min=1), help="compilers at a time [default: the machine's cores]")
@options.grad
@options.abi("build in functions that call the launchers from other libraries")
@options.depfile
@click.option("--json", "as_json", is_flag=True, help="print what was written as JSON")
# many: click passes each option as a parameter
def command(
    files: tuple[str, ...], out: str | None, arch: str | None, name: str | None, compiler: Compiler | None,
    jobs: int | None, abi: str | None, grad: bool, wrt: str | None, depfile: str | None, as_json: bool, **request: Any,
) -> None:  # fmt: skip
    """Compile the programs FILE... and their launchers to a library, with a header NAME.h beside it.

    With --abi, other libraries find functions of their own in it, and their Python files are written beside it.
    """
    if out is None:
        name_of = Path(files[0]).stem
        raise error("bad-option", "-o is missing: which library to write", f"-o lib{name_of}.so, or -o lib{name_of}.a")
    path, doors = _library_path(out), [] if abi is None else options.parse_abis(abi)
    if doors and path.suffix == _STATIC:
        hint = f"-o {path.with_suffix(_SHARED)}"
        raise error("bad-option", f"--abi is for shared libraries, and {path} is a static one", hint)
    libraries(doors)  # what is not installed comes before the compilers' time
    header = path.with_name(f"{_library_name(path)}.h")
    if name is not None and len(files) > 1:
        raise error("bad-option", "--name is for one program", "rename the files, which name the functions")
    archs = _archs(arch)
    with terminal.working(f"building {path.name}", quiet=as_json) as say:
        asked = Request(**request, arch=archs[0] if archs else None)
        programs = [prepare(*options.read(file, None, name), asked, ("cu", "h")) for file in files]
        if grad:
            programs = [one for made in programs for one in with_backward(made, wrt)]
        sets = [lowered_sets(one.program, one.base, one.flags, one.specs)[0] for one in programs]
        owners = [file for file in files for _ in range(2 if grad else 1)]
        functions = _functions(owners, [launcher_names(p.base, s) for p, s in zip(programs, sets, strict=True)])
        by_base = {one.base: found for one, found in zip(programs, sets, strict=True)}
        made: dict[Path, str | bytes] = {header: _header(path, programs, by_base)}
        kinds = [kind for abi in doors for kind in options.ABIS[abi]]
        sources = {one.base: contents(one, ["h", *kinds]) for one in programs} if doors else {}
        for base, texts in sources.items():
            made |= {path.with_name(f"{base}_{kind}"): text for kind, text in texts.items() if kind.endswith(".py")}
        if depfile is not None:
            made |= rule(depfile, [path, *made], files)
        for file in files:
            options.keep_program(file, [path, *made])
        tools = toolkit.find(compiler)
        say(f"building {path.name} by {tools.compiler}")
        with folders.temporary() as folder:
            archs = archs or generations(tools, folder)
            work = Work(tools, archs, programs[0].flags, jobs or os.cpu_count() or 1, folder)
            made[path] = _built(path, programs, functions, sources, doors, work)
    write_all(made)
    lints = [lint for one in programs for lint in one.module.lints]
    if as_json:
        said = {"functions": functions, "arch": archs, "compiler": tools.compiler, "lints": [d.render() for d in lints]}
        click.echo(json.dumps({"written": [str(p) for p in made], **said}, indent=2))
        return
    terminal.show(lints)
    terminal.say(f"wrote {path}, {header}: {counted(len(programs), 'program')} by {tools.compiler}", err=True)


def _library_path(out: str) -> Path:
    path = Path(out)
    if path.suffix not in (_SHARED, _STATIC):
        hint = f"-o lib{_library_name(path)}.so, or lib{_library_name(path)}.a for a static one"
        raise error("bad-option", f"-o {out} does not say which kind of library", hint)
    return path


def _library_name(path: Path) -> str:
    """``mine`` for ``libmine.so``."""
    return kernel_base(path.stem.removeprefix("lib") or path.stem)


def _archs(text: str | None) -> tuple[str, ...]:
    """The architectures to compile for, the oldest first; none where the compiler's are taken."""
    if text is None:
        return ()
    found = [part for part in text.split(",") if part]
    for arch in found or [text]:
        require_known(arch)
    return tuple(sorted(dict.fromkeys(found), key=lambda one: (capability(one), one)))


def _functions(files: Sequence[str], bases: Sequence[Sequence[str]]) -> list[str]:
    """The C functions of all programs.  ``bases``: the names of each one's launchers.

    Raises :class:`~kgen.KgenError` (``bad-name``) where two programs have functions of one name.
    """
    owners: dict[str, str] = {}
    for file, names in zip(files, bases, strict=True):
        for name in names:
            if name in owners:
                message = f"{owners[name]} and {file} both have functions called `{name}_launch`"
                raise error("bad-name", message, "rename one of the files, or build it alone with --name")
            owners[name] = file
    return [f"{name}_{what}" for name in owners for what in _FUNCTIONS]


def _header(path: Path, programs: Sequence[Prepared], sets: Mapping[str, Sets]) -> str:
    origins = dict.fromkeys(made.program.source.name for made in programs)
    banner = [f"The functions of {path.name}, which kgen {VERSION} made from {', '.join(origins)}. Do not edit."]
    return header_text(kernel_base(path.stem), sets, banner)


def _built(
    path: Path,
    programs: Sequence[Prepared],
    functions: Sequence[str],
    sources: Mapping[str, Mapping[str, str | bytes]],
    doors: Sequence[str],
    work: Work,
) -> bytes:
    """``sources``: of the doors, by the base name of each program and the ends of their names."""
    objects = compile_objects([Source(one.base, one.module) for one in programs], work)
    if path.suffix == _STATIC:
        return archive(objects, work.folder)
    objects += compile_doors(sources, doors, work)
    every = [*functions, *exports(sources, doors)]
    return link_shared(work.toolkit, objects, path.name, every, work.folder, libraries(doors))
