"""The command line: ``kgen compile | run | explain | cache | doctor``.

Subcommands are imported when they are called, so that each starts as fast as it can.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings

import click

from kgen.diagnostics import Diagnostic, KgenError
from kgen.version import VERSION

_COMMANDS = {
    "compile": "a .k file -> a standalone .cu (or PTX, CUBIN, IR); needs no GPU",
    "run": "run a program on .npy files, on the GPU or the CPU, whatever is here",
    "explain": "what was decided for a program: types, kernels, and why",
    "cache": "the compiled kernels on disk: info, list, clear",
    "doctor": "what this machine has, and what to install",
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"kgen.cli.{cmd_name}_").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="kgen")
def cli() -> None:
    """A line of text in, an expert's CUDA kernel out."""


def main() -> None:
    """Entry point: a user's mistake is printed as a diagnostic, without a traceback, and exits with 1.

    A wrong command line exits with 2.  Under ``--json`` diagnostics are JSON too, on standard output.
    """
    warnings.formatwarning = lambda message, *_, **__: f"note: {message}\n"  # the place in kgen's code helps nobody
    try:
        cli.main(standalone_mode=False)
        sys.stdout.flush()
    except KgenError as problem:
        if "--json" in sys.argv:
            click.echo(json.dumps({"errors": [_facts(d) for d in problem.diagnostics]}, indent=2))
        else:
            click.echo(str(problem), err=True)
        sys.exit(1)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except click.Abort:
        sys.exit(130)
    except BrokenPipeError:  # `kgen compile x.k | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _facts(diagnostic: Diagnostic) -> dict[str, object]:
    """One diagnostic for programs; ``line`` and ``column`` count from 1, as in the printed text."""
    facts: dict[str, object] = {"code": diagnostic.code, "message": diagnostic.message, "hint": diagnostic.hint}
    if diagnostic.source is not None:
        facts["file"] = diagnostic.source.name
        if diagnostic.at is not None:
            line = diagnostic.source.line_of(diagnostic.at.start)
            column = diagnostic.at.start - diagnostic.source.line_start(line) + 1
            facts |= {"line": line, "column": column}
    return facts
