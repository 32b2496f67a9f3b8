"""Kernels in which a thread has a group of two rows, and reads once what both share."""

from __future__ import annotations

from typing import Any

import numpy as np

import kgen
from tests.forced import forced

Array = np.ndarray[Any, Any]

#: So that small arrays take it.
ALWAYS = {"elementwise": {"pair_threads": 1, "pair_bytes": 0}}


def numbers(dtype: str, *shape: int) -> Array:
    return (np.arange(np.prod(shape)) % 61).astype(dtype).reshape(shape)


def check(k: kgen.Kernel, expected: Array, *arrays: Array) -> None:
    assert k.explain(*arrays).to_dict()["kernels"][0]["schedule"]["template"] == "row_pairs"
    np.testing.assert_array_equal(k(*arrays), expected)


def test_rows_of_one_group() -> None:
    """Numbers of 4 bits, eight in a word, with scales that groups of rows share."""
    q, s = numbers("int32", 3, 6, 5) * 123456789, numbers("float16", 3, 1, 5, 8)
    k = kgen.jit("out = (expand(q, axis=-1) >> 4 * index(-1) & 15) * s", device="cpu")
    with forced(ALWAYS):
        check(k, (q[..., None] >> 4 * np.arange(8) & 15).astype("float16") * s, q, s)


def test_what_is_shared() -> None:
    """Vectors, single elements and interleaved ones, along either of two dimensions; coordinates of both rows."""
    x, b, c = numbers("float32", 4, 6, 40), numbers("float32", 6, 40), numbers("float32", 4, 1, 1)
    whole = numbers("float32", 4, 80)
    both = kgen.jit("out = x * b + c * b", device="cpu")
    pairs = kgen.jit("out = x + w[:, None, ::2] * w[:, None, 1::2] + index(1)", device="cpu")
    with forced(ALWAYS):
        wide = b.astype("float64")
        check(both, x * wide + c * wide, x, wide, c)
        expected = x + whole[:, None, ::2] * whole[:, None, 1::2] + np.arange(6, dtype="float32")[:, None]
        check(pairs, expected, x, whole)
        check(both, x[:, ::2] * wide[::2] + c * wide[::2], x[:, ::2], wide[::2], c)


def test_rows_that_share_a_large_operand_follow_each_other() -> None:
    """In parts, whose order is another than that of the outputs; with and without pairs."""
    x, b = numbers("float32", 4, 6, 64), numbers("float32", 6, 64)
    c = numbers("float32", 4, 1, 64)
    order = {"kept_in_l2": 1, "shortest_part": 8, "longest_part": 16}
    for pairs in ({"pair_threads": 1, "pair_bytes": 0}, {}):
        with forced({"elementwise": {**order, **pairs}}):
            k = kgen.jit("out = x * b + c", device="cpu")
            rank = k.explain(x, b, c).to_dict()["kernels"][0]["schedule"]["rank"]
            np.testing.assert_array_equal(k(x, b, c), x * b + c)
            assert rank == 4
            odd = numbers("float32", 3, 65)
            np.testing.assert_array_equal(k(x[:3, 0], odd[:, 1:], c[0]), x[:3, 0] * odd[:, 1:] + c[0])


def test_rows_of_half_groups() -> None:
    """Rows of 36 elements are whole groups of four, not of eight; what rows share by pairs comes in such groups."""
    x, b = numbers("float16", 4, 6, 40)[..., :36], numbers("int32", 6, 36)
    k = kgen.jit("out: f16 = x + cast<f16>(b)", device="cpu")
    with forced({**ALWAYS, "elementwise": {**ALWAYS["elementwise"], "shared": 4}}):
        check(k, x + b.astype("float16"), x, b)
        assert k.explain(x, b).steps[0].schedule["group"] == 4


def test_threads_read_wide_shared_elements_side_by_side() -> None:
    """Bytes move by 16, but not beside elements of 8 bytes that all rows share: by eight, 64 bytes of these."""
    x, w = numbers("uint8", 24, 64), numbers("int64", 64)
    k = kgen.jit("out = x > w", device="cpu")
    assert k.explain(x, w).steps[0].schedule["group"] == 8
    np.testing.assert_array_equal(k(x, w), x > w)


def test_rows_whose_elements_alternate() -> None:
    """Two to four planes, of operands in which their elements alternate: read at once, taken out of registers."""
    k = kgen.jit("out: f32 = cast<float>(a) * b + c", device="cpu")
    for planes, dtype in ((2, "uint8"), (3, "uint8"), (3, "float16"), (4, "int16")):
        a = numbers(dtype, 5, 480, planes).transpose(0, 2, 1)
        b, c = numbers("float32", 5, planes, 480), numbers("float32", 1, planes, 1)
        out = np.empty_like(b)
        with forced(ALWAYS, elementwise="row_pairs"):
            schedule = k.explain(a, b, c, out=out).to_dict()["kernels"][0]["schedule"]
            k(a, b, c, out=out)
        assert (schedule["template"], schedule["rows"], schedule["alternating"]) == ("row_pairs", planes, (1,))
        np.testing.assert_array_equal(out, a.astype("float32") * b + c)
