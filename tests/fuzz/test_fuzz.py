"""Random programs give on the CPU target what the oracle says; ``pytest tests/fuzz --fuzz 10000`` runs that many."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from kgen.functions import FUNCTIONS
from tests.forced import AS_MANY, forced

from .forms import functions
from .generate import generate
from .program import Call
from .runs import BATCH, Count, check_alone, run_calls

GROUPS = 10
FIRST_SEED = 20_000


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_programs(group: int, programs: int) -> None:
    """Results, shapes, dtypes and strides are the oracle's, bit for bit where one is defined; few are refused.

    Every other group takes its few elements as many are.
    """
    total = Count()
    each = -(-programs // GROUPS)
    seeds = range(FIRST_SEED + group * each, FIRST_SEED + min((group + 1) * each, programs))
    with forced(AS_MANY if group % 2 else {}):
        for start in range(0, len(seeds), BATCH):
            run_calls([generate(seed) for seed in seeds[start : start + BATCH]], total)
    assert total.run.total() > 0
    assert sum(total.refused.values()) < 0.05 * (len(seeds) + 40), total


@settings(
    max_examples=15, deadline=None, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(st.randoms(use_true_random=False).map(lambda rng: generate(-1, rng=rng)))
def test_drawn_programs(call: Call) -> None:
    """The same by way of hypothesis, each program compiled by itself."""
    check_alone(call)


def test_every_function_comes_up() -> None:
    """No elementwise function of the table is left out of what programs are made of."""
    apart = {n for n, f in FUNCTIONS.items() if f.rule in ("reduction", "view")} - {"min", "max"}
    assert {name for name, _ in functions()} == set(FUNCTIONS) - apart - {"index", "size", "expand"}


def test_programs_are_varied() -> None:
    """Layouts, argument kinds and statement kinds all come up in some hundred programs."""
    seen: Counter[str] = Counter()
    for seed in range(600):
        call = generate(seed)
        text = call.text
        seen.update(
            word
            for word in (
                "let",
                "def",
                "param",
                "inout",
                "input",
                "cast<",
                "bitcast<",
                "index(",
                "size(",
                "expand(",
                "?",
                "**",
                "typeof(",
                "reduced = ",
                "[",
                ")[",
                "::-1",
                "transpose(",
                "flip(",
                "split(",
                "...",
                "None",
            )
            if word in text
        )
        seen["size of an array"] += "size(" in text and ", " in text.split("size(")[1].split(")")[0]
        seen["nested defs"] += any("_f" in line for line in call.defs)
        seen["contraction"] += call.fmad
        seen["fast"] += call.fast
        seen["out="] += call.outs is not None
        seen["in place"] += any(isinstance(o, str) for o in call.outs or ())
        seen["shape="] += call.shape is not None
        recipes = [r for r in call.inputs.values() if not isinstance(r, bool | int | float | complex)]
        seen["scalar input"] += len(recipes) < len(call.inputs)
        seen["swapped"] += any(r.swapped for r in recipes)
        seen["unaligned"] += any(r.unaligned for r in recipes)
        seen["above rank 4"] += any(len(r.shape) > 4 for r in recipes)
        seen["large"] += any(len(r.shape) == 2 and min(r.shape) >= 32 for r in recipes)
        seen["misaligned"] += any(r.offset for r in recipes)
        seen["backwards"] += any(s < 0 for r in recipes for s in r.steps)
        seen["stride 0"] += any(s == 0 for r in recipes for s in r.steps)
        seen["permuted"] += any(r.order != tuple(sorted(r.order)) for r in recipes)
        seen["empty"] += any(0 in r.shape for r in recipes)
        seen["0-d"] += any(r.shape == () for r in recipes)
    assert min(seen.values()) >= 3, seen
    assert len(seen) == 40, seen
