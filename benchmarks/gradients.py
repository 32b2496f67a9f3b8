"""Measures backward kernels: of ``kgen.grad``, of torch.compile, and of Liger and QuACK where they are installed.

    python -m benchmarks.gradients [--only NAME,...] [--peers compile,liger,quack] [--seconds S] [--out FOLDER]

Each contender but kgen is a forward function of torch tensors, whose backward ``torch.autograd.grad`` calls again and
again.  Figures are shares of the speed of a plain copy of the bytes that have to move.  Calls are queued while the
device is kept busy, so that the host's time does not count.  Writes ``benchmarks/results/gradients.json`` and ``.md``,
where a run replaces the table of the same peers, and prints its own.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import kgen
from benchmarks import row_peers
from benchmarks.timing import Copy, Run

RESULTS = Path(__file__).parent / "results"
CALLS = 20  # that are queued together
AHEAD = 1 << 25  # cycles that the device is kept busy for while they are queued: about 20 ms


@dataclass(frozen=True, slots=True)
class Work:
    """``text``: the program; ``reference``: the same in torch, of rows ``x`` (and ``u``) and weights ``w`` and ``b``.

    ``inputs``: those that it takes, in order.  ``sizes``: rows and their length.
    """

    name: str
    text: str
    inputs: str
    reference: Callable[..., Any]
    sizes: tuple[tuple[int, int], ...]


def _functional() -> Any:
    import torch

    return torch.nn.functional


_LARGE = ((16384, 4096), (16384, 1024), (4096, 16384))
_ALL = (*_LARGE, (256, 4096), (64, 4096))
WORKS = (
    Work(
        "rmsnorm",
        "y = x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6) * w",
        "xw",
        lambda x, w: _functional().rms_norm(x, x.shape[-1:], w, 1e-6),
        _ALL,
    ),
    Work(
        "layernorm",
        "let d = x - mean(x, axis=-1, keepdims=true)\n"
        "y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b",
        "xwb",
        lambda x, w, b: _functional().layer_norm(x, x.shape[-1:], w, b, 1e-5),
        _ALL,
    ),
    Work(
        "softmax",
        "let e = exp(x - max(x, axis=-1, keepdims=true))\ny = e / sum(e, axis=-1, keepdims=true)",
        "x",
        lambda x: x.softmax(-1),
        _ALL,
    ),
    Work("gelu_bias", "y = gelu(x + b)", "xb", lambda x, b: _functional().gelu(x + b), _LARGE[:1]),
    Work("swiglu", "y = silu(x) * u", "xu", lambda x, u: _functional().silu(x) * u, _LARGE[:1]),
)


def _arguments(torch: Any, work: Work, rows: int, width: int) -> dict[str, Any]:
    shapes = {"x": (rows, width), "u": (rows, width), "w": (width,), "b": (width,)}
    torch.manual_seed(0)
    made = {n: torch.randn(shapes[n], device="cuda", dtype=torch.bfloat16) for n in work.inputs}
    return {n: a.requires_grad_() for n, a in made.items()}


def _peers(torch: Any, names: list[str], work: Work) -> dict[str, Callable[..., Any]]:
    """The forward functions of the others."""
    found: dict[str, Callable[..., Any]] = {}
    for name in names:
        if name == "compile":
            torch._dynamo.reset()
            found[name] = torch.compile(work.reference, dynamic=False)
        elif row_peers.missing(name) is None and work.name in (known := row_peers.functions_of(torch, name)):
            found[name] = known[work.name]
    return found


def _backward(torch: Any, forward: Callable[..., Any], given: dict[str, Any], g: Any) -> Run:
    y = forward(*given.values())
    return lambda: torch.autograd.grad(y, tuple(given.values()), g, retain_graph=True)


def _is_right(got: Any, want: Any) -> bool:
    return all(bool((a.float() - b.float()).norm() <= 2e-2 * b.float().norm()) for a, b in zip(got, want, strict=True))


def measure(torch: Any, work: Work, rows: int, width: int, peers: list[str]) -> dict[str, Any]:
    """Microseconds of each contender."""
    given = _arguments(torch, work, rows, width)
    g = torch.randn(rows, width, device="cuda", dtype=torch.bfloat16)
    gradient = kgen.grad(work.text)
    plain = [a.detach() for a in given.values()]
    order = list(kgen.jit(work.text).inputs)
    runs: dict[str, Run] = {"kgen": lambda: gradient(*(plain[work.inputs.index(n)] for n in order), y_grad=g)}
    want = _backward(torch, work.reference, given, g)()
    for name, forward in _peers(torch, peers, work).items():
        try:
            runs[name] = _backward(torch, forward, given, g)
            runs[name]()
        except Exception as problem:  # any of theirs: rows that are too long for it
            print(f"{work.name} {rows} x {width}: {name} cannot: {str(problem).splitlines()[:1]}", flush=True)
            runs.pop(name, None)
    moved = sum(a.numel() for a in (*plain, *plain, g)) * g.element_size()
    runs["copy"] = Copy(torch, moved)
    found: dict[str, float] = {}
    for name, run in runs.items():
        if name != "copy":
            got = run()
            got = got if isinstance(got, tuple) else (got,)
            by_name = dict(zip(order if name == "kgen" else list(work.inputs), got, strict=True))
            if not _is_right([by_name[n] for n in work.inputs], want):
                print(f"{work.name} {rows} x {width}: the result of {name} is wrong", flush=True)
                continue
        found[name] = round(microseconds(torch, run), 2)
    return {"name": work.name, "rows": rows, "width": width, "bytes": moved, "microseconds": found}


def microseconds(torch: Any, run: Run, repeats: int = 7) -> float:
    """The median time of one call among several behind each other."""
    pairs: list[tuple[Any, Any]] = []
    for _ in range(repeats + 1):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(AHEAD)
        start.record()
        for _ in range(CALLS):
            run()
        end.record()
        pairs.append((start, end))
        torch.cuda.synchronize()
    return float(median(start.elapsed_time(end) for start, end in pairs[1:])) * 1e3 / CALLS


def table(rows: list[dict[str, Any]]) -> str:
    """Shares of the copy, microseconds in parentheses."""
    names = [n for n in ("kgen", "compile", "liger", "quack") if any(n in r["microseconds"] for r in rows)]
    lines = [f"| backward of | rows | copy, us | {' | '.join(names)} |", "|" + "---|" * (3 + len(names))]
    for row in rows:
        taken = row["microseconds"]
        cells = [f"{taken['copy'] / taken[n]:.3f} ({taken[n]:.1f})" if n in taken else "" for n in names]
        place = f"{row['name']} | {row['rows']} x {row['width']} | {taken['copy']:.1f}"
        lines.append(f"| {place} | {' | '.join(cells)} |")
    return "\n".join(lines)


def write(folder: Path, head: str, peers: list[str], rows: list[dict[str, Any]]) -> None:
    """One run beside those with other peers."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "gradients.json"
    runs = json.loads(path.read_text())["runs"] if path.exists() else []
    runs = [*(run for run in runs if run["peers"] != peers), {"head": head, "peers": peers, "rows": rows}]
    path.write_text(json.dumps({"runs": runs}, indent=1) + "\n")
    tables = [f"{run['head']}\n\n{table(run['rows'])}\n" for run in runs]
    path.with_suffix(".md").write_text("\n".join(tables))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--peers", default="compile,liger,quack")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing after this time")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    import torch

    start, rows, peers = time.monotonic(), list[dict[str, Any]](), [p for p in options.peers.split(",") if p]
    head = f"{torch.cuda.get_device_name()}, torch {torch.__version__}, bfloat16; shares of a copy, and microseconds."
    chosen = [w for w in WORKS if not options.only or w.name in options.only.split(",")]
    for work, size in ((w, w.sizes[i]) for i in range(len(_ALL)) for w in chosen if i < len(w.sizes)):
        if time.monotonic() - start > options.seconds:
            break
        rows.append(measure(torch, work, *size, peers))
        print(json.dumps(rows[-1]), flush=True)
        write(options.out, head, peers, rows)
        torch.cuda.empty_cache()
    print(f"{head}\n\n{table(rows)}")


if __name__ == "__main__":
    main()
