// <cuda_bf16.h> for the CPU: __nv_bfloat16 and __nv_bfloat162, with NVIDIA's names and bit patterns.
#pragma once
#include "kgen/sixteen_bit.h"

KGEN_SIXTEEN_BIT(__nv_bfloat16, bfloat_from_float, bfloat_from_double, float_from_bfloat)
KGEN_SIXTEEN_BIT_ARITHMETIC(__nv_bfloat16)
KGEN_SIXTEEN_BIT_CONVERSIONS(__nv_bfloat16, bfloat16, bfloat_from_double, rz)
KGEN_SIXTEEN_BIT_CONVERSIONS(__nv_bfloat16, bfloat16, bfloat_from_double, ru)
KGEN_SIXTEEN_BIT_CONVERSIONS(__nv_bfloat16, bfloat16, bfloat_from_double, rd)
// To nearest, float has a faster way.
#define __float2bfloat16_rn kgen_slow_float2bfloat16_rn
KGEN_SIXTEEN_BIT_CONVERSIONS(__nv_bfloat16, bfloat16, bfloat_from_double, rn)
#undef __float2bfloat16_rn
static inline __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
static inline __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
static inline __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
static inline float __bfloat162float(__nv_bfloat16 x) { return x; }
static inline signed char __bfloat162char_rz(__nv_bfloat16 x) {
  return kgen::to_integer<signed char>((float)x, kgen::rz);
}
static inline unsigned char __bfloat162uchar_rz(__nv_bfloat16 x) {
  return kgen::to_integer<unsigned char>((float)x, kgen::rz);
}
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return ((__nv_bfloat16_raw)x).x; }
static inline short __bfloat16_as_short(__nv_bfloat16 x) { return (short)((__nv_bfloat16_raw)x).x; }
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __nv_bfloat16_raw{x}; }
static inline __nv_bfloat16 __short_as_bfloat16(short x) { return __nv_bfloat16_raw{(unsigned short)x}; }

struct alignas(4) __nv_bfloat162_raw {
  unsigned short x, y;
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  __nv_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) : x(x), y(y) {}
  __nv_bfloat162(__nv_bfloat162_raw raw) : x(__nv_bfloat16_raw{raw.x}), y(__nv_bfloat16_raw{raw.y}) {}
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
static inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
static inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
static inline float __low2float(__nv_bfloat162 v) { return v.x; }
static inline float __high2float(__nv_bfloat162 v) { return v.y; }
static inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
static inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
static inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
static inline __nv_bfloat162 __float2bfloat162_rn(float x) { return {__nv_bfloat16(x), __nv_bfloat16(x)}; }
static inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__nv_bfloat16(x), __nv_bfloat16(y)}; }
static inline __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {__nv_bfloat16(v.x), __nv_bfloat16(v.y)}; }
static inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }
