"""Programs that once failed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen import KgenError, jit
from kgen.pipeline import load

from .arrays import Array
from .generate import generate
from .oracle import Expected, accepted, reference
from .program import Arguments
from .runs import check_alone
from .subjects import alone, subject

ONES = np.ones(3, np.float32)
X = np.array([0.72032195, 1.1, 3.3], np.float32)
TENTHS = np.full(40, 0.1)
Z = np.full(3, 1 + 2j, np.complex64)

LEAST = np.full(40, -32768, np.int16)
#: Programs of LEAST, and what each element is.
NEGATED = [
    ("out = cast<int>(-x)", -32768),
    ("out = cast<i64>(0 - x)", -32768),
    ("out = cast<int>(x * -1)", -32768),
    ("out = cast<i8, sat>(-x)", -128),
    ("out = -x > 0", 0),
    ("out = x < 0 ? -x : x", -32768),
    ("out = cast<int>(abs(x))", -32768),
]

#: Programs of WHOLE and SIGNS whose quotients are infinities with a sign: -inf where SIGNS is below 0.
WHOLE, SIGNS = np.arange(1, 41, dtype=np.uint32), np.where(np.arange(40) % 3, 1, -1).astype(np.float32)
OVER_MINUS_ZERO = [
    "input u, x\nout = u / (x > 0 ? 0.0 : -0.0) < 0",
    "input u, x\nout = u / (u * (x > 0 ? 0.0 : -0.0)) < 0",
    "input u, x\nlet d = cast<double>(u)\nout = d / (x > 0 ? 1 : d * -0.0) < 0",
]


@pytest.mark.parametrize(
    ("text", "args", "expected"),
    [
        # A weak expression that meets a complex array is complex as well.
        ("input x, y\nout = 2 * (y ? x : (1 - y))", (Z, 2), 2 * Z),
        ("input x, y\nout = x + (1 - y)", (Z, 2), Z - 1),
        ("input x, y\nout = y ? x : (1 - y)", (Z, 0), np.full(3, 1, np.complex64)),
        # The host's compiler keeps the rounding, and compiles signbit, in groups of elements.
        ("out: double = cast<float>(x)", (TENTHS,), TENTHS.astype(np.float32).astype(np.float64)),
        ("out: double = tgamma(x)", (np.full(40, 76, np.uint64),), np.full(40, np.inf)),
        ("out = signbit(x)", (-TENTHS.astype(np.float16),), np.ones(40, np.bool_)),
        # The largest power first, in the oracle and in the text.
        ("out = x ** 7", (X,), (X**2 * X**2) * X**2 * X),
    ],
)
def test_gives(text: str, args: tuple[Any, ...], expected: Any) -> None:
    """The value that the contract says."""
    np.testing.assert_array_equal(jit(text, device="cpu", fmad=False)(*args), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("inout p\np = 2.0\nout = sum(p)", np.float32(24)),
        ("inout p\ninput b\np = b\nout = sum(p, axis=0)", np.arange(4, dtype=np.float32) * 3),
        ("inout p\ninput b\np = max(b)\nout = count_nonzero(expand(p, axis=1), axis=(0, 1))", np.full(4, 3)),
        ("input p\nz: c64 = p\nout = sum(z ** 0, axis=1)", np.full(3, 4 + 0j, np.complex64)),
        ("input p\nz: c64 = p\nout = all(z ** 0, axis=1, keepdims=true)", np.ones((3, 1), np.bool_)),
    ],
)
def test_what_is_the_same_along_an_axis_counts_each_element(text: str, expected: Any) -> None:
    """Updates that broadcast, and ``z ** 0``, have as many elements as their shape says."""
    given: dict[str, Any] = {"p": np.ones((3, 4), np.float32), "b": np.arange(4, dtype=np.float32)}
    kernel = jit(text, device="cpu", fmad=False)
    found = kernel(**{name: given[name] for name in kernel.inputs})
    np.testing.assert_array_equal(found[-1] if isinstance(found, tuple) else found, expected, strict=True)


def test_a_shape_that_is_asked_for_counts_each_element() -> None:
    """An output without arrays is as large as ``shape=`` says for what reduces it."""
    out, total = jit("out = 2.0\ntotal = sum(out, axis=0)", device="cpu")(shape=(3, 4))
    np.testing.assert_array_equal(total, np.broadcast_to(out.sum(axis=0), (3, 4)))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        # A float literal as an order is an error, not truncated.
        ("out = ldexp(x, 1.5)", "no-function"),
        ("out = jn(nan, x)", "no-function"),
    ],
)
def test_refuses(text: str, code: str) -> None:
    """The error that the contract says."""
    with pytest.raises(KgenError) as caught:
        jit(text, device="cpu")(ONES)
    assert [d.code for d in caught.value.diagnostics] == [code]


@pytest.mark.parametrize(
    "function",
    ["cospi", "sinpi", "rsqrt", "lgamma", "tgamma", "erfc", "j0", "y1", "max", "min", "fmax", "fmin", "jn"],
)
def test_arguments_with_commas(function: str) -> None:
    """The C library's names are macros on the CPU; what they are called with may have commas of its own."""
    v = np.arange(1, 9, dtype=np.int64)
    more = {"max": ", x", "min": ", x", "fmax": ", x", "fmin": ", x"}.get(function, "")
    first = "2, " if function == "jn" else ""
    given: dict[str, Any] = {"v": v, **({"x": np.full(8, 2.5, np.float32)} if more else {})}
    direct = jit(f"out = {function}({first}cast<e5m2, sat, ru>(v){more})", device="cpu")(**given)
    apart = jit(f"t: e5m2 = cast<e5m2, sat, ru>(v)\nout = {function}({first}t{more})", device="cpu")(**given)[1]
    np.testing.assert_array_equal(direct.astype(np.float32), apart.astype(np.float32))


