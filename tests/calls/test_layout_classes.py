"""Calls with a new layout of a known class launch what the full path would: over thousands of layouts, nothing run.

The kernels are replaced by functions that record their grid, block and parameters, and the arrays have no memory, so
any extents and addresses will do.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kgen
import kgen.call.device  # it keeps the backend_of that it imports, so no test may replace that before
from kgen import KgenError, families, pipeline
from kgen.arrays import numpy_
from kgen.arrays.numpy_ import TO_NUMPY
from kgen.call.engine import Engine
from kgen.codegen.kernels import Entry, Parameter
from kgen.dtypes import FLOAT16, FLOAT32, UINT8, DType
from kgen.runtime import backend
from kgen.runtime.backend import HostBackend
from kgen.runtime.cpu import module as cpu
from kgen.runtime.launcher import LoadedKernels
from kgen.runtime.parameters import Signature
from kgen.schedule.cost import predict
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.target import HOPPER, PORTABLE, Target
from kgen.schedule.trace import Trace

Launch = tuple[Any, ...]

PROGRAMS = (
    "out = a + b",
    "out = a * 2 + b * c",
    "out = a + index(0)",
    "out = sum(a * b, axis=-1)",
    "out = a - max(a, axis=-1, keepdims=true) + b",
    "out = sum(a, axis=0)",
    "out = a / sum(exp(a), axis=0, keepdims=true)",
    "out = argmax(a + b, axis=-1)",
    "inout p\np = p * 2 + a",
    "out = a + 1\nother = a * b",
    "out = stack(a, b * 2, axis=0)",
    "out = concat(a * b, b, axis=0)\nother = a - b",
)
STEPS = 40  # of a walk, before it starts somewhere else
EXTENTS = (1, 2, 3, 4, 7, 8, 16, 17, 32, 33, 48, 64, 100, 127, 128, 256, 300, 1000, 1024, 4096, 5000, 40000)


@dataclass(frozen=True)
class Layout:
    """An array's layout: which axes it repeats, its order in memory, and its steps, padding and address."""

    missing: tuple[bool, ...]
    order: tuple[int, ...]
    steps: tuple[int, ...]
    pads: tuple[int, ...]
    offset: int
    slot: int


def random_shape(rng: Random, rank: int) -> list[int]:
    while True:
        shape = [rng.choice(EXTENTS) for _ in range(rank)]
        if prod(shape) < 1 << 32:
            return shape


def random_layout(rng: Random, rank: int, slot: int) -> Layout:
    order = list(range(rank))
    if rng.random() < 0.4:
        rng.shuffle(order)
    odd = rng.random() < 0.4
    return Layout(
        tuple(rng.random() < 0.15 for _ in range(rank)),
        tuple(order),
        tuple(rng.choice((1, 1, 1, 2, -1)) if odd else 1 for _ in range(rank)),
        tuple(rng.choice((0, 0, 1, 4)) if odd else 0 for _ in range(rank)),
        rng.choice((0, 0, 0, 1, 4)),
        slot,
    )


def mutated(rng: Random, layout: Layout, slots: int) -> Layout:
    other = random_layout(rng, len(layout.order), rng.randrange(slots))
    field = rng.choice(("missing", "order", "steps", "pads", "offset", "offset", "slot"))
    return replace(layout, **{field: getattr(other, field)})


def array(layout: Layout, shape: Sequence[int], dtype: DType) -> Any:
    """An array of this layout at an address without memory."""
    kind = TO_NUMPY[dtype]
    extents = [1 if missing else n for missing, n in zip(layout.missing, shape, strict=True)]
    strides, step = [0] * len(shape), 1
    for axis in reversed(layout.order):
        strides[axis] = step * layout.steps[axis] * kind.itemsize
        step *= extents[axis] * abs(layout.steps[axis]) + layout.pads[axis]
    address = (1 << 40) * (layout.slot + 1) + layout.offset * kind.itemsize
    return _at(address, extents, strides, kind)


def _at(address: int, shape: Sequence[int], strides: Sequence[int], kind: Any) -> Any:
    """An array of ``strides`` in bytes, which nothing may read."""
    low = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    memory: Any = (ctypes.c_char * (1 << 46)).from_address(address + low)
    return np.ndarray(tuple(shape), kind, memory, -low, tuple(strides))


class Recorder(cpu.CpuModule):
    """Kernels that record how they are launched."""

    def __init__(self, entries: Sequence[Entry], launches: list[Launch]) -> None:
        self._one_os_thread = False
        self._entries = {e.name: cpu._Entry(self._recording(e, launches)) for e in entries}

    @staticmethod
    def scratch(size: int) -> Any:
        return SimpleNamespace(address=1 << 45)

    @staticmethod
    def _recording(entry: Entry, launches: list[Launch]) -> Callable[..., None]:
        sizes = [_bytes(entry, p) for p in entry.parameters]

        def record(*arguments: int) -> None:
            table = (ctypes.c_void_p * len(sizes)).from_address(arguments[10])
            found = [ctypes.string_at(at or 0, size) for at, size in zip(table, sizes, strict=True)]
            launches.append((entry.name, entry.schedule, arguments[:9], found))

        return record


