"""Writes results as JSON, Markdown and a plot.  Rows of several runs are merged by their names."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from benchmarks.peers import PEERS

NOISE = 0.005  # a target is met within this
SMALL_SHARE, SMALL_SECONDS = 0.03, 0.1e-6  # what a peer may be ahead by at small sizes


@dataclass(frozen=True, slots=True)
class Row:
    """Shares of the copy: ours, the peers', and what is aimed at."""

    name: str
    kind: str
    kernels: list[str]
    bytes: int
    gigabytes_per_second: float
    share: float
    target: float | None
    peers: dict[str, float]

    @property
    def best_peer(self) -> float:
        return max(self.peers.values(), default=0.0)

    @property
    def met(self) -> bool:
        reached = self.target is None or self.share >= self.target * (1 - NOISE)
        return reached and self.share >= 0.99 * self.best_peer


@dataclass(slots=True)
class Results:
    """``small``: one entry for each size, seconds by contender; ``yardsticks``: what the memory does by itself."""

    head: str
    notes: list[str] = field(default_factory=list)
    yardsticks: list[dict[str, Any]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    small: list[dict[str, Any]] = field(default_factory=list)

    def merged(self, earlier: Results, order: list[str]) -> Results:
        """These results, and those of ``earlier`` that they do not have, rows by ``order``."""
        rows = {r.name: r for r in (*earlier.rows, *self.rows)}
        return Results(
            self.head,
            list(dict.fromkeys([*earlier.notes, *self.notes])),
            self.yardsticks or earlier.yardsticks,
            [rows[name] for name in order if name in rows],
            self.small or earlier.small,
        )

    @staticmethod
    def read(folder: Path) -> Results | None:
        path = folder / "elementwise.json"
        if not path.exists():
            return None
        facts = json.loads(path.read_text())
        names = {f.name for f in fields(Row)}
        rows = [Row(**{k: v for k, v in row.items() if k in names}) for row in facts.pop("rows")]
        return Results(rows=rows, **facts)

    def write(self, folder: Path) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "elementwise.json").write_text(json.dumps(asdict(self), indent=1) + "\n")
        text = self.markdown()
        (folder / "elementwise.md").write_text(text)
        return text

    def markdown(self) -> str:
        parts = [self.head, *[f"- {note}" for note in self.notes]]
        if self.yardsticks:
            lines = ["| yardstick | GB/s | share of a copy of as many bytes |", "|---|---|---|"]
            lines += [f"| {y['name']} | {y['gigabytes_per_second']:,.0f} | {y['share']:.3f} |" for y in self.yardsticks]
            parts.append("\n".join(lines))
        if self.rows:
            parts += [table(self.rows), means(self.rows)]
        if self.small:
            parts += ["`2.5 * x + y`, float32, one launch in a replayed graph of 50:", small_table(self.small)]
        return "\n\n".join(parts) + "\n"


def table(rows: list[Row]) -> str:
    """Shares of the copy, the best peer's, and whether the target is met."""
    names = sorted({p for r in rows for p in r.peers}, key=list(PEERS).index)
    lines = [
        "| workload | class | kgen | " + " | ".join(names) + " | of the best | target | met | GB/s | kernel |",
        "|" + "---|" * (len(names) + 8),
    ]
    for r in rows:
        peers = " | ".join(f"{r.peers[n]:.3f}" if n in r.peers else "" for n in names)
        ratio = f"{r.share / r.best_peer:.3f}" if r.peers else ""
        target = "" if r.target is None else f"{r.target:.2f}"
        lines.append(
            f"| {r.name} | {r.kind} | **{r.share:.3f}** | {peers} | {ratio} | {target} | {'yes' if r.met else 'no'} "
            f"| {r.gigabytes_per_second:,.0f} | {' '.join(r.kernels)} |"
        )
    return "\n".join(lines)


def means(rows: list[Row]) -> str:
    """Geometric means of our rate over each peer's, each ratio capped at 1.5."""
    lines: list[str] = []
    for name in PEERS:
        ratios = [min(r.share / r.peers[name], 1.5) for r in rows if name in r.peers]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            lines.append(f"| {name} | {len(ratios)} | {mean:.3f} |")
    return "\n".join(["| kgen over | workloads | geometric mean, each ratio capped at 1.5 |", "|---|---|---|", *lines])


def small_table(rows: list[dict[str, Any]]) -> str:
    """Microseconds; met where no peer is ahead by more than noise or a tenth of a microsecond."""
    names = [n for n in rows[0] if n != "bytes"]
    lines = [
        "| bytes an operand | " + " | ".join(f"{n}, us" for n in names) + " | met |",
        "|" + "---|" * (len(names) + 2),
    ]
    for row in rows:
        best = min((row[n] for n in names if n in PEERS), default=math.inf)
        met = row["kgen"] <= max(best * (1 + SMALL_SHARE), best + SMALL_SECONDS)
        times = " | ".join(f"{row[n] * 1e6:.2f}" for n in names)
        lines.append(f"| {row['bytes']:,} | {times} | {'yes' if met else 'no'} |")
    return "\n".join(lines)


def plot(rows: list[Row], path: Path) -> None:
    """Bars: kgen and each peer, as shares of the copy."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = ["kgen", *sorted({p for r in rows for p in r.peers}, key=list(PEERS).index)]
    figure, axes = pyplot.subplots(figsize=(12, 0.5 * len(rows) + 1.5))
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
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
