"""The text of single ops: keys, parentheses, literals, helpers."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from kgen import resources
from kgen.codegen.atomics import group_update_of, update_of
from kgen.codegen.expressions import Level, conditional, convert, infix, prefix
from kgen.codegen.helpers import (
    ACCUMULATORS,
    CLUSTER,
    FUNNEL_SHIFT_BLOCKS,
    HELPERS,
    LOAD_SHIFTED_RUN,
    LOAD_UNALIGNED,
    OVERLAP,
    helper_texts,
)
from kgen.codegen.narrow import ROUND_GROUP
from kgen.codegen.reduction.accumulators import accumulator, with_shared_count
from kgen.codegen.reduction.narrow import QUOTIENT
from kgen.codegen.reduction.two_steps import two_steps
from kgen.codegen.spelling import ROWS, Expr, constant, register_type, spell, storage_type
from kgen.dtypes import BOOL, BY_NAME, COMPLEX64, COMPLEX128, DTYPES, FLOAT32, FLOAT64, INT8, INT32, INT64, DType
from kgen.ir.graph import (
    COMPLEX_KINDS,
    INTERNAL_KINDS,
    KINDS,
    Attr,
    CastMode,
    Op,
    Reduction,
    combines,
    from_bits,
    to_bits,
)
from kgen.ir.ops import OPS
from kgen.syntax.tree import Combine

from .cases import all_cases

STRUCTURE = {"load", "store", "gather", "scalar", "index", "size", "reduce", "expand"}
A, B, C = (Expr(name, Level.PRIMARY) for name in "abc")


def spelled(name: str, dtype: str, of: str, *args: Expr, attr: Attr = None) -> str:
    dtypes: Sequence[DType] = [BY_NAME[of]] * len(args)
    return spell(name, attr, BY_NAME[dtype], args, dtypes).expr.code


def test_one_spelling_per_op() -> None:
    """The table has a row for each op of the IR but the structural ones, and no other."""
    assert set(ROWS) == set(OPS) - STRUCTURE


def test_every_dtype_has_a_c_type() -> None:
    """Storage and registers differ for bool alone: memory may hold any byte."""
    assert {t for t in DTYPES if storage_type(t) != register_type(t)} == {BOOL}


def test_helpers_and_files_agree() -> None:
    """Each file of templates/device is one helper, which some spelling or helper uses; the others are like one."""
    folder = resources.folder("templates") / "device"
    files = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.cu")}
    used = {h for c in all_cases() for h in spell(c.name, c.attr, c.dtype, [A, B, C, A][: len(c.of)], c.of).helpers}
    for kind in (*KINDS, *INTERNAL_KINDS):
        for dtype in (FLOAT32, FLOAT64, *((COMPLEX64, COMPLEX128) if kind in COMPLEX_KINDS else ())):
            found = accumulator(Reduction(kind, (0,), False), dtype, dtype)
            used |= {*found.all_helpers, *with_shared_count(found).all_helpers}
            steps = two_steps(Op("reduce", (0,), dtype, (), Reduction(kind, (0,), False)), found)
            used |= {*steps.first.helpers, *steps.second.all_helpers} if steps is not None else set()
    for kind in ("sum", "prod", "min", "max", "argmin", "argmax"):
        found = accumulator(Reduction(kind, (0,), False), INT8, INT64)
        used |= {*found.all_helpers, *found.part_helpers}
    used |= {
        *OVERLAP,
        LOAD_SHIFTED_RUN,
        LOAD_UNALIGNED,
        FUNNEL_SHIFT_BLOCKS,
        "divide",
        "divide_constant",
        "divide_short",
        "divide_by_one_plus",
        "divide_by_large",
        "divide_moderate",
        "divide_by_integer",
        "divide_in_range",
        "divide_quotient",
        "divide_group",
        QUOTIENT,
        ROUND_GROUP,
        "add_sums_f16",
        "add_sums_bf16",
        *CLUSTER,
        *OVERLAP,
        "exp_scaled_2_24",
        "gelu_derivative_fast_f32",
        "prefetch_row",
        "keep_packed",
        "take_packed",
        "keep_loaded",
        "keep_address",
        "keep_loads_above",
        "is_run",
        "load_run",
        "byte_pack",
        "extract",
        "extract_byte",
        "to_float",
        "load_aligned_blocks",
        "load_evict_last",
        "load_words",
        "load_streaming",
        "array_shape",
        "find_coordinates",
        "offset_of",
        "is_inside",
        "gather",
        "load_gathered",
        "store_scattered",
        "store_words",
        *(f"group_sum_{narrow}" for narrow in ("i8", "u8", "bool")),
        "load_rows",
        "stage_rows",
        "stage_last_rows",
        "accumulators/first_place",
        "accumulators/integer_moments",
        "normal_cdf_fast_f32",
        "exp_short",
        "log1p_short",
        "tanh_short",
        "divide_approx",
        "load_rows_evict_last",
        "store_rows",
    }
    used |= {f"{which}_{half}" for which in ("group_max", "group_min") for half in ("f16", "bf16")}
    combined: Sequence[Combine] = ("add", "min", "max")
    for combine, dtype in ((c, d) for c in combined for d in DTYPES if combines(c, d)):
        used |= {*update_of(combine, dtype).helpers, *group_update_of(combine, dtype).helpers}
    for _ in range(2):  # a struct may need one that needs another
        used |= {required for name in used for required in HELPERS[name].requires}
    assert set(HELPERS) == used
    assert files == {name for name, helper in HELPERS.items() if helper.like is None}
    for helper in HELPERS.values():
        assert all(there in HELPERS[helper.like].text for there, _ in helper.swap if helper.like)


def test_required_helpers_come_first_and_once() -> None:
    """A helper's text follows the texts of what it calls."""
    texts = helper_texts(["int_pow_i32", "int_pow_u32", "int_pow_i32"])
    assert texts == [HELPERS["int_pow_u32"].text, HELPERS["int_pow_i32"].text]


