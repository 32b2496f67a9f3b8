"""What the spelled text computes, on the CPU target, against the oracle: every op, cast and bit cast on edge values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kgen.ir.ops import OPS

from . import cases, values
from .cases import Case
from .values import Array

EVERY = cases.groups(cases.all_cases())
Selection = Callable[[list[Array]], Array]

#: Where the bound of a row holds: the documented errors of Bessel functions and of lgamma are absolute elsewhere.
DOMAINS: dict[str, Selection] = {
    **dict.fromkeys(("j0", "j1", "y0", "y1"), lambda args: np.abs(args[0]) < 8),
    **dict.fromkeys(("jn", "yn"), lambda args: np.abs(args[1]) < 8),
    "lgamma": lambda args: args[0] > 0,
}


def _bound(case: Case) -> float:
    """Units in the last place that a target may be off; one more where both sides of the comparison round."""
    bound = OPS[case.name].ulp[0 if case.of[-1].size == 4 else 1]
    return bound + 1 if bound else 0


def _wrong(group: list[Case], args: list[Array]) -> list[str]:
    differences = []
    for case, got in zip(group, values.on_cpu(group, args), strict=True):
        held = DOMAINS[case.name](args) if case.name in DOMAINS else np.full(len(got), True)
        if _bound(case) and case.of[-1].size == 8:
            held &= np.arange(len(held)) % 40 == 0  # the oracle works these out one by one
        chosen = [a[held] for a in args]
        found = values.compare(case, chosen, values.oracle(case, chosen), got[held], _bound(case))
        if found is not None:
            differences.append(str(found))
    return differences


@pytest.mark.parametrize("group", EVERY, ids=lambda group: "-".join(t.short for t in group[0].of))
def test_the_text_computes_what_the_contract_says(
    group: list[Case],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    precompile: Callable[..., str],
) -> None:
    """Ops with one defined result agree bit for bit (any NaN is any other), the others within their bound.

    UBSan sees no signed overflow, no shift past the width, no float out of an integer's range, on any edge value.
    ``tests/edge`` compares the same without it, and as it is compiled for users.
    """
    monkeypatch.setenv("KGEN_CXXFLAGS", precompile("-fsanitize=undefined,float-cast-overflow -O0"))
    assert _wrong(group, values.arguments(group[0].of)) == []
    assert capfd.readouterr().err == ""
