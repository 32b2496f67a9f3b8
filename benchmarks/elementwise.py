"""Measures kgen and its peers on elementwise work of every layout class, on one GPU, in one run.

    python -m benchmarks.elementwise [--only NAME,...] [--peers eager,compile,autotune,cupy,cub] [--runs 5] [--merge]

Every result is checked against PyTorch.  Figures are shares of the speed of a plain copy of the bytes that the work has
to move (each input read once, each output written once, a broadcast dimension once).  The copy is timed in turn with
the work, and the median of the runs counts.  Writes ``benchmarks/results/elementwise.json``, ``.md`` and ``.png``;
``--merge`` keeps the rows that are there and were not measured.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import cub, yardsticks
from benchmarks.more_workloads import MORE_WORKLOADS
from benchmarks.peers import PEERS, usable
from benchmarks.report import Results, Row, plot
from benchmarks.timing import Copy, Graph, Run, device_time
from benchmarks.workloads import WORKLOADS, Workload

ALL = (*WORKLOADS, *MORE_WORKLOADS)
LAUNCHES = 10  # in a graph, so that the host's time stays outside however small the work is
SMALL_LAUNCHES = 50
SMALL = range(10, 27)  # powers of two: 1 KiB to 64 MiB an operand
RESULTS = Path(__file__).parent / "results"


def measure(torch: Any, workload: Workload, peers: list[str], runs: int) -> Row:
    """One workload: checked, then timed in turn with the copy and the peers."""
    import kgen

    args, reference = workload.make(torch)
    given = workload.sees(args) if workload.sees else args
    kernel = kgen.jit(workload.program, name=workload.name, fast=workload.fast)
    out = tuple(map(torch.empty_like, _tuple(reference(*args.values())))) if workload.like_reference else None
    outs = _tuple(kernel(**given, out=out))
    out = outs if len(outs) > 1 else outs[0]
    total = sum(map(_bytes, args.values())) + sum(map(_bytes, outs))
    contenders: dict[str, Run] = {"kgen": lambda: kernel(**given, out=out)}
    for name in peers:
        run = PEERS[name](torch, workload, reference, args)
        if run is not None:
            contenders[name] = run
    _check(torch, workload, args, reference, contenders)
    copy = Copy(torch, total)
    timers = {name: _timer(torch, name, run) for name, run in contenders.items()}
    shares: dict[str, list[float]] = {name: [] for name in contenders}
    seconds: list[float] = []
    for _ in range(runs + 1):  # the first is not counted: memory and clocks settle
        for name, timer in timers.items():
            # The copy outside a graph, where it would be given to a slower copy engine.
            yardstick = device_time(torch, copy)
            taken = timer()
            shares[name].append(yardstick / taken)
            if name == "kgen":
                seconds.append(taken)
    medians = {name: median(values[1:]) for name, values in shares.items()}
    kernels = [step.kernel for step in kernel.explain(**given, out=out).steps]
    rate = total / median(seconds[1:]) / 1e9
    return Row(workload.name, workload.kind, kernels, total, rate, medians.pop("kgen"), workload.target, medians)


def _timer(torch: Any, name: str, run: Run) -> Callable[[], float]:
    if name == "cupy":  # cannot be captured here
        return lambda: device_time(torch, run)
    return Graph(torch, [run], LAUNCHES).time


def _check(
    torch: Any, workload: Workload, args: dict[str, Any], reference: Callable[..., Any], contenders: dict[str, Run]
) -> None:
    """PyTorch rounds halves after every operation; the others do not, so they are checked against float32."""
    exact = _tuple(reference(*(a.float() if a.element_size() == 2 else a for a in args.values())))
    for name, run in contenders.items():
        if name == "eager":
            continue
        for got, want in zip(_tuple(run()), exact, strict=True):
            # A quotient that is not rounded as it should be may become the next integer.
            near = 1 if name != "kgen" and not got.dtype.is_floating_point else 1e-3
            same = torch.allclose(got, want.to(got.dtype), rtol=1e-2, atol=near, equal_nan=True)
            assert same, f"{workload.name}: the result of {name} is wrong"


def measure_small(torch: Any, exponent: int, peers: list[str], runs: int) -> dict[str, Any]:
    """``2.5 * x + y`` in float32, 2**exponent bytes an operand: seconds a launch in a replayed graph, over rotating
    buffers."""
    import kgen

    n = 2**exponent // 4
    sets = max(1, min(8, 2**28 // (12 * n)))
    buffers = [tuple(torch.randn(n, device="cuda") for _ in range(2)) for _ in range(sets)]
    torch._dynamo.reset()
    # Each allocates its result from the graph's pool, as torch.compile has to; CUB has no allocation to time.
    ways: dict[str, Callable[..., Run]] = {
        "kgen": _calling(kgen.jit("out = 2.5 * x + y", name="axpy")),
        "eager": _calling(lambda x, y: torch.add(y, x, alpha=2.5)),
        "compile": _calling(torch.compile(_axpy, dynamic=False)),
        "autotune": _calling(torch.compile(_axpy, dynamic=False, mode="max-autotune-no-cudagraphs")),
        "cub": lambda x, y: cub.function("axpy_f32", [x, y], [torch.empty_like(x)]),
    }
    chosen = [name for name in ways if name == "kgen" or name in peers]
    graphs = {"copy": Graph(torch, [Copy(torch, 12 * n) for _ in range(sets)], SMALL_LAUNCHES)}
    graphs |= {name: Graph(torch, [ways[name](*b) for b in buffers], SMALL_LAUNCHES) for name in chosen}
    times: dict[str, list[float]] = {name: [] for name in graphs}
    for _ in range(runs + 1):  # the first is not counted
        for name, graph in graphs.items():
            times[name].append(graph.time())
    return {"bytes": 4 * n, **{name: median(values[1:]) for name, values in times.items()}}


def _axpy(x: Any, y: Any) -> Any:
    return 2.5 * x + y


def _calling(function: Callable[..., Any]) -> Callable[..., Run]:
    return lambda x, y: lambda: function(x, y)


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _bytes(array: Any) -> int:
    walked: list[int] = [n for n, s in zip(array.shape, array.stride(), strict=True) if s != 0]
    size: int = array.element_size()
    return size * math.prod(walked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="workloads whose names hold one of these, or `small`")
    parser.add_argument("--peers", default="eager,compile,autotune,cupy,cub")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--merge", action="store_true", help="keep the rows of earlier results that are not measured")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    import torch
    from rich.progress import track

    only = options.only.split(",")
    earlier = Results.read(options.out) if options.merge else None
    order = [w.name for w in ALL]
    results = Results(_head(torch, options.runs))
    peers = usable([p for p in options.peers.split(",") if p], results.notes)
    results.yardsticks = yardsticks.measure(torch, results.notes)
    todo: list[Workload | int] = [w for w in ALL if any(part in w.name for part in only)]
    todo += SMALL if only == [""] or "small" in only else []
    for work in track(todo, description="elementwise"):
        try:
            if isinstance(work, int):
                results.small.append(measure_small(torch, work, peers, options.runs))
            else:
                results.rows.append(measure(torch, work, peers, options.runs))
            torch.cuda.empty_cache()
        except Exception as problem:
            problem.add_note(f"while measuring {2**work} bytes" if isinstance(work, int) else f"at {work.name}")
            raise
        finally:  # what is measured is kept, whatever comes after
            whole = results if earlier is None else results.merged(earlier, order)
            text = whole.write(options.out)
    plot(whole.rows, options.out / "elementwise.png")
    print(text)


def _head(torch: Any, runs: int) -> str:
    gpu = f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, torch {torch.__version__}"
    return f"{gpu}; shares of a plain copy of as many bytes, medians of {runs} runs."


if __name__ == "__main__":
    main()
