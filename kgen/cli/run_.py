"""``kgen run``: runs a program on ``.npy`` and ``.npz`` files, on the GPU if there is one, else on the CPU."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgen.cli import options, terminal
from kgen.cli.files import check_names, load, names_in, save
from kgen.diagnostics import error
from kgen.program import Program

if TYPE_CHECKING:
    from kgen.dtypes import DType


@click.command("run")
@options.program_argument
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="a=a.npy | a.npy | all.npz",
    help="an input's file; repeat or separate by commas; a= may be left out for the only input, for a.npy, and for an "
    ".npz that holds `a`; all.npz:b is one of its arrays",
)
@click.option("--param", "params", multiple=True, metavar="alpha=2.0", help="a param, or a scalar for an input")
@click.option(
    "-o",
    "--out",
    "outs",
    multiple=True,
    metavar="out.npy | s=s.npy | all.npz | -",
    help="where results go, several by name into an .npz; `-` prints a summary [default: -]",
)
@options.per_array("--dtype", "a=bf16", "read a file's raw bytes as a dtype .npy cannot name")
@click.option("--shape", "shape_text", metavar="4x3", help="the shape of a program without array inputs")
@click.option("--device", metavar="cuda|cpu", help="where to run [default: the GPU if there is one]")
@click.option("--tune", is_flag=True, help="time other kernels first, say which --tuning is fastest here, and use it")
@options.floating_point
@click.option("--json", "as_json", is_flag=True, help="print the summary as JSON")
# many: click passes each option as a parameter
def command(
    file: str | None,
    text: str | None,
    inputs: tuple[str, ...],
    params: tuple[str, ...],
    outs: tuple[str, ...],
    dtype_text: str | None,
    shape_text: str | None,
    device: str | None,
    tune: bool,
    fmad: str,
    fast: bool,
    deterministic: bool,
    tuning: int,
    as_json: bool,
) -> None:
    """Run the program FILE (`-`: standard input) or TEXT on real data."""
    from kgen.kernel import Kernel

    program, base = options.read(file, text)
    scalars = _scalars(program, params)
    files = _files(program, inputs, scalars)
    shape = _shape(program, shape_text, files)
    targets = _targets(program, outs)
    written = [path for path in targets.values() if path != "-"]
    options.keep_program(file, map(Path, written))
    check_names(written)
    flags = options.options_of(fmad, fast, deterministic, tuning)
    kernel = Kernel(lambda: program, base, device, flags)
    with terminal.working("reading files", quiet=as_json) as say:
        arrays = _arrays(files, options.parse_dtypes(dtype_text))
        if tune:
            say(f"timing kernels of {base}")
            kernel = kernel._tuned((), arrays | scalars, shape, progress=False)
        say(f"compiling and running {base}")
        started = time.perf_counter()
        result = kernel(**arrays, **scalars, shape=shape)
        seconds = time.perf_counter() - started
        results = dict(zip(kernel.outputs, result if isinstance(result, tuple) else (result,), strict=False))
        results |= {a.name: arrays[a.name] for a in program.arguments if a.role == "inout"}
        say("writing files")
        _save(results, targets)
    terminal.show(tuple(kernel._engine.lowering.lints))
    _report(kernel, results, targets, seconds, as_json)
    if tune and not as_json:
        number = kernel.options.tuning
        terminal.say(f"  the fastest kernels: --tuning {number}" if number else "  the usual kernels are the fastest")


def _scalars(program: Program, items: tuple[str, ...]) -> dict[str, Any]:
    """The values of params, and of inputs that are numbers."""
    from kgen.call.arguments import missing_arguments

    known = [p.name for p in program.parameters]
    known += [a.name for a in program.arguments if a.role == "input"]
    found: dict[str, Any] = {}
    for name, text in options.pairs("--param", items).items():
        options.known_name("--param", name, known, "param or input")
        found[name] = _number(name, text)
    missing = [p.name for p in program.parameters if p.default is None and p.name not in found]
    if missing:
        raise missing_arguments(program, missing, f"--param {missing[0]}=1.0")
    return found


def _files(program: Program, items: tuple[str, ...], scalars: Collection[str]) -> dict[str, str]:
    """The file of each input.  A file without a name is for the only input, or the input of its own name."""
    from kgen.call.arguments import missing_arguments

    known = [a.name for a in program.arguments if a.name not in scalars]
    files = options.pairs("--input", [item for item in _parts(items) if "=" in item])
    for place in _parts(items):
        if "=" not in place:
            for name in _meant(place, known):
                if name in files:
                    raise error("bad-option", f"--input names `{name}` twice")
                files[name] = place
    for name in files:
        options.known_name("--input", name, known, "input")
    missing = [n for n in known if n not in files]
    if missing:
        raise missing_arguments(program, missing, " ".join(f"--input {n}={n}.npy" for n in missing[:3]))
    return files


def _parts(items: tuple[str, ...]) -> list[str]:
    return [part for text in items for part in text.split(",")]


def _meant(place: str, known: Sequence[str]) -> list[str]:
    """The inputs that a file without a name provides."""
    stem = Path(place).stem
    if len(known) == 1 or stem in known:
        return [stem if stem in known else known[0]]
    held = [name for name in names_in(place) if name in known]
    if held:
        return held
    hint = f"--input {known[0]}={place}" if known and place else None
    raise error("bad-option", f"--input: which input `{place}` is for is not clear", hint)


def _shape(program: Program, text: str | None, files: Collection[str]) -> tuple[int, ...] | None:
    """The shape of a call without arrays."""
    if files:
        if text is not None:
            raise error(
                "bad-option", "--shape is for programs without array inputs", "the shape follows from the files"
            )
        return None
    stated = (options.parse_shapes(text, program, [a.name for a in program.arguments]) or {}).get("")
    if stated is None:
        raise error("shape-needed", "no input is an array, so nothing gives the output's shape", "--shape 4x3")
    if any(n is None for n in stated):
        raise error("bad-option", "--shape: to run, every extent has to be known", "--shape 4x3, without `?`")
    return tuple(n or 0 for n in stated)


def _arrays(files: Mapping[str, str], dtypes: dict[str, DType] | DType | None) -> dict[str, Any]:
    if isinstance(dtypes, dict):
        for name in dtypes:
            options.known_name("--dtype", name, list(files), "input")
        return {n: load(n, place, dtypes.get(n)) for n, place in files.items()}
    return {n: load(n, place, dtypes) for n, place in files.items()}


_LONGEST = 1000  # characters of a number, as in a program


def _number(name: str, text: str) -> bool | int | float | complex:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float, complex):
        try:
            if text.isascii() and len(text) <= _LONGEST:  # a longer integer would become an infinite float
                return kind(text)
        except ValueError:
            continue
    raise error("bad-option", f"--param: `{text:.60}` is not a number", f"--param {name}=2.0")


def _targets(program: Program, outs: tuple[str, ...]) -> dict[str, str]:
    """The file of each result; a bare path is for the only result, and a bare ``.npz`` for all."""
    names = [o.name for o in program.outputs] + [a.name for a in program.arguments if a.role == "inout"]
    if not outs or outs == ("-",):
        return dict.fromkeys(names, "-")
    if len(outs) == 1 and "=" not in outs[0]:
        if len(names) > 1 and not outs[0].endswith(".npz"):
            message = f"there are {len(names)} results: {', '.join(names)}"
            raise error("bad-option", message, f"-o all.npz, or {' '.join(f'-o {n}={n}.npy' for n in names[:3])}")
        return dict.fromkeys(names, outs[0])
    found = options.pairs("-o", outs)
    places: dict[str, str] = {}
    for name, path in found.items():
        options.known_name("-o", name, names, "result")
        if path == "-":
            continue
        other = places.setdefault(os.path.realpath(path), name)
        if other != name and not path.endswith(".npz"):
            message = f"-o {path} is the file of both `{other}` and `{name}`"
            raise error("bad-option", message, "name two files, or one .npz for both")
    return found


def _save(results: Mapping[str, Any], targets: Mapping[str, str]) -> None:
    files: dict[str, dict[str, Any]] = {}
    for name, path in targets.items():
        if path != "-":
            files.setdefault(path, {})[name] = results[name]
    save(files)


def _report(kernel: Any, results: dict[str, Any], targets: dict[str, str], seconds: float, as_json: bool) -> None:
    device = kernel.ran_on
    if as_json:
        facts = {
            n: {
                "shape": list(r.shape),
                "dtype": str(r.dtype),
                "file": None if targets.get(n, "-") == "-" else targets[n],
            }
            for n, r in results.items()
        }
        said = {"device": device, "seconds": seconds, "tuning": kernel.options.tuning, "results": facts}
        click.echo(json.dumps(said, indent=2))
        return
    terminal.say(f"ran {kernel.name} on {device} in {seconds * 1e3:.1f} ms, compilation included")
    for name, array in results.items():
        target = f" -> {targets[name]}" if targets.get(name, "-") != "-" else ""
        terminal.say(f"  {name}: {array.dtype}{list(array.shape)} {_summary(array)}{target}")


def _summary(array: Any) -> str:
    """The first few elements, and the range of real numbers."""
    import numpy as np

    flat = np.asarray(array).reshape(-1)
    shown = "[" + ", ".join(str(x) for x in flat[:6]) + (", ...]" if flat.size > 6 else "]")
    if flat.size > 6 and flat.dtype.kind in "iuf":
        shown += f" min {flat.min()} max {flat.max()}"
    return shown
