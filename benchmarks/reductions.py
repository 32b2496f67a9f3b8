"""Measures kgen and its peers on reductions and row kernels, on one GPU, in one run.

    python -m benchmarks.reductions [--only NAME,...] [--peers eager,compile,autotune,cupy,liger,quack] [--runs 3]
                                    [--merge]

Figures are shares of the speed of a plain copy, as in ``benchmarks.elementwise``.  A target of 0 means: no slower than
the best peer.  Writes ``benchmarks/results/reductions.json``, ``.md`` and ``.png``; ``--merge`` keeps the rows that are
there and were not measured.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.elementwise import RESULTS, measure
from benchmarks.peers import usable
from benchmarks.report import Row, means, plot, table
from benchmarks.row_workloads import WORKLOADS

PEERS = "eager,compile,autotune,cupy,liger,quack"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="workloads whose names hold one of these")
    parser.add_argument("--peers", default=PEERS)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--merge", action="store_true", help="keep the rows of earlier results that are not measured")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    import torch

    notes: list[str] = []
    peers = usable([p for p in options.peers.split(",") if p], notes)
    rows = read(options.out) if options.merge else {}
    head = f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, torch {torch.__version__}; "
    head += f"shares of a plain copy of as many bytes, medians of {options.runs} runs."
    for workload in WORKLOADS:
        if any(part in workload.name for part in options.only.split(",")):
            row = rows[workload.name] = measure(torch, workload, peers, options.runs)
            print(f"{row.name}: {row.share:.3f} {row.peers}", flush=True)
            torch.cuda.empty_cache()
            write("\n".join([head, *(f"- {note}" for note in notes)]), rows, options.out)


def read(folder: Path) -> dict[str, Row]:
    """The rows of an earlier run, by name."""
    path = folder / "reductions.json"
    return {row["name"]: Row(**row) for row in json.loads(path.read_text())["rows"]} if path.exists() else {}


def write(head: str, rows: dict[str, Row], folder: Path) -> None:
    """What there is so far, so that an interrupted run leaves its figures."""
    ordered = [rows[w.name] for w in WORKLOADS if w.name in rows]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reductions.md").write_text(f"{head}\n\n{table(ordered)}\n\n{means(ordered)}\n")
    found = {"head": head, "rows": [asdict(r) for r in ordered]}
    (folder / "reductions.json").write_text(json.dumps(found, indent=1) + "\n")
    plot(ordered, folder / "reductions.png")


if __name__ == "__main__":
    main()
