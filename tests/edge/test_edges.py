"""Edge values in every dtype through every operator, function and cast, compiled and in the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen import jit
from kgen.dtypes import BY_NAME, DTYPES
from kgen.functions import FUNCTIONS
from kgen.pipeline import load
from tests.fuzz.arrays import Array
from tests.fuzz.batch import Batch, Collected, collecting, running
from tests.fuzz.oracle import accepted, reference
from tests.fuzz.program import Arguments

from .table import Table, cast_forms, tables, tables_of


def check(group: list[Table], batch: Batch) -> list[str]:
    """What differs, in words, with all tables in one compiled file."""
    kernels = [jit(t.text, device="cpu", name=f"edge{i}", fmad=False) for i, t in enumerate(group)]
    arrays = [t.arrays() for t in group]
    with collecting(batch):
        for kernel, given in zip(kernels, arrays, strict=True):
            with pytest.raises(Collected):
                kernel(*given)
    batch.compile()
    wrong: list[str] = []
    with running(batch):
        for table, kernel, given in zip(group, kernels, arrays, strict=True):
            wrong += differences(table, given, kernel(*given))
    return wrong


def differences(table: Table, given: list[Array], results: Any) -> list[str]:
    """Where the results are not what the oracle allows."""
    wrong: list[str] = []
    names = {f"x{i}": a for i, a in enumerate(given)}
    expected = reference(load(table.text), Arguments(names, {}, None, None)).expected
    results = results if isinstance(results, tuple) else (results,)
    for i, (form, got) in enumerate(zip(table.forms, results, strict=True)):
        want = expected[f"o{i}"]
        if got.dtype != want.value.dtype:
            wrong.append(f"{table.name} {form}: {got.dtype}, not {want.value.dtype}")
            continue
        bad = np.flatnonzero(~accepted(want, got))
        if len(bad):
            at = bad[0]
            span = f" or {[s[at] for s in want.samples[2:4]]}" if want.samples else ""
            wrong.append(
                f"{table.name} {form} of {[a[at] for a in given]!r}: {got[at]!r}, not {want.value[at]!r}{span} "
                f"({len(bad)} of {got.size})"
            )
    return wrong


SHORTS = sorted(t.short for t in DTYPES)
#: Those whose kernels the compiler optimises, by default; ``-m whole`` has those of the others.
OPTIMISED = ("f32", "i8")


def assert_as_the_oracle(dtype: str) -> None:
    wrong = check(list(tables_of(BY_NAME[dtype])), Batch())
    assert not wrong, "\n" + "\n".join(wrong)


#: Dtypes like others of their kind, whose tables only ``-m whole`` has.
ALIKE = ("i16", "u16", "i32", "u32", "c128", "e5m2")


@pytest.mark.parametrize(
    "dtype", [pytest.param(s, marks=pytest.mark.whole if s in ALIKE else []) for s in SHORTS if s not in OPTIMISED]
)
def test_edge_values(dtype: str) -> None:
    """A compiled kernel gives what the oracle does: in every bit where one result is defined, else within its bound."""
    assert_as_the_oracle(dtype)


@pytest.mark.optimised
@pytest.mark.parametrize("dtype", [s if s in OPTIMISED else pytest.param(s, marks=pytest.mark.whole) for s in SHORTS])
def test_edge_values_as_for_users(dtype: str) -> None:
    """The same of a kernel that the host's compiler optimises."""
    assert_as_the_oracle(dtype)


def test_the_table_is_complete() -> None:
    """Every function and every accepted cast stands in some table."""
    text = "\n".join(f for t in tables() for f in t.forms)
    apart = {n for n, f in FUNCTIONS.items() if f.rule in ("reduction", "view")} - {"min", "max"}
    apart |= {"index", "size", "expand"}
    assert [n for n in FUNCTIONS if n not in apart and f"{n}(" not in text] == []
    casts = [t for t in tables() if t.name.startswith("cast")]
    assert {t.of[0] for t in casts} == set(DTYPES)
    plain = sum(f.startswith("cast<") and "," not in f for t in casts for f in t.forms)
    assert plain == len(DTYPES) ** 2 - 2 * 14  # all pairs, less complex to what is real and not bool
    assert len(cast_forms(DTYPES[0])) == 11
