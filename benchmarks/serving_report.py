"""The points of ``serving.py`` as JSON, Markdown and a plot."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import geometric_mean
from typing import Any

SMALL = 256  # tokens


@dataclass(frozen=True, slots=True)
class Point:
    """One workload at a width and a number of tokens: seconds of a launch, by contender."""

    workload: str
    width: int
    tokens: int
    bytes: int
    seconds: dict[str, float]

    def __str__(self) -> str:
        times = ", ".join(f"{name} {seconds * 1e6:.2f}" for name, seconds in self.seconds.items())
        gain = "" if self.gain is None else f"{self.gain:.2f} "
        return f"{gain}{self.workload} {self.width}, T = {self.tokens}: {times} us"

    @property
    def best_peer(self) -> float | None:
        peers = [s for name, s in self.seconds.items() if name not in ("kgen", "copy")]
        return min(peers, default=None)

    @property
    def gain(self) -> float | None:
        """The time of the best peer over kgen's."""
        best = self.best_peer
        return best / self.seconds["kgen"] if best is not None and "kgen" in self.seconds else None


@dataclass(slots=True)
class Report:
    """``head``: the device and versions."""

    head: str
    points: list[Point] = field(default_factory=list)

    @staticmethod
    def read(folder: Path) -> Report:
        facts = json.loads((folder / "serving.json").read_text())
        return Report(facts["head"], [Point(**p) for p in facts["points"]])

    def add(self, point: Point) -> None:
        """Replaces an earlier point of the same place."""
        key = (point.workload, point.width, point.tokens)
        self.points = [p for p in self.points if (p.workload, p.width, p.tokens) != key] + [point]

    def write(self, folder: Path) -> None:
        """Writes the points as JSON and Markdown."""
        folder.mkdir(parents=True, exist_ok=True)
        self.points.sort(key=lambda p: (p.workload, p.width, p.tokens))
        facts = {"head": self.head, "points": [asdict(p) for p in self.points]}
        (folder / "serving.json").write_text(json.dumps(facts, indent=1) + "\n")
        (folder / "serving.md").write_text(self.markdown())

    def markdown(self) -> str:
        lines = ["# Kernels of a language model's layers, over the number of tokens", "", self.head, ""]
        lines += ["Microseconds of one launch in a replayed graph of 40. *gain*: the best peer's time over kgen's.", ""]
        gains = [p.gain for p in self.points if p.gain is not None]
        small = [p.gain for p in self.points if p.gain is not None and p.tokens <= SMALL]
        if gains:
            below = sum(g < 1 for g in gains)
            lines += [f"{len(gains)} points, {below} below 1.0; geometric mean {geometric_mean(gains):.3f}."]
        if small:
            lines += [f"Up to {SMALL} tokens: geometric mean {geometric_mean(small):.3f}, least {min(small):.2f}."]
        names = list(dict.fromkeys(name for p in self.points for name in p.seconds))
        for workload, width in sorted({(p.workload, p.width) for p in self.points}):
            lines += ["", f"## {workload}, rows of {width}", "", f"| T | {' | '.join(names)} | gain |"]
            lines += ["|" + " ---: |" * (len(names) + 2)]
            for p in self.points:
                if (p.workload, p.width) == (workload, width):
                    cells = [f"{p.seconds[n] * 1e6:.2f}" if n in p.seconds else "" for n in names]
                    lines.append(f"| {p.tokens} | {' | '.join(cells)} | {'' if p.gain is None else f'{p.gain:.2f}'} |")
        return "\n".join(lines) + "\n"


def plot(points: list[Point], path: Path) -> None:
    """Microseconds over tokens, a panel for each workload at its narrowest width measured."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    panels: dict[str, int] = {}
    for p in points:
        panels[p.workload] = min(p.width, panels.get(p.workload, p.width))
    figure, axes = pyplot.subplots(1, len(panels), figsize=(3.2 * len(panels), 3.4), squeeze=False)
    for axis, (workload, width) in zip(axes[0], panels.items(), strict=True):
        mine = [p for p in points if (p.workload, p.width) == (workload, width)]
        for name in dict.fromkeys(n for p in mine for n in p.seconds):
            found: list[tuple[int, Any]] = [(p.tokens, p.seconds[name] * 1e6) for p in mine if name in p.seconds]
            style = {"kgen": "o-", "copy": "k:"}.get(name, ".--")
            axis.loglog(*zip(*found, strict=True), style, label=name, markersize=4)
        axis.set_title(f"{workload} {width}", fontsize=9)
        axis.set_xlabel("tokens")
    axes[0][0].set_ylabel("microseconds a launch")
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
