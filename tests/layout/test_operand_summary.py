"""What ``explain`` calls each operand, how it says that it moves, and what it says that the operand limits."""

from __future__ import annotations

import numpy as np
import pytest

import kgen
from kgen.explain import KernelFact, OperandFact

WHOLE = "the kernel cannot walk all elements as one run"


def step(program: str, **specs: kgen.Spec) -> KernelFact:
    kernel = kgen.jit(program)
    return kernel.explain(*(specs[name] for name in kernel.inputs)).steps[0]


def operands(program: str, **specs: kgen.Spec) -> dict[str, OperandFact]:
    return {o.name: o for o in step(program, **specs).operands}


SQUARE = kgen.spec((2560, 2560), "f32")
CASES: list[tuple[str, kgen.Spec, str, str, list[str]]] = [
    ("the same", SQUARE, "contiguous", "groups of 4, 16-byte accesses", []),
    ("narrow", kgen.spec((2560, 2560), "u8"), "contiguous", "groups of 4, 4-byte accesses", []),
    ("single", kgen.spec((1, 1), "f32"), "scalar", "one load into a register", []),
    ("a row", kgen.spec((2560,), "f32"), "row broadcast", "groups of 4, 16-byte accesses", [WHOLE]),
    ("a column", kgen.spec((2560, 1), "f32"), "column broadcast", "one load for a group", [WHOLE]),
    ("padded", kgen.spec((2560, 2560), "f32", (2624, 1)), "inner contiguous", "groups of 4, 16-byte accesses", [WHOLE]),
    (
        "every second",
        kgen.spec((2560, 2560), "f32", (5120, 2)),
        "strided",
        "groups of 4, every second element, taken out of 16-byte accesses to all",
        [WHOLE],
    ),
    ("every fifth", kgen.spec((2560, 2560), "f32", (12800, 5)), "strided", "element by element, 5 apart", [WHOLE]),
    ("mirrored", kgen.spec((2560, 2560), "f32", (2560, -1)), "reversed", "element by element, -1 apart", [WHOLE]),
    (
        "turned",
        kgen.spec((2560, 2560), "f32", (1, 2560)),
        "transposed",
        "transposed through shared memory",
        ["makes the kernel work by tiles of 64 x 64"],
    ),
]


@pytest.mark.parametrize(("b", "name", "moves", "limits"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_classes(b: kgen.Spec, name: str, moves: str, limits: list[str]) -> None:
    """One operand of each layout beside a contiguous one, which moves as it would alone."""
    found = operands("out = a + b", a=SQUARE, b=b)
    assert (found["b"].kind, found["b"].access) == (name, moves)
    assert [text for text in found["b"].limits if not text.startswith("being")] == limits
    assert (found["a"].kind, found["a"].access) == ("contiguous", "groups of 4, 16-byte accesses")


def test_the_widest_sets_the_groups() -> None:
    """Of the operands that move along rows; a column does not."""
    found = operands("out = cast<half>(a + b + c)", a=kgen.spec((64, 64), "f16"), b=SQUARE_64, c=COLUMN)
    widest = "being the widest, sets groups of 4"
    assert {name for name, o in found.items() if widest in o.limits} == {"b"}
    assert not any("widest" in text for o in operands("out = a + b", a=SQUARE, b=SQUARE).values() for text in o.limits)


SQUARE_64 = kgen.spec((64, 64), "f32")
COLUMN = kgen.spec((64, 1), "f64")


def test_far_strides_make_offsets_wide() -> None:
    """Only the operand that needs 64 bits is named."""
    far = kgen.spec((64, 64), "f32", (2**30, 1))
    found = operands("out = a + b", a=far, b=SQUARE_64)
    assert "makes offsets 64 bits wide" in found["a"].limits
    assert "makes offsets 64 bits wide" not in found["b"].limits


def test_arrays_say_where_they_begin() -> None:
    """An array that is not aligned is explained, and written out, as a call would run it."""
    x = np.arange(4097, dtype=np.float32)
    kernel = kgen.jit("out = a + b", device="cpu")
    found = {o.name: o for o in kernel.explain(x[1:], x[:-1]).steps[0].operands}
    assert "not aligned to 16 bytes" in found["a"].access
    assert "not aligned" not in found["b"].access
    assert "Made for bases past multiples of 16 bytes, unlike the command's: `a` 4." in kernel.source(x[1:], x[:-1])
    assert "Made for bases" not in kernel.source(x[:-1], x[:-1])


def test_short_rows_cost_divisions() -> None:
    """A row that is no multiple of a group is found element by element."""
    found = operands("out = a + b", a=kgen.spec((50000, 33), "f16"), b=kgen.spec((33,), "f16"))
    assert (found["b"].kind, found["b"].limits) == ("row broadcast", ("costs divisions for each element",))
    assert found["b"].access == "groups of 8, each element at an offset of its own"
    assert found["a"].limits == ()


def test_misaligned_halves_are_shifted() -> None:
    """Inputs that are not aligned are read as blocks; an output says that groups begin with it."""
    x = np.zeros(4097, np.float16)
    first, *others = kgen.jit("inout p\np = p + a", device="cpu").explain(x[1:], np.zeros(4096, np.float16)).steps
    assert not others
    p, a = first.operands
    assert p.limits == ("groups begin where it is aligned",)
    assert a.access == "groups of 8 from aligned blocks, shifted together: not aligned to 16 bytes"


def test_boxes_say_what_they_are() -> None:
    """Operands of rank 4 whose orders are opposite."""
    shape = (26, 5000, 8, 32)
    found = operands("out = a + b", a=kgen.spec(shape, "f16"), b=kgen.spec(shape, "f16", (1, 26, 130000, 1040000)))
    assert found["b"].access == "transposed through shared memory"
    assert found["b"].limits == ("makes the kernel work by boxes of 64 x 64",)


def test_given_outputs_are_explained() -> None:
    """``explain(out=...)`` is about the array that a call with it would write; its dtype and strides count."""
    x, out = np.zeros((64, 64), np.float32), np.zeros((64, 128), np.float16)[:, ::2]
    kernel = kgen.jit("out = a + 1", device="cpu")
    fact = kernel.explain(x, out=out).steps[0].operands[0]
    assert (fact.dtype, fact.kind, fact.strides) == ("float16", "strided", (128, 2))
    with pytest.raises(kgen.KgenError, match="shape-mismatch"):
        kernel.explain(x, out=np.zeros(5, np.float32))


def test_out_decides_the_order() -> None:
    """The way to a result in C order where the inputs are not, and to a result of another dtype."""
    x = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    kernel = kgen.jit("out = a * 2", device="cpu")
    assert kernel(x).flags.f_contiguous
    out = np.empty((3, 4), np.float32)
    assert kernel(x, out=out) is out
    assert np.array_equal(out, x * 2)
    with pytest.raises(kgen.KgenError, match="lossy-cast"):
        kernel(x, out=np.empty((3, 4), np.int32))
