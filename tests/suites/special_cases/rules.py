"""The words of the tables: what arguments may be, what results have to be, and the rows themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

inf, nan = math.inf, math.nan

#: The parts of arguments: every condition holds for some of them.
SAMPLES = [
    0.0, -0.0, 0.25, -0.25, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.0, -2.0, 2.5, 3.0, -3.0, 7.75,
    1e-30, -1e-30, 1e30, -1e30, inf, -inf, nan,
]  # fmt: skip


def _is_whole(x: float) -> bool:
    return math.isfinite(x) and x == math.floor(x)


def _is_odd(x: float) -> bool:
    return _is_whole(x) and x % 2 == 1


def _is_zero(x: float, sign: int) -> bool:
    return x == 0 and math.copysign(1, x) == sign


CONDITIONS: dict[str, Callable[[float], bool]] = {
    "any": lambda x: True,
    "nan": math.isnan,
    "number": lambda x: x == x,
    "finite": math.isfinite,
    "nonzero": lambda x: math.isfinite(x) and x != 0,
    "positive": lambda x: 0 < x < inf,
    "negative": lambda x: -inf < x < 0,
    "whole": _is_whole,
    "fraction": lambda x: math.isfinite(x) and not _is_whole(x),
    "odd+": lambda x: x > 0 and _is_odd(x),
    "odd-": lambda x: x < 0 and _is_odd(x),
    "even+": lambda x: x > 0 and not _is_odd(x),
    "even-": lambda x: x < 0 and not _is_odd(x),
    "above1": lambda x: abs(x) > 1,
    "below1": lambda x: abs(x) < 1,
    "unit": lambda x: abs(x) == 1,
    "not1": lambda x: x != 1,
    "+0": lambda x: _is_zero(x, 1),
    "-0": lambda x: _is_zero(x, -1),
    "±0": lambda x: x == 0,
    "+inf": lambda x: x == inf,
    "-inf": lambda x: x == -inf,
    "±inf": math.isinf,
    ">0": lambda x: x > 0,
    "<0": lambda x: x < 0,
    ">1": lambda x: x > 1,
    "<1": lambda x: x < 1,
    "<-1": lambda x: x < -1,
}

#: Results: a value, or a rule of the arguments.  An unsigned zero or infinity may have any sign.
VALUES: dict[str, float] = {
    "pi": math.pi, "pi/2": math.pi / 2, "pi/4": math.pi / 4, "3pi/4": 3 * math.pi / 4, "true": True, "false": False,
}  # fmt: skip


def holds(word: str, x: float, args: tuple[float, ...]) -> bool:
    """Whether an argument is what a condition says; a number stands for itself."""
    if word == "opposite":
        return x == -args[0]
    return CONDITIONS[word](x) if word in CONDITIONS else x == float(word)


def fits(word: str, x: float, args: tuple[float, ...], eps: float) -> bool:
    """Whether a result, or a part of one, is what a row says."""
    if word == "any":
        return True
    if word in ("0", "inf") or word.startswith("±"):
        return fits("+" + word.lstrip("±"), abs(x), args, eps)
    if word in ("signed+", "signed-"):
        return x == x and math.copysign(1, x) == (1 if word == "signed+" else -1)
    sign = -1 if word.startswith("-") else 1
    name = word.lstrip("+-")
    if name.strip("|") in ("x1", "x2"):
        of = args[int(name.strip("|")[1]) - 1]
        want = sign * (abs(of) if "|" in name else of)
    else:
        want = sign * (VALUES[name] if name in VALUES else float(name))
    if want != want or x != x:
        return want != want and x != x
    if want == 0 or math.isinf(want):
        return x == want and math.copysign(1, x) == math.copysign(1, want)
    return abs(x - want) <= 4 * eps * abs(want)


def _cis(word: str, got: tuple[float, ...], args: tuple[float, ...]) -> bool:
    """``0*cis`` and ``inf*cis``: that many times ``cos(b) + i sin(b)``, perhaps less 1; zeros keep b's sign."""
    factor = 0.0 if word.startswith("0") else inf
    less = 1 if word.endswith("-1") else 0
    b = args[1]
    want = (factor * math.cos(b) - less, b if b == 0 else factor * math.sin(b))
    return all(
        g == w and (w != 0 or math.copysign(1, g) == math.copysign(1, w)) for g, w in zip(got, want, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: the words for each argument (or part), and for the result (or each part)."""

    name: str
    condition: tuple[str, ...]
    result: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}: {', '.join(self.condition)} -> {', '.join(self.result)}"

    def applies(self, args: tuple[float, ...]) -> bool:
        return all(holds(word, x, args) for word, x in zip(self.condition, args, strict=True))

    def allows(self, got: tuple[float, ...], args: tuple[float, ...], eps: float) -> bool:
        if "cis" in self.result[0]:
            return _cis(self.result[0], got, args)
        return all(fits(word, x, args, eps) for word, x in zip(self.result, got, strict=True))


def rules(file: str) -> Iterator[Rule]:
    """The rows of ``real.txt`` or ``complex.txt``."""
    for line in (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        name, _, rows = line.partition(":")
        for row in rows.split(";"):
            condition, result = (tuple(word.strip() for word in side.split(",")) for side in row.split("->"))
            yield Rule(name, condition, result)
