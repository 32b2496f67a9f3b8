"""Runs generated kernels inside a process that has a sanitizer preloaded.

``python -m tests.sanitize.sanitized JOB...`` prints, as JSON, the exit status and the output of every job.  Each runs
in a fork of its own, since a sanitizer ends the process at the first bug; the slow start is paid once.
Jobs: ``fuzz:FIRST:COUNT``, ``reductions:FIRST:COUNT``, ``rows:ROWS:WIDTH:OFF:TURN``,
``across:OUTER:WIDTH:INNER:TURN``, ``examples:NAME:...``, ``misaligned:DTYPE:TURN``, ``skewed:HEIGHT:WIDTH``,
``places:KIND:FIRST:COUNT``, ``mutant:NAME`` and ``partials:TOO_FAR``.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import weakref
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import numpy as np

from kgen import jit
from kgen.dtypes import DTYPES, DType
from kgen.pipeline import load
from kgen.runtime.cpu import module
from tests.forced import forced
from tests.forked import in_a_fork, prepare_forks
from tests.fuzz.arrays import Recipe, dense
from tests.fuzz.batch import Batch, Collected, collecting, running
from tests.fuzz.generate import generate
from tests.fuzz.harness import Prepared, Refused, invoke, prepare, verify
from tests.fuzz.misaligned import misaligned
from tests.fuzz.program import Call, Node, Statement
from tests.fuzz.reductions import generate as generate_reduction
from tests.fuzz.runs import Count, failures
from tests.fuzz.subjects import Reaching
from tests.fuzz.test_reductions import run as run_reductions
from tests.reductions.bits.ways import ways
from tests.reductions.odd_rows import across, programs as odd_rows

from .mutants import MUTANTS

ADDRESS = "address,undefined"
#: In which threads and blocks run: in order, reversed, shuffled.
ORDERS = ("0", "1", "12345")
#: Threads take several elements each, however few there are.
SEVERAL = {"elementwise": {"few_threads": 0}}
EXAMPLES = Path(__file__).parents[2] / "examples"


def run(calls: list[Call]) -> None:
    """All calls in one sanitized file, on memory that ends where the arrays do."""
    batch = Batch(ADDRESS)
    prepared = collect(calls, batch)
    batch.compile()
    with running(batch):
        for one in prepared:
            for _ in every_order():
                check(one)


def collect(calls: Iterable[Call], batch: Batch, first: int = 0) -> list[Prepared]:
    """Those that the language does not refuse; ``first``: a number for the name of the first."""
    prepared: list[Prepared] = []
    for number, call in enumerate(calls, first):
        try:
            one = prepare(call, f"k{number}", exact_size=True)
            with collecting(batch):
                try:
                    invoke(one)
                except Collected:
                    prepared.append(one)
        except Refused:
            continue
    return prepared


def restore(one: Prepared) -> None:
    """Arguments that were written to, as they were."""
    for name in {*one.call.inout, *(o for o in one.call.outs or () if isinstance(o, str))}:
        np.copyto(one.arguments.inputs[name], one.keep[name])


def check(one: Prepared) -> None:
    print(f"running {one.call.show()}", file=sys.stderr, flush=True)
    restore(one)
    verify(one, invoke(one))


def every_order() -> Iterator[None]:
    """Launches in a loop over this have their threads in another order each time."""
    for order in ORDERS:
        print(f"order {order}:", file=sys.stderr, end=" ", flush=True)
        os.environ["KGEN_SCHED"] = order
        yield


# --- jobs -------------------------------------------------------------------------------------------


def fuzz(first: int, count: int) -> None:
    run([generate(seed) for seed in range(first, first + count)])


def reductions(first: int, count: int) -> None:
    """Random programs that reduce: rows, columns, several kernels with memory between them."""
    run_reductions([generate_reduction(seed) for seed in range(first, first + count)], ADDRESS, times=every_order)


def places(kind: str, first: int, count: int) -> None:
    """Random programs that reach other places: views, any int64 as an index, empty tables, updates."""
    os.environ["KGEN_SCHED"] = ORDERS[first % len(ORDERS)]
    for subject, problem in failures([Reaching(kind, seed) for seed in range(first, first + count)], Count(), ADDRESS):
        raise AssertionError(subject.report(problem, "cpu", small=False)) from problem


def examples(names: Iterable[str]) -> None:
    """Files of ``examples/`` on small odd shapes, for the first two dtypes that each accepts, in three layouts."""
    run([call for name in names for call in _example_calls((EXAMPLES / f"{name}.k").read_text())])


def _example_calls(text: str) -> Iterator[Call]:
    program = load(text)
    shape = (3, 5, 7)
    found = 0
    for dtype in (next(t for t in DTYPES if t.name == n) for n in ("float32", "float16", "uint8", "int32")):
        if found >= 6:
            return
        dtypes = {a.name: a.dtype or dtype for a in program.arguments}
        for call in (_example(text, dtypes, shape, layout) for layout in range(3)):
            try:
                prepare(call, "probe")
            except Refused:
                continue
            except Exception as problem:
                if getattr(problem, "diagnostics", None):  # this dtype does not suit the program
                    continue
                raise
            found += 1
            yield call
    assert found, "no dtype suits this example"


def _example(text: str, dtypes: dict[str, DType], shape: tuple[int, ...], layout: int) -> Call:
    program = load(text)
    inputs: dict[str, object] = {}
    for number, (name, dtype) in enumerate(dtypes.items()):
        recipe = dense(dtype, shape, number)
        if layout == 1:
            recipe = Recipe(dtype, shape, (2, 0, 1), (1, 2, 1), number % 2, number)
        if layout == 2:
            recipe = Recipe(dtype, shape, (0, 1, 2), (1, 1, 1), 1, number)
        inputs[name] = recipe
    inout = tuple(a.name for a in program.arguments if a.role == "inout")
    needed = tuple(
        ("", p.name, 3 if p.dtype is None or p.dtype.is_int else 0.5) for p in program.parameters if p.default is None
    )
    return Example((Statement("", Node(text)),), inputs, inout=inout, params=needed)


class Example(Call):
    """A call of a whole text."""

    __slots__ = ()

    @property
    def text(self) -> str:
        return self.statements[0].node.form


def everywhere(dtype: str, turn: int) -> None:
    """Arrays at every place between aligned addresses: every third of these calls, from the one of ``turn`` on."""
    run(list(misaligned(next(t for t in DTYPES if t.name == dtype)))[turn::3])


def skewed(height: int, width: int) -> None:
    """Halves in two orders, whose rows begin anywhere in a sector, by tiles whose rows begin at sectors."""
    halves, calls = next(t for t in DTYPES if t.name == "float16"), list[Call]()
    for offset in (0, 1, 5):
        a, out = (Recipe(halves, (height, width), (0, 1), (1, 1), at) for at in (offset + 8, offset))
        b = Recipe(halves, (height, width), (1, 0), (1, 1), 3 * offset)
        calls.append(Call((Statement("out", Node("a - b")),), {"a": a, "b": b}, outs=(out,)))
    with forced({"elementwise": {"shortest_skewed_side": 1}}, elementwise="skewed"):
        run(calls)


@cache
def mutants() -> tuple[Batch, list[Prepared]]:
    """A file with every planted bug, compiled; and the calls that have them."""
    batch = Batch(ADDRESS)
    prepared: list[Prepared] = []
    for number, planted in enumerate(MUTANTS.values()):
        with forced(SEVERAL, elementwise=planted.family):
            prepared += collect([planted.call], batch, first=number)
    for text, planted in zip(batch.texts, MUTANTS.values(), strict=True):
        batch.edit[text] = text.replace(planted.old, planted.new)
        if batch.edit[text] == text:
            raise LookupError(f"nothing to change: {planted.old!r} is not in\n{text}")
    batch.compile()
    return batch, prepared


def mutant(name: str) -> None:
    """A planted bug; it has to be found by the sanitizer or by its result."""
    batch, prepared = mutants()
    try:
        with running(batch), forced(SEVERAL, elementwise=MUTANTS[name].family):
            check(prepared[list(MUTANTS).index(name)])
    except AssertionError as problem:
        sys.stderr.write(f"wrong result: {problem}")
        raise SystemExit(2) from None


def partials(too_far: int) -> None:
    """Rows that several blocks share, whose partial sums are written so many elements from their place."""
    kernel, batch = jit("out = sum(x, axis=-1)", device="cpu"), Batch(ADDRESS)
    x = np.ones((4, 5000), np.float32)
    (split, *_) = ways(only=("split",))
    with split.taken():
        with collecting(batch), suppress(Collected):
            kernel(x)
        (text,) = batch.texts
        batch.edit[text] = text.replace("+ blockIdx.y] = sum_acc", f"+ blockIdx.y + {too_far}] = sum_acc")
        assert batch.edit[text] != text
        batch.compile()
        with running(batch):
            assert (kernel(x) == 5000).all()


def do(job: str) -> None:
    kind, *rest = job.split(":")
    if kind == "fuzz":
        fuzz(int(rest[0]), int(rest[1]))
    elif kind == "rows":
        rows, width, off, turn = map(int, rest)
        run_reductions(odd_rows(rows, width, off=off, turn=turn), ADDRESS, exact_size=True, times=every_order)
    elif kind == "across":
        run_reductions(across(*map(int, rest)), ADDRESS, exact_size=True, times=every_order)
    elif kind == "reductions":
        reductions(int(rest[0]), int(rest[1]))
    elif kind == "examples":
        examples(rest)
    elif kind == "misaligned":
        everywhere(rest[0], int(rest[1]))
    elif kind == "skewed":
        skewed(int(rest[0]), int(rest[1]))
    elif kind == "places":
        places(rest[0], int(rest[1]), int(rest[2]))
    elif kind == "partials":
        partials(int(rest[0]))
    else:
        mutant(rest[0])


class ExactScratch:
    """Zeroed memory at an address as of device memory, where the sanitizer knows the last byte."""

    def __init__(self, size: int) -> None:
        library = ctypes.CDLL(None)
        library.aligned_alloc.restype = ctypes.c_void_p
        self.address = library.aligned_alloc(ctypes.c_size_t(256), ctypes.c_size_t(size))
        weakref.finalize(self, library.free, ctypes.c_void_p(self.address)).atexit = False
        ctypes.memset(self.address, 0, size)


def main(jobs: list[str]) -> None:
    os.environ.pop("LD_PRELOAD", None)  # the compiler needs no sanitizer
    module.Scratch = ExactScratch  # type: ignore[misc, assignment]
    if any(job.startswith("mutant:") for job in jobs):
        mutants()  # once for all forks
    prepare_forks()
    print(json.dumps({job: in_a_fork(partial(do, job)) for job in jobs}))


if __name__ == "__main__":
    main(sys.argv[1:])