@pytest.mark.parametrize("name", sorted(HELPERS))
def test_helpers_read_well(name: str) -> None:
    """A helper opens with a comment, fits the page, and names nothing that NVRTC lacks."""
    lines = HELPERS[name].text.splitlines()
    assert lines[0].startswith("// ")
    assert max(map(len, lines)) <= 120
    assert len(lines) <= (80 if name.startswith(ACCUMULATORS) else 34)
    assert not any(word in HELPERS[name].text for word in ("std::", "INFINITY", "_MAX", "int32_t", "#include"))


SUM, PRODUCT = infix("+", A, B), infix("*", A, B)
LESS, BITS, BOTH = infix("<", A, B), infix("&", A, B), infix("&&", A, B)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (infix("*", SUM, C), "(a + b) * c"),
        (infix("+", PRODUCT, C), "a * b + c"),
        (infix("-", SUM, C), "a + b - c"),
        (infix("-", C, SUM), "c - (a + b)"),  # floats do not associate
        (infix("/", C, PRODUCT), "c / (a * b)"),
        (infix("<", SUM, C), "a + b < c"),
        (infix("==", LESS, C), "(a < b) == c"),
        (infix("==", BITS, C), "(a & b) == c"),
        (infix("&", BITS, C), "a & b & c"),
        (infix("|", BITS, C), "(a & b) | c"),
        (infix("||", BOTH, C), "(a && b) || c"),
        (infix("&&", LESS, C), "a < b && c"),
        (conditional(LESS, SUM, C), "a < b ? a + b : c"),
        (conditional(C, A, conditional(LESS, A, B)), "c ? a : a < b ? a : b"),
        (conditional(C, conditional(LESS, A, B), A), "c ? (a < b ? a : b) : a"),
        (infix("+", conditional(C, A, B), A), "(c ? a : b) + a"),
        (prefix("-", PRODUCT), "-(a * b)"),
        (prefix("-", prefix("-", A)), "-(-a)"),
        (convert("float", SUM), "(float)(a + b)"),
        (infix("*", convert("float", A), B), "(float)a * b"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_parentheses_only_where_needed(expr: Expr, text: str) -> None:
    """Precedence decides; parentheses beyond it stand only where compilers would warn of their absence."""
    assert expr.code == text


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (2.5, "f32", "2.5f"),
        (0.1, "f32", "0.1f"),
        (20.0, "f32", "20.0f"),
        (1e-30, "f32", "1e-30f"),
        (-0.0, "f32", "-0.0f"),
        (3.4028234663852886e38, "f32", "3.4028235e+38f"),
        (0.1, "f64", "0.1"),
        (float("inf"), "f32", "__int_as_float(0x7f800000 /* inf */)"),
        (float("-inf"), "f64", "__longlong_as_double(0xfff0000000000000 /* -inf */)"),
        (True, "bool", "true"),
        (-3, "i8", "-3"),
        (3, "u32", "3u"),
        (5, "i64", "5ll"),
        (-(2**31), "i32", "(-2147483647 - 1)"),
        (-(2**63), "i64", "(-9223372036854775807ll - 1)"),
        (2**64 - 1, "u64", "18446744073709551615ull"),
    ],
)
def test_literals(value: float, dtype: str, text: str) -> None:
    """Constants have the suffix of their type and the shortest digits that read back."""
    assert constant(to_bits(value, BY_NAME[dtype]), BY_NAME[dtype]).code == text