def test_an_output_that_does_not_fit_is_read_again() -> None:
    """One error for it, and none for what reads it."""
    outs = (np.empty(3, np.complex64), np.empty(3, np.float32), None)
    with pytest.raises(KgenError) as caught:
        jit("out = x\nsecond = out\nthird = second", device="cpu")(np.ones(3, np.float32), out=outs)
    assert [d.code for d in caught.value.diagnostics] == ["lossy-cast"]


def test_one_byte_of_each_column_beside_what_is_in_registers() -> None:
    """Four columns' bytes are read as one word, by a device function that the text has."""
    x = np.arange(50_000 * 32, dtype=np.float32).reshape(50_000, 8, 4)
    bias = np.array([1, 0, -1, 1], np.int8)
    kernel = jit("out = max(x, axis=1, keepdims=true) - x - bias", device="cpu", fmad=False)
    assert "load_words" in kernel.source(x, bias)
    np.testing.assert_array_equal(kernel(x, bias), x.max(axis=1, keepdims=True) - x - bias)


#: ptxas lowers the registers of its kernel of ``q`` to 32; see :func:`kgen.runtime.cuda.compiler.assemble`.
SPILLED = """\
inout p
inout q
o1 = count_nonzero((max(q, axis=(), keepdims=true) + q), axis=())
o3 = ((p + cast<i32>(b)) * 0.5)
p = cast<int64>((mean(b, axis=0) + p))
q = cast<int8>((max(o3) > 0 ? max(o3) : q))
"""


def spilled() -> dict[str, Any]:
    """Arguments of SPILLED: ``p`` begins 8 bytes past a multiple of 16, and ``q`` becomes 0."""
    room = np.full(6, -1, np.int64)
    start = 1 if room.ctypes.data % 16 == 0 else 2
    b = np.arange(10).reshape(5, 2, 1) < 8
    return {"b": b, "p": room[start : start + 2].reshape(2, 1), "q": np.zeros(1, np.int8)}


@pytest.mark.parametrize(("text", "expected"), NEGATED)
def test_the_least_short_is_its_own_negative(text: str, expected: int) -> None:
    """Negated in a way that every ptxas compiles right: tests/gpu runs the same."""
    kernel = jit(text, device="cpu")
    np.testing.assert_array_equal(kernel(LEAST), np.full(len(LEAST), expected))
    assert "abs(" in text or "wrap_neg_i16(x_v)" in kernel.source(LEAST)


