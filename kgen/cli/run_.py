"""``kgen run``: a program on ``.npy`` files, on what the machine has."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgen.cli import options
from kgen.diagnostics import error
from kgen.program import Program
from kgen.spec import counted

if TYPE_CHECKING:
    from kgen.dtypes import DType


@click.command("run")
@options.program_argument
@click.option(
    "--input", "inputs", multiple=True, metavar="a=a.npy", help="an input's file; repeat or separate by commas"
)
@click.option("--param", "params", multiple=True, metavar="alpha=2.0", help="a param, or a scalar for an input")
@click.option(
    "-o",
    "--out",
    "outs",
    multiple=True,
    metavar="out.npy | s=s.npy | -",
    help="where results go; `-` prints a summary [default: -]",
)
@options.per_array("--dtype", "a=bf16", "read a file's raw bytes as a dtype .npy cannot name")
@click.option("--shape", "shape_text", metavar="4x3", help="the shape of a program without array inputs")
@click.option("--device", metavar="cuda|cpu", help="where to run [default: the GPU if there is one]")
@options.floating_point
@click.option("--json", "as_json", is_flag=True, help="print the summary as JSON")
def command(
    file: str,
    inputs: tuple[str, ...],
    params: tuple[str, ...],
    outs: tuple[str, ...],
    dtype_text: str | None,
    shape_text: str | None,
    device: str | None,
    fmad: str,
    fast: bool,
    as_json: bool,
) -> None:
    """Run the program FILE (`-`: standard input) on real data."""
    from kgen.jit import Kernel

    program, base = options.read(file, None)
    scalars = _scalars(program, params)
    files = _files(program, options.pairs("--input", inputs), scalars)
    shape = _shape(program, shape_text, files)
    targets = _targets(program, outs)
    options.keep_program(file, [Path(path) for path in targets.values() if path != "-"])
    arrays = _arrays(files, options.parse_dtypes(dtype_text))
    kernel = Kernel(program, name=base, device=device, options=options.options_of(fmad, fast))
    started = time.perf_counter()
    result = kernel(**arrays, **scalars, shape=shape)
    seconds = time.perf_counter() - started
    results = dict(zip(kernel.outputs, result if isinstance(result, tuple) else (result,), strict=False))
    results |= {a.name: arrays[a.name] for a in program.arguments if a.role == "inout"}
    _save({Path(path): results[name] for name, path in targets.items() if path != "-"})
    _report(kernel, results, targets, seconds, as_json)


def _scalars(program: Program, items: tuple[str, ...]) -> dict[str, Any]:
    """Params, and inputs that a number stands for."""
    from kgen.arguments import missing_arguments

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


def _files(program: Program, files: dict[str, str], scalars: Collection[str]) -> dict[str, str]:
    from kgen.arguments import missing_arguments

    known = [a.name for a in program.arguments if a.name not in scalars]
    for name in files:
        options.known_name("--input", name, known, "input")
    missing = [n for n in known if n not in files]
    if missing:
        raise missing_arguments(program, missing, " ".join(f"--input {n}={n}.npy" for n in missing[:3]))
    return files


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
        return {n: _load(n, Path(path), dtypes.get(n)) for n, path in files.items()}
    return {n: _load(n, Path(path), dtypes) for n, path in files.items()}


_SAVE = "save it with numpy.save(path, array, allow_pickle=False)"


def _load(name: str, path: Path, dtype: Any) -> Any:
    """The array of an input.  Pickled, truncated and foreign files are refused."""
    import numpy as np

    from kgen.arrays.numpy_ import TO_NUMPY

    try:
        with path.open("rb") as file:
            start = file.read(6)
        if start != b"\x93NUMPY" and not start.startswith(b"PK"):  # PK: an .npz file
            raise error("unreadable-file", f"{path} {'is no .npy file' if start else 'is empty'}", _SAVE)
        array = np.load(path, allow_pickle=False)
    except OSError as problem:
        raise error("unreadable-file", f"cannot read {path}: {problem.strerror or problem}") from None
    except MemoryError:
        raise error("unreadable-file", f"{path} says that it holds more than fits into memory") from None
    except (ValueError, EOFError) as problem:
        what = (
            "holds pickled Python objects, which are never loaded"
            if "pickle" in str(problem)
            else "is a damaged .npy file, or a truncated one"
        )
        raise error("unreadable-file", f"{path} {what}", _SAVE) from None
    if not isinstance(array, np.ndarray):
        raise error("unreadable-file", f"{path} holds several arrays", "save one array a file")
    raw = _RAW.get(array.dtype.itemsize, ()) if array.dtype.kind == "V" and array.dtype.names is None else ()
    if dtype is None:
        if raw:
            message = f"{path} holds raw bytes, {counted(array.dtype.itemsize, 'byte')} an element"
            raise error("unsupported-dtype", message, f"say what they are: {_either(name, raw)}")
        return array
    wanted = TO_NUMPY[dtype]
    if array.dtype == wanted:
        return array
    if array.dtype.kind not in "Vu" or array.dtype.itemsize != wanted.itemsize:
        raise error(
            "dtype-mismatch",
            f"{path} holds {array.dtype}, which are not raw bytes of {dtype}",
            _either(name, raw) if raw else f"leave --dtype out; to convert write `cast<{dtype.short}>({name})`",
        )
    return array.view(wanted)


#: The dtypes that .npy cannot name, by their bytes.
_RAW = {2: ("bf16",), 1: ("e4m3fn", "e5m2")}


def _either(name: str, dtypes: Sequence[str]) -> str:
    """The options that read a file's raw bytes."""
    return " or ".join(f"--dtype {name}={dtype}" for dtype in dtypes)