def test_float_literals_read_back() -> None:
    """The digits of a float32 give its bits again, for every exponent and many mantissas."""
    for bits in (e << 23 | m for e in range(255) for m in (0, 1, 0x2AAAAA, 0x555555, 0x7FFFFF, 0x123456)):
        digits = constant(bits, FLOAT32).code.removesuffix("f")
        assert struct.pack("<f", float(digits)) == struct.pack("<f", float(from_bits(bits, FLOAT32)))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a + b", spelled("add", "f32", "f32", A, B)),
        ("wrap_add(a, b)", spelled("add", "i32", "i32", A, B)),
        ("(signed char)(a + b)", spelled("add", "i8", "i8", A, B)),
        ("a * b", spelled("mul", "u32", "u32", A, B)),
        ("(unsigned short)((unsigned int)a * b)", spelled("mul", "u16", "u16", A, B)),
        ("a / 3u", spelled("floordiv", "u32", "u32", A, constant(3, BY_NAME["u32"]))),
        ("(int)((unsigned int)a << 3)", spelled("shl", "i32", "i32", A, constant(3, INT32))),
        ("a >> 3", spelled("shr", "i64", "i64", A, constant(3, BY_NAME["i64"]))),
        ("shift_right(a, b)", spelled("shr", "u32", "u32", A, B)),
        ("__clz((unsigned char)a) - 24", spelled("clz", "i32", "i8", A)),
        ("rintf(a)", spelled("round", "f32", "f32", A)),
        ("norm3d(a, b, c)", spelled("norm3d", "f64", "f64", A, B, C)),
        ("a != b", spelled("xor", "bool", "bool", A, B)),
    ],
)
def test_ops(text: str, found: str) -> None:
    """Plain operators where C means what the contract means, a named helper where it does not."""
    assert found == text


@pytest.mark.parametrize(
    ("source", "dtype", "mode", "saturate", "text"),
    [
        ("f32", "f16", "rne", False, "__float2half_rn(a)"),
        ("f16", "f32", "rne", False, "__half2float(a)"),
        ("f64", "f16", "rne", False, "__double2half(a)"),
        ("f64", "bf16", "ru", False, "__float2bfloat16_ru(__double2float_ru(a))"),
        ("i64", "f32", "rz", False, "__ll2float_rz(a)"),
        ("f32", "e4m3fn", "rne", True, "__nv_fp8_e4m3(a)"),
        ("f64", "e4m3fn", "rne", False, "to_e4m3(round_to_odd(a))"),
        ("e5m2", "f64", "rne", False, "(double)(float)a"),
        ("f32", "i32", "rz", False, "__float2int_rz(a)"),
        ("f32", "u8", "rz", False, "(unsigned char)min(__float2uint_rz(a), 255u)"),
        ("f64", "i64", "rd", False, "__double2ll_rd(nan_to_zero(a))"),
        ("i32", "i8", "rz", True, "(signed char)min(max(a, -128), 127)"),
        ("i64", "i32", "rz", False, "(int)a"),
        ("bool", "f32", "rne", False, "(float)a"),
        ("f16", "bool", "rne", False, "__half2float(a) != 0.0f"),
    ],
)
def test_casts(source: str, dtype: str, mode: str, saturate: bool, text: str) -> None:
    """One conversion where CUDA has it, clamps and guards only where it would break the contract."""
    attr = CastMode(mode, saturate)  # type: ignore[arg-type]
    assert spelled("cast", dtype, source, A, attr=attr) == text
