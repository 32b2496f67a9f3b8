"""The device helpers that generated texts may use: ``templates/device/<name>.cu``, one small function each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType

from kgen import resources
from kgen.codegen.conversions import CONVERSIONS
from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class Helper:
    """A device function.  ``requires``: the helpers that it calls; ``headers``: those that its text includes.

    Each overload of a function, such as ``wrap_add`` of int and of long long, is a separate helper.  ``like``: a helper
    with the same text, except for ``swap``: pairs of a text there and what replaces it here.
    """

    name: str
    requires: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    like: str | None = None
    swap: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        text = _text(self.like or self.name)
        for there, here in self.swap:
            text = text.replace(there, here)
        return text


ACCUMULATORS = "accumulators/"  # the folder of accumulators' structs


def accumulator_struct(file: str) -> str:
    """The name of the helper for the struct in a file of ``templates/device/accumulators``."""
    return f"{ACCUMULATORS}{file}"


@cache
def _text(name: str) -> str:
    return resources.text("templates", f"device/{name}.cu").rstrip("\n")


def _per_width(*names: str, suffixes: str) -> list[Helper]:
    return [Helper(f"{name}_{suffix}") for name in names for suffix in suffixes.split()]


#: What every kernel calls before it accesses global memory, and at its end.
OVERLAP = ("wait_for_earlier_kernels", "let_next_kernel_start")

#: Helpers that templates call; element functions call the others.
FIND_COORDINATES, OFFSET_OF, IS_RUN = "find_coordinates", "offset_of", "is_run"
ARRAY_SHAPE, LOAD_RUN, LOAD_UNALIGNED, LOAD_SHIFTED_RUN, LOAD_ALIGNED_BLOCKS, FUNNEL_SHIFT_BLOCKS = (
    "array_shape",
    "load_run",
    "load_unaligned",
    "load_shifted_run",
    "load_aligned_blocks",
    "funnel_shift_blocks",
)
MOVERS = (
    FIND_COORDINATES,
    OFFSET_OF,
    ARRAY_SHAPE,
    "gather",
    "row",
    "load_gathered",
    "store_scattered",
    IS_RUN,
    LOAD_RUN,
    LOAD_ALIGNED_BLOCKS,
    LOAD_UNALIGNED,
    LOAD_SHIFTED_RUN,
    FUNNEL_SHIFT_BLOCKS,
)  # in the order of a file, where they are before other helpers


def in_order(movers: Collection[str], others: Iterable[str]) -> list[str]:
    """The helpers that templates call, those of :data:`MOVERS` before the others."""
    return [*(h for h in MOVERS if h in movers), *others, *(h for h in movers if h not in MOVERS)]


BYTE_PACK = "byte_pack"

#: What stays as it was loaded until other loads are issued.
KEEP_LOADED = "keep_loaded"
EVICT_LAST_POLICY = "evict_last_policy"

#: Elements, and groups of rows, at computed places.
GATHER, ROW, LOAD_GATHERED, STORE_SCATTERED = "gather", "row", "load_gathered", "store_scattered"

#: Loads of kernels with reductions: of bytes by words, and of data that caches should evict first.
LOAD_WORDS, LOAD_STREAMING, TAKE_PACKED = "load_words", "load_streaming", "take_packed"
PREFETCH_ROW = "prefetch_row"

#: A store of kernels with reductions that the compiler would take apart.
STORE_WORDS = "store_words"

#: Helpers by which blocks of a cluster exchange partial results.
CLUSTER = ("mbarrier_init_expect", "send_to_block", "mbarrier_wait")
PERSISTENT = ("mbarrier_expect",)

_UNSIGNED = (
    ("Pack<signed char,", "Pack<unsigned char,"),
    ("int word;", "unsigned int word;"),
    ("result = __dp4a(word, 0x01010101, result)", "result = (int)__dp4a(word, 0x01010101u, (unsigned int)result)"),
)


def _variant(name: str, needs: tuple[str, ...], like: str, *swap: tuple[str, str]) -> Helper:
    """A helper with a file of its own, or the text of another one with some words replaced."""
    return Helper(name, needs) if name == like else Helper(name, needs, like=like, swap=swap)


def _atomics() -> Iterator[Helper]:
    """Updates of elements at computed places, and of groups of rows."""
    update = ("atomic_update",)
    yield from (Helper("atomic_update"), Helper("atomic_add", update), Helper("atomic_add_i64"))
    yield Helper("atomic_add_c64")
    yield Helper("atomic_add_c128", like="atomic_add_c64", swap=(("float2", "double2"),))
    named: tuple[tuple[str, str], ...]
    for kind, named in (("min", ()), ("max", _GREATER)):
        own, less = f"atomic_{kind}", (("value < old", "old < value"),)
        yield _variant(own, update, "atomic_min", *named, *less)
        yield _variant(f"{own}_f32", (*update, f"nan_{kind}_f32"), "atomic_min_f32", *named)
        yield _variant(f"{own}_f64", (*update, f"nan_{kind}_f64"), "atomic_min_f32", *named, *_DOUBLE)
        yield _variant(f"{own}_f16", (*update, f"nan_{kind}_f32"), "atomic_min_f16", *named)
        yield _variant(f"{own}_bf16", (*update, f"nan_{kind}_f32"), "atomic_min_f16", *named, *_BFLOAT)
    for kind in ("add", "min", "max"):
        comment = (("Adds a group to", "Compares a group with"),) if kind != "add" else ()
        for suffix, function in (("", f"atomic{kind.capitalize()}"), ("_own", f"atomic_{kind}")):
            swap = (*comment, ("add_scattered", f"{kind}_scattered{suffix}"), ("atomicAdd", function))
            yield _variant(f"{kind}_scattered{suffix}", (ROW,), "add_scattered", *swap)
    yield from (Helper("add_scattered_f32", (ROW,)), Helper("add_scattered_f16", (ROW,)), Helper("add_sums_f16"))
    yield Helper(
        "add_sums_bf16", like="add_sums_f16", swap=(("__floats2half2_rn", "__floats2bfloat162_rn"), *_BFLOAT[1:])
    )
    yield Helper("add_scattered_bf16", (ROW,), like="add_scattered_f16", swap=(*_BFLOAT[2:], ("f16x2", "bf16x2")))


#: Updates of groups, which call those of elements of any dtype.
_GROUPS = frozenset(f"{kind}_scattered{suffix}" for kind in ("add", "min", "max") for suffix in ("", "_own"))
_GREATER = (("min", "max"), ("lesser", "greater"))
_DOUBLE = (("float", "double"), ("unsigned int", "unsigned long long"))
_BFLOAT = (
    ("__half2float", "__bfloat162float"),
    ("__float2half_rn", "__float2bfloat16_rn"),
    ("__half", "__nv_bfloat16"),
)

_ROWS = (
    *_per_width("wrap_add", "wrap_sub", "wrap_mul", "wrap_neg", "wrap_abs", suffixes="i32 i64"),
    Helper("wrap_neg_i16"),
    *_per_width("floor_div", "floor_mod", suffixes="i32 i64"),
    *_per_width("shift_left", "shift_right", suffixes="i32 u32 i64 u64"),
    *_per_width("int_pow", suffixes="u32 u64"),
    Helper("int_pow_i32", ("int_pow_u32",)),
    Helper("int_pow_i64", ("int_pow_u64",)),
    *_per_width("div_rn", "nan_min", "nan_max", "to_finite", "bessel_jn", suffixes="f32 f64"),
    *(Helper(name) for name in ("div_or_zero", "mod_or_zero", "trunc_mod", "sign_of", "small_pow")),
    *(
        Helper(name)
        for name in ("float_floor_div", "float_floor_mod", "float_sign", "reciprocal_approx", "exp2_approx")
    ),
    Helper("normal_cdf_f32", ("reciprocal_approx", "exp2_approx")),
    Helper("normal_cdf_fast_f32", ("reciprocal_approx",)),
    Helper("gelu_derivative_f32", ("reciprocal_approx",)),
    Helper("gelu_derivative_f64"),
    Helper("gelu_derivative_fast_f32", ("reciprocal_approx", "exp2_approx")),
    *(Helper(name) for name in ("exp_short", "log1p_short", "divide_approx")),
    Helper("tanh_short", ("exp2_approx", "reciprocal_approx")),
    *(Helper(name) for name in ("nan_to_zero", "round_to_odd", "bit_cast", "opaque_bits")),
    *_per_width("exp_approx", suffixes="f32 f64"),
    *_per_width("times", suffixes="c64 c128"),
    *(
        Helper(name)
        for name in ("lowest", "highest", "divide_reciprocal", "divide_quotient", "divide_constant", "is_moderate")
    ),
    Helper("exp_scaled_2_24"),
    *(Helper(name) for name in (*PERSISTENT, "send_to_block", "mbarrier_wait")),
    Helper("mbarrier_init_expect", PERSISTENT),
    *(Helper(name) for name in OVERLAP),
    *(Helper(name) for name in (ARRAY_SHAPE, "is_inside", GATHER, ROW)),
    *(Helper(name, (ROW,)) for name in (LOAD_GATHERED, STORE_SCATTERED)),
    *_atomics(),
    Helper("take_byte"),
    Helper(BYTE_PACK, ("take_byte",)),
    Helper("keep_packed"),
    Helper("keep_loads_above"),
    Helper(KEEP_LOADED),
    Helper("keep_address"),
    Helper("extract", headers=("cuda_bf16.h",)),
    Helper("extract_byte", ("take_byte",)),
    Helper("to_float", headers=("cuda_bf16.h",)),
    Helper("divide_group", ("divide_reciprocal",)),
    Helper("divide"),
    Helper("positive_reciprocal"),
    Helper("quotient", ("positive_reciprocal",)),
    Helper("round_group", headers=("cuda_fp8.h",)),
    Helper("divide_moderate", ("is_moderate", "reciprocal_approx")),
    *(Helper(f"divide_{suffix}", ("reciprocal_approx",)) for suffix in ("short", "in_range", "by_one_plus")),
    *(Helper("divide_by_large", ("reciprocal_approx",)), Helper("divide_by_integer")),
    *(Helper(EVICT_LAST_POLICY), Helper("load_evict_last", (EVICT_LAST_POLICY,))),
    *(Helper(name) for name in (LOAD_WORDS, LOAD_STREAMING, TAKE_PACKED, STORE_WORDS, PREFETCH_ROW)),
    *(Helper(name) for name in ("load_rows", "stage_rows", "stage_last_rows")),
    Helper(
        "load_rows_evict_last",
        ("load_evict_last",),
        like="load_rows",
        swap=(
            (" load_rows(", " load_rows_evict_last("),
            ("constexpr int N", f"const unsigned long long policy = {EVICT_LAST_POLICY}();\n    constexpr int N"),
            ("*reinterpret_cast<const Access*>(rows + i)", "load_evict_last<Access>(rows + i, policy)"),
        ),
    ),
    Helper("store_rows"),
    *(Helper(f"group_max_{suffix}", ("nan_max_f32",)) for suffix in ("f16", "bf16")),
    *(Helper(f"group_min_{suffix}", ("nan_min_f32",)) for suffix in ("f16", "bf16")),
    *(Helper(f"group_sum_{suffix}") for suffix in ("i8", "bool")),
    Helper("group_sum_u8", like="group_sum_i8", swap=_UNSIGNED),
    *(Helper(name) for name in ("to_float2", "to_double2", "is_nonzero", "funnel_shift_words")),
    *(Helper(name, ("funnel_shift_words",)) for name in (LOAD_ALIGNED_BLOCKS, FUNNEL_SHIFT_BLOCKS)),
    Helper(LOAD_UNALIGNED, (LOAD_ALIGNED_BLOCKS,)),
    Helper(LOAD_SHIFTED_RUN, (FUNNEL_SHIFT_BLOCKS,)),
    *(Helper(name) for name in (LOAD_RUN, IS_RUN, FIND_COORDINATES, OFFSET_OF)),
    Helper("to_finite_f16", headers=("cuda_fp16.h",)),
    Helper("to_finite_bf16", headers=("cuda_bf16.h",)),
    *(Helper(name, headers=("cuda_fp8.h",)) for name in ("directed_fp8", "fp8_from_bits")),
    *(Helper(name, headers=t.headers) for t, conversions in CONVERSIONS.items() for name in conversions.helpers),
)

#: Structs that reductions accumulate in, each with the helpers that it needs for every element type.
_ACCUMULATORS: tuple[tuple[str, tuple[str, ...]], ...] = (
    *((name, ()) for name in ("all", "any", "count", "group_sum", "integer_moments", "integer_product", "integer_sum")),
    *((name, ()) for name in ("moments", "product", "complex_product", "sum")),
    *((name, ("lowest",)) for name in ("max", "integer_max", "arg_max", "log_sum", "complex_log_sum")),
    *((name, ("highest",)) for name in ("min", "integer_min", "arg_min", "first_place")),
    ("compensated_sum", (accumulator_struct("sum"),)),
    ("total", (accumulator_struct("sum"),)),
    ("distances", (accumulator_struct("total"), accumulator_struct("moments"))),
    ("exponentials", (accumulator_struct("max"), accumulator_struct("log_sum"))),
    ("spread", (accumulator_struct("moments"),)),
)

HELPERS: Mapping[str, Helper] = MappingProxyType(
    {helper.name: helper for helper in (*_ROWS, *(Helper(accumulator_struct(n), needs) for n, needs in _ACCUMULATORS))}
)


def helper_texts(names: Iterable[str]) -> list[str]:
    """The texts of these helpers and of those that they require, each once and after those that it requires.

    Accumulator structs and updates of groups come last: a C++ template calls only the overloads declared before it.
    """
    ordered: dict[str, None] = {}

    def add(name: str) -> None:
        if name not in ordered:
            for required in HELPERS[name].requires:
                add(required)
            ordered[name] = None

    for name in names:
        add(name)
    return [
        HELPERS[name].text
        for name in sorted(ordered, key=lambda name: (name.startswith(ACCUMULATORS), name in _GROUPS))
    ]
