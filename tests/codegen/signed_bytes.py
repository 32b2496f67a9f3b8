"""Programs whose sums of signed bytes wrap, and are then compared, divided or converted; in layouts that read groups of
16 of them.
"""

from __future__ import annotations

import numpy as np

#: Each a program of ``a``, ``b`` and ``c`` of int8, of which the sign of a sum decides the result.
SIGNED = [
    "out = a + b > c",
    "out = cast<float>(a - b) * 0.5",
    "out = -a > b",
    "out = (a + b) >> 2",
    "out = (a + b) // c",
    "out = max(a + b, c)",
    "out = a * -1 + b < 3",
    "q = cast<i8, sat, rne>(cast<float>(a + b) / cast<float>(c))",
    "s = max(a + b, axis=0, keepdims=true); out = a - b > s",
    "s = max(a - b, axis=1, keepdims=true); out = a + b > s",
]

ROWS, COLUMNS = 384, 1024


def operands(layout: str) -> dict[str, np.ndarray]:
    """Random bytes: dense, in odd rows beside a row, with gaps between rows, in rows of one group, of which one is
    transposed, or alternating in one array."""
    rng = np.random.default_rng(7)

    def values(*shape: int) -> np.ndarray:
        return rng.integers(-128, 128, shape, np.int8)

    match layout:
        case "dense":
            return {name: values(ROWS, COLUMNS) for name in "abc"}
        case "odd rows":
            return {"a": values(ROWS, COLUMNS + 1), "b": values(ROWS, COLUMNS + 1), "c": values(COLUMNS + 1)}
        case "units":
            return {"a": values(ROWS, COLUMNS - 4), "b": values(ROWS, COLUMNS - 4), "c": values(COLUMNS - 4)}
        case "gaps":
            return {name: values(ROWS, 2 * COLUMNS)[:, :COLUMNS] for name in "abc"}
        case "short rows":
            return {name: values(ROWS * COLUMNS // 16, 16) for name in "abc"}
        case "transposed":
            return {"a": values(ROWS, COLUMNS), "b": values(COLUMNS, ROWS).T, "c": values(ROWS, COLUMNS)}
        case "alternating":
            pairs = values(ROWS, 2 * COLUMNS)
            return {"a": pairs[:, ::2], "b": pairs[:, 1::2], "c": values(ROWS, COLUMNS)}
        case _:
            raise ValueError(layout)


LAYOUTS = ["dense", "odd rows", "units", "gaps", "short rows", "transposed", "alternating"]