@pytest.mark.parametrize("text", OVER_MINUS_ZERO)
def test_a_quotient_by_a_chosen_minus_zero_is_negative(text: str) -> None:
    """By a division of whose sign NVVM assumes nothing: tests/gpu runs the same."""
    kernel = jit(text, device="cpu")
    np.testing.assert_array_equal(kernel(WHOLE, SIGNS), SIGNS < 0)
    assert " div_rn(" in kernel.source(WHOLE, SIGNS)


@pytest.mark.parametrize(("dtype", "bits"), [("float16", 0x7D00), ("float32", 0x7FA00000), ("float64", 0x7FF4 << 48)])
def test_a_signalling_nan_that_does_not_matter(dtype: str, bits: int) -> None:
    """``x ** 0``, ``1 ** x`` and ``hypot(inf, x)`` are numbers on the CPU target, as on a GPU, whatever ``x`` is."""
    x = np.full(3, bits, f"u{np.dtype(dtype).itemsize}").view(dtype)
    zero, one, far = (np.full(3, value, dtype) for value in (0, 1, -np.inf))
    text = "input x, zero, one, far\na = x ** zero\nb = one ** x\nc = hypot(far, x)\nd = hypot(x, far)"
    assert [float(r[0]) for r in jit(text, device="cpu")(x, zero, one, far)] == [1, 1, np.inf, np.inf]


@pytest.mark.parametrize("seed", [727, 60_013_023, 91_000_261])
def test_seeds_whose_nans_decide(seed: int) -> None:
    """The oracle compares no number that is made of the bits of a NaN, and NaNs that decide nothing are in no way."""
    check_alone(generate(seed))


def test_a_seed_whose_reductions_cancel() -> None:
    """Means of large products, of which the large part is subtracted again, are as exact as the products."""
    with np.errstate(all="ignore"):
        alone(subject(160_009_935), "cpu")


def expected(text: str, **inputs: Array) -> Expected:
    with np.errstate(all="ignore"):
        return reference(load(text), Arguments(dict(inputs), {}, None, None)).expected["out"]


def test_the_bound_of_what_is_rounded_before_it_is_widened() -> None:
    """A float32 result of a function that is stored as float64 is as exact as float32 is; a float64 one is not."""
    x = np.linspace(0.5, 2, 50).astype(np.float32)
    of_floats = expected("out: float64 = gelu_tanh(x)", x=x)
    moved = np.nextafter(of_floats.value.astype(np.float32), np.float32(9)).astype(np.float64)
    assert accepted(of_floats, moved).all()
    assert not accepted(expected("out: float64 = gelu_tanh(cast<double>(x))", x=x), moved).any()


def test_the_bound_next_to_an_overflow() -> None:
    """A part that may be the largest number may be infinite; the other part keeps its bound."""
    z = (float(np.finfo(np.float32).max) ** 0.01 + 4e-6 + 1j * np.linspace(0.0002, 0.001, 4001)).astype(np.complex64)
    power = expected("out = z ** 100", z=z)
    reals = np.real([power.value, *power.samples])
    either = np.isinf(reals).any(axis=0) & np.isfinite(reals).any(axis=0)
    assert either.any()

    def given(real: Array, imaginary: Array) -> Array:
        return np.asarray(accepted(power, np.asarray(real + 1j * imaginary, np.complex64))[either])

    imaginary, largest = power.value.imag, np.full(z.shape, np.finfo(np.float32).max)
    for real in (largest, largest * np.float32(1 - 1e-7), largest * np.inf):
        assert given(real, imaginary * np.float32(1 + 2e-7)).all()
        assert not given(real, imaginary * np.float32(1 + 1e-3)).any()
    assert not given(-largest, imaginary).any()


def test_fast_functions_have_errors_on_the_cpu_target() -> None:
    """``log_sigmoid`` of a fast program has the error of kgen's own fast ``log1p``, which its value is as small as."""
    with np.errstate(all="ignore"):
        alone(subject(190_002_321), "cpu")
