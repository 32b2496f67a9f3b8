"""The verifier: well-formed kernels pass, and each rule that is broken is named at its op."""

from __future__ import annotations

import pytest

from kgen.dtypes import BFLOAT16, BOOL, BY_NAME, FLOAT32, INT32
from kgen.ir.graph import Graph, IndexMap, Op, Operand, Reduction
from kgen.ir.reader import parse_kernel
from kgen.ir.verifier import InvalidKernel, check, verify

GOOD = """
kernel(a: f32[n0, n1], b: f32[n1], i: i32[n1], z: c64[n1], s: f32) -> (out: f32[n0, n1])
  %0 = load a : f32[n0, n1]
  %1 = load b : f32[n1]
  %2 = load i : i32[n1]
  %3 = load z : c64[n1]
  %4 = scalar s : f32[]
  %5 = add %0, %1 : f32[n0, n1]
  {op}
  store %5, out
"""

GOOD_OPS = [
    "%6 = ldexp %5, %2 : f32[n0, n1]",
    "%6 = jn %2, %1 : f32[n1]",
    "%6 = clz %2 : i32[n1]",
    "%6 = lt %5, %4 : bool[n0, n1]",
    "%6 = complex %5, %4 : c64[n0, n1]",
    "%6 = imag %3 : f32[n1]",
    "%6 = bitcast %3 : f64[n1]",
    "%6 = cast<ru, sat> %1 : e5m2[n1]",
    "%6 = reduce<argmax, axes=0> %5 : i64[n1]",
    "%6 = reduce<sum, axes=0 1, keepdims> %2 : i64[1, 1]".replace("%2", "%5").replace("i64", "f64"),
    "%6 = reduce<any, axes=0> %2 : bool[]",
    "%6 = reduce<logsumexp, axes=0> %3 : c64[]",
    "%6 = index -2 : i32[n0, n1]",
    "%6 = index -1 : i64[n1]",
    "%6 = size n0 : i64[]",
    "%6 = const nan : f64[]",
    "%6 = const 2.5 : f32[n0, n1]",
    "%6 = sqrt %4 : f32[n0, n1]",
    "%6 = load b[., 0] : f32[1, n1]",
]


@pytest.mark.parametrize("op", GOOD_OPS)
def test_well_formed(op: str) -> None:
    """Each op as it should be draws no complaint."""
    assert verify(parse_kernel(GOOD.format(op=op))) == []


BAD_OPS = {
    "%6 = frobnicate %5 : f32[n0, n1]": "no op is called `frobnicate`",
    "%6 = add %5 : f32[n0, n1]": "add takes 2 arguments, not 1",
    "%6 = mul %5, %5, %5 : f32[n0, n1]": "mul takes 2 arguments, not 3",
    "%6 = exp %2 : i32[n1]": "exp does not take int32",
    "%6 = shl %1, %1 : f32[n1]": "shl does not take float32",
    "%6 = add %3, %3 : c64[n1]": "add does not take complex64",
    "%6 = add %1, %2 : f32[n1]": "promotion is explicit casts",
    "%6 = ldexp %1, %1 : f32[n1]": "argument 1 of ldexp is float32, not int32",
    "%6 = where %1, %1, %1 : f32[n1]": "argument 0 of where is float32, not bool",
    "%6 = lt %1, %1 : f32[n1]": "lt gives bool, not float32",
    "%6 = clz %2 : i64[n1]": "clz gives int32, not int64",
    "%6 = sqrt %1 : f64[n1]": "sqrt gives float32, not float64",
    "%6 = sqrt %5 : f32[n1]": "arguments of shape ['n0', 'n1'] do not broadcast to ['n1']",
    "%6 = sqrt %1 : f32[n0]": "arguments of shape ['n1'] do not broadcast to ['n0']",
    "%6 = const 0x100 : u8[]": "0x100 is not a bit pattern of uint8",
    "%6 = const 0x2 : bool[]": "0x2 is not a bit pattern of bool",
    "%6 = const 0x0 : f16[]": "no constants of float16",
    "%6 = index -3 : i64[n0, n1]": "axis -3 is not within the shape",
    "%6 = index 0 : i64[n0, n1]": "axis 0 is not within the shape",
    "%6 = index -1 : f32[n0, n1]": "index gives int64",
    "%6 = size n7 : i64[]": "no operand has the dimension `n7`",
    "%6 = powi<9> %1 : f32[n1]": "exponents from 0 to 8, not 9",
    "%6 = cast %3 : f32[n1]": "take `real` first",
    "%6 = bitcast %1 : f64[n1]": "the widths differ",
    "%6 = real %1 : f32[n1]": "which is not complex",
    "%6 = real %3 : f64[n1]": "gives float32, not float64",
    "%6 = complex %1, %1 : c128[n1]": "does not give complex128",
    "%6 = reduce<median, axes=0> %5 : f32[n1]": "no reduction is called `median`",
    "%6 = reduce<sum, axes=2> %5 : f32[n0, n1]": "axes (2,) are not ascending axes",
    "%6 = reduce<sum, axes=1 0> %5 : f32[]": "axes (1, 0) are not ascending axes",
    "%6 = reduce<sum, axes=0> %5 : f32[n0]": "this reduction has the shape ['n1'], not ['n0']",
    "%6 = reduce<sum, axes=0, correction=1> %5 : f32[n1]": "sum takes no correction",
    "%6 = reduce<argmin, axes=0> %5 : f32[n1]": "argmin of float32 does not give float32",
    "%6 = reduce<mean, axes=0> %2 : i32[]": "mean of int32 does not give int32",
    "%6 = reduce<sum, axes=0> %3 : c64[]": "reduce the parts",
    "%6 = reduce<prod, axes=0> %3 : f32[]": "prod of complex64 does not give float32",
    "%6 = load b : f16[n1]": "`b` is float32, not float16",
    "%6 = load b[0, .] : f32[1, n1]": "has the shape ['n1', 1], not [1, 'n1']",
    "%6 = load b[1] : f32[n1]": "each may be used once",
    "%6 = load a[0, 0] : f32[n0, n0]": "each may be used once",
    "%6 = load a[1] : f32[n1]": "an axis of more than one element that the value does not use",
    "%6 = load b[.] : f32[n1]": "does not use",
    "%6 = load b[0] : f32[n0, n1]": "1 axes for a value of rank 2",
    "%6 = load out : f32[n0, n1]": "load of the output `out`",
    "store %5, a": "store of the input `a`",
    "store %5, out": "%6 already stores to this operand",
    "%6 = add %7, %5 : f32[n0, n1]": "argument %7 is not an earlier op",
    "%6 = add %6, %5 : f32[n0, n1]": "argument %6 is not an earlier op",
}


