"""The command line: ``kgen compile | check | run | grad | explain | cache | doctor``.

Subcommands are imported when they are called, for a fast start.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TextIO

import click

from kgen import resources
from kgen.cli import terminal
from kgen.diagnostics import KgenError, error, nearest
from kgen.lints import LintWarning
from kgen.version import VERSION

_COMMANDS = {
    "compile": "a .k file -> a standalone .cu (or PTX, CUBIN, the text of a stage); needs no GPU",
    "check": "generated files against what their programs give today: a diff, and --update",
    "build": "several .k files -> a library for C and C++, and its header; needs no GPU",
    "run": "run a program on .npy and .npz files, on the GPU or the CPU, whatever is here",
    "grad": "a .k file -> the program of its gradients, as a .k file",
    "explain": "what was decided for a program: types, kernels, and why",
    "cache": "the compiled kernels on disk: info, list, clear",
    "doctor": "what this machine has, and what to install",
}
_INTERRUPTED, _BUG, _BROKEN_PIPE = 128 + signal.SIGINT, 70, 128 + signal.SIGPIPE


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"kgen.cli.{cmd_name}_").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _COMMANDS:
            near = "compile " + args[0] if args[0].endswith(".k") else nearest(args[0], _COMMANDS)
            ctx.fail(f"No such command '{args[0]}'." + (f" Did you mean 'kgen {near}'?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


def _print_cmake_dir(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(resources.cmake_folder())
        context.exit()


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="kgen")
@click.option(
    "--cmake-dir", is_flag=True, is_eager=True, expose_value=False, callback=_print_cmake_dir,
    help="print the folder of the CMake package: cmake -Dkgen_DIR=$(kgen --cmake-dir)",
)  # fmt: skip
def cli() -> None:
    """A line of text in, an expert's CUDA kernel out."""


def main() -> None:
    """Entry point: a user's mistake is printed as a diagnostic, and exits with 1.

    A wrong command line exits with 2, Ctrl-C with 130 and SIGTERM with 143.  A bug in kgen prints a traceback and exits
    with 70.  With ``--json`` diagnostics are JSON on standard output.
    """
    warnings.formatwarning = lambda message, *_, **__: f"note: {message}\n"  # without the place in kgen's code
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # file names may be any bytes
    with _ended_by_sigterm():
        status = _run()
        for stream in (sys.stdout, sys.stderr):
            status = _flush(stream) or status
    if status:
        sys.exit(status)


def _run() -> int:
    """The exit status."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LintWarning)  # commands print lints themselves
            cli.main(standalone_mode=False)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    except KgenError as problem:
        return _report(problem)
    except click.ClickException as problem:
        text = io.StringIO()
        problem.show(text)
        terminal.say(text.getvalue().rstrip("\n"), err=True)
        return problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except BrokenPipeError:  # `kgen compile x.k | head`
        return _BROKEN_PIPE
    except MemoryError as problem:
        return _report(error("out-of-memory", f"not enough memory: {problem}".rstrip(": ")))
    except OSError as problem:
        return _report(_refused(problem))
    except Exception:
        return _bug()
    return 0


def _report(problem: KgenError) -> int:
    with suppress(OSError):  # standard error may be closed
        if "--json" in sys.argv:
            click.echo(json.dumps({"errors": [terminal.facts(d) for d in problem.diagnostics]}, indent=2))
        else:
            terminal.show(problem.diagnostics)
    return 1


def _refused(problem: OSError) -> KgenError:
    """The diagnostic of a system error, such as a full disk."""
    where = "" if problem.filename is None else f" {problem.filename}:"
    return error("system-error", f"the system refused:{where} {problem.strerror or problem}")


def _bug() -> int:
    import traceback

    with suppress(OSError):
        terminal.say(traceback.format_exc(), err=True)
        message = f"this is a bug in kgen {VERSION}: please report it, with the program and the command line"
        _report(error("internal-error", message))
    return _BUG


def _flush(stream: TextIO | None) -> int:
    """Flush a stream; the exit status is 0 unless that fails, such as on a full disk."""
    if stream is None:  # it was closed
        return 0
    try:
        stream.flush()
    except (OSError, ValueError) as problem:
        with suppress(OSError, ValueError):  # or Python flushes it again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if isinstance(problem, BrokenPipeError):
            return _BROKEN_PIPE
        if isinstance(problem, OSError) and stream is not sys.stderr:
            _report(_refused(problem))
        return 1
    return 0


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM unwinds like Ctrl-C, so that no file is left half-written; a second SIGTERM ends the process."""
    mine = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if mine:
        signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        if mine:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)
