"""``kgen check``: generated files against what their programs give today."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence

import click

from kgen.cli import terminal
from kgen.cli.remake import Remade, Sources, find, remake
from kgen.codegen.writer import write_all
from kgen.diagnostics import Diagnostic, KgenError, error
from kgen.records import replace
from kgen.spec import counted


@click.command("check")
@click.argument("paths", metavar="DIR...", nargs=-1, required=True)
@click.option("--update", is_flag=True, help="rewrite the files that differ")
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON")
def command(paths: tuple[str, ...], update: bool, as_json: bool) -> None:
    """Compare the generated files of each DIR, and of the folders in it, with what kgen makes of their programs today.

    The first comment of a file says how it was made. Its program is looked for beside the file, then in every DIR.
    Prints a diff and exits with 1 where a file differs. The version of kgen is not compared; hidden folders are left
    out.
    """
    sources, problems = find(paths)
    if not sources.snapshots and not problems:
        hint = "name the folders of generated files, which begin with `Made by kgen`"
        raise error("no-snapshots", f"there is no file that kgen made in {', '.join(paths)}", hint)
    differ, broken = _compared(sources, as_json)
    problems += broken
    if update:
        try:
            write_all({one.path: one.text for one in differ})
        except KgenError as problem:
            problems += problem.diagnostics
            differ = []  # none was rewritten
    else:
        problems += map(_stale, differ)
    if as_json:
        _print_json(sources, differ, problems)
    else:
        _print(paths, sources, differ, problems, update)
    if problems:
        sys.exit(1)


def _compared(sources: Sources, quiet: bool) -> tuple[list[Remade], list[Diagnostic]]:
    """The files that differ, and what is wrong with those that cannot be made again."""
    differ: list[Remade] = []
    problems: list[Diagnostic] = []
    with terminal.working("checking", quiet=quiet) as say:
        for path in sources.snapshots:
            say(f"checking {path}")
            try:
                one = remake(path, sources)
            except KgenError as problem:
                problems += [replace(d, message=f"{path}: {d.message}") for d in problem.diagnostics]
            else:
                differ += [one] if one.differs else []
    return differ, problems


def _stale(one: Remade) -> Diagnostic:
    message = f"{one.path} is not what {one.program or 'its text'} gives today"
    return Diagnostic("stale-snapshot", message, shlex.join(one.command))


def _print(
    paths: Sequence[str], sources: Sources, differ: Sequence[Remade], problems: Sequence[Diagnostic], update: bool
) -> None:
    for one in () if update else differ:
        terminal.show_difference(one.difference)
    for problem in problems:
        terminal.show([problem])  # each: a long list is not cut
    said = f"checked {counted(len(sources.snapshots), 'file')}"
    if differ and update:
        said += f", rewrote {', '.join(str(one.path) for one in differ)}"
    elif differ:
        said += f"; {shlex.join(['kgen', 'check', *paths, '--update'])} rewrites {counted(len(differ), 'file')}"
    terminal.say(said, err=True)


def _print_json(sources: Sources, differ: Sequence[Remade], problems: Sequence[Diagnostic]) -> None:
    different = [
        {
            "file": str(one.path),
            "program": None if one.program is None else str(one.program),
            "command": one.command,
            "diff": one.difference,
        }
        for one in differ
    ]
    said = {
        "checked": [str(path) for path in sources.snapshots],
        "different": different,
        "errors": [terminal.facts(d) for d in problems],
    }
    click.echo(json.dumps(said, indent=2))
