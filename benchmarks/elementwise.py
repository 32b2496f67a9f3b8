"""kgen beside its peers on elementwise work of every layout class, on one GPU, in one run.

    python -m benchmarks.elementwise [--only NAME] [--peers eager,compile,autotune,cupy] [--runs 5]

Every result is checked against PyTorch.  Figures are shares of a plain copy that moves as many bytes as the work has
to (each input read once, each output written once, a broadcast dimension once), timed in turn with it in every run;
the median of the runs counts.  Writes ``benchmarks/results/elementwise.json``, ``.md`` and ``.png``.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.peers import PEERS
from benchmarks.timing import Copy, Run, device_time, graph_time
from benchmarks.workloads import WORKLOADS, Workload

LAUNCHES = 10  # in a graph, so that the host's time stays outside however small the work is
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Row:
    """Shares of the copy: ours, the peers', and what is aimed at."""

    name: str
    kind: str
    kernels: tuple[str, ...]
    bytes: int
    gigabytes_per_second: float
    share: float
    target: float
    peers: dict[str, float]

    @property
    def best_peer(self) -> float:
        return max(self.peers.values(), default=0.0)


def measure(torch: Any, workload: Workload, peers: list[str], runs: int) -> Row:
    """One workload: checked, then timed in turn with the copy and the peers."""
    import kgen

    args, reference = workload.make(torch)
    kernel = kgen.jit(workload.program, name=workload.name)
    expected = _tuple(reference(*args.values()))
    given = tuple(torch.empty_like(e) for e in expected) if workload.out else None
    outs = _tuple(kernel(**args, out=given))
    del expected
    # PyTorch rounds halves after every operation; kgen does not, so it is checked against float32.
    exact = _tuple(reference(*(a.float() if a.element_size() == 2 else a for a in args.values())))
    for got, want in zip(_in_order(workload, outs), exact, strict=True):
        assert torch.allclose(got, want.to(got.dtype), rtol=1e-2, atol=1e-3, equal_nan=True), workload.name
    del exact
    total = sum(map(_bytes, args.values())) + sum(map(_bytes, outs))
    out = outs if len(outs) > 1 else outs[0]
    contenders: dict[str, Run] = {"kgen": lambda: kernel(**args, out=out)}
    for name in peers:
        run = PEERS[name](torch, workload, reference, args)
        if run is not None:
            contenders[name] = run
    copy = Copy(torch, total)
    shares: dict[str, list[float]] = {name: [] for name in contenders}
    seconds: list[float] = []
    for _ in range(runs):
        for name, run in contenders.items():
            # The copy outside a graph, where it would be given to a slower copy engine; CuPy cannot be captured here.
            yardstick = device_time(torch, copy)
            taken = device_time(torch, run) if name == "cupy" else graph_time(torch, [run], LAUNCHES)
            shares[name].append(yardstick / taken)
            if name == "kgen":
                seconds.append(taken)
    medians = {name: median(values) for name, values in shares.items()}
    kernels = tuple(s.kernel for s in kernel.explain(**args).steps) if workload.out is None else ()
    rate = total / median(seconds) / 1e9
    return Row(workload.name, workload.kind, kernels, total, rate, medians.pop("kgen"), workload.target, medians)


