"""Bugs to plant in generated texts: what is replaced, and a call whose kernel has it."""

from __future__ import annotations

from dataclasses import dataclass

from kgen.dtypes import FLOAT32, INT16, INT32
from tests.fuzz.arrays import Recipe, dense
from tests.fuzz.program import Call, Node, Statement


@dataclass(frozen=True, slots=True)
class Mutant:
    """``found`` is what the sanitizer says, or ``wrong result``."""

    call: Call
    old: str
    new: str
    found: str

    @property
    def family(self) -> str | None:
        """The one that is forced, where another would be chosen."""
        return "strided" if self.call is _STRIDED else None


def _call(text: str, out: Recipe | None = None, **inputs: Recipe) -> Call:
    name, _, value = text.partition(" = ")
    return Call((Statement(name, Node(value)),), dict(inputs), outs=None if out is None else (out,))


_CONTIGUOUS = _call("out = a * b + 1", a=dense(FLOAT32, (1003,), 1), b=dense(FLOAT32, (1003,), 2))
_STRIDED = _call(
    "out = a - b",
    Recipe(FLOAT32, (5, 3, 7), (0, 1, 2), (1, 2, 1), 0, 3),
    a=dense(FLOAT32, (5, 3, 7), 1),
    b=Recipe(FLOAT32, (5, 3, 7), (2, 0, 1), (2, 1, 3), 0, 2),
)
_ROWS = _call(
    "out = a - b",
    Recipe(FLOAT32, (9, 30), (0, 1), (2, 1), 0, 3),
    a=dense(FLOAT32, (9, 30), 1),
    b=Recipe(FLOAT32, (9, 30), (0, 1), (2, 1), 0, 2),
)
_FLAT = _call("out = a - b", a=dense(FLOAT32, (9, 31), 1), b=dense(FLOAT32, (31,), 2))
_SHIFTED = _call("out = -a", a=Recipe(INT16, (1008,), (0,), (1,), 1, 3))
_LED = _call(
    "out = a - b",
    Recipe(FLOAT32, (9, 31), (0, 1), (2, 1), 1, 3),
    a=dense(FLOAT32, (9, 31), 1),
    b=dense(FLOAT32, (9, 31), 2),
)
_INTEGERS = _call("out = (a << 3) + a", a=dense(INT32, (257,), 3))
_COORDINATE = _call("out = a + index(0)", a=dense(INT32, (13, 7), 3))
_GATHER = _call("out = a[b]", a=dense(FLOAT32, (1003,), 1), b=dense(INT32, (257,), 3))
_OVERFLOW = "heap-buffer-overflow"

MUTANTS: dict[str, Mutant] = {
    "vector past the end": Mutant(_CONTIGUOUS, "i < whole_to", "i <= whole_to", _OVERFLOW),
    "tail one too far": Mutant(_CONTIGUOUS, "e < n", "e <= n", _OVERFLOW),
    "tail one short": Mutant(_CONTIGUOUS, "e < n", "e + 1 < n", "wrong result"),
    "no tail": Mutant(_CONTIGUOUS, "blockIdx.x == 0 &&", "blockIdx.x == 1 &&", "wrong result"),
    "overlapping groups": Mutant(_CONTIGUOUS, "= 4u * (", "= 3u * (", "wrong result|misaligned"),
    "misaligned groups": Mutant(_CONTIGUOUS, "(a_ptr + i)", "(a_ptr + i / 3)", "misaligned|wrong result"),
    "one of four": Mutant(_CONTIGUOUS, "j < 4", "j < 3", "wrong result"),
    "operands swapped": Mutant(_STRIDED, "a_v - b_v", "b_v - a_v", "wrong result"),
    "no guard": Mutant(_STRIDED, "e < n;", "e < n + 4096;", _OVERFLOW),
    "four past the end": Mutant(_STRIDED, "i + 384 < n", "i < n", _OVERFLOW),
    "strides swapped": Mutant(
        _STRIDED, "c0 * layout.b_stride[0]", "c0 * layout.b_stride[1]", f"wrong result|{_OVERFLOW}"
    ),
    "wrong pointer": Mutant(_STRIDED, "b_ptr[b_at]", "b_ptr[b_at + 1]", f"wrong result|{_OVERFLOW}"),
    "unclamped shift": Mutant(_INTEGERS, "<< 3", "<< 33", "shift exponent 33"),
    "wrong coordinate": Mutant(_COORDINATE, "(int)q0", "(int)(q0 + 1)", "wrong result"),
    "row past the end": Mutant(_ROWS, "layout.width - i >= 4", "layout.width - i >= 1", f"{_OVERFLOW}|wrong result"),
    "row one too far": Mutant(_ROWS, "e < layout.width", "e <= layout.width", f"{_OVERFLOW}|wrong result"),
    "flat past the end": Mutant(_FLAT, "i < whole_to", "i <= whole_to", f"{_OVERFLOW}|wrong result"),
    "blocks past the end": Mutant(_SHIFTED, "n / 8 * 8 - 8", "n / 8 * 8", _OVERFLOW),
    "words not shifted": Mutant(_SHIFTED, "off & (4 * step)", "off & (2 * step)", "wrong result"),
    "bytes not shifted": Mutant(_SHIFTED, "8 * (off % 4)", "8 * (off % 2)", "wrong result"),
    "led astray": Mutant(_LED, "/ 4 % 4", "/ 4 % 2", "misaligned|wrong result"),
    "any place inside": Mutant(
        _GATHER, "(unsigned long long)place < (unsigned long long)extent", "true", "AddressSanit"
    ),
    "row one short": Mutant(_ROWS, "e < layout.width", "e + 1 < layout.width", "wrong result"),
}
