"""Measures rows at computed places, rotary embeddings, caches, groups of rows and interleaved pairs, on one GPU.

    python -m benchmarks.indexing [--only rotary,...] [--sizes 1,4096] [--peers torch,compile,cupy,flashinfer] [--merge]

Sizes are numbers of tokens, or bytes of a row.  Times are of launches in replayed graphs, over rotating arguments.
``copy`` copies as many bytes as have to move.  FlashInfer's kernels are built from the headers of its wheel, or
``--flashinfer`` names these, or a library built before.  Writes ``benchmarks/results/indexing.json`` and ``.md``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import flashinfer
from benchmarks.indexing_work import WORK, Arrays, Work
from benchmarks.timing import Copy, Graph, Run

RESULTS = Path(__file__).parent / "results"
LAUNCHES, SETS = 40, 4
LARGE = 2**26  #: bytes that caches do not keep: two sets and fewer launches are enough
PEERS = ("torch", "compile", "cupy", "flashinfer")


@dataclass(frozen=True, slots=True)
class Case:
    """A workload at a size.  ``library``: FlashInfer's headers, or its library."""

    torch: Any
    work: Work
    size: int
    library: Path | None

    @property
    def bytes(self) -> int:
        return self.work.touched(self.size)

    def run(self, name: str, args: Arrays) -> Run | None:
        """A contender on these arguments; None where a peer has no such kernel."""
        torch, work = self.torch, self.work
        match name:
            case "kgen":
                import kgen

                return partial(kgen.jit(work.program), **args)
            case "copy":
                return Copy(torch, self.bytes)
            case "negative":  # a copy by a kernel
                source = torch.zeros(max(self.bytes // 8, 1), device="cuda")
                return partial(torch.neg, source, out=torch.empty_like(source))
            case "torch":
                return partial(work.run, *args.values())
            case "compile":
                return partial(torch.compile(work.run, dynamic=False), *args.values())
            case "cupy" if work.cupy is not None:
                return work.cupy(torch, *args.values())
            case "flashinfer" if work.flashinfer is not None:
                found = flashinfer.library(self.library, flashinfer.POSITIONS)
                return work.flashinfer(found, *args.values())
        return None

    def results(self, name: str, args: Arrays) -> list[Any] | None:
        """What a contender gives on copies of the arguments: outputs and updated arguments."""
        copies = {n: a.clone() if isinstance(a, self.torch.Tensor) else a for n, a in args.items()}
        run = self.run(name, copies)
        if run is None:
            return None
        found = run()
        if self.work.updates:
            return [copies[n] for n in self.work.updates]
        return list(found) if isinstance(found, (tuple, list)) else [found]


def measure(case: Case, peers: Sequence[str], repeats: int) -> dict[str, Any]:
    """Seconds of one launch by contender; whoever fails or is wrong is left out, and printed."""
    torch, seconds = case.torch, {}
    sets = [case.work.make(torch, case.size) for _ in range(2 if case.bytes > LARGE else SETS)]
    launches = max(4, min(LAUNCHES, 2**31 // case.bytes))
    for name in ("kgen", "copy", "negative", *peers):
        try:
            torch._dynamo.reset()
            found = None if name in ("copy", "negative", "torch") else case.results(name, sets[0])
            runs = [run for run in (case.run(name, args) for args in sets) if run is not None]
            if not runs:
                continue
            if found is not None:  # what it ran on may have been updated since
                check(found, case.results("torch", sets[0]) or [])
            seconds[name] = Graph(torch, runs, launches).time(repeats)
        except Exception as problem:  # a peer may fail in any way
            print(f"{case.work.name} {case.size}: {name}: {type(problem).__name__}: {str(problem)[:300]}", flush=True)
    seconds["copy"] = min(seconds["copy"], seconds.pop("negative"))
    return {"name": case.work.name, "size": case.size, "bytes": case.bytes, "seconds": seconds}


def check(found: Sequence[Any], exact: Sequence[Any]) -> None:
    """Raises AssertionError.  The next value of a narrow format may differ: fp8 has three bits of mantissa."""
    for got, want in zip(found, exact, strict=True):
        got, want = got.float(), want.float()
        assert ((got - want).abs() <= 0.13 * want.abs() + 0.06).all(), "the result is wrong"


def markdown(head: str, points: Sequence[dict[str, Any]]) -> str:
    """A table of the shares of a copy, and how many times as fast as the fastest peer kgen is."""
    names = [n for n in PEERS if any(n in p["seconds"] for p in points)]
    lines = [head, "", "Shares of a copy of the bytes that have to move.", ""]
    lines += [f"| work | size | bytes | us | kgen | target | {' | '.join(names)} | of the fastest peer |"]
    lines += ["|" + " --- |" * (7 + len(names))]
    targets = {work.name: work.target for work in WORK}
    for point in points:
        seconds = point["seconds"]
        shares = {n: f"{seconds['copy'] / s:.2f}" for n, s in seconds.items()}
        best = min((seconds[n] for n in names if n in seconds), default=None)
        row = [point["name"], point["size"], f"{point['bytes']:,}", f"{1e6 * seconds['kgen']:.2f}", shares["kgen"]]
        row += [targets[point["name"]] or "", *(shares.get(n, "") for n in names)]
        row += ["" if best is None else f"{best / seconds['kgen']:.2f}"]
        lines.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(lines) + "\n"


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="workloads whose names hold one of these")
    parser.add_argument("--sizes", type=numbers, default=[])
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--flashinfer", type=Path, help="the headers of FlashInfer's wheel, or a library built before")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument(
        "--merge", action="store_true", help="keep what earlier results have and this run does not measure"
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    import torch

    path = options.out / "indexing.json"
    earlier = json.loads(path.read_text())["points"] if options.merge and path.exists() else []
    points = {(p["name"], p["size"]): p for p in earlier}
    head = f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, torch {torch.__version__}"
    chosen = [work for work in WORK if any(part in work.name for part in options.only.split(","))]
    peers = [p for p in options.peers.split(",") if p]
    for work, size in ((w, n) for w in chosen for n in w.sizes if not options.sizes or n in options.sizes):
        found = measure(Case(torch, work, size, options.flashinfer), peers, options.repeats)
        before = points.get((work.name, size), {}).get("seconds", {})
        points[work.name, size] = found | {"seconds": before | found["seconds"]}
        print(work.name, size, {n: round(1e6 * s, 2) for n, s in found["seconds"].items()}, flush=True)
        torch.cuda.empty_cache()
    ordered = [points[w.name, n] for w in WORK for n in w.sizes if (w.name, n) in points]
    options.out.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"head": head, "points": ordered}, indent=1) + "\n")
    path.with_suffix(".md").write_text(markdown(head, ordered))
    print(markdown(head, ordered))


if __name__ == "__main__":
    main()
