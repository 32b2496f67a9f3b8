"""Rows that kernels with reductions read or write at computed places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen
from kgen.dtypes import BFLOAT16
from kgen.ir.rounding import numpy_dtype
from kgen.runtime.cuda.driver import probe
from tests.forced import AS_MANY, both, forced
from tests.reductions.bits.ways import ways

Array = np.ndarray[Any, Any]
on_gpu = [pytest.mark.gpu, pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU")]

PLACES = np.array([0, 3, -1, 7, -8, 2**62, 2, 5, -6, 4])  # no place twice
INSIDE = (PLACES >= -7) & (PLACES < 7)
ROWS = np.where(INSIDE, PLACES, 0) % 7


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=on_gpu)])
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def integers(rows: int, columns: int, dtype: str = "float32") -> Array:
    """Sums of these are exact."""
    return (np.arange(rows * columns) * 37 % 11 - 5).reshape(rows, columns).astype(dtype)


def unaligned(x: Array) -> Array:
    """A copy whose rows begin at odd elements."""
    wide = np.zeros((x.shape[0], x.shape[1] + 8), x.dtype)
    wide[:, 1 : x.shape[1] + 1] = x
    return wide[:, 1 : x.shape[1] + 1]


def call(device: str, text: str, moves: str, **given: Any) -> Any:
    """The results of one kernel that reduces and accesses a ``table`` so; copies on a GPU are aligned."""
    k: Any = kgen.jit(text, device=device, fmad=False)
    (kernel,) = k.explain(**given).to_dict()["kernels"]
    found = {o["name"]: o["access"] for o in kernel["operands"]}
    assert kernel["schedule"]["template"] == "row_reduce"
    assert device == "cuda" or found["table"].startswith(moves), found["table"]
    return k(**given)


@pytest.mark.parametrize(("dtype", "columns"), [("float32", 64), ("float16", 1024), ("int8", 20000)])
def test_read(device: str, dtype: str, columns: int) -> None:
    """Rows that are summed and written, in registers and walked: as read one by one; zeros outside."""
    table, y = integers(7, columns, dtype), integers(len(PLACES), columns, dtype)
    text = "let v = cast<float>(table[i] + y)\ns = sum(v, axis=-1)\nout = v - 2 * expand(s, axis=-1)"
    s, out = call(device, text, "rows by groups", table=table, i=PLACES, y=y)
    v = (np.where(INSIDE[:, None], table[ROWS], table.dtype.type(0)) + y).astype("float32")
    np.testing.assert_array_equal(s, v.sum(-1))
    np.testing.assert_array_equal(out, v - 2 * v.sum(-1, keepdims=True))
    one_by_one = call(device, text, "element by element", table=unaligned(table), i=PLACES, y=y)
    np.testing.assert_array_equal(one_by_one[1], out)


def test_same_bits(device: str) -> None:
    """Rounded results do not depend on how rows are read, nor on the device."""
    rng = np.random.default_rng(0)
    table, x = rng.standard_normal((7, 128)).astype("float16"), rng.standard_normal((10, 128)).astype("float16")
    text = "out = x / (1 + mean(cast<float>(x) ** 2, axis=-1, keepdims=true)) * table[i]"
    by_rows = call(device, text, "rows by groups", x=x, i=PLACES, table=table)
    np.testing.assert_array_equal(by_rows, call("cpu", text, "element by", x=x, i=PLACES, table=unaligned(table)))


@pytest.mark.parametrize(("dtype", "columns"), [("float32", 64), ("float16", 1024), ("int8", 20000)])
def test_written(device: str, dtype: str, columns: int) -> None:
    """Rows of what is reduced; nothing outside, nor where the condition is false."""
    x, keep = integers(len(PLACES), columns, dtype), np.arange(len(PLACES)) != 1
    text = "input x, i, keep\ninout table\nlet y = cast<typeof(table)>(max(x, axis=-1, keepdims=true) - x)\n"
    text += "table[i] = y if keep[:, None]"
    want = integers(7, columns, dtype)
    want[ROWS[INSIDE & keep]] = (x.max(-1, keepdims=True) - x)[INSIDE & keep]
    for copy, moves in ((np.array, "rows by groups"), (unaligned, "element by element")):
        table = copy(integers(7, columns, dtype))
        call(device, text, moves, x=x, i=PLACES, keep=keep, table=table)
        np.testing.assert_array_equal(table, want)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("columns", [12, 96])
def test_one_element_a_row(device: str, order: str, columns: int) -> None:
    """What is reduced, at a place of each row, alone and beside whole rows, whatever lies side by side in memory."""
    x = np.asarray(integers(len(PLACES), columns), order="C" if order == "C" else "F")
    table, rows = np.zeros(7, "float32"), np.zeros((7, columns), "float32")
    text = "input x, i\ninout table\ntable[i] = sum(x, axis=-1)"
    want = np.zeros(7, "float32")
    want[ROWS[INSIDE]] = x.sum(-1)[INSIDE]
    call(device, text, "element by element", x=x, i=PLACES, table=table)
    np.testing.assert_array_equal(table, want)
    beside = text.replace("inout table", "inout table, rows") + "\nrows[i] = x - sum(x, axis=-1, keepdims=true)"
    call(device, beside, "element by element", x=x, i=PLACES, table=table, rows=rows)
    np.testing.assert_array_equal(table, want)
    np.testing.assert_array_equal(rows[ROWS[INSIDE]], (x - x.sum(-1, keepdims=True))[INSIDE])


def test_rows_that_are_not_the_last_axis(device: str) -> None:
    """Columns are reduced first, and written at computed places by another kernel."""
    x, table = integers(50, 10), np.zeros((50, 7), "float32")
    k: Any = kgen.jit("input x, i\ninout table\ntable[:, i] = x - sum(x, axis=0, keepdims=true)", device=device)
    assert len(k.explain(x=x, i=PLACES, table=table).to_dict()["kernels"]) == 2
    k(x=x, i=PLACES, table=table)
    want = np.zeros_like(table)
    want[:, ROWS[INSIDE]] = (x - x.sum(0))[:, INSIDE]
    np.testing.assert_array_equal(table, want)


def test_updates_are_done_once(device: str) -> None:
    """Sums at computed places have a kernel of their own: those that reduce may compute an element twice."""
    x, table = integers(len(PLACES), 64), np.zeros((7, 64), "float32")
    k: Any = kgen.jit("input x, i\ninout table\ntable[i] += x / sum(abs(x), axis=-1, keepdims=true)", device=device)
    assert len(k.explain(x=x, i=PLACES, table=table).to_dict()["kernels"]) == 2


@pytest.mark.parametrize("columns", [1, 3])
def test_rows_of_one_element(device: str, columns: int) -> None:
    """They are written at computed places beside their sums."""
    x, table = integers(len(PLACES), columns), np.zeros((7, columns), "float32")
    k: Any = kgen.jit("input x, i\ninout table\ns = sum(x, axis=1)\ntable[i] = x - expand(s, axis=1)", device=device)
    np.testing.assert_array_equal(k(x=x, i=PLACES, table=table), x.sum(1))
    want = np.zeros_like(table)
    want[ROWS[INSIDE]] = (x - x.sum(1, keepdims=True))[INSIDE]
    np.testing.assert_array_equal(table, want)


@pytest.mark.parametrize("columns", [1, 3])
def test_rows_of_an_updated_array(device: str, columns: int) -> None:
    """What is computed from it is taken in another order before the update."""
    x, a = integers(len(PLACES), columns), integers(len(PLACES), columns) + 1
    k: Any = kgen.jit(
        "input x, i\ninout a\na = a + x\nlet t = a - min(a, axis=1, keepdims=true)\nout = t[i]", device=device
    )
    after = a + x
    np.testing.assert_array_equal(k(x=x, i=PLACES[:2], a=a), (after - after.min(1, keepdims=True))[PLACES[:2]])
    np.testing.assert_array_equal(a, after)


def test_a_dtype_of_its_own(device: str) -> None:
    """The kernel has the header of a dtype that only the rows at computed places have."""
    table, x = integers(7, 64).astype(numpy_dtype(BFLOAT16)), integers(len(PLACES), 64)
    found = kgen.jit("out = x - sum(x, axis=1, keepdims=true) + table[i]", device=device)(x=x, i=PLACES, table=table)
    rows = np.where(INSIDE[:, None], table[ROWS].astype("float32"), 0)
    np.testing.assert_array_equal(found, x - x.sum(1, keepdims=True) + rows)


def test_one_temporary_at_several_places(device: str) -> None:
    """A thread keeps both values of `t`, by names of their own."""
    x, w, i, o = integers(2, 5), integers(2, 16), np.array([0, 1]), np.full(3, -99.0, "float32")
    text = "input x, j, w, i\ninout o\nlet t = x[:, j] - w\nlet g = split(t, by=16)\n"
    text += "let u = g - sum(g, axis=2, keepdims=true)\nout = merge(u)\no[i] max= max(u, axis=(1, 2))"
    t = x[:, np.arange(16) % 5] - w
    found = kgen.jit(text, device=device)(x=x, j=np.arange(16) % 5, w=w, i=i, o=o)
    np.testing.assert_array_equal(found, t - t.sum(1, keepdims=True))
    np.testing.assert_array_equal(o[:2], (t - t.sum(1, keepdims=True)).max(1))


@pytest.mark.parametrize("columns", [8, 24, 128])
def test_many_rows_have_the_bits_of_few(device: str, columns: int) -> None:
    """Beside many rows, a thread has two vectors, which it adds as two threads would."""
    rng = np.random.default_rng(columns)
    x, table = (rng.standard_normal((rows, columns), dtype="float32") for rows in (len(PLACES), 7))
    text = "out = x * rsqrt(mean(x * x, axis=1, keepdims=true)) * table[i] + max(x, axis=1, keepdims=true)"
    few = kgen.jit(text, device=device, fmad=False)(x=x, i=PLACES, table=table)
    k: Any = kgen.jit(text, device=device, fmad=False)
    with forced(both(AS_MANY, {"rows": {"crowded_elements": 1}})):
        schedule = k.explain(x=x, i=PLACES, table=table).to_dict()["kernels"][0]["schedule"]
        assert schedule["vectors"] == 2
        np.testing.assert_array_equal(k(x=x, i=PLACES, table=table), few)


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("text", ["sum(a - b, axis=2)", "sum(a - b, axis=(0, 2))", "sum(b[:, :, j] - a, axis=2)"])
def test_rows_without_elements(device: str, text: str, down: bool) -> None:
    """All strides of NumPy's arrays without elements are 0: nothing of them is read ahead of the rows."""
    a = np.zeros((3, 0, 8), "float32").transpose(0, 2, 1) if down else np.zeros((3, 8, 0), "float32")
    k: Any = kgen.jit(f"out = {text}", device=device)
    given = {"a": a, "b": np.zeros((3, 8, 0), "int64"), "j": np.zeros(0, "int64")}
    given = {name: given[name] for name in k.inputs}
    assert "b_ptr[0]" not in k.source(**given)
    assert (k(**given) == 0).all()


