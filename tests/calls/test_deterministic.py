"""``deterministic=True``: what updates at computed places give does not depend on their order."""

from __future__ import annotations

from math import fsum
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import KgenError, jit, pipeline
from kgen.call.arguments import ArrayValue, bind, describe, operands_of
from kgen.dtypes import BY_NAME
from kgen.ir.evaluator import evaluate
from kgen.ir.rounding import numpy_dtype
from tests.check.test_gathers import HOSTILE
from tests.check.test_indexing import Array

DTYPES = ("float32", "float64", "float16", "bfloat16", "complex64")


def evaluated(kernel: Any, given: dict[str, Array]) -> dict[str, Array]:
    """The results of the rewritten program by the evaluator."""
    values = describe(kernel.program, bind(kernel.program, (), given))
    operands = operands_of(values, (), None)
    graph = pipeline.ir_after(kernel.program, operands, "check")
    arrays = {n: v.array for n, v in values.items() if isinstance(v, ArrayValue)}
    found = evaluate(graph, [arrays.get(o.name) if o.view is None else None for o in graph.operands])
    return dict(zip([o.name for o in graph.results], found, strict=True))


def bits(array: Array) -> tuple[bytes, bytes]:
    """Where an array is NaN, and all else; the bits of a NaN are each device's own."""
    parts = array.view(array.real.dtype) if array.dtype.kind == "c" else array
    is_nan = parts != parts
    return is_nan.tobytes(), np.where(is_nan, parts.dtype.type(0), parts).tobytes()


def run(text: str, **given: Array) -> dict[str, Array]:
    """All that a program writes, with the bits that the evaluator gives."""
    kernel: Any = jit(text, deterministic=True)
    want, mine = evaluated(kernel, given), {name: array.copy() for name, array in given.items()}
    got = kernel(**mine)
    outputs = got if isinstance(got, tuple) else (got,) if kernel.outputs else ()
    found = mine | dict(zip(kernel.outputs, outputs, strict=True))
    for name, one in want.items():
        assert bits(found[name]) == bits(one), name
    return {name: found[name] for name in want}


def exact(o: Array, i: Array, v: Array) -> Array:
    """The sums, rounded once to float64."""
    rows = [[o[t], *v[(i == t) | (i == t - len(o))]] for t in range(len(o))]
    return np.array([fsum(float(x.real) for x in row) + 1j * fsum(float(x.imag) for x in row) for row in rows])


@pytest.mark.parametrize("name", DTYPES)
def test_sums(name: str) -> None:
    """The same bits in any order of the elements, within the documented bound of the exact sums."""
    rng, dtype = np.random.default_rng(7), numpy_dtype(BY_NAME[name])
    i = rng.integers(-20, 22, 3000)
    parts = rng.standard_normal((2, 3000)) * 10.0 ** rng.integers(-6, 3, 3000)
    v = (parts[0] + 1j * parts[1]).astype(dtype) if dtype.kind == "c" else parts[0].astype(dtype)
    o = np.arange(20).astype(dtype)
    found = run("inout o; o[i] += v", o=o, i=i, v=v)["o"]
    for _ in range(3):
        order = rng.permutation(len(i))
        assert run("inout o; o[i] += v", o=o, i=i[order], v=v[order])["o"].tobytes() == found.tobytes()
    wide = [x.astype(np.complex128) for x in (o, v, found)]
    want = exact(wide[0], i, wide[1])
    unit = {"float32": 2**-24, "float64": 2**-53, "float16": 2**-11, "bfloat16": 2**-8, "complex64": 2**-24}[name]
    bits = 62 if name == "float64" else 31
    bound = 150 * 2.0**-bits * abs(wide[1]).max() + 3 * unit * (abs(want).max() + abs(wide[1]).max())
    assert abs(wide[2] - want).max() <= bound


def test_ends() -> None:
    """Infinities, NaN, overflow and subnormals; what nothing is added to keeps its bits."""
    o = np.array([1, -0.0, np.nan, 3, 4, 5, 6, 1e-45], np.float32)
    i = np.array([0, 0, 3, 3, 4, 4, 5, 6, 6, 7, 8, -9])
    tiny, big = 1e-45, 3e38
    v = np.array([np.inf, 1, np.inf, -np.inf, -np.inf, 2, np.nan, big, big, tiny, 9, 9], np.float32)
    found = run("inout o; o[i] += v", o=o, i=i, v=v)["o"]
    np.testing.assert_array_equal(found, np.array([np.inf, 0, np.nan, np.nan, -np.inf, np.nan, np.inf, 3e-45], "f4"))
    assert np.signbit(found[1])
    run("inout o; o[i] += 1.0", o=np.zeros(5), i=HOSTILE)


def test_statements() -> None:
    """Several statements for one array, their conditions, rows, and outputs that are assigned first."""
    rng = np.random.default_rng(5)
    x, slot = rng.standard_normal((9, 4)), rng.integers(-4, 5, 9)
    text = "input x, slot; o = x[:4] * 2; o[slot] += x; o[slot - 1] += x * 3 if x > 0; low = x; low[slot] min= x * 3"
    found = run(text, x=x, slot=slot)
    want = x[:4] * 2
    for s, row in zip(slot, x, strict=True):
        if -4 <= s < 4:
            want[s] += row
        if -4 <= s - 1 < 4:
            want[s - 1] += np.where(row > 0, row * 3, 0)
    np.testing.assert_allclose(found["o"], want, rtol=1e-14, atol=1e-14)
    rows = jit("inout o; o[2:] += x", deterministic=True)
    assert "_buffer" not in str(rows.explain(x, x[2:]))  # each element has a place of its own