def measure_small(torch: Any, peers: list[str]) -> list[dict[str, Any]]:
    """``2.5 * x + y`` in float32, 1 KiB to 64 MiB an operand: microseconds a launch in a replayed graph."""
    import kgen

    kernel = kgen.jit("out = 2.5 * x + y", name="axpy")
    rows: list[dict[str, Any]] = []
    for exponent in range(10, 27):
        n = 2**exponent // 4
        sets = max(1, min(8, 2**28 // (12 * n)))
        buffers = [tuple(torch.randn(n, device="cuda") for _ in range(2)) for _ in range(sets)]
        copies = [Copy(torch, 12 * n) for _ in range(sets)]
        row: dict[str, Any] = {"bytes": 4 * n, "copy": graph_time(torch, copies)}
        # Each allocates its result from the graph's pool, as torch.compile has to.
        row["kgen"] = graph_time(torch, [_bind(kernel, b) for b in buffers])
        row["eager"] = graph_time(torch, [lambda b=b: torch.add(b[1], b[0], alpha=2.5) for b in buffers])
        if "compile" in peers:
            torch._dynamo.reset()
            row["compile"] = graph_time(torch, [_bind(torch.compile(_axpy, dynamic=False), b) for b in buffers])
        rows.append(row)
    return rows


def _axpy(x: Any, y: Any) -> Any:
    return 2.5 * x + y


def _bind(function: Any, buffers: tuple[Any, ...]) -> Run:
    return lambda: function(buffers[0], buffers[1])


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _in_order(workload: Workload, outs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The Adam step returns its parameter first, as PyTorch's does."""
    return (outs[2], outs[0], outs[1]) if workload.name == "adam_f32" else outs


def _bytes(array: Any) -> int:
    walked = [n for n, s in zip(array.shape, array.stride(), strict=True) if s != 0]
    return array.element_size() * math.prod(walked)


def table(rows: list[Row]) -> str:
    """Markdown: shares of the copy, the best peer's, and whether the target is met."""
    names = sorted({p for r in rows for p in r.peers}, key=list(PEERS).index)
    lines = [
        "| workload | class | kgen | " + " | ".join(names) + " | target | met | GB/s | kernel |",
        "|" + "---|" * (len(names) + 7),
    ]
    for r in rows:
        peers = " | ".join(f"{r.peers[n]:.3f}" if n in r.peers else "" for n in names)
        met = "yes" if r.share >= r.target * 0.995 and r.share >= 0.99 * r.best_peer else "no"
        lines.append(
            f"| {r.name} | {r.kind} | **{r.share:.3f}** | {peers} | {r.target:.2f} | {met} "
            f"| {r.gigabytes_per_second:,.0f} | {' '.join(r.kernels)} |"
        )
    return "\n".join(lines)


def small_table(rows: list[dict[str, Any]]) -> str:
    names = [n for n in rows[0] if n != "bytes"]
    lines = ["| bytes an operand | " + " | ".join(f"{n}, us" for n in names) + " |", "|" + "---|" * (len(names) + 1)]
    lines += [f"| {r['bytes']:,} | " + " | ".join(f"{r[n] * 1e6:.2f}" for n in names) + " |" for r in rows]
    return "\n".join(lines)


def plot(rows: list[Row], path: Path) -> None:
    """Bars: kgen and each peer, as shares of the copy."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = ["kgen", *sorted({p for r in rows for p in r.peers}, key=list(PEERS).index)]
    figure, axes = pyplot.subplots(figsize=(12, 0.42 * len(rows) + 1.5))
    height = 0.8 / len(names)
    for i, name in enumerate(names):
        values = [r.share if name == "kgen" else r.peers.get(name, 0.0) for r in rows]
        axes.barh([j + i * height for j in range(len(rows))], values, height, label=name)
    axes.set_yticks([j + 0.4 for j in range(len(rows))], [r.name for r in rows])
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel("share of a plain copy of the same bytes")
    axes.invert_yaxis()
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="workloads whose name holds this")
    parser.add_argument("--peers", default="eager,compile,cupy")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--no-small", action="store_true", help="leave the small sizes out")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    import torch
    from rich.progress import track

    peers = [p for p in options.peers.split(",") if p]
    chosen = [w for w in WORKLOADS if options.only in w.name]
    rows: list[Row] = []
    for workload in track(chosen, description="elementwise"):
        rows.append(measure(torch, workload, peers, options.runs))
        torch.cuda.empty_cache()
    small = [] if options.no_small else measure_small(torch, peers)
    head = f"{torch.cuda.get_device_name()}, torch {torch.__version__}; shares of a copy of the same bytes, medians."
    ratios = [min(r.share / r.peers["compile"], 1.5) for r in rows if "compile" in r.peers]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 0.0
    text = f"{head}\n\n{table(rows)}\n\nGeometric mean over torch.compile, each ratio capped at 1.5: {mean:.3f}\n"
    if small:
        text += f"\n`2.5 * x + y`, float32, one launch in a replayed graph of 50:\n\n{small_table(small)}\n"
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "elementwise.md").write_text(text)
    (options.out / "elementwise.json").write_text(
        json.dumps({"head": head, "rows": [asdict(r) for r in rows], "small": small}, indent=1)
    )
    plot(rows, options.out / "elementwise.png")
    print(text)


if __name__ == "__main__":
    main()