@pytest.mark.parametrize("op", BAD_OPS)
def test_complaints(op: str) -> None:
    """Each broken rule is named, at the op that breaks it (a second store is at fault, not the first)."""
    complaints = verify(parse_kernel(GOOD.format(op=op)))
    found = [complaint for complaint in complaints if BAD_OPS[op] in complaint.message]
    assert found, complaints
    assert found[0].op == (7 if "already" in BAD_OPS[op] else 6)


def test_shapes_that_do_not_broadcast() -> None:
    """Different symbols never broadcast, whatever they turn out to be."""
    text = """
    kernel(a: f32[n0], b: f32[n1]) -> (out: f32[n0])
      %0 = load a : f32[n0]
      %1 = load b : f32[n1]
      %2 = add %0, %1 : f32[n0]
      store %1, out
    """
    messages = [str(complaint) for complaint in verify(parse_kernel(text))]
    assert messages == [
        "%2: shapes ['n0'], ['n1'] do not broadcast",
        "%3: a value of shape ['n1'] does not broadcast to ['n0']",
    ]


def test_stores_and_names_of_the_whole_kernel() -> None:
    """Each output and inout is stored once; argument names differ; what is stored has the operand's dtype."""
    text = """
    kernel(inout p: f32[n], p: f32[n]) -> (out: f16[n])
      %0 = load p : f32[n]
      store %0, out : f32[n]
    """
    messages = [str(complaint) for complaint in verify(parse_kernel(text))]
    assert messages == [
        "%1: `out` is float16, not float32",
        "inout `p` is never stored",
        "two arguments are called `p`",
    ]


def test_a_store_does_not_cast_and_has_no_value() -> None:
    """float32 is stored as float16 by way of a cast; a store cannot be an argument."""
    text = """
    kernel(inout p: f32[n]) -> (out: f16[n])
      %0 = load p : f32[n]
      store %0, out
      %2 = neg %1 : f16[n]
      store %0, p
      %4 = load p : f32[n]
    """
    messages = [str(complaint) for complaint in verify(parse_kernel(text))]
    assert messages == [
        "%1: store of float32 as float16: write a cast",
        "%2: argument %1 is a store, which has no value",
        "%4: load of `p` after its store: use the value that was stored",
    ]


def test_attributes_of_the_wrong_kind() -> None:
    """An op without the attribute it needs, or with one it does not take, is no crash but a complaint."""
    operand = Operand("a", FLOAT32, ("n",), "input")
    ops = (
        Op("load", (), FLOAT32, ("n",), None),
        Op("load", (), FLOAT32, ("n",), IndexMap(3, (0,))),
        Op("load", (), FLOAT32, ("n",), IndexMap(0, (0,))),
        Op("neg", (2,), FLOAT32, ("n",), 4),
        Op("cast", (2,), INT32, ("n",), None),
        Op("reduce", (2,), FLOAT32, (), None),
        Op("scalar", (), FLOAT32, (), 0),
        Op("neg", (2,), FLOAT32, ("m",)),
        Op("reduce", (2,), FLOAT32, ("n",), Reduction("min", (), True)),
        Op("neg", (2, ), BFLOAT16, ("n",)),
    )  # fmt: skip
    complaints = verify(Graph((operand,), (), ops))
    assert {complaint.op for complaint in complaints} == {0, 1, 3, 4, 5, 6, 7, 9}


def test_check_shows_the_ir_with_the_complaint_beside_the_op() -> None:
    """InvalidKernel is an AssertionError (a bug of kgen) whose text is the IR, complaints under their ops."""
    kernel = parse_kernel(GOOD.format(op="%6 = exp %2 : i32[n1]"))
    with pytest.raises(InvalidKernel) as caught:
        check(kernel)
    assert isinstance(caught.value, AssertionError)
    lines = str(caught.value).splitlines()
    at = lines.index("  %6 = exp %2 : i32[n1]")
    assert lines[at + 1] == "      ^ exp does not take int32"
    check(parse_kernel(GOOD.format(op="%6 = not %2 : i32[n1]")))
    assert BY_NAME["bool"] is BOOL
