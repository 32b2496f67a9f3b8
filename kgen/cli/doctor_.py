"""``kgen doctor``: what this machine has, and what to install."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version

import click

from kgen.diagnostics import KgenError, error
from kgen.records import dataclass
from kgen.version import VERSION


@dataclass(frozen=True, slots=True)
class Finding:
    """One check.  ``needed_for`` says what does not work without it; ``fix`` what to install."""

    what: str
    ok: bool
    found: str
    needed_for: str
    fix: str | None = None


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="print as JSON")
def command(as_json: bool) -> None:
    """Say what this machine has and what to install.  Exits with 1 when nothing can run kernels here."""
    findings = list(_findings())
    if as_json:
        facts = [
            {"what": f.what, "ok": f.ok, "found": f.found, "needed_for": f.needed_for, "fix": f.fix} for f in findings
        ]
        click.echo(json.dumps(facts, indent=2))
    else:
        _print(findings)
    runs = any(f.ok for f in findings if f.what in ("GPU", "host compiler"))
    raise SystemExit(0 if runs else 1)


def _print(findings: list[Finding]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"kgen {VERSION} (distribution kgen-cuda)", title_justify="left", box=None)
    for heading in ("", "what", "found", "needed for"):
        table.add_column(heading)
    for f in findings:
        table.add_row(
            Text("ok" if f.ok else "--", style="green" if f.ok else "yellow"), f.what, Text(f.found), f.needed_for
        )
    console = Console()
    console.print(table)
    for f in findings:
        if not f.ok and f.fix:
            console.print(Text(f"{f.what}: {f.fix}"), style="yellow")


def _findings() -> Iterator[Finding]:
    yield Finding("Python", True, f"{platform.python_version()} on {platform.machine()}", "everything")
    for one in (_gpu, _nvrtc, _host_compiler, _cache):
        yield one()
    for library in ("numpy", "torch", "cupy", "jax", "numba-cuda"):
        yield _library(library)


def _ask(what: str, needed_for: str, question: Callable[[], str]) -> Finding:
    try:
        return Finding(what, True, question(), needed_for)
    except KgenError as problem:
        first = problem.diagnostics[0]
        return Finding(what, False, first.message, needed_for, first.hint)
    except ImportError as problem:
        return Finding(what, False, str(problem), needed_for, "pip install --force-reinstall kgen-cuda")


def _gpu() -> Finding:
    def question() -> str:
        from kgen.runtime.cuda.device import devices
        from kgen.runtime.cuda.driver import require

        state = require()
        names = ", ".join(f"{d.name} ({d.arch})" for d in devices())
        return f"{names}; driver for CUDA {'.'.join(map(str, state.version or ()))}"

    return _ask("GPU", "running on CUDA", question)


def _nvrtc() -> Finding:
    def question() -> str:
        from kgen.runtime.cuda.nvrtc import header_directory, nvrtc_version

        major, minor = nvrtc_version()
        if header_directory() is None:
            hint = 'pip install "cuda-toolkit[cudart]==13.*"'
            raise error("no-cuda-headers", f"{major}.{minor}, but CUDA's headers are missing", hint)
        return f"{major}.{minor}, headers found"

    return _ask("NVRTC", "compiling for CUDA, with or without a GPU", question)


def _host_compiler() -> Finding:
    def question() -> str:
        from kgen.runtime.cpu.toolchain import find

        tools = find()
        return f"{' '.join(tools.command)} ({tools.version})"

    return _ask("host compiler", "running on the CPU", question)


def _cache() -> Finding:
    def question() -> str:
        from kgen.runtime.folders import cache_dir, unusable, unwritable
        from kgen.runtime.store import SUFFIX

        folder = cache_dir()
        for kind in SUFFIX:
            part = folder / kind
            why = unusable(part, runs=kind == "cpu") or unwritable(part)
            if why is not None:
                hint = "set KGEN_CACHE_DIR to a folder that only you can write to; until then every process compiles"
                raise error("no-cache", f"{click.format_filename(part)}: {why}", hint)
        return click.format_filename(folder)

    return _ask("cache", "not compiling twice", question)


def _library(name: str) -> Finding:
    for distribution in (name, f"{name}-cuda13x"):
        try:
            return Finding(name, True, version(distribution), f"{name} arrays")
        except PackageNotFoundError:
            continue
    return Finding(name, False, "not installed", f"{name} arrays (optional)")
