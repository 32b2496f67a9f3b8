"""Every use of every op that the spelling table has to write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

from kgen.codegen.spelling import ROWS
from kgen.dtypes import BOOL, COMPLEX64, COMPLEX128, DTYPES, FLOAT32, FLOAT64, INT32, DType, Kind
from kgen.ir.graph import Attr, CastMode
from kgen.ir.ops import OPS
from kgen.syntax.tree import RoundingMode

MODES: tuple[RoundingMode, ...] = get_args(RoundingMode)
_LETTERS = {Kind.BOOL: "b", Kind.INT: "i", Kind.FLOAT: "f"}
_FIXED = {("where", 0): BOOL, ("jn", 0): INT32, ("yn", 0): INT32, ("ldexp", 1): INT32}


@dataclass(frozen=True, slots=True)
class Case:
    """One use of an op."""

    name: str
    attr: Attr
    dtype: DType
    of: tuple[DType, ...]

    def __str__(self) -> str:
        attr = f"<{self.attr}>" if self.attr is not None else ""
        return f"{self.name}{attr}({', '.join(map(str, self.of))}) -> {self.dtype}"


def arithmetic() -> Iterator[Case]:
    """Ops whose result follows from their row: each with every dtype that it accepts."""
    for name, row in OPS.items():
        if row.result == "stated" or name not in ROWS or row.arity is None:
            continue
        for dtype in DTYPES:
            if _LETTERS.get(dtype.kind, "?") not in row.accepts or dtype.is_narrow:
                continue
            of = tuple(_FIXED.get((name, i), dtype) for i in range(row.arity))
            result = {"same": dtype, "bool": BOOL, "int32": INT32}[row.result]
            for attr in range(9) if name == "powi" else (None,):
                yield Case(name, attr, result, of)


def casts() -> Iterator[Case]:
    """Every pair of dtypes, rounding mode and saturation that the checker can ask for."""
    for source in DTYPES:
        for dtype in DTYPES:
            if source.is_complex and not (dtype.is_complex or dtype.is_bool):
                continue
            plain = source.is_complex or dtype.is_complex or dtype.is_bool
            for mode in ("rne",) if plain else MODES:
                for saturate in (False,) if plain else (False, True):
                    yield Case("cast", CastMode(mode, saturate), dtype, (source,))


def rest() -> Iterator[Case]:
    """Bit casts and complex values."""
    for source in DTYPES:
        for dtype in DTYPES:
            if source.size == dtype.size:
                yield Case("bitcast", None, dtype, (source,))
    for whole, part in ((COMPLEX64, FLOAT32), (COMPLEX128, FLOAT64)):
        yield Case("complex", None, whole, (part, part))
        yield Case("real", None, part, (whole,))
        yield Case("imag", None, part, (whole,))


def all_cases() -> list[Case]:
    return [*arithmetic(), *casts(), *rest()]


def groups(cases: Sequence[Case]) -> list[list[Case]]:
    """The cases by the dtypes of their arguments."""
    found: dict[tuple[DType, ...], list[Case]] = {}
    for case in cases:
        found.setdefault(case.of, []).append(case)
    return list(found.values())
