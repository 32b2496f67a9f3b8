"""Options that commands share: reading programs, ``name=value`` lists, shapes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from kgen import pipeline
from kgen.banner import Options
from kgen.codegen.names import kernel_base
from kgen.diagnostics import error
from kgen.dtypes import DType
from kgen.jit import read_program
from kgen.program import Program
from kgen.spec import as_dtype

F = TypeVar("F", bound=Callable[..., Any])


def program_argument(function: F) -> F:
    """``FILE``: a path, or ``-`` for standard input."""
    return click.argument("file", metavar="FILE")(function)


def floating_point(function: F) -> F:
    """``--fmad`` and ``--fast``."""
    function = click.option(
        "--fmad",
        type=click.Choice(["on", "off"]),
        default="on",
        show_default=True,
        help="let a*b+c contract to one fma",
    )(function)
    return click.option("--fast", is_flag=True, help="allow approximate functions (-use_fast_math)")(function)


def layout_options(function: F) -> F:
    """``--dtype``, ``--shape``, ``--strides``: what is known of the arrays."""
    function = click.option(
        "--dtype", "dtypes", metavar="a=f16,b=f32 | f32", help="dtypes of the inputs [default: f32]"
    )(function)
    function = click.option("--shape", "shapes", metavar="a=4x?,b=?", help="shapes of the inputs; `?` is any size")(
        function
    )
    return click.option("--strides", metavar="a=1x4", help="strides of the inputs, in elements [default: C order]")(
        function
    )


def read(file: str, name: str | None) -> tuple[Program, str]:
    """The program of a path or of standard input, and the base name of its kernels."""
    if file == "-":
        try:
            text = sys.stdin.read()
        except UnicodeDecodeError:
            raise error("unreadable-file", "standard input is not UTF-8 text") from None
        return pipeline.load(text, "<stdin>"), kernel_base(name or "kernel")
    path = Path(file)
    return pipeline.load(read_program(path), path.name), kernel_base(name or path.stem)


def options_of(fmad: str, fast: bool) -> Options:
    return Options(fmad == "on", fast)


def pairs(option: str, items: Iterable[str]) -> dict[str, str]:
    """``name=value`` items, separated by commas or given repeatedly."""
    found: dict[str, str] = {}
    for item in (part for text in items for part in text.split(",")):
        name, equals, value = item.partition("=")
        if not equals or not name or not value:
            raise error("bad-option", f"{option} takes name=value, not `{item}`")
        if name in found:
            raise error("bad-option", f"{option} names `{name}` twice")
        found[name] = value
    return found


def parse_dtypes(text: str | None) -> dict[str, DType] | DType | None:
    if text is None:
        return None
    if "=" not in text:
        return as_dtype(text)
    return {name: as_dtype(value) for name, value in pairs("--dtype", [text]).items()}


def parse_shapes(text: str | None, program: Program) -> dict[str, tuple[int | None, ...]] | None:
    """``a=4x?,b=?``; a bare ``4x?`` is the shape of a program without inputs."""
    if text is None:
        return None
    if "=" not in text:
        return {"": _extents("--shape", text)}
    found = {name: _extents("--shape", value) for name, value in pairs("--shape", [text]).items()}
    known = [a.name for a in program.arguments]
    for name in found:
        if name not in known:
            raise error(
                "unknown-argument",
                f"--shape names `{name}`, which is not an input",
                f"the inputs are {', '.join(known) or 'none'}",
            )
    missing = [name for name in known if name not in found]
    if missing:
        raise error("shape-needed", f"--shape leaves out `{missing[0]}`", "give all shapes or none")
    return found


def _extents(option: str, text: str) -> tuple[int | None, ...]:
    if text == "()":
        return ()
    parts = text.split("x")
    if not all(p == "?" or p.isdecimal() for p in parts):
        raise error(
            "bad-option",
            f"{option}: `{text}` is not a shape",
            "extents and `?`, joined by x: 4x?x64; () for a single element",
        )
    return tuple(None if p == "?" else int(p) for p in parts)


def parse_strides(text: str | None) -> dict[str, tuple[int, ...]]:
    if text is None:
        return {}
    found: dict[str, tuple[int, ...]] = {}
    for name, value in pairs("--strides", [text]).items():
        try:
            found[name] = () if value == "()" else tuple(int(p) for p in value.split("x"))
        except ValueError:
            raise error(
                "bad-option", f"--strides: `{value}` is not a list of strides", "elements, joined by x: 64x1"
            ) from None
    return found
