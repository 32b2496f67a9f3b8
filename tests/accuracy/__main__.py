"""``python -m tests.accuracy [--device cpu|cuda] [--count N] [NAME ...]``: measures and renews ``worst.json``.

``pytest tests/test_documents.py --bless`` then writes the figures into docs/functions.md.
"""

from __future__ import annotations

import argparse

from .data import renew
from .measure import DTYPES, measure
from .references import ROWS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.accuracy", description="measure every function")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--count", type=int, default=4000, help="values checked by mpmath, a function")
    parser.add_argument("names", nargs="*", help="functions (default all)")
    asked = parser.parse_args()
    for dtype in DTYPES:
        found = measure(asked.device, dtype, asked.count, asked.names or ROWS)
        renew(asked.device, dtype, found)
        for name, worst in found.items():
            print(f"{name:16}{dtype:10}{worst.ulp:12.2f} at {', '.join(map(repr, worst.at))}", flush=True)


if __name__ == "__main__":
    main()
