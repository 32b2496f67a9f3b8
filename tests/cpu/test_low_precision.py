"""Conversions to and from half, bfloat16 and the two fp8 formats, bit for bit."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from .formats import BFLOAT, E4M3, E5M2, HALF, Format
from .harness import Array, Maps, bits_equal

MODES = ("rn", "rz", "ru", "rd")
SIXTEEN = {"half": ("__half", HALF, np.float16), "bfloat16": ("__nv_bfloat16", BFLOAT, ml_dtypes.bfloat16)}
EIGHT = {"E4M3": (E4M3, ml_dtypes.float8_e4m3fn), "E5M2": (E5M2, ml_dtypes.float8_e5m2)}
INTEGERS: dict[str, type[np.integer[Any]]] = {
    "short": np.int16,
    "ushort": np.uint16,
    "int": np.int32,
    "uint": np.uint32,
    "ll": np.int64,
    "ull": np.uint64,
}
C_NAMES = {"ushort": "unsigned short", "uint": "unsigned", "ll": "long long", "ull": "unsigned long long"}
BYTE = "unsigned char"


def _expressions() -> dict[str, tuple[str, str, str]]:
    rows: dict[str, tuple[str, str, str]] = {}
    for name, (kind, _, _) in SIXTEEN.items():
        for mode in MODES:
            rows[f"float2{name}_{mode}"] = (kind, "float", f"__float2{name}_{mode}(a)")
            for integer in INTEGERS:
                c_name = C_NAMES.get(integer, integer)
                rows[f"{integer}2{name}_{mode}"] = (kind, c_name, f"__{integer}2{name}_{mode}(a)")
                rows[f"{name}2{integer}_{mode}"] = (c_name, kind, f"__{name}2{integer}_{mode}(a)")
        rows[f"double2{name}"] = (kind, "double", f"__double2{name}(a)")
        rows[f"{name}2float"] = ("float", kind, f"__{name}2float(a)")
        rows[f"{name}_as_ushort"] = ("unsigned short", kind, f"__{name}_as_ushort(a)")
        rows[f"ushort_as_{name}"] = (kind, "unsigned short", f"__ushort_as_{name}(a)")
        rows[f"{name}_fma"] = (kind, f"{kind}, {kind}, {kind}", "__hfma(a, b, c)")
    for name in EIGHT:
        for source in ("float", "double"):
            for saturate in ("NOSAT", "SATFINITE"):
                call = f"__nv_cvt_{source}_to_fp8(a, __NV_{saturate}, __NV_{name})"
                rows[f"{source}_to_{name}_{saturate}"] = (BYTE, source, call)
        rows[f"{name}_to_half"] = ("__half", BYTE, f"__half(__nv_cvt_fp8_to_halfraw(a, __NV_{name}))")
        kind = f"__nv_fp8_{name.lower()}"
        rows[f"{name}_member"] = (BYTE, kind, "a.__x")
    return rows


@pytest.fixture(scope="module")
def maps() -> Maps:
    includes = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n"
    return Maps(_expressions(), includes)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SIXTEEN)
def test_float_to_sixteen_bits_rounds_as_its_mode_says(maps: Maps, name: str, mode: str) -> None:
    """Around every value and every midpoint of the format, in all four modes."""
    _, target, _ = SIXTEEN[name]
    x = target.probes(np.float32)
    assert bits_equal(maps(f"float2{name}_{mode}", np.uint16, x), target.round(x, mode))


@pytest.mark.parametrize("name", SIXTEEN)
def test_float_to_sixteen_bits_is_what_numpy_gives(maps: Maps, name: str) -> None:
    """NumPy and ml_dtypes round to nearest to the same bits."""
    _, target, dtype = SIXTEEN[name]
    x = target.probes(np.float32)
    with np.errstate(over="ignore"):
        assert bits_equal(maps(f"float2{name}_rn", np.uint16, x), x.astype(dtype).view(np.uint16))


@pytest.mark.parametrize("name", SIXTEEN)
def test_double_to_sixteen_bits_rounds_once(maps: Maps, name: str) -> None:
    """Straight from 53 bits, not through float."""
    _, target, _ = SIXTEEN[name]
    x = target.probes(np.float64)
    assert bits_equal(maps(f"double2{name}", np.uint16, x), target.round(x, "rn"))


@pytest.mark.parametrize("name", SIXTEEN)
def test_every_sixteen_bit_code_widens_exactly(maps: Maps, name: str) -> None:
    """All 65536 codes become the float that NumPy makes of them, and come back."""
    _, _, dtype = SIXTEEN[name]
    codes = np.arange(65536, dtype=np.uint16)
    wide = maps(f"{name}2float", np.float32, codes)
    with np.errstate(invalid="ignore"):
        expected = codes.view(dtype).astype(np.float32)
    number = ~np.isnan(expected)
    assert bits_equal(wide[number], expected[number])
    assert np.isnan(wide[~number]).all()
    assert bits_equal(maps(f"float2{name}_rn", np.uint16, wide)[number], codes[number])
    assert (maps(f"float2{name}_rn", np.uint16, wide)[~number] == 0x7FFF).all()
    assert bits_equal(maps(f"{name}_as_ushort", np.uint16, codes), codes)
    assert bits_equal(maps(f"ushort_as_{name}", np.uint16, codes), codes)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SIXTEEN)
def test_integers_to_sixteen_bits_round_once(maps: Maps, name: str, mode: str) -> None:
    """Also from 64-bit integers, which no double holds."""
    _, target, _ = SIXTEEN[name]
    random = np.random.default_rng(3)
    for integer, dtype in INTEGERS.items():
        info = np.iinfo(dtype)
        spread = random.integers(0, info.max, 20_000, np.uint64, endpoint=True)
        spread >>= random.integers(0, info.bits, spread.size, np.uint64)
        x = np.concatenate([spread.astype(dtype), -spread.astype(dtype), np.array([info.min, info.max, 0, 1], dtype)])
        x = np.concatenate([x, _near_midpoints(target, dtype)])
        assert bits_equal(maps(f"{integer}2{name}_{mode}", np.uint16, x), target.round(x, mode)), integer


def _near_midpoints(target: Format, dtype: type[np.integer]) -> Array:
    """Integers at, just below and just above a midpoint: what a second rounding would get wrong."""
    table = target.magnitudes
    middle = (table[:-1] + np.diff(table) / 2)[(table[1:] >= 64) & (table[1:] < np.iinfo(dtype).max)]
    whole = middle[middle == np.floor(middle)].astype(np.uint64)
    return np.concatenate([whole, whole - np.uint64(1), whole + np.uint64(1)]).astype(dtype)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SIXTEEN)
def test_sixteen_bits_to_integers_saturate(maps: Maps, name: str, mode: str) -> None:
    """Rounded in the mode; out of range to the nearest; NaN to 0, or to the top bit of a 64-bit integer."""
    _, _, dtype = SIXTEEN[name]
    codes = np.arange(65536, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        x = codes.view(dtype).astype(np.longdouble)
    rounded = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}[mode](x)
    for integer, target in INTEGERS.items():
        info = np.iinfo(target)
        clipped = np.clip(np.nan_to_num(rounded, posinf=1e30, neginf=-1e30), info.min, info.max)
        nan = 0 if info.bits < 64 else info.min if info.min else 1 << 63
        expected = np.array([nan if n else int(v) for v, n in zip(clipped, np.isnan(x), strict=True)], target)
        assert bits_equal(maps(f"{name}2{integer}_{mode}", target, codes), expected), integer


@pytest.mark.parametrize("source", [np.float32, np.float64])
@pytest.mark.parametrize("name", EIGHT)
def test_to_fp8_rounds_once_and_saturates(maps: Maps, name: str, source: type[np.floating]) -> None:
    """SATFINITE clamps to the largest number; NOSAT gives infinity, or NaN where there is none."""
    target, _ = EIGHT[name]
    x = target.probes(source)
    word = {np.float32: "float", np.float64: "double"}[source]
    plain = target.round(x, "rn")
    assert bits_equal(maps(f"{word}_to_{name}_NOSAT", np.uint8, x), plain)
    clamped = np.where(plain & 0x7F == target.top, plain - 1, plain).astype(np.uint8)
    assert bits_equal(maps(f"{word}_to_{name}_SATFINITE", np.uint8, x), clamped)
    nan = np.array([np.nan, -np.nan], source)
    assert (maps(f"{word}_to_{name}_SATFINITE", np.uint8, nan) & 0x7F > target.top - (name == "E4M3")).all()


@pytest.mark.parametrize("name", EIGHT)
def test_float_to_fp8_is_what_ml_dtypes_gives(maps: Maps, name: str) -> None:
    """ml_dtypes does not saturate; every other code agrees."""
    target, dtype = EIGHT[name]
    x = target.probes(np.float32)
    assert bits_equal(maps(f"float_to_{name}_NOSAT", np.uint8, x), x.astype(dtype).view(np.uint8))


@pytest.mark.parametrize("name", EIGHT)
def test_every_fp8_code_widens_exactly(maps: Maps, name: str) -> None:
    """All 256 codes, through half, and the public member that holds them."""
    _, dtype = EIGHT[name]
    codes = np.arange(256, dtype=np.uint8)
    got = maps(f"{name}_to_half", np.float16, codes)
    expected = codes.view(dtype).astype(np.float16)
    number = ~np.isnan(expected)
    assert bits_equal(got[number], expected[number])
    assert np.isnan(got[~number]).all()
    assert bits_equal(maps(f"{name}_member", np.uint8, codes), codes)


@pytest.mark.parametrize("name", SIXTEEN)
def test_fused_multiply_add_of_sixteen_bits_rounds_once(maps: Maps, name: str) -> None:
    """The product is not rounded, nor the sum twice."""
    _, target, dtype = SIXTEEN[name]
    a, b, c = np.random.default_rng(5).integers(0x3000, 0x4800, (3, 50_000), np.uint16)
    exact = [v.view(dtype).astype(np.longdouble) for v in (a, b, c)]
    expected = target.round(exact[0] * exact[1] + exact[2], "rn")
    assert bits_equal(maps(f"{name}_fma", np.uint16, a, b, c), expected)