def test_parts() -> None:
    """What is merged and joined is added part by part."""
    rng = np.random.default_rng(9)
    o, s, v = rng.standard_normal((5, 8)), rng.integers(-5, 5, 30), rng.standard_normal((30, 4))
    want = o.copy()
    np.add.at(want, s, np.stack([v, -v], -1).reshape(30, 8))
    for text in ("o[s] += merge(stack(v, -v, axis=-1))", "o[concat(s, s, axis=0), :] += concat(v2, v2, axis=0)"):
        given = {"v": v} if "merge" in text else {"v2": np.stack([v, -v], -1).reshape(30, 8) / 2}
        found = run(f"inout o; {text}", o=o, s=s, **given)["o"]
        np.testing.assert_allclose(found, want, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("target", ["slot", "slot, :", ":, slot", "slot, slot * 2", "slot[:, None], slot", "1:4, slot"])
def test_last_wins(target: str) -> None:
    """Of several elements that are written to one place, the last in C order."""
    rng = np.random.default_rng(5)
    slot, o = rng.integers(-5, 5, 9), np.zeros((5, 10))
    shape = eval(f"o[{target}]", {"o": o, "slot": slot}).shape
    v, want = rng.standard_normal(shape), o.copy()
    places = eval(f"at[{target}]", {"at": np.arange(50).reshape(5, 10), "slot": slot})
    for place, value in zip(places.ravel(), v.ravel(), strict=True):
        want.flat[place] = value
    got = run(f"inout o; input slot, v; o[{target}] = v", o=o, slot=slot, v=v)["o"]
    np.testing.assert_array_equal(got, want)
    some = run(f"inout o; input slot, v; o[{target}] = v if v > 9", o=o, slot=slot, v=v)["o"]
    np.testing.assert_array_equal(some, o)


def test_last_part_wins() -> None:
    """Of merged and joined values, that of the last part; of rows in parts, the elements of one row."""
    o, s = np.zeros(5), np.array([0, 1, 2, 0, 1, 2])
    a, b = np.array([1.0, 2, 3]), np.array([4.0, 5, 6])
    found = run("inout o; o[s] = concat(a, b, axis=0)", o=o, s=s, a=a, b=b)["o"]
    np.testing.assert_array_equal(found, [4, 5, 6, 0, 0])
    found = run("inout o; o[s // 2] = merge(stack(a, b, axis=-1))", o=o, s=np.array([4, 4, 0, 1, 2, 3]), a=a, b=b)["o"]
    np.testing.assert_array_equal(found, [5, 6, 4, 0, 0])
    rng = np.random.default_rng(5)
    v, slot, rows = rng.standard_normal((9, 4)), rng.integers(-5, 5, 9), np.zeros((5, 8))
    want = rows.copy()
    for place, row in zip(slot, np.stack([v, -v], -1).reshape(9, 8), strict=True):
        want[place] = row
    for text in ("merge(stack(v, -v, axis=-1))", "merge(stack(v, -v, axis=-1)) if v[:, :1] < 9"):
        found = run(f"inout rows; rows[slot] = {text}", rows=rows, slot=slot, v=v)["rows"]
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("text", ["inout o; o[i] += v", "inout o; o[i] max= v", "out = x[i]"])
def test_exact(text: str) -> None:
    """Exact updates need nothing: their kernel is the same."""
    arrays = [kgen.spec((8,), "i32")] * 3
    kernels = [jit(text, deterministic=on) for on in (False, True)]
    given = [k.source(*arrays[: len(k.inputs)]).replace(" --deterministic", "") for k in kernels]
    assert given[0] == given[1]


def test_calls() -> None:
    """Plans, calls that repeat, other shapes, and checked indices."""
    kernel: Any = jit("inout o; o[i] += v", deterministic=True, device="cpu")
    for n in (5, 5, 5, 8, 9):
        o, i, v = np.zeros(n), np.arange(3 * n) % n, np.arange(3.0 * n)
        kernel(o, i, v)
        np.testing.assert_array_equal(o, v.reshape(3, n).sum(0))
    plan = kernel.plan(o, i, v)
    plan()
    np.testing.assert_array_equal(o, 2 * v.reshape(3, 9).sum(0))
    with pytest.raises(KgenError, match=r"the index 9 at \(26\)"):
        kernel(o, np.where(np.arange(27) == 26, 9, i), v, check_indices=True)


def test_refused() -> None:
    with pytest.raises(KgenError) as caught:
        jit("inout o; input s, v; o[1:, s] += v[1:]; o[:-1, s] += v[:-1]", deterministic=True)(
            np.zeros((4, 4)), np.array([1, 1]), np.ones((4, 2))
        )
    assert caught.value.code == "not-yet"
    assert "deterministic=True" in caught.value.diagnostics[0].message
