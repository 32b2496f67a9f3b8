"""``kgen run``: a program on ``.npy`` files, on what the machine has."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click

from kgen.cli import options
from kgen.diagnostics import error
from kgen.program import Program


@click.command("run")
@options.program_argument
@click.option(
    "--input", "inputs", multiple=True, metavar="a=a.npy", help="an input's file; repeat or separate by commas"
)
@click.option("--param", "params", multiple=True, metavar="alpha=2.0", help="a by-value parameter")
@click.option(
    "-o",
    "--out",
    "outs",
    multiple=True,
    metavar="out.npy | s=s.npy | -",
    help="where results go; `-` prints a summary [default: -]",
)
@click.option("--dtype", "dtypes", metavar="a=bf16", help="read a file's raw bytes as a dtype that .npy cannot name")
@click.option("--shape", metavar="4x3", help="the shape of a program without inputs")
@click.option("--device", metavar="cuda|cpu", help="where to run [default: the GPU if there is one]")
@options.floating_point
@click.option("--json", "as_json", is_flag=True, help="print the summary as JSON")
def command(
    file: str, inputs: tuple[str, ...], params: tuple[str, ...], outs: tuple[str, ...], dtypes: str | None,
    shape: str | None, device: str | None, fmad: str, fast: bool, as_json: bool,
) -> None:  # fmt: skip
    """Run the program FILE (`-`: standard input) on real data."""
    from kgen.jit import Kernel

    program, base = options.read(file, None)
    arrays = _inputs(program, options.pairs("--input", inputs), options.parse_dtypes(dtypes))
    targets = _targets(program, outs)
    kernel = Kernel(program, name=base, device=device, options=options.options_of(fmad, fast))
    extents = options.parse_shapes(shape, program)
    call_shape = None if extents is None else tuple(n or 0 for n in extents[""])
    started = time.perf_counter()
    result = kernel(**arrays, **_params(program, params), shape=call_shape)
    seconds = time.perf_counter() - started
    results = dict(zip(kernel.outputs, result if isinstance(result, tuple) else (result,), strict=False))
    results |= {a.name: arrays[a.name] for a in program.arguments if a.role == "inout"}
    for name, path in targets.items():
        if path != "-":
            _save(Path(path), results[name])
    _report(kernel, results, targets, seconds, as_json)


def _inputs(program: Program, files: dict[str, str], dtypes: Any) -> dict[str, Any]:
    known = [a.name for a in program.arguments]
    for name in files:
        if name not in known:
            raise error(
                "unknown-argument",
                f"--input names `{name}`, which is not an input",
                f"the inputs are {', '.join(known) or 'none'}",
            )
    missing = [n for n in known if n not in files]
    if missing:
        raise error(
            "missing-argument",
            f"`{'`, `'.join(missing)}` {'is' if len(missing) == 1 else 'are'} not given",
            f"--input {missing[0]}={missing[0]}.npy",
        )
    found = {
        name: _load(Path(path), dtypes.get(name) if isinstance(dtypes, dict) else dtypes)
        for name, path in files.items()
    }
    return found


def _load(path: Path, dtype: Any) -> Any:
    """One array.  Pickled, truncated and foreign files are refused."""
    import numpy as np

    from kgen.arrays.numpy_ import TO_NUMPY

    try:
        array = np.load(path, allow_pickle=False)
    except OSError as problem:
        raise error("unreadable-file", f"cannot read {path}: {problem.strerror or problem}") from None
    except (ValueError, EOFError) as problem:
        what = (
            "holds pickled Python objects, which are never loaded"
            if "pickle" in str(problem)
            else "is no .npy file, or a truncated one"
        )
        raise error(
            "unreadable-file", f"{path} {what}", "save it with numpy.save(path, array, allow_pickle=False)"
        ) from None
    if not isinstance(array, np.ndarray):
        raise error("unreadable-file", f"{path} holds several arrays", "save one array a file")
    if dtype is None:
        return array
    wanted = TO_NUMPY[dtype]
    if array.dtype == wanted:
        return array
    if array.dtype.kind not in "Vu" or array.dtype.itemsize != wanted.itemsize:
        raise error(
            "dtype-mismatch",
            f"{path} holds {array.dtype}, which are not raw bytes of {dtype}",
            "cast in the program: cast<half>(a)",
        )
    return array.view(wanted)


def _params(program: Program, items: tuple[str, ...]) -> dict[str, Any]:
    known = [p.name for p in program.parameters]
    found: dict[str, Any] = {}
    for name, text in options.pairs("--param", items).items():
        if name not in known:
            raise error(
                "unknown-argument",
                f"--param names `{name}`, which is not a param",
                f"the params are {', '.join(known) or 'none'}",
            )
        found[name] = _number(name, text)
    return found


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
            raise error(
                "bad-option",
                f"there are {len(names)} results: {', '.join(names)}",
                f"-o {names[0]}={names[0]}.npy -o ...",
            )
        return {names[0]: outs[0]}
    found = options.pairs("-o", outs)
    for name in found:
        if name not in names:
            raise error(
                "unknown-argument", f"-o names `{name}`, which is not a result", f"the results are {', '.join(names)}"
            )
    return found


def _save(path: Path, array: Any) -> None:
    import io

    import numpy as np

    from kgen.codegen.writer import write

    buffer = io.BytesIO()
    np.save(buffer, np.asarray(array), allow_pickle=False)
    write(path, buffer.getvalue())


def _report(kernel: Any, results: dict[str, Any], targets: dict[str, str], seconds: float, as_json: bool) -> None:
    device = kernel.ran_on
    if as_json:
        facts = {n: {"shape": list(r.shape), "dtype": str(r.dtype), "file": targets.get(n)} for n, r in results.items()}
        click.echo(json.dumps({"device": device, "seconds": seconds, "results": facts}, indent=2))
        return
    click.echo(f"ran {kernel.name} on {device} in {seconds * 1e3:.1f} ms, compilation included")
    for name, array in results.items():
        click.echo(
            f"  {name}: {array.dtype}{list(array.shape)} {_summary(array)}"
            + (f" -> {targets[name]}" if targets.get(name, "-") != "-" else "")
        )


def _summary(array: Any) -> str:
    import numpy as np

    flat = np.asarray(array).reshape(-1)
    shown = ", ".join(str(x) for x in flat[:6]) + (", ..." if flat.size > 6 else "")
    return f"[{shown}]"
