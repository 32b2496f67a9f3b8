"""kgen beside its peers on reductions and row kernels, on one GPU, in one run.

    python -m benchmarks.reductions [--only NAME] [--peers eager,compile,autotune] [--runs 3]

Measured as ``benchmarks.elementwise`` does: shares of a plain copy that moves as many bytes as the work has to, timed
in turn with it.  A target of 0 means: no slower than the best peer.  Writes ``benchmarks/results/reductions.json``,
``.md`` and ``.png``.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.elementwise import RESULTS, Row, measure, plot, table
from benchmarks.row_workloads import WORKLOADS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="workloads whose name holds this")
    parser.add_argument("--peers", default="eager,compile")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    import torch

    peers = [p for p in options.peers.split(",") if p]
    rows: list[Row] = []
    for workload in WORKLOADS:
        if options.only in workload.name:
            rows.append(measure(torch, workload, peers, options.runs))
            print(f"{rows[-1].name}: {rows[-1].share:.3f} {rows[-1].peers}", flush=True)
            torch.cuda.empty_cache()
            write(torch.cuda.get_device_name(), torch.__version__, rows, options.out)


def write(device: str, version: str, rows: list[Row], folder: Path) -> None:
    """What there is so far, so that an interrupted run leaves its figures."""
    head = f"{device}, torch {version}; shares of a copy of the same bytes, medians."
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reductions.md").write_text(f"{head}\n\n{table(rows)}\n")
    (folder / "reductions.json").write_text(json.dumps({"head": head, "rows": [asdict(r) for r in rows]}, indent=1))
    plot(rows, folder / "reductions.png")


if __name__ == "__main__":
    main()