@pytest.mark.parametrize(("dtype", "columns"), [("float32", 7), ("int8", 100), ("int8", 101)])
def test_staged_rows_write_no_other_rows(dtype: str, columns: int) -> None:
    """Threads without a row, in a block that stages fewer rows than it can, write to no computed place."""
    x, slot = integers(301, columns, dtype), (np.arange(301) * 7 + 3) % 400
    centred = x.astype("int64") - x.sum(-1, keepdims=True, dtype="int64")
    text = "inout o, p\nlet z = cast<int>(x)\nlet v = z - sum(z, axis=-1, keepdims=true)\no[slot] = v\n"
    (staged,) = ways(only=("staged",))
    with staged.taken():
        k: Any = kgen.jit(f"{text}p[slot] = v if keep[:, None]", device="cpu", fmad=False)
        o, p = np.zeros((400, columns), np.int32), np.zeros((400, columns), np.int32)
        keep = np.arange(301) % 3 == 0
        assert "_staged" in k.explain(o=o, p=p, x=x, slot=slot, keep=keep).steps[-1].kernel
        k(o=o, p=p, x=x, slot=slot, keep=keep)
    wanted = np.zeros_like(o)
    wanted[slot] = centred
    np.testing.assert_array_equal(o, wanted)
    wanted[slot[~keep]] = 0
    np.testing.assert_array_equal(p, wanted)
