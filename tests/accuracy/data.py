"""``worst.json``: the largest error found of each function, by device and dtype, and where."""

from __future__ import annotations

import json
import math
from pathlib import Path

from .measure import Worst

PATH = Path(__file__).parent / "worst.json"

Table = dict[str, dict[str, dict[str, list[float]]]]  #: device, dtype, function: the error, then the arguments


def table() -> Table:
    found: Table = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}
    return found


def renew(device: str, dtype: str, found: dict[str, Worst]) -> None:
    """Put what was measured in the place of what was known."""
    known = table()
    rows = known.setdefault(device, {}).setdefault(dtype, {})
    for name, worst in found.items():
        rows[name] = [math.ceil(worst.ulp * 100) / 100 if math.isfinite(worst.ulp) else 1e9, *worst.at]
    lines = [
        f' "{d}": {{\n' + ",\n".join(f'  "{t}": {{\n' + _rows(known[d][t]) + "\n  }" for t in sorted(known[d])) + "\n }"
        for d in sorted(known)
    ]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _rows(rows: dict[str, list[float]]) -> str:
    return ",\n".join(f'   "{name}": {json.dumps(rows[name])}' for name in sorted(rows))
