"""``kgen cache``: the compiled kernels on disk."""

from __future__ import annotations

import json
import sys
import time

import click

from kgen.runtime.cache import CacheEntry, clear, entries, lowering_bytes
from kgen.runtime.folders import cache_dir
from kgen.runtime.store import MAX_BYTES
from kgen.spec import counted

_PIPED = 160  # columns of a table that goes to no terminal


@click.group("cache")
def command() -> None:
    """Show or clear the folder in which compiled kernels are kept between processes."""


@command.command("info")
@click.option("--json", "as_json", is_flag=True, help="print as JSON")
def info(as_json: bool) -> None:
    """Where the cache is, and how much is in it."""
    folder = cache_dir()
    found = entries(folder)
    total = sum(k.bytes for k in found)
    cubins = sum(k.bytes for k in found if k.kind == "cubin")
    parts = {"cubin_bytes": cubins, "cpu_bytes": total - cubins, "lowering_bytes": lowering_bytes(folder)}
    if as_json:
        facts = {"folder": str(folder), "kernels": len(found), "bytes": total, **parts, "cap": MAX_BYTES}
        click.echo(json.dumps(facts, indent=2))
        return
    click.echo(f"{click.format_filename(folder)}\n{counted(len(found), 'kernel')}, {_size(total)}")
    for size, what in zip(parts.values(), ("GPUs", "the CPU", "lowerings of first calls"), strict=True):
        click.echo(f"{_size(size)} of at most {_size(MAX_BYTES)} for {what}")


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="print as JSON")
def list_(as_json: bool) -> None:
    """Every kernel, most recently used first."""
    found = entries(cache_dir())
    if as_json:
        facts = [
            {"name": k.name, "kind": k.kind, "bytes": k.bytes, "used": k.used, "path": str(k.path), "of": k.note()}
            for k in found
        ]
        click.echo(json.dumps(facts, indent=2))
    else:
        _print(found)


@command.command("clear")
def clear_() -> None:
    """Remove all kernels.  Running processes keep what they have loaded."""
    click.echo(f"removed {counted(clear(cache_dir()), 'kernel')}")


def _print(found: list[CacheEntry]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None)
    table.add_column("kernel", no_wrap=True, max_width=40)
    table.add_column("for", no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("last used", no_wrap=True)
    table.add_column("program and operands")
    for one in found:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.used))
        target = "GPU" if one.kind == "cubin" else "CPU"
        table.add_row(Text(one.name), target, _size(one.bytes), used, Text(_printable(one.note())))
    Console(width=None if sys.stdout.isatty() else _PIPED).print(table)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def _size(number: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"
