"""numexpr's own tests, with kgen in numexpr's place.

A twentieth of its expressions runs by default; ``pytest -m whole`` runs all of them.
"""

from __future__ import annotations

import unittest
from typing import Any

import pytest

from tests.suites import numexpr_shim

theirs = pytest.importorskip("numexpr.tests.test_numexpr", reason="numexpr is not installed")

#: Their test methods that are about what kgen has not, and about numexpr's own insides.
NOT_KGENS = {
    "strings": {n for n in dir(theirs.test_numexpr) if n.startswith("test_str_contains")},
    "threads and their settings": {"test_changing_nthreads_00_inc", "test_changing_nthreads_01_dec"},
    "trees of Python objects and bytecode": {
        "test_numexpr.test_rational_expr", "test_numexpr.test_simple", "test_numexpr.test_simple_expr",
        "test_numexpr.test_simple_expr_small_array", "test_disassemble", "test_constant_deduplication",
        "test_nan_constant", "test_f32_constant", "test_r0_reuse", "test_ex_uses_vml",
    },
    "what was evaluated last": {
        "test_re_evaluate", "test_re_evaluate_dict", "test_evaluate_out_is_not_kept_alive", "test_validate",
        "test_re_evaluate_reuses_live_out", "test_validate_missing_var", "test_validate_syntax", "test_validate_dict",
    },
    "Python code in expressions": {
        "test_sanitize", "test_no_sanitize", "test_illegal_value", "test_locals_clears_globals",
    },
}  # fmt: skip

#: What the contract decides otherwise, by what is run.
DECIDED = {
    "test_boolean_operator": "`and` is an operator of the language",
    "test_negative_power_scalar": "of integers, float functions give float32",
    "test_small_int": "a literal alone is int64",
    "test_small_uint32": "uint32 is a dtype of its own",
    "test_axis": "axes may be negative",
    "test_unaligned_singleton": "an `out=` at an odd address is refused",
    "test_reductions": "begins with numexpr's bytecode; its calls are in test_opinfo.py",
    "sinh(a)": "of int64 it is float32, and 190 too much for that",
}

METHODS = [
    (case, name)
    for case in (
        theirs.test_numexpr, theirs.test_evaluate, theirs.test_int64, theirs.test_int32_int64, theirs.test_uint32_int64,
        theirs.test_irregular_stride, theirs.test_zerodim,
    )
    for name in unittest.defaultTestLoader.getTestCaseNames(case)
    if name not in DECIDED and not any({name, f"{case.__name__}.{name}"} & group for group in NOT_KGENS.values())
]  # fmt: skip


def _expressions() -> list[Any]:
    """``(expression, which are scalars, dtype)`` of each of their cases that asks something else of kgen."""
    cases = theirs.test_expressions.pytestmark[0].args[1]
    # numexpr's levels of optimisation, and int twice, are one case here.
    distinct = {(expression, scalars, dtype): None for expression, scalars, dtype, *_ in cases}
    return [
        pytest.param(*case, id=f"{case[0]}-{case[1]}-{case[2].__name__}", marks=[pytest.mark.whole] if i % 20 else [])
        for i, case in enumerate(distinct)
        if not (case[0] in DECIDED and case[2] is int)
    ]


@pytest.fixture(autouse=True)
def _kgen_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theirs, "evaluate", numexpr_shim.evaluate)
    monkeypatch.setattr(theirs, "NumExpr", numexpr_shim.NumExpr)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("expression", "scalars", "dtype"), _expressions())
def test_expression(expression: str, scalars: int, dtype: type) -> None:
    theirs.test_expressions(expression, scalars, dtype, "none", False, "")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("case", "name"), METHODS, ids=[name for _, name in METHODS])
def test_method(case: type[unittest.TestCase], name: str) -> None:
    getattr(case(name), name)()
