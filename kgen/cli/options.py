"""Options that several commands have: programs, ``name=value`` lists, shapes."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click

from kgen import pipeline
from kgen.bindings import BINDINGS
from kgen.codegen.names import named_base
from kgen.diagnostics import error
from kgen.dtypes import DType, Kind
from kgen.functions import CONSTANTS
from kgen.header import default_base
from kgen.jit import MOST_TEXT, check_length, looks_like_path, read_program
from kgen.options import OTHER_TABLES, Options
from kgen.program import Program
from kgen.schedule.any_layout import LAYOUTS
from kgen.spec import as_dtype

F = TypeVar("F", bound=Callable[..., Any])
KINDS = {kind.name.lower(): kind for kind in Kind}


def program_argument(function: F) -> F:
    """``FILE``, a path or ``-`` for standard input, or ``-c TEXT``."""
    function = click.option("-c", "text", metavar="TEXT", help="the program itself, instead of FILE")(function)
    return click.argument("file", metavar="FILE | -c TEXT", required=False)(function)


def floating_point(function: F) -> F:
    """``--fmad``, ``--fast``, ``--deterministic`` and ``--tuning``."""
    table = "the table that kernel.tune() or `kgen run --tune` found, for such arrays [default: 0]"
    numbers = click.IntRange(0, OTHER_TABLES)
    function = click.option("--tuning", type=numbers, default=0, metavar="N", help=table)(function)
    ordered = "give updates at computed places the same bits at every call"
    function = click.option("--deterministic", is_flag=True, help=ordered)(function)
    function = click.option(
        "--fmad",
        type=click.Choice(["on", "off"]),
        default="on",
        show_default=True,
        help="let a*b+c contract to one fma",
    )(function)
    return click.option("--fast", is_flag=True, help="allow approximate functions (-use_fast_math)")(function)


def depfile(function: F) -> F:
    """``--depfile``."""
    what = "write a rule for make and ninja with what is made, and what it depends on"
    return click.option("--depfile", metavar="PATH", help=what)(function)


def grad(function: F) -> F:
    """``--grad`` and ``--wrt``."""
    what = "also make NAME_backward, of the gradients; NAME returns what that needs of it, too"
    function = wrt(function)
    return click.option("--grad", is_flag=True, help=what)(function)


def wrt(function: F) -> F:
    """``--wrt``."""
    what = "the arguments whose gradients to compute [default: all of floats]"
    return click.option("--wrt", metavar="a,b", help=what)(function)


#: The values of ``--abi``, each with the ends of the names of its files.
ABIS = {
    abi: tuple(kind for kind, (of, _) in BINDINGS.items() if of == abi)
    for abi in dict.fromkeys(abi for abi, _ in BINDINGS.values())
}


def abi(text: str) -> Callable[[F], F]:
    """``--abi`` and ``--namespace``.  ``text``: what the first one does."""

    def options(function: F) -> F:
        function = click.option("--namespace", metavar="NAME", help="of the operator of --abi torch [default: kgen]")(
            function
        )
        return click.option("--abi", metavar="tvm-ffi,...", help=f"{text}: {', '.join(ABIS)}")(function)

    return options


def parse_abis(text: str) -> list[str]:
    """The calling conventions that ``--abi`` names."""
    names = [name for name in text.split(",") if name]
    unknown = [name for name in names if name not in ABIS]
    if unknown or not names:
        message = f"--abi: `{unknown[0] if unknown else text}` is no calling convention that kgen knows"
        raise error("bad-option", message, f"one or more of {', '.join(ABIS)}")
    return list(dict.fromkeys(names))


def per_array(option: str, metavar: str, text: str) -> Callable[[F], F]:
    """An option of ``name=value`` pairs, joined by commas or given several times."""

    def joined(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> str | None:
        return ",".join(values) if values else None

    name = f"{option[2:]}_text"
    return click.option(option, name, multiple=True, callback=joined, metavar=metavar, help=text)


def layout_options(function: F) -> F:
    """``--dtype``, ``--shape``, ``--strides``: the types of the arrays."""
    for name, metavar, text in (
        ("--strides", "a=1x4", "strides of the inputs, in elements [default: C order]"),
        ("--shape", "a=4x?,b=?", "shapes of the inputs; `?` is any size; 4x? where there are no inputs"),
        ("--dtype", "a=f16,b=f32 | f32", "dtypes of the inputs [default: f32]"),
    ):
        function = per_array(name, metavar, text)(function)
    return function


def request_options(function: F) -> F:
    """What a generated file depends on: the fields of :class:`kgen.cli.request.Request` but ``--arch``."""
    rank = "dimensions that strided kernels cover, after merging [default: 4]"
    sets = "sets of dtypes, each as --dtype takes it, for one file"
    layout = "layouts that the kernels cover, without --shape [default: any]"
    lines = "point compilers and debuggers at the program, by #line"
    function = click.option("--line-directives", is_flag=True, help=lines)(floating_point(function))
    function = click.option("--rank", type=int, metavar="N", help=rank)(function)
    function = click.option("--layout", type=click.Choice(LAYOUTS), help=layout)(function)
    function = per_array("--scalar", "alpha=int", "kinds of Python scalars that stand for inputs or params")(function)
    function = click.option("--dtypes", metavar='"f16; bf16; f32"', help=sets)(function)
    return layout_options(function)


def read(file: str | None, text: str | None, name: str | None = None) -> tuple[Program, str]:
    """The program of a path, of standard input or of ``-c``, and the base name of its kernels."""
    if (file is None) == (text is None):
        raise click.UsageError("Give the program as FILE or with -c TEXT, one of the two.")
    if text is not None:
        if looks_like_path(text):
            raise error("bad-option", f"-c takes a program, and `{text}` is a path", "remove -c")
        program = pipeline.load(text)
    elif file == "-":
        program = pipeline.load(_standard_input(), "<stdin>")
    else:
        assert file is not None
        if "=" in file and not os.path.exists(file):
            hint = f"a program on the command line follows -c: -c {shlex.quote(file)}"
            raise error("unreadable-file", f"there is no file `{file:.200}`", hint)
        program = pipeline.load(read_program(Path(file)), Path(file).name)
    return program, default_base(program) if name is None else named_base(name)


def _standard_input() -> str:
    if sys.stdin is None:
        raise error("unreadable-file", "standard input is closed", "name a file, or give the program by -c")
    try:
        data = sys.stdin.buffer.read(MOST_TEXT + 1)
        check_length(data, "standard input")
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise error("unreadable-file", "standard input is not UTF-8 text", "save it as UTF-8") from None
    except OSError as problem:
        raise error("unreadable-file", f"cannot read standard input: {problem.strerror}", "name a file") from None


def keep_program(file: str | None, outputs: Iterable[Path]) -> None:
    """Raises :class:`~kgen.KgenError` (``bad-option``) for an output that would replace this program or another one."""
    for path in outputs:
        with suppress(OSError):  # one of them does not exist yet
            if file is not None and os.path.samefile(path, file):
                raise error("bad-option", f"-o {path} is the program itself", "write to another file")
        if path.suffix == ".k":
            raise error("bad-option", f"-o {path} is the name of a program", "write to another file")


def options_of(fmad: str, fast: bool, deterministic: bool, tuning: int) -> Options:
    if fast and fmad == "off":
        raise error("bad-option", "--fast allows contraction and --fmad=off forbids it", "remove one of them")
    return Options(fmad == "on", fast, deterministic=deterministic, tuning=tuning)


def pairs(option: str, items: Iterable[str]) -> dict[str, str]:
    """``name=value`` items, separated by commas or given repeatedly."""
    found: dict[str, str] = {}
    for item in (part for text in items for part in text.split(",")):
        name, equals, value = item.partition("=")
        if not equals or not name or not value:
            hint = None
            if found and option in ("--shape", "--strides") and re.fullmatch(r"[0-9x?-]+", item):
                last, extents = list(found.items())[-1]
                hint = f"extents are joined by x: {last}={extents}x{item}"
            raise error("bad-option", f"{option} takes name=value, not `{item}`", hint)
        if name in found:
            raise error("bad-option", f"{option} names `{name}` twice")
        found[name] = value
    return found


def parse_dtypes(text: str | None) -> dict[str, DType] | DType | None:
    if text is None:
        return None
    if "=" not in text:
        if "," in text:
            raise error(
                "bad-option", f"`{text}` is no dtype", "--dtype a=f16,b=f32 by name; --dtypes 'f16; f32' for both"
            )
        return as_dtype(text)
    return {name: as_dtype(value) for name, value in pairs("--dtype", [text]).items()}


def parse_scalars(text: str | None, program: Program) -> dict[str, Kind]:
    """``a=float``: the kinds of inputs that are Python scalars, and of untyped params."""
    if text is None:
        return {}
    untyped = [a.name for a in program.arguments if a.role == "input"]
    untyped += [p.name for p in program.parameters if p.dtype is None]
    found: dict[str, Kind] = {}
    for name, value in pairs("--scalar", [text]).items():
        known_name("--scalar", name, untyped, "input or untyped param")
        if value not in KINDS:
            raise error("bad-option", f"--scalar: `{value}` is not a kind", f"one of {', '.join(KINDS)}")
        found[name] = KINDS[value]
    return found


def parse_shapes(
    text: str | None, program: Program, scalars: Collection[str] = (), *, any_rank: bool = False
) -> dict[str, tuple[int | None, ...]] | None:
    """``a=4x?,b=?``; a bare ``4x?`` is the shape of a program without array inputs, with the key ``""``.

    ``any_rank``: whether an input that is left out may have any rank.
    """
    if text is None:
        return None
    known = [a.name for a in program.arguments if a.name not in scalars]
    if "=" not in text:
        if known:
            message = f"--shape: `{text}` does not say which input it is for"
            raise error("bad-option", message, f"--shape {known[0]}={text.replace(',', 'x')}")
        return {"": _extents("--shape", text)}
    found = {name: _extents("--shape", value) for name, value in pairs("--shape", [text]).items()}
    for name in found:
        known_name("--shape", name, known, "input")
    missing = [name for name in known if name not in found]
    if missing and not any_rank:
        raise error("shape-needed", f"--shape leaves out `{missing[0]}`", "give all shapes or none")
    return found


def known_name(option: str, name: str, known: Sequence[str], what: str) -> None:
    """Raises :class:`~kgen.KgenError` (``unknown-argument``) for a name that the program lacks."""
    if name not in known:
        article = "an" if what[0] in "aeiou" else "a"
        from kgen.call.arguments import argument_hint

        hint = argument_hint(name, known) if known or name in CONSTANTS else f"this program has no {what}"
        raise error("unknown-argument", f"{option} names `{name}`, which is not {article} {what}", hint)


def _extents(option: str, text: str) -> tuple[int | None, ...]:
    if text == "()":
        return ()
    parts = text.split("x")
    if not all(p == "?" or (p.isascii() and p.isdecimal() and len(p) < 19) for p in parts):
        raise error(
            "bad-option",
            f"{option}: `{text}` is not a shape",
            "extents and `?`, joined by x: 4x?x64; () for a single element",
        )
    return tuple(None if p == "?" else int(p) for p in parts)


def parse_strides(
    text: str | None, program: Program, shapes: Mapping[str, tuple[int | None, ...]] | None
) -> dict[str, tuple[int, ...]]:
    """``a=64x1``, in elements, for inputs whose shapes are given."""
    if text is None:
        return {}
    if not shapes:
        raise error("bad-option", "--strides needs --shape too", "--shape a=4x64 --strides a=1x4")
    found: dict[str, tuple[int, ...]] = {}
    for name, value in pairs("--strides", [text]).items():
        known_name("--strides", name, [a.name for a in program.arguments], "input")
        try:
            found[name] = () if value == "()" else tuple(int(p) for p in value.split("x"))
        except ValueError:
            raise error(
                "bad-option", f"--strides: `{value}` is not a list of strides", "elements, joined by x: 64x1"
            ) from None
    return found
