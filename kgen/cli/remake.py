"""Finds generated files with their programs, and makes them again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from kgen import pipeline
from kgen.bindings import BINDINGS
from kgen.cli import compile_
from kgen.cli.request import Request, contents, prepare
from kgen.codegen.names import named_base
from kgen.diagnostics import Diagnostic, error
from kgen.header import default_base
from kgen.jit import read_program, unreadable_hint
from kgen.records import dataclass
from kgen.snapshots import Record, bad_snapshot, difference, is_same, is_snapshot, recorded

_START = 64  #: bytes that say whether kgen made a file


@dataclass(frozen=True, slots=True)
class Sources:
    """``snapshots``: the files that kgen made; ``others``: the rest, by name."""

    snapshots: tuple[Path, ...]
    others: dict[str, list[Path]]


@dataclass(frozen=True, slots=True)
class Remade:
    """A generated file.  ``program``: None for a text; ``command``: what rewrites the file."""

    path: Path
    program: Path | None
    committed: str
    text: str
    command: list[str]

    @property
    def differs(self) -> bool:
        return not is_same(self.committed, self.text)

    @property
    def difference(self) -> str:
        return difference(str(self.path), self.committed, self.text)


def find(paths: Iterable[str]) -> tuple[Sources, list[Diagnostic]]:
    """All files of these folders and files, each once; and what cannot be read.  Hidden folders are left out."""
    problems: list[Diagnostic] = []
    snapshots: list[Path] = []
    others: dict[str, list[Path]] = {}
    for path in {os.path.realpath(path): path for path in _files(paths, problems)}.values():
        try:
            with path.open("rb") as file:
                start = file.read(_START)
        except OSError as problem:
            problems.append(_unreadable(path, problem))
            continue
        if is_snapshot(start):
            snapshots.append(path)
        else:
            others.setdefault(path.name, []).append(path)
    return Sources(tuple(snapshots), others), problems


def _files(paths: Iterable[str], problems: list[Diagnostic]) -> Iterator[Path]:
    def refused(problem: OSError) -> None:
        problems.append(_unreadable(problem.filename, problem))

    for top in paths:
        if os.path.isfile(top):
            yield Path(top)
            continue
        for folder, below, names in os.walk(top, onerror=refused):
            below[:] = sorted(name for name in below if not name.startswith("."))
            yield from (path for path in (Path(folder, name) for name in sorted(names)) if path.is_file())


def _unreadable(path: object, problem: OSError) -> Diagnostic:
    return Diagnostic(
        "unreadable-file", f"cannot read {path}: {problem.strerror or problem}", hint=unreadable_hint(problem)
    )


def remake(path: Path, sources: Sources) -> Remade:
    """Raises :class:`~kgen.KgenError`: ``bad-snapshot``, ``missing-program``, ``ambiguous-program``, and what
    compiling the program raises.
    """
    committed = path.read_text(encoding="utf-8", errors="backslashreplace")
    record = recorded(committed)
    if record.kind not in ("cu", "h", *BINDINGS):
        raise bad_snapshot("its first comment has a command that makes no such file")
    given = _parsed(record)
    place = None if record.program is None else _program(path, record.program, sources)
    if place is None:
        program = pipeline.load(record.quoted)
        command = ["kgen", "check", str(path), "--update"]
    else:
        program = pipeline.load(read_program(place), place.name)
        command = _command(record, place, path)
    base = default_base(program) if given["name"] is None else named_base(given["name"])
    request = Request(**{field.name: given[field.name] for field in fields(Request)})
    text = contents(prepare(program, base, request), [record.kind])[record.kind]
    assert isinstance(text, str)
    return Remade(path, place, committed, text, command)


def _parsed(record: Record) -> dict[str, Any]:
    """The recorded options, by click's names of them.  Only those that texts depend on are known."""
    allowed = {*(field.name for field in fields(Request)), "out", "emit", "abi", "name"}
    known = [parameter for parameter in compile_.command.params if parameter.name in allowed]
    parser = click.Command("compile", params=known, add_help_option=False)
    try:
        return parser.make_context("compile", list(record.arguments)).params
    except click.ClickException as problem:
        raise bad_snapshot(f"its first comment has a command that makes no such file: {problem.message}") from None


def _program(path: Path, name: str, sources: Sources) -> Path:
    """The program beside a generated file, or the only one of its name in the folders that are checked."""
    beside = path.parent / name
    if beside.is_file():
        return beside
    found = sources.others.get(name, [])
    if len(found) > 1:
        message = f"its program may be {' or '.join(map(str, found))}"
        raise error("ambiguous-program", message, f"move one, or put {name} beside the file")
    if not found:
        message = f"its program {name} is neither beside it nor in a folder that is checked"
        raise error("missing-program", message, f"name the folder of {name} too: kgen check {path.parent} FOLDER")
    return found[0]


def _command(record: Record, program: Path, path: Path) -> list[str]:
    """The recorded command, with paths from here."""
    arguments = list(record.arguments)
    if "-o" in arguments:
        arguments[arguments.index("-o") + 1] = str(path)
    shown = f"./{program}" if str(program).startswith("-") else str(program)
    return ["kgen", "compile", shown, *arguments]
