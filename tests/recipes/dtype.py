"""The toy of ``test_dtype.py``: float8_e3m4, as CONTRIBUTING.md says to add a dtype.

CUDA has no type for it, so that its bits are an ``unsigned char`` in memory, and device helpers convert them.
"""

from __future__ import annotations

#: Of ``kgen/dtypes.py``.
ROW = """
FLOAT8_E3M4 = DType(
    "float8_e3m4", "e3m4", 1, Kind.FLOAT, mantissa=4, exponent=3, dlpack=7, ml_dtypes=True, storage="unsigned char"
)
"""

#: Of ``kgen/codegen/conversions.py``, and the entry of its table.
CONVERSIONS = """
def _e3m4() -> Conversions:
    def narrow(mode: CastMode, a: Expr, source: DType) -> Spelling:
        single, helper = _as_float32(mode, a, source), "to_e3m4"
        arguments = f"{_DIRECTION.get(mode.rounding, 2)}, {'true' if mode.saturate else 'false'}"
        return Spelling(call(f"{helper}<{arguments}>", [single.expr]), (*single.helpers, helper))

    return Conversions(
        lambda a: Spelling(call("from_e3m4", [a]), ("from_e3m4",)),
        narrow,
        bits=lambda a, integer: convert(integer.storage, a),
        from_bits=lambda a, integer: Spelling(convert("unsigned char", a)),
        helpers=("to_e3m4", "from_e3m4"),
    )

"""
ENTRY = "    FLOAT8_E3M4: _e3m4(),"

#: ``templates/device/from_e3m4.cu``.
FROM = """\
// The float with these bits of 3 for the exponent and 4 for the mantissa, exactly.
static __device__ __forceinline__ float from_e3m4(unsigned char x)
{
    const unsigned int sign = (x & 0x80u) << 24, magnitude = x & 0x7fu;
    if (magnitude >= 0x70) return __uint_as_float(sign | (magnitude == 0x70 ? 0x7f800000 : 0x7fc00000));
    return __uint_as_float(sign | magnitude << 19) * 0x1p124f;  // the biases are 3 and 127
}
"""

#: ``templates/device/to_e3m4.cu``.
TO = """\
// x with 3 bits of exponent and 4 of mantissa, rounded up (DIRECTION 1), down (-1), toward zero (0), to nearest (2).
template <int DIRECTION, bool SATURATE>
static __device__ __forceinline__ unsigned char to_e3m4(float x)
{
    const unsigned int bits = __float_as_uint(x), magnitude = bits & 0x7fffffff, negative = bits >> 31;
    const unsigned int beyond = SATURATE ? 0x6f : 0x70;
    unsigned int code;
    if (magnitude >= 0x7f800000) {
        code = magnitude == 0x7f800000 ? beyond : 0x78;
    } else {
        const int exponent = (int)(magnitude >> 23) - 124;  // 1 is the least of a normal number
        const int shift = min(19 + max(1 - exponent, 0), 31);
        const unsigned int significand = magnitude == 0 ? 0 : (magnitude & 0x7fffff) | 0x800000;
        const unsigned int rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
        code = (max(exponent - 1, 0) << 4) + (significand >> shift);
        const bool outwards = DIRECTION == 2 || DIRECTION == (negative ? -1 : 1);
        code += DIRECTION == 2 ? rest > half || (rest == half && code % 2 == 1) : outwards && rest != 0;
        code = min(code, outwards ? beyond : 0x6fu);
    }
    return (unsigned char)(negative << 7 | code);
}
"""

#: Run with the kgen that has it.
PROGRAM = """
import itertools, sys
import ml_dtypes
import numpy as np
import kgen
from kgen.dtypes import FLOAT32, FLOAT64, INT32
from kgen.ir.graph import CastMode
from kgen.ir.rounding import cast

E3M4 = kgen.float8_e3m4
MODES = list(itertools.product(("rne", "rz", "ru", "rd"), (False, True)))
assert kgen.__file__.startswith(sys.argv[1]), kgen.__file__


def same(found, expected):
    assert found.dtype == expected.dtype, (found.dtype, expected.dtype)
    np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))
    signs = [np.signbit(x.astype(np.float64))[~np.isnan(x.astype(np.float64))] for x in (found, expected)]
    np.testing.assert_array_equal(*signs)


# Every code, and the numbers at, between and beside them.
codes = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e3m4)
finite = np.sort(codes.astype(np.float64)[np.isfinite(codes.astype(np.float64))])
far = [15.7, 15.75, 16, 1e9, 1e300, np.inf, np.nan, 1e-9]
near = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2, far, np.negative(far)])
near = np.concatenate([near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf)])
count = len(near)
a, x, d = np.resize(codes, count), near.astype(np.float32), near
i = np.resize(np.array([0, 1, 15, 16, 17, -5, -400, 2**31 - 1, -(2**31)], np.int32), count)

lines = ["wide = cast<float>(a)", "bits = bitcast<u8>(a)", "again = bitcast<e3m4>(bits)", "bound: e3m4 = a * 2 + k"]
for number, (mode, sat) in enumerate(MODES):
    of = f"cast<e3m4, {'sat, ' if sat else ''}{mode}>"
    lines += [f"x{number} = {of}(x)", f"d{number} = {of}(d)", f"i{number} = {of}(i)", f"a{number} = {of}(a)"]
k = kgen.jit("param k: e3m4\\n" + "\\n".join(lines))
found = dict(zip([line.partition(" ")[0].rstrip(":") for line in lines], k(a=a, x=x, d=d, i=i, k=0.3)))

same(found["wide"], a.astype(np.float32))
same(found["bits"], a.view(np.uint8))
same(found["again"], a)
scalar = np.float64(0.3).astype(ml_dtypes.float8_e3m4).astype(np.float32)
same(found["bound"], (a.astype(np.float32) * 2 + scalar).astype(ml_dtypes.float8_e3m4))
same(found["x0"], x.astype(ml_dtypes.float8_e3m4))
for number, (mode, sat) in enumerate(MODES):
    for name, values, source in (("x", x, FLOAT32), ("d", d, FLOAT64), ("i", i, INT32), ("a", a, E3M4)):
        same(found[f"{name}{number}"], cast(values, source, E3M4, CastMode(mode, sat)))
same(kgen.jit("out = sum(a)")(codes[:64]), codes[:64].astype(np.float32).sum())
print("as NumPy says")
"""