def _bytes(entry: Entry, parameter: Parameter) -> int:
    match parameter.kind:
        case "layout":
            return entry.rule.packer.size
        case "n":
            return entry.schedule.index_bits // 8
        case "scalar":
            assert parameter.dtype is not None
            return parameter.dtype.size
        case "pointer" | "size":
            return 8
    return 0  # memory that kernels share, which is somewhere else


@pytest.fixture
def count(request: pytest.FixtureRequest) -> int:
    """How many layouts of each program are tried."""
    wanted: int | None = request.config.getoption("--fuzz")
    return 4 * STEPS if wanted is None else wanted


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[Launch]:
    """What kernels would have been launched with."""
    found: list[Launch] = []

    def load(self: HostBackend, module: Any, steps: Any, name: str, options: Any) -> LoadedKernels:
        signature = Signature.of(module.entries, steps)
        return LoadedKernels(module.entries, signature, Recorder(module.entries, found), options.pdl)

    def empty(shape: Sequence[int], strides: Sequence[int], dtype: DType) -> Any:
        kind = TO_NUMPY[dtype]
        return _at(1 << 46, shape, [s * kind.itemsize for s in strides], kind)

    monkeypatch.setattr(HostBackend, "load", load)
    monkeypatch.setattr(numpy_, "empty", empty)
    return found


def called(kernel: kgen.Kernel, launches: list[Launch], args: Sequence[Any], out: Any) -> Any:
    """The launches, and what is returned; or the codes of the errors."""
    launches.clear()
    try:
        result = kernel(*args, out=out)
    except KgenError as problem:
        return [d.code for d in problem.diagnostics]
    results = result if isinstance(result, tuple) else (result,)
    return list(launches), [(r.shape, r.strides, r.ctypes.data) for r in results if r is not None]


def lowerings(monkeypatch: pytest.MonkeyPatch, kernel: kgen.Kernel) -> list[None]:
    """Grows with each call of a kernel on the full path."""
    found: list[None] = []
    call = Engine.call

    def counted(self: Engine, *args: Any, **named: Any) -> Any:
        if self is kernel._engine:
            found.append(None)
        return call(self, *args, **named)

    monkeypatch.setattr(Engine, "call", counted)
    return found


def step(rng: Random, shape: list[int], layouts: list[Layout]) -> None:
    """Change one extent, or one array's layout."""
    if rng.random() < 0.5:
        axis, other = rng.randrange(len(shape)), random_shape(rng, len(shape))
        shape[axis] = other[axis] if prod(shape) < 1 << 20 else 2
    else:
        which = rng.randrange(len(layouts))
        layouts[which] = mutated(rng, layouts[which], len(layouts))