def _number(name: str, text: str) -> bool | int | float | complex:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float, complex):
        try:
            return kind(text)
        except ValueError:
            continue
    raise error("bad-option", f"--param: `{text}` is not a number", f"--param {name}=2.0")


def _targets(program: Program, outs: tuple[str, ...]) -> dict[str, str]:
    """Where each result goes; a bare path is for the only one."""
    names = [o.name for o in program.outputs] + [a.name for a in program.arguments if a.role == "inout"]
    if not outs or outs == ("-",):
        return dict.fromkeys(names, "-")
    if len(outs) == 1 and "=" not in outs[0]:
        if len(names) > 1:
            message = f"there are {len(names)} results: {', '.join(names)}"
            raise error("bad-option", message, " ".join(f"-o {n}={n}.npy" for n in names[:3]))
        return {names[0]: outs[0]}
    found = options.pairs("-o", outs)
    places: dict[Path, str] = {}
    for name, path in found.items():
        options.known_name("-o", name, names, "result")
        other = places.setdefault(Path(path).resolve(), name)
        if path != "-" and other != name:
            raise error("bad-option", f"-o {path} is the file of both `{other}` and `{name}`", "name two files")
    return found


def _save(arrays: Mapping[Path, Any]) -> None:
    """All of them or none."""
    import io

    import numpy as np

    from kgen.codegen.writer import write_all

    files: dict[Path, str | bytes] = {}
    for path, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, np.asarray(array), allow_pickle=False)
        files[path] = buffer.getvalue()
    write_all(files)


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
        click.echo(json.dumps({"device": device, "seconds": seconds, "results": facts}, indent=2))
        return
    click.echo(f"ran {kernel.name} on {device} in {seconds * 1e3:.1f} ms, compilation included")
    for name, array in results.items():
        target = f" -> {targets[name]}" if targets.get(name, "-") != "-" else ""
        click.echo(f"  {name}: {array.dtype}{list(array.shape)} {_summary(array)}{target}")


def _summary(array: Any) -> str:
    """The first few elements; of real numbers, also their range."""
    import numpy as np

    flat = np.asarray(array).reshape(-1)
    shown = "[" + ", ".join(str(x) for x in flat[:6]) + (", ...]" if flat.size > 6 else "]")
    if flat.size > 6 and flat.dtype.kind in "iuf":
        shown += f" min {flat.min()} max {flat.max()}"
    return shown