@pytest.mark.parametrize(
    ("program", "target"),
    [
        pytest.param(program, target, marks=[pytest.mark.whole] if (row + column) % 2 else [])
        for row, program in enumerate(PROGRAMS)
        for column, target in enumerate((PORTABLE, HOPPER))
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_launches_are_the_full_paths(
    program: str, target: Target, launches: list[Launch], monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """A random walk over layouts, in small steps: most are of a known class, or just outside of one.

    With keys that are exact: where they are rough, another kernel may be as good.
    """
    monkeypatch.setattr(Trace, "rough_keys", lambda trace: trace.keys or {})
    monkeypatch.setattr(backend, "backend_of", lambda device: HostBackend(target=target))
    rng = Random(f"{program} {target.name}")
    fast, full = (kgen.jit(program, device="cpu") for _ in range(2))
    lowered = lowerings(monkeypatch, fast)
    for _ in range(count // STEPS):
        rank = rng.choice((1, 2, 2, 2, 3, 4)) if "axis" not in program else 2
        dtypes = [rng.choice((FLOAT32, FLOAT32, FLOAT16, UINT8)) for _ in fast.inputs]
        shape = random_shape(rng, rank)
        layouts = [random_layout(rng, rank, i) for i in range(len(fast.inputs) + 1)]
        given = rng.random() < 0.3 and len(fast.outputs) == 1
        for _ in range(STEPS):
            args = [array(x, shape, d) for x, d in zip(layouts, dtypes, strict=False)]
            out = array(replace(layouts[-1], missing=(False,) * rank), shape, FLOAT32) if given else None
            full._fast_calls.clear()
            found, wanted = called(fast, launches, args, out), called(full, launches, args, out)
            assert found == wanted, (shape, dtypes, layouts)  # without the arrays, which pytest would read
            step(rng, shape, layouts)
    assert len(lowered) < 0.95 * count


def dense(*shape: int, offset: int = 0) -> Any:
    layout = Layout((False,) * len(shape), tuple(range(len(shape))), (1,) * len(shape), (0,) * len(shape), offset, 0)
    return array(layout, shape, FLOAT32)


NEW_LAYOUTS: dict[str, tuple[str, Callable[[int], tuple[Any, ...]]]] = {
    "dense": ("out = a + b", lambda n: (dense(n + 40, 17), dense(n + 40, 17))),
    "strided": ("out = a + b", lambda n: (dense(n + 40, 8 * n + 80)[:, 8::2], dense(n + 40, 8 * n + 80)[:, 8::2])),
    "broadcast": ("out = a + b", lambda n: (dense(n + 40, 8 * n + 80), dense(8 * n + 80))),
    "transposed": ("out = a + b", lambda n: (dense(4 * n + 100, 400), dense(400, 4 * n + 100).T)),
    "transposed alone": ("out = a + 1", lambda n: (dense(n + 40, n + 90, 3).transpose(2, 0, 1),)),
    "rows": ("out = sum(a, axis=-1)", lambda n: (dense(n + 70, 1024),)),
    "parts of rows": ("out = a / sum(a, axis=-1, keepdims=true)", lambda n: (dense(n + 70, 1040 + 4 * n)[:, :1024],)),
    "columns": ("out = sum(a, axis=0)", lambda n: (dense(n + 1100, 200),)),
    "stacked": ("out = stack(a, b, axis=-1)", lambda n: (dense(n + 70, 16), dense(n + 70, 16))),
    "joined": ("out = concat(a, b, axis=0)", lambda n: (dense(n + 70, 16), dense(2 * n + 70, 16))),
    "one row": ("out = sum(a)", lambda n: (dense(100 * n + 100000),)),
}


@pytest.mark.parametrize("name", NEW_LAYOUTS)
def test_a_new_layout_of_a_known_class_is_not_lowered(
    name: str, launches: list[Launch], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stage that takes the value of a traced number, say by hashing it, would make a class of one layout.

    Where times are predicted, it is from two significant bits of extents and strides: for each value of these, one is.
    """
    program, arrays = NEW_LAYOUTS[name]
    kernel = kgen.jit(program, device="cpu")
    for n in range(1, 3):
        kernel(*arrays(n))
    lowered = lowerings(monkeypatch, kernel)
    launches.clear()
    for n in range(3, 40):
        kernel(*arrays(n))
    assert len(lowered) <= (5 if name == "transposed" else 0)
    assert len(kernel._fast_calls) <= (3 if name == "transposed" else 1), "they differ in more than a key"
    assert len(launches) >= 37


def transposed(rng: Random) -> tuple[Any, Any]:
    """Two arrays of any size up to 5,000 x 5,000, one of which is transposed."""
    n, m = (round(2 * 2500 ** rng.random()) for _ in range(2))
    return dense(n, m), dense(m, n).T


def seconds(facts: Facts, choice: Choice) -> float:
    """As predicted."""
    walk = families.family_of(choice.schedule).walk
    assert walk is not None
    return predict(walk(facts, choice), facts.tuning.costs)


def test_kernels_for_sizes_within_a_factor_of_four_are_as_fast(
    launches: list[Launch], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By prediction: where a known class has another kernel than this layout's own, it takes hardly longer."""
    monkeypatch.setattr(backend, "backend_of", lambda device: HostBackend(target=HOPPER))
    chosen: list[tuple[Facts, Choice]] = []

    def choose(facts: Any, *among: Any) -> Choice:
        chosen.append((facts, families.choose(facts, *among)))
        return chosen[-1][1]

    monkeypatch.setattr(pipeline, "choose", choose)
    fast, full = (kgen.jit("out = a + b", device="cpu") for _ in range(2))
    lowered, slower, rng = lowerings(monkeypatch, fast), 0, Random(4)
    for _ in range(150):
        args = transposed(rng)
        known = len(lowered)
        launches.clear()
        fast(*args)
        if len(lowered) > known:
            continue
        schedule = launches[0][1]
        full._fast_calls.clear()
        chosen.clear()
        full(*args)
        for facts, choice in chosen[:1]:  # the rest is of traced numbers
            own, other = (seconds(facts, c) for c in (choice, replace(choice, schedule=schedule)))
            slower += other > 1.1 * own
    assert len(lowered) <= 95
    assert slower <= 5


def test_classes_of_most_calls_are_tried_first(launches: list[Launch], how: str) -> None:
    """Where the extension counts them: without it, in the order in which they were found."""
    kernel = kgen.jit("out = a + b", device="cpu")
    pairs: list[Callable[[int], tuple[Any, Any]]] = [
        lambda n: (dense(n, 16), dense(n, 16)),
        lambda n: (dense(n, 16), dense(16)),
        lambda n: (dense(n, 32)[:, ::2], dense(n, 32)[:, ::2]),
    ]
    for pair, times in zip(pairs, (2, 5, 2), strict=True):
        for n in range(times):
            kernel(*pair(70 + n))
    calls = kernel._fast_calls
    found = [[call(pair(90), None, None, {}) is not NotImplemented for pair in pairs].index(True) for call in calls]
    assert found == ([1, 0, 2] if how == "c" else [0, 1, 2])
